//! Reads types from JSON that is known to be valid, which spares checking it a second time.
//!
//! It is quick about what params are made of: whole numbers, strings without escapes, lists and objects.
//! Everything else is handed to serde_json piece by piece, so that a type sees the same from both. Why
//! something does not fit is serde_json's to say, by reading it all again.

use std::iter::once;

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::de::StrRead;
use serde_json::{Error, Result};

use crate::RawJson;

/// For fuzzers.
#[cfg(all(feature = "fuzzing", feature = "http"))]
pub(crate) mod fuzzing {
    use serde::Deserialize;

    use super::{Place, RawJson, Result};

    /// A type from valid JSON, without a second opinion.
    pub fn read<'de, T: Deserialize<'de>>(json: &'de RawJson<'_>) -> Result<T> {
        T::deserialize(&mut Place::start_of(json))
    }
}

/// How serde_json asks for the text of a value. Should it ask in another way one day, it is asked itself.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// A place in valid JSON text: where a value starts, or white space before it.
pub(crate) struct Place<'de> {
    text: &'de str,
    at: usize,
}

impl<'de> Place<'de> {
    pub(crate) fn start_of(raw: &'de RawJson<'_>) -> Self {
        Place { text: raw.as_str(), at: 0 }
    }

    /// The byte here, or 0 behind the end.
    #[inline]
    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// The next byte that is no white space. It is not passed.
    #[inline]
    pub(crate) fn peek(&mut self) -> u8 {
        let mut next = self.byte();
        while next <= b' ' && self.at < self.text.len() {
            self.at += 1;
            next = self.byte();
        }
        next
    }

    /// Passes the byte if it is next.
    #[inline]
    pub(crate) fn pass(&mut self, byte: u8) -> Result<()> {
        if self.peek() != byte {
            return Err(unfit());
        }
        self.at += 1;
        Ok(())
    }

    /// Passes the value that starts here. Its text.
    #[inline]
    fn skip(&mut self) -> &'de str {
        let first = self.peek();
        let start = self.at;
        match first {
            b'"' | b'[' | b'{' => self.skip_nested(),
            _ => self.skip_scalar(),
        }
        &self.text[start..self.at]
    }

    fn skip_nested(&mut self) {
        let mut depth = 0;
        while self.at < self.text.len() {
            match self.byte() {
                b'"' => self.skip_string(),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth -= 1;
                    self.at += 1;
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                    self.at += 1;
                    continue;
                }
                _ => self.skip_scalar(),
            }
            if depth == 0 {
                break;
            }
        }
    }

    /// Most are whole numbers, and short.
    #[inline]
    fn skip_scalar(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
        // `]` with the bit is `}`.
        let ends = |&c: &u8| c <= b' ' || c == b',' || c | 0x20 == b'}';
        let more = rest[digits..].iter().position(ends).unwrap_or(rest.len() - digits);
        self.at += digits + more;
    }

    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(stop) = memchr::memchr2(b'"', b'\\', &self.text.as_bytes()[self.at..]) {
            let quote = self.text.as_bytes()[self.at + stop] == b'"';
            self.at += stop + if quote { 1 } else { 2 };
            if quote {
                return;
            }
        }
    }

    /// The string that starts here, if it holds no escapes. It is passed then, and only then.
    #[inline]
    fn plain_string(&mut self) -> Option<&'de str> {
        let rest = self.text[self.at..].strip_prefix('"')?;
        let end = memchr::memchr2(b'"', b'\\', rest.as_bytes())?;
        if rest.as_bytes()[end] != b'"' {
            return None;
        }
        self.at += end + 2;
        Some(&rest[..end])
    }

    /// The whole number that starts here, if it fits and is plainly written. It is passed then, and only
    /// then.
    #[inline]
    fn integer(&mut self) -> Option<Integer> {
        let bytes = &self.text.as_bytes()[self.at..];
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
        self.at += usize::from(negative) + len;
        Some(integer)
    }

    fn string<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        match self.plain_string() {
            Some(plain) => visitor.visit_borrowed_str(plain),
            None => self.hand_over(|json| json.deserialize_str(visitor)),
        }
    }

    fn list<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        self.at += 1;
        let value = visitor.visit_seq(Items { place: self, first: true })?;
        self.pass(b']')?;
        Ok(value)
    }

    fn object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value> {
        self.at += 1;
        let value = visitor.visit_map(Items { place: self, first: true })?;
        self.pass(b'}')?;
        Ok(value)
    }

    /// Lets serde_json read the value that starts here.
    fn hand_over<T>(
        &mut self,
        read: impl FnOnce(&mut serde_json::Deserializer<StrRead<'de>>) -> Result<T>,
    ) -> Result<T> {
        let mut json = serde_json::Deserializer::from_str(self.skip());
        let value = read(&mut json)?;
        json.end()?;
        Ok(value)
    }
}

