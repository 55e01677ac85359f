//! Arguments that are all strings, as prompts and templates have them, to types.

use std::collections::BTreeMap;

use serde::de::value::{Error, MapDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Reads strings into a struct or a map. Numbers and truth values are read from their text.
pub(crate) fn read<T: DeserializeOwned>(arguments: &BTreeMap<String, String>) -> Result<T, Error> {
    T::deserialize(Arguments(arguments))
}

struct Arguments<'a>(&'a BTreeMap<String, String>);

impl<'de> Deserializer<'de> for Arguments<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let entries = self.0.iter().map(|(name, value)| (name.clone(), Text(value)));
        visitor.visit_map(MapDeserializer::new(entries))
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

#[derive(Clone, Copy)]
struct Text<'a>(&'a str);

macro_rules! parsed {
    ($($method:ident $visit:ident $what:literal)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse() {
                Ok(value) => visitor.$visit(value),
                Err(_) => Err(Error::custom(format_args!("expected {}, found `{}`", $what, self.0))),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Text<'_> {
    type Error = Error;

    parsed! {
        deserialize_bool visit_bool "true or false"
        deserialize_i8 visit_i8 "an integer"
        deserialize_i16 visit_i16 "an integer"
        deserialize_i32 visit_i32 "an integer"
        deserialize_i64 visit_i64 "an integer"
        deserialize_i128 visit_i128 "an integer"
        deserialize_u8 visit_u8 "an integer"
        deserialize_u16 visit_u16 "an integer"
        deserialize_u32 visit_u32 "an integer"
        deserialize_u64 visit_u64 "an integer"
        deserialize_u128 visit_u128 "an integer"
        deserialize_f32 visit_f32 "a number"
        deserialize_f64 visit_f64 "a number"
        deserialize_char visit_char "one character"
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.into_deserializer().deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Error> for Text<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct All {
        text: String,
        number: i64,
        flag: Option<bool>,
        mode: Mode,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Mode {
        Fast,
    }

    fn check<T: DeserializeOwned + PartialEq + std::fmt::Debug>(
        arguments: &[(&str, &str)],
        want: Result<T, &str>,
    ) {
        let arguments = arguments.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        assert_eq!(
            read::<T>(&arguments).map_err(|e| e.to_string()),
            want.map_err(str::to_owned),
            "{arguments:?}"
        );
    }

    #[test]
    fn strings_fit_many_types() {
        let all = [("text", "7"), ("number", "7"), ("mode", "fast"), ("unknown", "x")];
        check(&all, Ok(All { text: "7".into(), number: 7, flag: None, mode: Mode::Fast }));
        check(&[("a", "b")], Ok(BTreeMap::from([("a".to_owned(), "b".to_owned())])));
        check(&[("a", "b")], Ok(()));
        check::<All>(&[("text", "7"), ("number", "x")], Err("expected an integer, found `x`"));
        check::<All>(&[("text", "7")], Err("missing field `number`"));
    }
}
