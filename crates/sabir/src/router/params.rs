//! Params to types: by position or by name into the same type, and errors that say where.

use sabir_proto::{Cursor, Deserializer as ValidJson, error_reason};
use serde::de::value::Error as NoPath;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use crate::{ErrorCode, ErrorObject, JsonKind, RawJson};

/// Reads params into a type.
///
/// A struct takes an object by name or an array by position; a tuple or a list takes an array. A single
/// value takes the only element of an array. `()` and `Option` take nothing, too.
#[inline]
pub(crate) fn read<P: DeserializeOwned>(params: Option<&RawJson<'_>>) -> Result<P, ErrorObject> {
    P::deserialize(Params::<false>(params)).or_else(|_| read_again(params))
}

/// Parses JSON into a type, as [`RawJson::parse`] does: for those who take their params as text.
///
/// ```
/// let params = sabir::RawJson::new(r#"{"a": 1}"#)?;
/// let read: std::collections::HashMap<&str, i64> = sabir::parse(&params)?;
/// assert_eq!(read["a"], 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[inline]
pub fn parse<'de, T: Deserialize<'de>>(json: &'de RawJson<'_>) -> Result<T, serde_json::Error> {
    json.parse()
}

/// Reads once more to find out where it goes wrong, which would cost too much to know beforehand.
#[cold]
fn read_again<P: DeserializeOwned>(params: Option<&RawJson<'_>>) -> Result<P, ErrorObject> {
    #[derive(serde::Serialize)]
    struct Data {
        reason: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    }
    serde_path_to_error::deserialize(Params::<true>(params)).map_err(|error| {
        let path = error.path().to_string();
        let reason = error_reason(&error.into_inner());
        let path = (path != ".").then_some(path);
        ErrorObject::standard(ErrorCode::INVALID_PARAMS).with_data(&Data { reason, path })
    })
}

/// Read by serde_json if they are to be `EXPLAINED`, and faster if not.
#[derive(Clone, Copy)]
struct Params<'a, const EXPLAINED: bool>(Option<&'a RawJson<'a>>);

impl<'a, const EXPLAINED: bool> Params<'a, EXPLAINED> {
    /// Nothing, or nothing but what travels beside the arguments.
    fn is_empty(self) -> bool {
        self.0.is_none_or(|raw| match raw.kind() {
            JsonKind::Object => raw.members().all(|(name, _)| name == "_meta"),
            _ => raw.elements().next().is_none(),
        })
    }

    /// The text of the only argument, for types that are no list and no object.
    fn only(self) -> Result<&'a str, serde_json::Error> {
        let params = self.0.ok_or_else(missing)?;
        let mut elements = Cursor::new(params).elements();
        match (params.kind(), elements.next(), elements.next()) {
            (JsonKind::Array, Some(only), None) => Ok(only),
            (JsonKind::Array, None, _) => Err(serde_json::Error::custom("expected one argument, found none")),
            (JsonKind::Array, ..) => Err(serde_json::Error::custom("expected one argument, found more")),
            _ => Err(serde_json::Error::custom("expected an array with one argument, found an object")),
        }
    }
}

fn missing() -> serde_json::Error {
    serde_json::Error::custom("params are missing")
}

/// Reads the whole of the params.
macro_rules! whole {
    ($params:ident.$name:ident($($argument:expr),*)) => {{
        let raw = $params.0.ok_or_else(missing)?;
        if EXPLAINED {
            serde_json::Deserializer::from_str(raw.as_str()).$name($($argument),*)
        } else {
            ValidJson::new(Cursor::new(raw)).$name($($argument),*)
        }
    }};
}

macro_rules! one_argument {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            let only = self.only()?;
            if EXPLAINED {
                serde_json::Deserializer::from_str(only).$name(visitor)
            } else {
                ValidJson::new(Cursor::trusted(only)).$name(visitor)
            }
        })*
    };
}

