//! Reads types from JSON that is known to be valid, which spares checking it a second time.
//!
//! It is quick about what params are made of: whole numbers, strings, lists, objects and enums. Other numbers
//! and bytes are handed to serde_json, so that a type sees the same from both. If a value does not fit,
//! serde_json reads it again and explains why: the errors from here are never shown.

mod key;
mod variant;

use std::iter::once;

use key::Key;
use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{self, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::de::StrRead;
use serde_json::{Error, Result};

use crate::json::cursor::Cursor;
use crate::json::scan::MAX_DEPTH;

/// How serde_json asks for the text of a value. Should it ask in another way one day, it is asked itself.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// A serde deserializer for JSON that is known to be valid.
///
/// It reads what serde_json reads, faster. What it refuses, serde_json can explain: [`RawJson::parse`] asks it
/// then, and is what most users want.
///
/// [`RawJson::parse`]: crate::RawJson::parse
///
/// ```
/// use sabir_proto::{Cursor, Deserializer, RawJson};
/// use serde::Deserialize;
///
/// let json = RawJson::new(r#"{"a": [1, 2]}"#)?;
/// let a = Cursor::new(&json).member("a").unwrap();
/// let pair = <(u8, u8)>::deserialize(&mut Deserializer::new(Cursor::trusted(a)))?;
/// assert_eq!(pair, (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Deserializer<'de> {
    cursor: Cursor<'de>,
    /// Containers that may still be opened: types recurse.
    depth: u8,
}

impl<'de> Deserializer<'de> {
    /// Reads the value at which `cursor` is.
    #[inline]
    pub fn new(cursor: Cursor<'de>) -> Self {
        Deserializer { cursor, depth: MAX_DEPTH }
    }

    /// Passes a string or refuses.
    #[inline]
    fn string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        Key::next(&mut self.cursor).visit(visitor)
    }

    #[inline]
    fn open(&mut self) -> Result<()> {
        self.cursor.advance(1);
        self.depth = self.depth.checked_sub(1).ok_or_else(mismatch)?;
        Ok(())
    }

    #[inline]
    fn close(&mut self, byte: u8) -> Result<()> {
        self.depth += 1;
        if self.cursor.pass(byte) { Ok(()) } else { Err(mismatch()) }
    }

    #[inline]
    fn list<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        self.open()?;
        let value = visitor.visit_seq(Items { de: self, first: true })?;
        self.close(b']')?;
        Ok(value)
    }

    #[inline]
    fn object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        self.open()?;
        let value = visitor.visit_map(Items { de: self, first: true })?;
        self.close(b'}')?;
        Ok(value)
    }

    /// Lets serde_json read the value that is next.
    fn hand_over<T>(
        &mut self,
        read: impl FnOnce(&mut serde_json::Deserializer<StrRead<'de>>) -> Result<T>,
    ) -> Result<T> {
        hand_over(self.cursor.value(), read)
    }
}

/// Lets serde_json read a text.
fn hand_over<'de, T>(
    text: &'de str,
    read: impl FnOnce(&mut serde_json::Deserializer<StrRead<'de>>) -> Result<T>,
) -> Result<T> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = read(&mut json)?;
    json.end()?;
    Ok(value)
}

/// Why a value does not fit, without serde_json's " at line 1 column 5": params and results are one line of a
/// larger message, so that it names no place.
///
/// ```
/// let error = serde_json::from_str::<u8>("\"x\"").unwrap_err();
/// assert_eq!(sabir_proto::error_reason(&error), "invalid type: string \"x\", expected u8");
/// ```
pub fn error_reason(error: &Error) -> String {
    let mut text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    if text.ends_with(&place) {
        text.truncate(text.len() - place.len());
    }
    text
}

enum Integer {
    Positive(u64),
    Negative(i64),
}

impl Integer {
    /// The whole number with which `bytes` begin, if it fits and is plainly written, and its length.
    #[inline]
    fn read(bytes: &[u8]) -> Option<(Integer, usize)> {
        let (negative, digits) = match bytes {
            [b'-', digits @ ..] => (true, digits),
            digits => (false, digits),
        };
        let mut number = 0u64;
        let mut len = 0;
        while let Some(digit) = digits.get(len).map(|c| c.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
            len += 1;
        }
        // Nineteen digits always fit. `-0` is a fraction to serde_json.
        if len > 19 || matches!(digits.get(len), Some(b'.' | b'e' | b'E')) || (negative && number == 0) {
            return None;
        }
        let integer = match negative {
            true => Integer::Negative(0i64.checked_sub_unsigned(number)?),
            false => Integer::Positive(number),
        };
        Some((integer, usize::from(negative) + len))
    }

