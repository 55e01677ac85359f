//! Params to types: by position or by name into the same type, and errors that say where.

use sabir_proto::{Cursor, Deserializer as ValidJson, error_reason};
use serde::de::value::Error as NoPath;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _, IntoDeserializer, Visitor};
use serde::{Serialize, Serializer, forward_to_deserialize_any};

use crate::{ErrorCode, ErrorObject, JsonKind, RawJson};

/// Reads params into a type.
///
/// A struct takes an object by name or an array by position; a tuple or a list takes an array. A single
/// value takes the only element of an array. `()` and `Option` take nothing, too.
///
/// If the params have a `_meta`, which `has_meta` says, only types that name it get to see it: it is not
/// an argument.
#[inline]
pub(crate) fn read<P: DeserializeOwned>(
    params: Option<&RawJson<'_>>,
    has_meta: bool,
) -> Result<P, ErrorObject> {
    if has_meta {
        return read_without_meta(params);
    }
    P::deserialize(Params::<false> { whole: params, bare: params }).or_else(|_| read_again(params, params))
}

fn read_without_meta<P: DeserializeOwned>(params: Option<&RawJson<'_>>) -> Result<P, ErrorObject> {
    let bare = params.map(|params| without(params, "_meta")).transpose()?;
    P::deserialize(Params::<false> { whole: params, bare: bare.as_ref() })
        .or_else(|_| read_again(params, bare.as_ref()))
}

/// The same object without one of its members.
fn without(params: &RawJson<'_>, member: &str) -> Result<RawJson<'static>, serde_json::Error> {
    struct Members<'a>(&'a RawJson<'a>, &'a str);
    impl Serialize for Members<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map(self.0.members().filter(|(name, _)| name != self.1))
        }
    }
    RawJson::from_value(&Members(params, member))
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
///
/// A member that travels beside the arguments is not refused: a token that the type does not know is left out,
/// and a `_meta` that it does want, though it does not say so beforehand, is left in.
#[cold]
fn read_again<P: DeserializeOwned>(
    whole: Option<&RawJson<'_>>,
    bare: Option<&RawJson<'_>>,
) -> Result<P, ErrorObject> {
    let error = match explained(Params { whole, bare }) {
        Err(error) => error,
        Ok(read) => return Ok(read),
    };
    let token = bare.filter(|bare| bare.kind() == JsonKind::Object && bare.get(TOKEN).is_some());
    if let Some(rest) = token.and_then(|bare| without(bare, TOKEN).ok())
        && let Ok(read) = P::deserialize(Params::<true> { whole, bare: Some(&rest) })
    {
        return Ok(read);
    }
    P::deserialize(Params::<true> { whole, bare: whole }).map_err(|_| error)
}

fn explained<P: DeserializeOwned>(params: Params<'_, true>) -> Result<P, ErrorObject> {
    #[derive(serde::Serialize)]
    struct Data {
        reason: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    }
    serde_path_to_error::deserialize(params).map_err(|error| {
        let path = error.path().to_string();
        let reason = match error_reason(&error.into_inner()) {
            // The JSON is whole: what trails are elements of an array.
            reason if reason == "trailing characters" => "the array has too many elements".to_owned(),
            reason => reason,
        };
        let path = (path != ".").then_some(path);
        ErrorObject::standard(ErrorCode::INVALID_PARAMS).with_data(Data { reason, path })
    })
}

/// By which LSP asks for progress. It stands among the arguments, and most types of LSP name it.
const TOKEN: &str = "workDoneToken";

/// Read by serde_json if they are to be `EXPLAINED`, and faster if not.
#[derive(Clone, Copy)]
struct Params<'a, const EXPLAINED: bool> {
    /// As they came.
    whole: Option<&'a RawJson<'a>>,
    /// Without what is not an argument.
    bare: Option<&'a RawJson<'a>>,
}

impl<'a, const EXPLAINED: bool> Params<'a, EXPLAINED> {
    /// Nothing, or nothing but what travels beside the arguments.
    fn is_empty(self) -> bool {
        self.bare.is_none_or(|raw| match raw.kind() {
            JsonKind::Object => raw.members().all(|(name, _)| name == "_meta" || name == TOKEN),
            _ => raw.elements().next().is_none(),
        })
    }

    /// For a type with these members.
    #[inline]
    fn with(self, fields: &[&str]) -> Self {
        let same = match (self.whole, self.bare) {
            (Some(whole), Some(bare)) => std::ptr::eq(whole, bare),
            _ => true,
        };
        if same || !fields.contains(&"_meta") { self } else { Params { bare: self.whole, ..self } }
    }

    /// Refuses more than `most` by position, where it has to be explained: serde_json only says that more follows.
    fn at_most(self, most: usize) -> Result<Self, serde_json::Error> {
        match self.bare {
            Some(raw) if EXPLAINED && raw.kind() == JsonKind::Array => {
                let found = raw.elements().count();
                let why = || format!("expected {most} params at most, found {found}");
                if found > most { Err(serde_json::Error::custom(why())) } else { Ok(self) }
            }
            _ => Ok(self),
        }
    }

