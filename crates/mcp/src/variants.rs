//! The words that the members of a struct take, where they are enums: found out by letting the struct be read. So the types
//! of a template's variables need nothing but to be readable.

use std::cell::{Cell, RefCell};

use serde::de::value::{Error, MapDeserializer};
use serde::de::{DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

type Names = &'static [&'static str];

/// The members of a type that are enums, and the words that each takes.
pub(crate) fn choices<T: DeserializeOwned>() -> Vec<(String, Vec<String>)> {
    let members = Cell::new(&[] as Names);
    // It reads no value, so it always fails.
    let _ = T::deserialize(Struct { members: &members, member: None });
    let choices = members.get().iter().filter_map(|name| {
        let words = words::<T>(name);
        (!words.is_empty()).then(|| ((*name).to_owned(), words))
    });
    choices.collect()
}

fn words<T: DeserializeOwned>(name: &'static str) -> Vec<String> {
    let read = |word: Option<&'static str>| {
        let found = RefCell::new(Found::default());
        let member = Member { name, word, found: &found };
        let _ = T::deserialize(Struct { members: &Cell::new(&[]), member: Some(member) });
        found.into_inner()
    };
    let variants = read(None).variants.iter();
    // A variant with data is not one word.
    variants.filter(|word| read(Some(word)).is_one_word).map(|word| (*word).to_owned()).collect()
}

#[derive(Default)]
struct Found {
    variants: Names,
    is_one_word: bool,
}

/// A member that is read, from a word if there is one.
#[derive(Clone, Copy)]
struct Member<'f> {
    name: &'static str,
    word: Option<&'static str>,
    found: &'f RefCell<Found>,
}

/// Notes which members there are, or has one of them read.
struct Struct<'f> {
    members: &'f Cell<Names>,
    member: Option<Member<'f>>,
}

fn nothing() -> Error {
    Error::custom("there is nothing to read")
}

impl<'de> Deserializer<'de> for Struct<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        members: Names,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.members.set(members);
        let member = self.member.ok_or_else(nothing)?;
        visitor.visit_map(MapDeserializer::new(std::iter::once((member.name, member))))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(nothing())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de> Deserializer<'de> for Member<'_> {
    type Error = Error;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: Names,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.found.borrow_mut().variants = variants;
        let read = visitor.visit_enum(self.word.ok_or_else(nothing)?.into_deserializer());
        self.found.borrow_mut().is_one_word = read.is_ok();
        read
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

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(nothing())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Error> for Member<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[allow(dead_code)]
    enum Unit {
        Celsius,
        #[serde(rename = "K")]
        Kelvin,
        OfOurOwn(u8),
        WithParts {
            scale: f64,
        },
    }

    #[derive(Deserialize)]
    #[allow(dead_code)]
    struct Wrapped(Unit);

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[allow(dead_code)]
    struct All {
        first_unit: Unit,
        maybe: Option<Unit>,
        wrapped: Wrapped,
        text: String,
        number: u8,
        list: Vec<Unit>,
    }

    #[test]
    fn enums_are_found_wherever_a_word_may_stand() {
        let found = choices::<All>();
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["firstUnit", "maybe", "wrapped"]);
        assert!(found.iter().all(|(_, words)| *words == ["celsius", "K"]), "{found:?}");
        // These have no members that are known.
        assert!(choices::<BTreeMap<String, Unit>>().is_empty());
        assert!(choices::<()>().is_empty());
        assert!(choices::<Unit>().is_empty());
    }
}
