//! JSON text that is known to be valid and that nobody has parsed yet.

use std::borrow::Cow;
use std::fmt;

use serde::de::Error as _;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::json::cursor::Cursor;
use crate::json::de::Deserializer;
use crate::json::scan::{self, MAX_DEPTH, ParseError, Syntax};

/// One JSON value as text: valid, untouched, borrowed from the message or owned.
///
/// Params and results travel as this until somebody asks for a type, so what is only forwarded is never
/// parsed and comes out byte for byte as it came in.
///
/// ```
/// use sabir_proto::RawJson;
///
/// let raw = RawJson::new(r#"{"a": 1.0, "b": [2]}"#)?;
/// assert_eq!(raw.get("a").unwrap().as_str(), "1.0");
/// let b: Vec<u8> = raw.get("b").unwrap().parse()?;
/// assert_eq!(b, [2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson<'a>(Cow<'a, str>);

/// The six kinds of JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum JsonKind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

impl JsonKind {
    /// The kind of a value, which the first byte of its text shows. Empty text counts as null.
    #[inline]
    pub fn of(text: &str) -> JsonKind {
        match text.as_bytes().first() {
            Some(b'n') | None => JsonKind::Null,
            Some(b't' | b'f') => JsonKind::Boolean,
            Some(b'"') => JsonKind::String,
            Some(b'[') => JsonKind::Array,
            Some(b'{') => JsonKind::Object,
            Some(_) => JsonKind::Number,
        }
    }
}

impl fmt::Display for JsonKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JsonKind::Null => "null",
            JsonKind::Boolean => "boolean",
            JsonKind::Number => "number",
            JsonKind::String => "string",
            JsonKind::Array => "array",
            JsonKind::Object => "object",
        })
    }
}

impl<'a> RawJson<'a> {
    /// `null`, the result of a method that returns nothing.
    pub const NULL: RawJson<'static> = RawJson(Cow::Borrowed("null"));

    /// Checks that `text` is one JSON value. White space around it is dropped.
    pub fn new(text: impl Into<Cow<'a, str>>) -> Result<Self, ParseError> {
        let text = text.into();
        let (start, end) =
            scan::whole(text.as_bytes(), MAX_DEPTH).map_err(|fail| fail.explain(text.as_bytes()))?;
        Ok(RawJson(match text {
            Cow::Borrowed(text) => Cow::Borrowed(&text[start..end]),
            Cow::Owned(text) if start == 0 && end == text.len() => Cow::Owned(text),
            Cow::Owned(text) => Cow::Owned(text[start..end].to_owned()),
        }))
    }

