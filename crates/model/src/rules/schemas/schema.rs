//! One schema, made ready when it is first needed.
//!
//! Schemas come from strangers. Those whose references lead too deep or spread too far, or whose patterns are too many or
//! too large, are not used at all, nor those for which there is no room left. Whether a
//! value matches is found out with a memory for what was seen, in time that grows with the value; why it does not is
//! only asked where that cannot take for ever.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, Registry, ValidationError, Validator};
use serde_json::{Value, json};

use crate::json_path;
use crate::rules::schemas::{BudgetGuard, MemoryBudget, Mismatch, may_exceed};

/// Values that would take more bytes than this are not checked.
const LARGEST: usize = 64 << 20;
/// Parts that a schema may have, with those that it refers to.
const PARTS: usize = 20_000;
/// References that may lead to each other.
const DEEPEST: usize = 16;
/// Bytes that a part of a schema takes when it is compiled.
const COMPILED_PART: usize = 1024;
/// Steps that it takes to look at a part.
const SURVEYED_PART: usize = 64;
/// Patterns that a schema may have, with those that it refers to, and bytes that each may have. A short pattern can stand
/// for much before it is compiled: `\w` alone is a class of hundreds of ranges.
const PATTERNS: usize = 512;
const LONGEST_PATTERN: usize = 1000;
/// Bytes that the program of a pattern may take. The smallest that will do for all patterns of a schema is what each of
/// them is counted as, [several times](PROGRAMS).
const PROGRAM_BYTES: [usize; 3] = [8 << 10, 32 << 10, 256 << 10];
/// Programs that are made of one pattern: forwards, backwards, and tables for both.
const PROGRAMS: usize = 4;
/// Bytes of what a pattern remembers while it is used.
const TABLE_BYTES: usize = 64 << 10;
/// Steps back that a pattern may take.
const BACKTRACKS: usize = 10_000;
/// Parts that a pattern counts as where values are compared.
const PATTERN_COST: usize = 64;
/// Characters of a reason that are shown.
const SHOWN: usize = 300;
/// Where the text that holds the schema is, for references within it.
const HOME: &str = "urn:sabir:schemas";

/// A schema: a part of some JSON, which it may refer to.
#[derive(Debug)]
pub(crate) struct Schema {
    root: Arc<Value>,
    /// Where in it, as a JSON Pointer.
    pointer: String,
    /// How long the text of the root is.
    bytes: usize,
    budget: MemoryBudget,
    ready: OnceLock<Option<Ready>>,
}

#[derive(Debug)]
struct Ready {
    validator: Validator,
    /// What it costs to compare a byte: a step for each part, and more for patterns.
    cost: usize,
    /// It does not refer to itself.
    finite: bool,
    _guard: BudgetGuard,
}

impl Schema {
    /// The schema at a place in some JSON, whose text has so many bytes.
    pub(crate) fn new(root: &Arc<Value>, pointer: String, bytes: usize, budget: &MemoryBudget) -> Self {
        Schema { root: Arc::clone(root), pointer, bytes, budget: budget.clone(), ready: OnceLock::new() }
    }

    /// Where it stands, if it cannot be used: it is not a schema, or its references are nested too deeply.
    pub(crate) fn unusable(&self) -> Option<&str> {
        self.ready().is_none().then_some(&*self.pointer)
    }

    fn ready(&self) -> Option<&Ready> {
        self.ready.get_or_init(|| self.make_ready()).as_ref()
    }