    /// The text of the only argument, for types that are neither a list nor an object.
    fn only(self) -> Result<&'a str, serde_json::Error> {
        let params = self.bare.ok_or_else(missing)?;
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
        let raw = $params.bare.ok_or_else(missing)?;
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
        match self.bare {
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
            let all = Params { bare: self.whole, ..self };
            return whole!(all.deserialize_newtype_struct(name, visitor));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        whole!(self.deserialize_seq(visitor))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Self::Error> {
        let params = self.at_most(len)?;
        whole!(params.deserialize_tuple(len, visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let params = self.at_most(len)?;
        whole!(params.deserialize_tuple_struct(name, len, visitor))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.bare {
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
        let params = self.with(fields).at_most(fields.len())?;
        match params.bare {
            Some(_) => whole!(params.deserialize_struct(name, fields, visitor)),
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
        match self.bare {
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

#[cfg(feature = "schema")]
pub(crate) use shape::only_by_name;

/// What a type asks for when it is read.
#[cfg(feature = "schema")]
mod shape {
    use super::*;

    /// Whether a type reads its params from an object and cannot read them from an array: a map, or a struct
    /// that others are flattened into.
    pub(crate) fn only_by_name<P: DeserializeOwned>() -> bool {
        let mut map = false;
        // It is never given anything: what it asks for first is all that there is to know.
        let _ = P::deserialize(Probe(&mut map));
        map
    }

    struct Probe<'p>(&'p mut bool);

    fn enough() -> NoPath {
        NoPath::custom("nothing to read")
    }

    impl<'de> Deserializer<'de> for Probe<'_> {
        type Error = NoPath;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoPath> {
            Err(enough())
        }

        fn deserialize_map<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoPath> {
            *self.0 = true;
            Err(enough())
        }

        fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NoPath> {
            visitor.visit_some(self)
        }

        fn deserialize_newtype_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            visitor: V,
        ) -> Result<V::Value, NoPath> {
            visitor.visit_newtype_struct(self)
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
            seq tuple tuple_struct struct enum identifier ignored_any
        }
    }
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
        let has_meta = raw.as_ref().is_some_and(|raw| raw.get("_meta").is_some());
        let got = read::<P>(raw.as_ref(), has_meta)
            .map_err(|error| error.data.map_or(String::new(), |d| d.to_string()));
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

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        a: i64,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Wants {
        a: i64,
        _meta: serde_json::Value,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Flat {
        a: i64,
        #[serde(flatten)]
        more: BTreeMap<String, i64>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Token {
        a: i64,
        #[serde(flatten)]
        more: BTreeMap<String, serde_json::Value>,
    }

    #[test]
    fn what_travels_beside_the_arguments_is_none() {
        let meta = r#"{"_meta":{"progressToken":1},"a":1}"#;
        check(meta, Ok(Strict { a: 1 }));
        check(meta, Ok(Some(Strict { a: 1 })));
        check(meta, Ok(Optional { a: Some(1) }));
        check(meta, Ok(BTreeMap::from([("a".to_owned(), 1)])));
        check(meta, Ok(Flat { a: 1, more: BTreeMap::new() }));
        check(meta, Ok(serde_json::json!({"a": 1})));
        check(meta, Ok(Wants { a: 1, _meta: serde_json::json!({"progressToken": 1}) }));
        check(meta, Ok(RawJson::new(meta).expect("it is JSON").into_owned()));
        check(r#"{"a":1,"_meta":{},"b":2,"_meta":3}"#, Ok(Pair { a: 1, b: 2 }));
        check::<Strict>(
            r#"{"_meta":{},"a":1,"b":2}"#,
            Err(r#"{"reason":"unknown field `b`, expected `a`","path":"b"}"#),
        );
        // Where it is spelt as LSP does, whoever names the token keeps it.
        let token = r#"{"workDoneToken":1,"a":1}"#;
        check(token, Ok(Strict { a: 1 }));
        check(r#"{"workDoneToken":1}"#, Ok(()));
        let more = BTreeMap::from([("workDoneToken".to_owned(), serde_json::json!(1))]);
        check(token, Ok(Token { a: 1, more }));
    }

    #[test]
    fn what_does_not_fit_says_where_and_why() {
        check::<Pair>(r#"{"a":1}"#, Err(r#"{"reason":"missing field `b`"}"#));
        check::<Pair>(
            r#"{"a":1,"b":"x"}"#,
            Err(r#"{"reason":"invalid type: string \"x\", expected i64","path":"b"}"#),
        );
        check::<Pair>(
            r#"{"a":1,"b":"x at line 7"}"#,
            Err(r#"{"reason":"invalid type: string \"x at line 7\", expected i64","path":"b"}"#),
        );
        check::<Pair>("", Err(r#"{"reason":"missing field `a`"}"#));
        check::<(i64, i64)>("", Err(r#"{"reason":"params are missing"}"#));
        check::<(i64, i64)>("[1]", Err(r#"{"reason":"invalid length 1, expected a tuple of size 2"}"#));
        let too_many = r#"{"reason":"expected 2 params at most, found 3"}"#;
        check::<(i64, i64)>("[1,2,3]", Err(too_many));
        check::<Pair>("[1,2,3]", Err(too_many));
        check::<Option<Pair>>(r#"["x",2,3]"#, Err(too_many));
        check::<(i64, Pair)>(
            "[1,[1,2,3]]",
            Err(r#"{"reason":"the array has too many elements","path":"[1]"}"#),
        );
        check::<i64>("[1,2]", Err(r#"{"reason":"expected one argument, found more"}"#));
        check::<()>("[1]", Err(r#"{"reason":"expected no params"}"#));
        check::<Nested>(
            r#"{"pairs":[{"a":1,"b":2},{"a":1,"b":null}]}"#,
            Err(r#"{"reason":"invalid type: null, expected i64","path":"pairs[1].b"}"#),
        );
    }
}
