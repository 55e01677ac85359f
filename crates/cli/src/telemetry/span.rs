//! A span, and what it says of its place in a trace.

use std::time::SystemTime;

use sabir::TraceContext;

/// The longest text that is kept of an attribute: a peer may send method names of megabytes.
const LONGEST: usize = 1024;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Number(i64),
    Bool(bool),
}

/// A text up to where it is too long.
pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

impl Value {
    /// A text, cut off where it is too long.
    pub(crate) fn text(text: &str) -> Self {
        Value::Text(cut(text).to_owned())
    }
}

/// Names with their values, in the order in which they came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attributes(pub(crate) Vec<(&'static str, Value)>);

impl Attributes {
    pub(crate) fn set(&mut self, name: &'static str, value: Value) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
    }

    pub(crate) fn text(&mut self, name: &'static str, text: &str) {
        self.set(name, Value::text(text));
    }
}

/// As OTLP numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SpanKind {
    #[default]
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// Where a span is: in which trace, and below which other span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) trace: u128,
    pub(crate) span: u64,
    pub(crate) parent: Option<u64>,
    /// Whether it is exported.
    pub(crate) is_sampled: bool,
}

impl Place {
    /// As W3C writes it.
    pub(crate) fn traceparent(&self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.is_sampled))
    }

    /// What a peer says of its span: its trace, its id, and whether it is sampled. `None` unless it is well formed.
    pub(crate) fn remote(context: &TraceContext<'_>) -> Option<(u128, u64, bool)> {
        let text = &*context.traceparent;
        let is_lower_hex = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let mut parts = text.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let lengths = (version.len(), trace.len(), span.len(), flags.len()) == (2, 32, 16, 2);
        // A later version may say more behind it.
        let ends = parts.next().is_none() || version != "00";
        if !lengths
            || !ends
            || version == "ff"
            || ![version, trace, span, flags].into_iter().all(is_lower_hex)
        {
            return None;
        }
        let trace = u128::from_str_radix(trace, 16).ok().filter(|id| *id != 0)?;
        let span = u64::from_str_radix(span, 16).ok().filter(|id| *id != 0)?;
        Some((trace, span, u8::from_str_radix(flags, 16).ok()? & 1 == 1))
    }
}

/// A span that has ended.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) place: Place,
    pub(crate) name: String,
    pub(crate) kind: SpanKind,
    pub(crate) start: SystemTime,
    pub(crate) end: SystemTime,
    pub(crate) is_error: bool,
    pub(crate) attributes: Attributes,
}

/// A line of the log, for the collector.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    pub(crate) time: SystemTime,
    pub(crate) level: tracing::Level,
    pub(crate) target: String,
    pub(crate) message: String,
    pub(crate) attributes: Attributes,
    /// The trace and the span that it was written in.
    pub(crate) within: Option<(u128, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_well_formed_is_a_trace() {
        let of = |text: &str| {
            Place::remote(&TraceContext { traceparent: text.to_owned().into(), ..TraceContext::default() })
        };
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        let parent = Place {
            trace: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
            span: 0xb7ad_6b71_6920_3331,
            parent: None,
            is_sampled: true,
        };
        assert_eq!(parent.traceparent(), format!("00-{trace}-{span}-01"));
        assert_eq!(of(&parent.traceparent()), Some((parent.trace, parent.span, true)));
        assert_eq!(of(&format!("00-{trace}-{span}-00")).map(|(.., sampled)| sampled), Some(false));
        assert!(of(&format!("cc-{trace}-{span}-01-later")).is_some());
        for wrong in [
            String::new(),
            "00".to_owned(),
            format!("00-{trace}-{span}"),
            format!("00-{trace}-{span}-01-more"),
            format!("ff-{trace}-{span}-01"),
            format!("00-{}-{span}-01", "0".repeat(32)),
            format!("00-{trace}-{}-01", "0".repeat(16)),
            format!("00-{}-{span}-01", trace.to_uppercase()),
            format!("00-{trace}-+7ad6b7169203331-01"),
            format!("00-{trace}é-{span}-01"),
        ] {
            assert_eq!(of(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn texts_are_cut_off_between_characters() {
        let Value::Text(text) = Value::text(&"é".repeat(LONGEST)) else { panic!("not a text") };
        assert_eq!(text.len(), LONGEST);
    }
}