    /// Compares the value that `text` spells, which is called `name`.
    pub(crate) fn check<'t>(&self, name: &str, text: &'t str) -> Option<Mismatch<'t>> {
        if may_exceed(text, LARGEST) {
            return None;
        }
        let ready = self.ready()?;
        // Each part of the value may meet each part of the schema, and a pattern each character.
        self.budget.compare(text.len().saturating_mul(ready.cost))?;
        let value: Value = serde_json::from_str(text).ok()?;
        if ready.validator.is_valid(&value) {
            return None;
        }
        if !ready.finite {
            let what = format!("{name} does not match its schema");
            return Some(Mismatch { part: Some(text), what });
        }
        let error = ready.validator.validate(&value).err().filter(|error| !is_unknown(error))?;
        let path = error.instance_path().as_str();
        let reason: String = error.masked_with("the value").to_string().chars().take(SHOWN).collect();
        let what = match path {
            "" => format!("{name} does not match its schema: {reason}"),
            path => format!("{name} does not match its schema at {path}: {reason}"),
        };
        Some(Mismatch { part: json_path::pointer(text, path).or(Some(text)), what })
    }

    fn make_ready(&self) -> Option<Ready> {
        let schema = self.root.pointer(&self.pointer)?;
        self.budget.spend(0)?;
        let survey = Survey::of(&self.root, schema, &self.pointer);
        let parts = survey.as_ref().map_or(PARTS, |survey| PARTS - survey.left);
        self.budget.spend(parts * SURVEYED_PART)?;
        let survey = survey?;
        // Unless it says so itself: 2020-12 is MCP's default, and OpenRPC has draft-07. Nearly all schemas mean the
        // same in both, and where one does not, the first refuses it.
        let drafts = match schema.get("$schema").or_else(|| self.root.get("$schema")) {
            Some(_) => match Draft::default().detect(schema) {
                Draft::Unknown => return None,
                known => vec![known],
            },
            None => vec![Draft::Draft202012, Draft::Draft7],
        };
        // References are looked up in all of the root.
        let fixed = parts * COMPILED_PART + if survey.refers { self.bytes } else { 0 };
        let cost = parts + survey.patterns.len() * PATTERN_COST;
        for program in PROGRAM_BYTES {
            let patterns = survey.patterns.len() * (program * PROGRAMS + TABLE_BYTES);
            let taken = self.budget.take(fixed + patterns)?;
            let compile = |draft: &Draft| {
                self.budget.spend(fixed + survey.patterns.len() * program)?;
                self.compiled(schema, *draft, survey.refers, program)
            };
            if let Some(validator) = drafts.iter().find_map(compile) {
                return Some(Ready { validator, cost, finite: survey.finite, _guard: taken });
            }
            if survey.patterns.is_empty() {
                return None;
            }
        }
        None
    }

    fn compiled(&self, schema: &Value, draft: Draft, refers: bool, program: usize) -> Option<Validator> {
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(BACKTRACKS)
            .size_limit(program)
            .dfa_size_limit(TABLE_BYTES);
        let options = jsonschema::options().with_draft(draft).with_pattern_options(patterns).offline();
        let options = options.should_validate_formats(false);
        if !refers {
            return options.build(schema).ok();
        }
        let registry = Registry::new().draft(draft).add(HOME, &*self.root).ok()?.prepare().ok()?;
        let entry = json!({"$ref": format!("{HOME}#{}", fragment(&self.pointer))});
        options.with_registry(&registry).build(&entry).ok()
    }
}

/// Whether the validator gave up, so that the value may match after all.
fn is_unknown(error: &ValidationError<'_>) -> bool {
    use ValidationErrorKind::{BacktrackLimitExceeded, Referencing, RegexEngineFailure};
    matches!(error.kind(), BacktrackLimitExceeded { .. } | RegexEngineFailure { .. } | Referencing(_))
}

/// A JSON Pointer as the fragment of a URI.
fn fragment(pointer: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    pointer
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Finds out how far a schema reaches.
struct Survey<'v> {
    root: &'v Value,
    /// How many more parts there may be.
    left: usize,
    /// The references that led here.
    trail: Vec<String>,
    finite: bool,
    refers: bool,
    patterns: HashSet<&'v str>,
}

impl<'v> Survey<'v> {
    /// What there is, or `None` if it reaches too far or out of the text, or has too many patterns.
    fn of(root: &'v Value, schema: &'v Value, pointer: &str) -> Option<Self> {
        let mut survey = Survey {
            root,
            left: PARTS,
            trail: vec![pointer.to_owned()],
            finite: true,
            refers: false,
            patterns: HashSet::new(),
        };
        survey.survey(schema)?;
        Some(survey)
    }

    fn survey(&mut self, part: &'v Value) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        match part {
            Value::Array(items) => items.iter().try_for_each(|item| self.survey(item)),
            Value::Object(members) => members.iter().try_for_each(|(name, value)| match (&**name, value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    self.follow(reference)
                }
                ("pattern", Value::String(pattern)) => self.pattern(pattern),
                ("patternProperties", Value::Object(properties)) => {
                    properties.keys().try_for_each(|pattern| self.pattern(pattern))?;
                    self.survey(value)
                }
                (_, Value::Array(_) | Value::Object(_)) => self.survey(value),
                _ => Some(()),
            }),
            _ => Some(()),
        }
    }

    /// A pattern is compiled once, however often it stands in a schema.
    fn pattern(&mut self, pattern: &'v str) -> Option<()> {
        self.patterns.insert(pattern);
        (pattern.len() <= LONGEST_PATTERN && self.patterns.len() <= PATTERNS).then_some(())
    }

    fn follow(&mut self, reference: &str) -> Option<()> {
        self.refers = true;
        let pointer = unescaped(reference.strip_prefix('#')?)?;
        let target = self.root.pointer(&pointer)?;
        if self.trail.contains(&pointer) {
            self.finite = false;
            return Some(());
        }
        if self.trail.len() > DEEPEST {
            return None;
        }
        self.trail.push(pointer);
        self.survey(target)?;
        self.trail.pop();
        Some(())
    }
}