    /// The same for bytes that may not even be UTF-8.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, ParseError> {
        RawJson::new(utf8(bytes)?)
    }

    /// Writes `value` as JSON.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<RawJson<'static>, serde_json::Error> {
        serde_json::to_string(value).map(|text| RawJson(Cow::Owned(text)))
    }

    /// Text that a scan of this crate has already passed.
    pub(crate) const fn trusted(text: &'a str) -> Self {
        RawJson(Cow::Borrowed(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Which kind of value it is, without parsing it.
    pub fn kind(&self) -> JsonKind {
        JsonKind::of(&self.0)
    }

    /// Parses it into a type, which may borrow from the text.
    #[inline]
    pub fn parse<'s, T: Deserialize<'s>>(&'s self) -> Result<T, serde_json::Error> {
        // Only serde_json says why something does not fit.
        T::deserialize(&mut Deserializer::new(Cursor::new(self))).or_else(|_| serde_json::from_str(&self.0))
    }

    /// The value of a member, if this is an object that has it. Where a name occurs twice, the first counts.
    pub fn get(&self, member: &str) -> Option<RawJson<'_>> {
        Cursor::new(self).member(member).map(RawJson::trusted)
    }

    /// The members, if this is an object; nothing otherwise. A name that holds a lone surrogate comes as its
    /// text.
    pub fn members(&self) -> impl Iterator<Item = (Cow<'_, str>, RawJson<'_>)> {
        Cursor::new(self).members().map(|(name, value)| {
            (name.value().unwrap_or(Cow::Borrowed(name.text())), RawJson::trusted(value))
        })
    }

    /// The elements, if this is an array; nothing otherwise.
    ///
    /// ```
    /// let list = sabir_proto::RawJson::new("[1, [2], \"x\"]")?;
    /// let texts: Vec<_> = list.elements().map(|element| element.to_string()).collect();
    /// assert_eq!(texts, ["1", "[2]", "\"x\""]);
    /// # Ok::<(), sabir_proto::ParseError>(())
    /// ```
    pub fn elements(&self) -> impl Iterator<Item = RawJson<'_>> {
        Cursor::new(self).elements().map(RawJson::trusted)
    }

    /// Becomes a copy of another value, in the memory that it has.
    ///
    /// ```
    /// use sabir_proto::RawJson;
    ///
    /// let mut kept = RawJson::NULL;
    /// kept.copy_from(&RawJson::new("[1,2]")?);
    /// assert_eq!(kept.as_str(), "[1,2]");
    /// # Ok::<(), sabir_proto::ParseError>(())
    /// ```
    pub fn copy_from(&mut self, other: &RawJson<'_>) {
        match &mut self.0 {
            Cow::Owned(text) => {
                text.clear();
                text.push_str(&other.0);
            }
            borrowed => *borrowed = Cow::Owned(other.0.clone().into_owned()),
        }
    }

    /// The text, borrowed or owned as it was.
    pub fn into_text(self) -> Cow<'a, str> {
        self.0
    }

    /// The text of a value that the decoder made, which always borrows.
    pub(crate) fn borrowed(self) -> &'a str {
        match self.0 {
            Cow::Borrowed(text) => text,
            Cow::Owned(_) => unreachable!("decoded values borrow from their message"),
        }
    }

    /// A view that borrows from this one.
    pub fn as_borrowed(&self) -> RawJson<'_> {
        RawJson(Cow::Borrowed(&self.0))
    }

    /// The same value, free of what it borrowed from.
    pub fn into_owned(self) -> RawJson<'static> {
        RawJson(Cow::Owned(self.0.into_owned()))
    }
}

/// The text of `bytes`, or the offset of the first byte that is not UTF-8.
#[inline]
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, ParseError> {
    // For a small message a call costs more than the check.
    #[cfg(target_arch = "x86_64")]
    if let Some(text) = crate::json::x86::small_ascii(bytes) {
        return Ok(text);
    }
    simdutf8::basic::from_utf8(bytes).map_err(|_| not_utf8(bytes))
}

/// Only the slow validation says where.
#[cold]
fn not_utf8(bytes: &[u8]) -> ParseError {
    let offset = std::str::from_utf8(bytes).map_or_else(|e| e.valid_up_to(), str::len);
    ParseError { offset, reason: Syntax::NotUtf8 }
}

impl fmt::Debug for RawJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({})", self.0)
    }
}

impl fmt::Display for RawJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text goes out as it is.
impl Serialize for RawJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_text(&self.0, serializer)
    }
}

/// The name by which serde_json knows its own raw values. It takes raw text only from that, and a [`RawValue`] can only be
/// made by reading the text over once more.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Writes text that is known to be one JSON value, as it is, to a serializer of `serde_json`.
///
/// ```
/// struct Sum(String);
///
/// impl serde::Serialize for Sum {
///     fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
///         sabir_proto::serialize_text(&self.0, serializer)
///     }
/// }
///
/// assert_eq!(serde_json::to_string(&[Sum("1.0".to_owned())])?, "[1.0]");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn serialize_text<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let mut value = serializer.serialize_struct(RAW_VALUE, 1)?;
    value.serialize_field(RAW_VALUE, text)?;
    value.end()
}

/// serde_json has checked it.
impl<'a> From<&'a RawValue> for RawJson<'a> {
    fn from(raw: &'a RawValue) -> Self {
        RawJson::trusted(raw.get())
    }
}

/// Always owned, so that it can be a member of anything.
impl<'de> Deserialize<'de> for RawJson<'_> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: Box<str> = Box::<RawValue>::deserialize(deserializer)?.into();
        RawJson::new(String::from(raw)).map_err(D::Error::custom)
    }
}