    #[inline]
    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self {
            Integer::Positive(number) => visitor.visit_u64(number),
            Integer::Negative(number) => visitor.visit_i64(number),
        }
    }
}

#[cold]
fn mismatch() -> Error {
    Error::custom("the value does not fit")
}

macro_rules! numbers {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.cursor.peek() {
                b'-' | b'0'..=b'9' => match Integer::read(self.cursor.rest()) {
                    Some((integer, len)) => {
                        self.cursor.advance(len);
                        integer.visit(visitor)
                    }
                    None => self.hand_over(|json| json.$name(visitor)),
                },
                _ => Err(mismatch()),
            }
        })*
    };
}

macro_rules! strings {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.cursor.peek() {
                b'"' => self.string(visitor),
                _ => Err(mismatch()),
            }
        })*
    };
}

macro_rules! handed_over {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            self.hand_over(|json| json.$name(visitor))
        })*
    };
}

impl<'de> de::Deserializer<'de> for &mut Deserializer<'de> {
    type Error = Error;

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
    }

    strings! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    handed_over! { deserialize_i128 deserialize_u128 deserialize_bytes deserialize_byte_buf }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.cursor.peek() {
            b'"' => self.string(visitor),
            b'[' => self.list(visitor),
            b'{' => self.object(visitor),
            b'n' => self.deserialize_unit(visitor),
            b't' | b'f' => self.deserialize_bool(visitor),
            _ => match Integer::read(self.cursor.rest()) {
                Some((integer, len)) => {
                    self.cursor.advance(len);
                    integer.visit(visitor)
                }
                None => self.hand_over(|json| json.deserialize_any(visitor)),
            },
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let (value, len) = match self.cursor.peek() {
            b't' => (true, "true".len()),
            b'f' => (false, "false".len()),
            _ => return Err(mismatch()),
        };
        self.cursor.advance(len);
        visitor.visit_bool(value)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.cursor.peek() != b'n' {
            return Err(mismatch());
        }
        self.cursor.advance("null".len());
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.cursor.peek() != b'n' {
            return visitor.visit_some(self);
        }
        self.cursor.advance("null".len());
        visitor.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        if name == RAW_VALUE {
            let text =
                (BorrowedStrDeserializer::new(name), BorrowedStrDeserializer::new(self.cursor.value()));
            return visitor.visit_map(MapDeserializer::new(once(text)));
        }
        if name.starts_with("$serde_json") {
            return self.hand_over(|json| json.deserialize_newtype_struct(name, visitor));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.cursor.peek() == b'[' { self.list(visitor) } else { Err(mismatch()) }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.cursor.peek() == b'{' { self.object(visitor) } else { Err(mismatch()) }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.cursor.peek() {
            b'[' => self.list(visitor),
            b'{' => self.object(visitor),
            _ => Err(mismatch()),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.cursor.peek() {
            b'"' => visitor.visit_enum(variant::Unit(self)),
            b'{' => {
                self.open()?;
                let value = visitor.visit_enum(variant::WithContent(self))?;
                self.close(b'}')?;
                Ok(value)
            }
            _ => Err(mismatch()),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.cursor.value();
        visitor.visit_unit()
    }
}

/// What is left of a list or an object.
struct Items<'p, 'de> {
    de: &'p mut Deserializer<'de>,
    first: bool,
}

impl<'de> Items<'_, 'de> {
    /// Goes on to the next item, unless `end` closes them.
    #[inline]
    fn advance(&mut self, end: u8) -> Result<bool> {
        let next = self.de.cursor.peek();
        if next == end {
            return Ok(false);
        }
        if !std::mem::take(&mut self.first) {
            if next != b',' {
                return Err(mismatch());
            }
            self.de.cursor.advance(1);
        }
        Ok(true)
    }

    /// Reads the value that is next. Behind one that does not fit there is nothing more to read: nobody
    /// knows where it ends.
    #[inline]
    fn value<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        seed.deserialize(&mut *self.de).inspect_err(|_| self.de.cursor.end())
    }
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>> {
        if self.advance(b']')? { self.value(seed).map(Some) } else { Ok(None) }
    }
}

impl<'de> MapAccess<'de> for Items<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>> {
        if !self.advance(b'}')? {
            return Ok(None);
        }
        if self.de.cursor.peek() != b'"' {
            return Err(mismatch());
        }
        seed.deserialize(Key::next(&mut self.de.cursor)).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        if !self.de.cursor.pass(b':') {
            return Err(mismatch());
        }
        self.value(seed)
    }
}

#[cfg(test)]
mod tests;