/// The JSON Pointer in a fragment.
fn unescaped(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        bytes.push(match first {
            b'%' => {
                let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
                rest = &rest[2..];
                u8::from_str_radix(digits, 16).ok()?
            }
            byte => *byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, value: &str, want: Option<&str>) {
        let root = Arc::new(serde_json::from_str(schema).expect("the schema is JSON"));
        let schema = Schema::new(&root, String::new(), schema.len(), &MemoryBudget::default());
        let told =
            schema.check("it", value).map(|found| format!("{} | {}", found.part.unwrap_or("-"), found.what));
        assert_eq!(told.as_deref(), want, "{value}");
    }

    #[test]
    fn values_are_compared_and_the_part_is_named() {
        let schema = r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}}}}"#;
        check(schema, r#"{"a":[1,2]}"#, None);
        check(
            schema,
            r#"{ "a" : [1, "2" ]}"#,
            Some(r#""2" | it does not match its schema at /a/1: the value is not of type "integer""#),
        );
        check(schema, "3", Some(r#"3 | it does not match its schema: the value is not of type "object""#));
        // Draft-07 has arrays of schemas here, and 2020-12 does not.
        check(
            r#"{"items":[{"type":"null"}]}"#,
            "[1]",
            Some(r#"1 | it does not match its schema at /0: the value is not of type "null""#),
        );
    }

    #[test]
    fn schemas_that_refer_to_themselves_are_used() {
        let tree = r##"{"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}}}"##;
        check(tree, r#"{"left":{"right":{}}}"#, None);
        check(
            tree,
            r#"{"left":{"right":1}}"#,
            Some(r#"{"left":{"right":1}} | it does not match its schema"#),
        );
    }

    /// Time is bounded by what all comparisons may cost, and not only by what each may.
    #[test]
    fn comparing_has_a_budget() {
        let schema = format!(r#"{{"items":{{"allOf":[{}]}}}}"#, vec![r#"{"minimum":1}"#; 5000].join(","));
        let root = Arc::new(serde_json::from_str(&schema).expect("the schema is JSON"));
        let schema =
            Schema::new(&root, String::new(), schema.len(), &MemoryBudget::of(64 << 20, 256 << 20, 1 << 27));
        let value = format!("[{}0]", "1,".repeat(1000));
        let told = (0..1000).take_while(|_| schema.check("it", &value).is_some()).count();
        assert!((5..1000).contains(&told), "{told} comparisons");
    }

    #[test]
    fn schemas_that_are_meant_to_break_a_checker_do_not() {
        check(r##"{"$ref":"#"}"##, "1", None);
        check(r#"{"$ref":"https://example.org/schema"}"#, "1", None);
        check(r#"{"type":"nonsense"}"#, "1", None);
        for dialect in
            ["", "urn:my", "https://example.org/my-dialect", "http://json-schema.org/draft-03/schema#"]
        {
            check(&format!(r#"{{"$schema":"{dialect}","type":"null"}}"#), "1", None);
        }
        check(r#"{"pattern":"(a+)+\\1$"}"#, &format!("\"{}\"", "a".repeat(100)), None);
        // Each part refers twice to the next.
        let fan = |count: usize, last: &str| {
            let parts: Vec<_> = (0..count)
                .map(|i| {
                    format!(
                        r##""{i}":{{"allOf":[{{"$ref":"#/$defs/{n}"}},{{"$ref":"#/$defs/{n}"}}]}}"##,
                        n = i + 1
                    )
                })
                .collect();
            format!(r##"{{"$ref":"#/$defs/0","$defs":{{{},"{count}":{last}}}}}"##, parts.join(","))
        };
        check(&fan(40, r#"{"type":"null"}"#), "1", None);
        check(&fan(4, r#"{"type":"null"}"#), "null", None);
        // Each level of the value is looked at twice as often as the one above.
        let twice = r##"{"allOf":[{"properties":{"x":{"$ref":"#"}}},{"properties":{"x":{"$ref":"#"}}}],"type":"object"}"##;
        let deep = format!("{}1{}", "{\"x\":".repeat(120), "}".repeat(120));
        check(twice, &deep, Some(&format!("{deep} | it does not match its schema")));
        // One refers to the next, ten thousand times.
        let chain: Vec<_> =
            (0..10_000).map(|i| format!(r##""{i}":{{"$ref":"#/$defs/{}"}}"##, i + 1)).collect();
        check(
            &format!(r##"{{"$ref":"#/$defs/0","$defs":{{{},"10000":false}}}}"##, chain.join(",")),
            "1",
            None,
        );
    }
}