enum Integer {
    Positive(u64),
    Negative(i64),
}

impl Integer {
    #[inline]
    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self {
            Integer::Positive(number) => visitor.visit_u64(number),
            Integer::Negative(number) => visitor.visit_i64(number),
        }
    }
}

#[cold]
fn unfit() -> Error {
    Error::custom("the value does not fit")
}

macro_rules! numbers {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.peek() {
                b'-' | b'0'..=b'9' => match self.integer() {
                    Some(integer) => integer.visit(visitor),
                    None => self.hand_over(|json| json.$name(visitor)),
                },
                _ => Err(unfit()),
            }
        })*
    };
}

macro_rules! strings {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            match self.peek() {
                b'"' => self.string(visitor),
                _ => Err(unfit()),
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

impl<'de> Deserializer<'de> for &mut Place<'de> {
    type Error = Error;

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
    }

    strings! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    handed_over! { deserialize_i128 deserialize_u128 deserialize_bytes deserialize_byte_buf }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek() {
            b'"' => self.string(visitor),
            b'[' => self.list(visitor),
            b'{' => self.object(visitor),
            b'n' => self.deserialize_unit(visitor),
            b't' | b'f' => self.deserialize_bool(visitor),
            _ => match self.integer() {
                Some(integer) => integer.visit(visitor),
                None => self.hand_over(|json| json.deserialize_any(visitor)),
            },
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.peek() {
            b't' => {
                self.at += "true".len();
                visitor.visit_bool(true)
            }
            b'f' => {
                self.at += "false".len();
                visitor.visit_bool(false)
            }
            _ => Err(unfit()),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.peek() != b'n' {
            return Err(unfit());
        }
        self.at += "null".len();
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.peek() != b'n' {
            return visitor.visit_some(self);
        }
        self.at += "null".len();
        visitor.visit_none()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        if name == RAW_VALUE {
            let text = (BorrowedStrDeserializer::new(name), BorrowedStrDeserializer::new(self.skip()));
            return visitor.visit_map(MapDeserializer::new(once(text)));
        }
        if name.starts_with("$serde_json") {
            return self.hand_over(|json| json.deserialize_newtype_struct(name, visitor));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        if self.peek() == b'[' { self.list(visitor) } else { Err(unfit()) }
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
        if self.peek() == b'{' { self.object(visitor) } else { Err(unfit()) }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.peek() {
            b'[' => self.list(visitor),
            b'{' => self.object(visitor),
            _ => Err(unfit()),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.hand_over(|json| json.deserialize_enum(name, variants, visitor))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.skip();
        visitor.visit_unit()
    }
}

/// What is left of a list or an object.
struct Items<'p, 'de> {
    place: &'p mut Place<'de>,
    first: bool,
}

impl<'de> Items<'_, 'de> {
    /// Goes on to the next item, unless `end` closes them.
    #[inline]
    fn advance(&mut self, end: u8) -> Result<bool> {
        let next = self.place.peek();
        if next == end {
            return Ok(false);
        }
        if !std::mem::take(&mut self.first) {
            if next != b',' {
                return Err(unfit());
            }
            self.place.at += 1;
        }
        Ok(true)
    }

    /// Reads the value that is next. Behind one that does not fit there is nothing more to read: nobody
    /// knows where it ends.
    #[inline]
    fn value<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value> {
        seed.deserialize(&mut *self.place).inspect_err(|_| self.place.at = self.place.text.len())
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
        self.place.peek();
        let name = self.place.plain_string().ok_or_else(unfit)?;
        seed.deserialize(Name(name)).map(Some)
    }

    #[inline]
    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value> {
        self.place.pass(b':')?;
        self.value(seed)
    }
}

/// The name of a member. Where it is to be more than text or a number, serde_json has to read it all.
struct Name<'de>(&'de str);

macro_rules! numbers_in_names {
    ($($name:ident)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            // A name is any text, while a value that begins like a number is one.
            let ([b'-', digits @ ..] | digits) = self.0.as_bytes();
            if !matches!(digits, [b'1'..=b'9', ..] | b"0") {
                return Err(unfit());
            }
            let mut place = Place { text: self.0, at: 0 };
            let integer = place.integer().filter(|_| place.at == place.text.len());
            integer.ok_or_else(unfit)?.visit(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Name<'de> {
    type Error = Error;

    numbers_in_names! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct
        map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests;
