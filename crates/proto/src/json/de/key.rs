//! A string: as a value, and as the name of a member, where maps may want a number in quotes.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Result};

use super::{Integer, hand_over, mismatch};
use crate::json::cursor::Cursor;
use crate::json::string::unescape;

pub(super) struct Key<'de> {
    /// The text between the quotes.
    inner: &'de str,
    escaped: bool,
}

impl<'de> Key<'de> {
    /// Passes the string that starts at the cursor.
    #[inline]
    pub(super) fn next(cursor: &mut Cursor<'de>) -> Self {
        let (inner, escaped) = cursor.inner_string();
        Key { inner, escaped }
    }

    #[inline]
    pub(super) fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if !self.escaped {
            return visitor.visit_borrowed_str(self.inner);
        }
        visitor.visit_string(unescape(self.inner).ok_or_else(mismatch)?)
    }

    /// The string, if it is written without escapes. With them, whatever is more than text is left to serde_json.
    fn plain(self) -> Result<&'de str> {
        if self.escaped { Err(mismatch()) } else { Ok(self.inner) }
    }
}

macro_rules! numbers {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            // serde_json takes numbers as they are written, without white space around them or escapes.
            let text = self.plain()?;
            let ([b'-', digits @ ..] | digits) = text.as_bytes();
            if !matches!(digits.first(), Some(b'0'..=b'9')) || !text.ends_with(|c: char| c.is_ascii_digit()) {
                return Err(mismatch());
            }
            match Integer::read(text.as_bytes()) {
                Some((integer, len)) if len == text.len() && matches!(digits, [b'1'..=b'9', ..] | b"0") => {
                    integer.visit(visitor)
                }
                _ => hand_over(text, |json| json.$name(visitor)),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Error;

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
    }

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.visit(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.plain()? {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(mismatch()),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_bytes(self.plain()?.as_bytes())
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        if name.starts_with("$serde_json") {
            return Err(mismatch());
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        BorrowedStrDeserializer::new(self.plain()?).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        char str string unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
