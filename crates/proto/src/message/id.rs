//! Request ids: the exact text as it came, compared by what it means.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::decimal::Decimal;
use crate::json::raw::{JsonKind, RawJson};
use crate::json::string::JsonStr;

/// The id of a request: a string, a number or null, with its JSON text kept.
///
/// What the peer sent is what it gets back: `1.0`, `9007199254740993` and `"a\u0041"` are echoed to the
/// letter. Comparison is by value, so `1` equals `1.0` and `"aA"` equals `"a\u0041"`, while `1` and `"1"`
/// are different ids. The order is null, then numbers, then strings.
///
/// ```
/// use sabir_proto::Id;
///
/// assert_eq!(Id::from(7).to_string(), "7");
/// assert_eq!(Id::from("7").to_string(), "\"7\"");
/// assert_ne!(Id::from(7), Id::from("7"));
/// assert_eq!(Id::from(7).as_u64(), Some(7));
/// ```
#[derive(Clone)]
pub struct Id<'a>(Cow<'a, str>);

impl<'a> Id<'a> {
    /// The id of an answer to something whose own id could not be read.
    pub const NULL: Id<'static> = Id(Cow::Borrowed("null"));

    /// `text` is the JSON text of a string, a number or null.
    pub(crate) const fn trusted(text: &'a str) -> Self {
        Id(Cow::Borrowed(text))
    }

    /// The id that a JSON value spells; `None` for booleans, arrays and objects.
    pub fn from_json(raw: RawJson<'a>) -> Option<Self> {
        matches!(raw.kind(), JsonKind::String | JsonKind::Number | JsonKind::Null)
            .then(|| Id(raw.into_text()))
    }

    /// The JSON text, with quotes and escapes as they came.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        self.0.starts_with('n')
    }

    /// The string, if this is one. `None` too if it holds a lone surrogate.
    pub fn as_str(&self) -> Option<Cow<'_, str>> {
        JsonStr::trusted(&self.0)?.value()
    }

    /// The number, if this is a non-negative integer that fits.
    pub fn as_u64(&self) -> Option<u64> {
        match self.0.as_bytes()[0] {
            b'"' | b'n' => None,
            _ => self.0.parse().ok().or_else(|| Decimal::new(&self.0).to_u64()),
        }
    }

    /// Whether this is a number with a fractional value. `1.0` is an integer, `1.5` is not.
    pub fn is_fractional(&self) -> bool {
        match self.0.as_bytes() {
            [b'"' | b'n', ..] => false,
            text => memchr::memchr3(b'.', b'e', b'E', text).is_some() && !Decimal::new(&self.0).is_integer(),
        }
    }

    /// A view that borrows from this one.
    pub fn as_borrowed(&self) -> Id<'_> {
        Id(Cow::Borrowed(&self.0))
    }

    /// The same id, free of what it borrowed from.
    pub fn into_owned(self) -> Id<'static> {
        Id(Cow::Owned(self.0.into_owned()))
    }

    /// Whether equal ids must have equal text: true of nearly all.
    #[inline]
    fn is_plain(&self) -> bool {
        match self.0.as_bytes() {
            [b'"', rest @ ..] => memchr::memchr(b'\\', rest).is_none(),
            [b'-', b'0', ..] => false,
            [b'n', ..] => true,
            // Beyond `Decimal::plain`'s length, integers too have a spelling of their own.
            text if text.len() > 4096 => false,
            [b'-', digits @ ..] | digits => digits.iter().all(u8::is_ascii_digit),
        }
    }

    /// The rank of null, numbers and strings.
    fn rank(&self) -> u8 {
        match self.0.as_bytes()[0] {
            b'n' => 0,
            b'"' => 2,
            _ => 1,
        }
    }
}

impl PartialEq for Id<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || (!(self.is_plain() && other.is_plain()) && self.cmp(other) == Ordering::Equal)
    }
}

impl Eq for Id<'_> {}

impl Ord for Id<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank()).then_with(|| match self.rank() {
            0 => Ordering::Equal,
            1 => Decimal::new(&self.0).cmp(&Decimal::new(&other.0)),
            // A lone surrogate has no value: its text equals only itself, and comes first.
            _ => match (self.as_str(), other.as_str()) {
                (None, None) => self.0.cmp(&other.0),
                (a, b) => a.cmp(&b),
            },
        })
    }
}

impl PartialOrd for Id<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Id<'_> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.is_plain() {
            return self.0.hash(state);
        }
        // Ids that are equal by value must hash alike, so hash what the plain spelling would be.
        match self.rank() {
            1 => Decimal::new(&self.0).plain().hash(state),
            _ => match self.as_str() {
                Some(value) => format!("\"{value}\"").hash(state),
                None => self.0.hash(state),
            },
        }
    }
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({})", self.0)
    }
}

impl From<u64> for Id<'static> {
    fn from(number: u64) -> Self {
        Id(Cow::Owned(itoa::Buffer::new().format(number).to_owned()))
    }
}

impl From<&str> for Id<'static> {
    fn from(string: &str) -> Self {
        Id(Cow::Owned(serde_json::Value::from(string).to_string()))
    }
}

impl Serialize for Id<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawJson::trusted(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Id<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        let found = raw.kind();
        Id::from_json(raw).ok_or_else(|| {
            D::Error::custom(format_args!("an id must be a string, a number or null, found {found}"))
        })
    }
}