impl<'de, const EXPLAINED: bool> Deserializer<'de> for Params<'de, EXPLAINED> {
    type Error = serde_json::Error;

    one_argument! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32
        deserialize_f64 deserialize_char deserialize_str deserialize_string deserialize_bytes
        deserialize_byte_buf deserialize_identifier
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0 {
            Some(_) => whole!(self.deserialize_any(visitor)),
            None => visitor.visit_unit(),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        if self.is_empty() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        if self.is_empty() { visitor.visit_unit() } else { Err(Self::Error::custom("expected no params")) }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        // Raw values are newtype structs of a magic name: they take everything.
        if name.starts_with("$serde_json") {
            return whole!(self.deserialize_newtype_struct(name, visitor));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        whole!(self.deserialize_seq(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Self::Error> {
        whole!(self.deserialize_tuple(len, visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        whole!(self.deserialize_tuple_struct(name, len, visitor))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.0 {
            Some(_) => whole!(self.deserialize_map(visitor)),
            None => visitor.visit_map(serde::de::value::MapDeserializer::<_, serde_json::Error>::new(
                std::iter::empty::<(&str, &str)>(),
            )),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self.0 {
            Some(_) => whole!(self.deserialize_struct(name, fields, visitor)),
            // A struct whose members are all optional needs no params.
            None => self.deserialize_map(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self.0 {
            Some(raw) if raw.kind() == JsonKind::Array => {
                let (only,): (String,) = raw.parse()?;
                let only = IntoDeserializer::<NoPath>::into_deserializer(only);
                only.deserialize_enum(name, variants, visitor).map_err(Self::Error::custom)
            }
            _ => whole!(self.deserialize_enum(name, variants, visitor)),
        }
    }

    forward_to_deserialize_any! { ignored_any }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Pair {
        a: i64,
        b: i64,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Optional {
        #[serde(default)]
        a: Option<i64>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    enum Mode {
        Fast,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Nested {
        pairs: Vec<Pair>,
    }

    fn check<P: DeserializeOwned + std::fmt::Debug + PartialEq>(params: &str, want: Result<P, &str>) {
        let raw = (!params.is_empty()).then(|| RawJson::new(params).expect("the case is JSON"));
        let got =
            read::<P>(raw.as_ref()).map_err(|error| error.data.map_or(String::new(), |d| d.to_string()));
        assert_eq!(got, want.map_err(str::to_owned), "{params}");
    }

    #[test]
    fn params_fit_many_types() {
        check("[1,2]", Ok(Pair { a: 1, b: 2 }));
        check(r#"{"b":2,"a":1}"#, Ok(Pair { a: 1, b: 2 }));
        check("[1,2]", Ok((1, 2)));
        check("[1,2]", Ok(vec![1, 2]));
        check(r#"["x"]"#, Ok("x".to_owned()));
        check("[5]", Ok(5u8));
        check("[true]", Ok(true));
        check("[170141183460469231731687303715884105727]", Ok(i128::MAX));
        check("[5]", Ok(Some(5)));
        check("[]", Ok(None::<i64>));
        check("", Ok(None::<i64>));
        for nothing in ["", "[]", "{}", "[ ]", r#"{"_meta":{"progressToken":1}}"#] {
            check(nothing, Ok(()));
        }
        check("", Ok(Optional { a: None }));
        check("{}", Ok(Optional { a: None }));
        check(r#"["Fast"]"#, Ok(Mode::Fast));
        check(r#"{"x":1}"#, Ok(BTreeMap::from([("x".to_owned(), 1)])));
        check(r#"{"x":[1]}"#, Ok(serde_json::json!({"x": [1]})));
    }

    #[test]
    fn what_does_not_fit_says_where_and_why() {
        check::<Pair>(r#"{"a":1}"#, Err(r#"{"reason":"missing field `b`"}"#));
        check::<Pair>(
            r#"{"a":1,"b":"x"}"#,
            Err(r#"{"reason":"invalid type: string \"x\", expected i64","path":"b"}"#),
        );
        check::<Pair>("", Err(r#"{"reason":"missing field `a`"}"#));
        check::<(i64, i64)>("", Err(r#"{"reason":"params are missing"}"#));
        check::<(i64, i64)>("[1]", Err(r#"{"reason":"invalid length 1, expected a tuple of size 2"}"#));
        check::<(i64, i64)>("[1,2,3]", Err(r#"{"reason":"trailing characters"}"#));
        check::<i64>("[1,2]", Err(r#"{"reason":"expected one argument, found more"}"#));
        check::<()>("[1]", Err(r#"{"reason":"expected no params"}"#));
        check::<Nested>(
            r#"{"pairs":[{"a":1,"b":2},{"a":1,"b":null}]}"#,
            Err(r#"{"reason":"invalid type: null, expected i64","path":"pairs[1].b"}"#),
        );
    }
}
