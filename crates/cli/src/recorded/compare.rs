//! What is different between two messages, by value: the order of members does not matter, nor how a number is written.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use sabir_proto::{Cursor, JsonKind, JsonStr};
use serde_json::{Value, json};

use super::handles::Handles;
use super::ignore::Ignore;
use crate::json::compact;

/// Differences that are kept of one message; more say no more.
pub(crate) const MOST: usize = 50;

/// Members of an object up to which names are looked for one by one.
const FEW: usize = 16;

/// Characters of a value that are shown.
const LONGEST_VALUE: usize = 80;

/// One difference, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    /// A path that `--ignore` takes.
    pub(crate) path: String,
    /// Cut short; `None` if there was nothing.
    pub(crate) was: Option<String>,
    pub(crate) now: Option<String>,
}

impl Difference {
    /// In words. `old` and `new` are the names of the sides.
    pub(crate) fn told(&self, old: &str, new: &str) -> String {
        match (&self.was, &self.now) {
            (Some(was), Some(now)) => format!("{}: {old} {was}, {new} {now}", self.path),
            (Some(was), None) => format!("{}: {old} {was}, {new} nothing", self.path),
            (None, Some(now)) => format!("{}: {old} nothing, {new} {now}", self.path),
            (None, None) => self.path.clone(),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({"path": self.path, "was": self.was, "now": self.now})
    }
}

/// How messages are compared.
#[derive(Clone, Copy)]
pub(crate) struct Compare<'a> {
    pub(crate) ignore: &'a Ignore,
    pub(crate) handles: &'a Handles,
}

impl Compare<'_> {
    /// What differs between two messages, apart from their ids. Both are valid JSON.
    pub(crate) fn messages(&self, was: &str, now: &str) -> Vec<Difference> {
        self.run(was, now, true)
    }

    /// What differs between two values.
    pub(crate) fn values(&self, was: &str, now: &str) -> Vec<Difference> {
        self.run(was, now, false)
    }

    /// Numbers that are equal for messages that do not differ: one for a recorded message as it is, and one with its
    /// values replaced by those of now that they stand for. Of a message of now, both are the same.
    pub(crate) fn fingerprints(&self, message: &str) -> [u64; 2] {
        let mut ignored = HashSet::new();
        self.ignore.addresses(message, &mut ignored);
        let of = |handles: Option<&Handles>| {
            let mut hasher = DefaultHasher::new();
            fingerprint(message, true, &ignored, handles, &mut hasher);
            hasher.finish()
        };
        let plain = of(None);
        [plain, if self.handles.is_empty() { plain } else { of(Some(self.handles)) }]
    }

    fn run(&self, was: &str, now: &str, skip_envelope: bool) -> Vec<Difference> {
        let mut ignored = HashSet::new();
        self.ignore.addresses(was, &mut ignored);
        self.ignore.addresses(now, &mut ignored);
        let mut walk =
            Walk { compare: self, ignored, path: "$".to_owned(), found: Vec::new(), skip_envelope };
        walk.value(was, now);
        walk.found
    }
}

/// Hashes what [`Walk`] compares. The depth of JSON has a limit, and so has the recursion.
fn fingerprint(
    text: &str,
    is_message: bool,
    ignored: &HashSet<usize>,
    handles: Option<&Handles>,
    out: &mut DefaultHasher,
) {
    if ignored.contains(&text.as_ptr().addr()) {
        return;
    }
    match JsonKind::of(text) {
        JsonKind::Object => {
            let mut all = members(text, is_message);
            all.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
            '{'.hash(out);
            for (name, value) in all.iter().filter(|(_, value)| !ignored.contains(&value.as_ptr().addr())) {
                name.hash(out);
                fingerprint(value, false, ignored, handles, out);
            }
        }
        JsonKind::Array => {
            '['.hash(out);
            let all = Cursor::trusted(text).elements().enumerate();
            for (at, value) in all.filter(|(_, value)| !ignored.contains(&value.as_ptr().addr())) {
                at.hash(out);
                fingerprint(value, false, ignored, handles, out);
            }
        }
        _ => {
            let text = handles.and_then(|handles| handles.get(text)).unwrap_or(text);
            match JsonKind::of(text) {
                JsonKind::Number => decimal(text).ok_or(text).hash(out),
                _ => JsonStr::trusted(text).and_then(JsonStr::value).ok_or(text).hash(out),
            }
        }
    }
    // Where a value ends.
    '}'.hash(out);
}

/// The members of an object, without those of the envelope: ids are mapped. Of two with the same name, the first counts.
fn members(text: &str, is_message: bool) -> Vec<(Cow<'_, str>, &str)> {
    let mut all: Vec<(Cow<'_, str>, &str)> = Vec::new();
    let mut seen: HashSet<Cow<'_, str>> = HashSet::new();
    for (name, value) in Cursor::trusted(text).members() {
        let name = name.value().unwrap_or(Cow::Borrowed(name.text()));
        if is_message && matches!(&*name, "id" | "jsonrpc") {
            continue;
        }
        if all.len() == FEW && seen.is_empty() {
            seen.extend(all.iter().map(|(name, _)| name.clone()));
        }
        let is_new = match all.len() < FEW {
            true => all.iter().all(|(other, _)| *other != name),
            false => seen.insert(name.clone()),
        };
        if is_new {
            all.push((name, value));
        }
    }
    all
}

/// Pairs recorded messages with those of now: what does not differ first, in order, and then the others in order.
/// For each of `was` the place in `now`.
pub(crate) fn paired(was: &[&str], now: &[&str], compare: Compare<'_>) -> Vec<Option<usize>> {
    let mut equal: HashMap<u64, VecDeque<usize>> = HashMap::new();
    for (at, text) in now.iter().enumerate() {
        equal.entry(compare.fingerprints(text)[0]).or_default().push_back(at);
    }
    let mut is_taken = vec![false; now.len()];
    let mut pairs: Vec<Option<usize>> = Vec::with_capacity(was.len());
    for text in was {
        let found = compare.fingerprints(text).iter().find_map(|print| equal.get_mut(print)?.pop_front());
        if let Some(at) = found {
            is_taken[at] = true;
        }
        pairs.push(found);
    }
    let mut rest = (0..now.len()).filter(|at| !is_taken[*at]);
    pairs.iter_mut().filter(|pair| pair.is_none()).for_each(|pair| *pair = rest.next());
    pairs
}

struct Walk<'a> {
    compare: &'a Compare<'a>,
    ignored: HashSet<usize>,
    path: String,
    found: Vec<Difference>,
    /// Leave out what is of the envelope: the ids are mapped.
    skip_envelope: bool,
}

impl Walk<'_> {
    fn is_ignored(&self, text: &str) -> bool {
        self.ignored.contains(&text.as_ptr().addr())
    }

    /// The depth of JSON has a limit, and so has the recursion.
    fn value(&mut self, was: &str, now: &str) {
        if self.found.len() >= MOST || self.is_ignored(was) || self.is_ignored(now) {
            return;
        }
        match (JsonKind::of(was), JsonKind::of(now)) {
            (JsonKind::Object, JsonKind::Object) => self.objects(was, now),
            (JsonKind::Array, JsonKind::Array) => self.arrays(was, now),
            _ if same_scalar(was, now) || self.compare.handles.stands_for(was, now) => {}
            _ => self.add(Some(was), Some(now)),
        }
    }

    fn objects(&mut self, was: &str, now: &str) {
        let is_message = std::mem::take(&mut self.skip_envelope);
        let (old, new) = (members(was, is_message), members(now, is_message));
        // Most often both have the same members, in the same order.
        if old.len() == new.len() && old.iter().zip(&new).all(|((was, _), (now, _))| was == now) {
            for ((name, value), (_, other)) in old.iter().zip(&new) {
                let length = self.path.len();
                push_member(&mut self.path, name);
                self.value(value, other);
                self.path.truncate(length);
            }
            return;
        }
        let mut rest: HashMap<&str, &str> = new.iter().map(|(name, value)| (&**name, *value)).collect();
        for (name, value) in &old {
            let length = self.path.len();
            push_member(&mut self.path, name);
            match rest.remove(&**name) {
                Some(other) => self.value(value, other),
                None => self.one_sided(Some(value), None),
            }
            self.path.truncate(length);
        }
        for (name, value) in new.iter().filter(|(name, _)| rest.contains_key(&**name)) {
            let length = self.path.len();
            push_member(&mut self.path, name);
            self.one_sided(None, Some(value));
            self.path.truncate(length);
        }
    }

    fn arrays(&mut self, was: &str, now: &str) {
        let (mut old, mut new) = (Cursor::trusted(was).elements(), Cursor::trusted(now).elements());
        for at in 0.. {
            let length = self.path.len();
            self.path.push_str(&format!("[{at}]"));
            match (old.next(), new.next()) {
                (None, None) => {
                    self.path.truncate(length);
                    return;
                }
                (Some(was), Some(now)) => self.value(was, now),
                (was, now) => self.one_sided(was, now),
            }
            self.path.truncate(length);
            if self.found.len() >= MOST {
                return;
            }
        }
    }

    fn one_sided(&mut self, was: Option<&str>, now: Option<&str>) {
        if !was.or(now).is_some_and(|value| self.is_ignored(value)) {
            self.add(was, now);
        }
    }

    fn add(&mut self, was: Option<&str>, now: Option<&str>) {
        if self.found.len() < MOST {
            let (was, now) = (was.map(short), now.map(short));
            self.found.push(Difference { path: self.path.clone(), was, now });
        }
    }
}

/// Adds a member to a path, as `--ignore` reads it.
fn push_member(path: &mut String, name: &str) {
    let is_plain = !name.is_empty()
        && name != "*"
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '/'));
    match is_plain {
        true => {
            path.push('.');
            path.push_str(name);
        }
        false => path.push_str(&format!("[{}]", Value::from(name))),
    }
}

/// A value on one line, cut short.
pub(crate) fn short(value: &str) -> String {
    // Without a walk through megabytes of which nothing is shown.
    let cut = |text: &str| {
        let mut out: String = text.chars().take(LONGEST_VALUE).collect();
        out.push('…');
        out
    };
    if value.len() > 64 * LONGEST_VALUE {
        let start: String = value.chars().take(LONGEST_VALUE).collect();
        return cut(&start.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let text = compact(value);
    match text.chars().nth(LONGEST_VALUE) {
        Some(_) => cut(&text),
        None => text.into_owned(),
    }
}

/// Any text on one line, cut short.
pub(crate) fn short_text(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out: String = crate::json::escape_controls(&line).chars().take(LONGEST_VALUE).collect();
    if line.chars().nth(LONGEST_VALUE).is_some() {
        out.push('…');
    }
    out
}

fn same_scalar(was: &str, now: &str) -> bool {
    if was == now {
        return true;
    }
    match (JsonKind::of(was), JsonKind::of(now)) {
        (JsonKind::Number, JsonKind::Number) => same_number(was, now),
        (JsonKind::String, JsonKind::String) => {
            let value = |text| JsonStr::trusted(text).and_then(JsonStr::value);
            value(was).is_some_and(|was| value(now).is_some_and(|now| was == now))
        }
        _ => false,
    }
}

/// Whether two numbers are equal, exactly: `1`, `1.0` and `10e-1` are.
fn same_number(a: &str, b: &str) -> bool {
    match (decimal(a), decimal(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// The sign, the digits without zeros at either end, and the power of ten that they are multiplied with.
fn decimal(text: &str) -> Option<(bool, Cow<'_, str>, i64)> {
    let (text, negative) = match text.strip_prefix('-') {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = match fraction {
        "" => Cow::Borrowed(whole),
        _ => Cow::Owned(format!("{whole}{fraction}")),
    };
    let trimmed = digits.trim_start_matches('0');
    let kept = trimmed.trim_end_matches('0');
    if kept.is_empty() {
        return Some((false, Cow::Borrowed(""), 0));
    }
    let zeros = i64::try_from(trimmed.len() - kept.len()).ok()?;
    let places = i64::try_from(fraction.len()).ok()?;
    let exponent = exponent.checked_sub(places)?.checked_add(zeros)?;
    let kept = match digits {
        Cow::Borrowed(whole) => Cow::Borrowed(whole.trim_matches('0')),
        Cow::Owned(_) => Cow::Owned(kept.to_owned()),
    };
    Some((negative, kept, exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ignore: &[&str], was: &str, now: &str, want: &[&str]) {
        let rules: Vec<_> = ignore.iter().map(|rule| rule.parse().expect("a rule")).collect();
        let (ignore, handles) = (Ignore::new(&rules), Handles::default());
        let found = Compare { ignore: &ignore, handles: &handles }.messages(was, now);
        let told: Vec<String> = found.iter().map(|found| found.told("was", "now")).collect();
        assert_eq!(told, want, "{was} {now}");
        let compare = Compare { ignore: &ignore, handles: &handles };
        let is_equal = compare.fingerprints(was) == compare.fingerprints(now);
        assert_eq!(is_equal, want.is_empty(), "{was} {now}");
    }

    #[test]
    fn values_are_compared_by_what_they_mean() {
        for (was, now) in [
            (
                r#"{"id":1,"result":{"a":1,"b":[true,null]}}"#,
                r#"{"result":{"b":[true,null],"a":1.0},"id":"x"}"#,
            ),
            (r#"{"result":10e-1}"#, r#"{"result":1}"#),
            (r#"{"result":-0}"#, r#"{"result":0.00}"#),
            (r#"{"result":12345678901234567890123}"#, r#"{"result":1.2345678901234567890123e22}"#),
            (r#"{"result":"aA"}"#, r#"{"result":"a\u0041"}"#),
        ] {
            check(&[], was, now, &[]);
        }
    }

    /// Of two members with the same name the first counts, in small and large objects.
    #[test]
    fn members_count_once() {
        for count in [1, FEW - 1, FEW, FEW + 1, 3 * FEW] {
            let object = |names: &mut dyn Iterator<Item = usize>, more: &str| {
                let members: Vec<String> = names.map(|name| format!(r#""m{name}":{name}"#)).collect();
                format!(r#"{{"result":{{{}{more}}}}}"#, members.join(","))
            };
            let was = object(&mut (0..count), r#","m0":7,"\u006d0":8"#);
            check(&[], &was, &object(&mut (0..count), ""), &[]);
            check(&[], &was, &object(&mut (0..count).rev(), r#","m0":9"#), &[]);
            let last = format!("$.result.m{}: was nothing, now {count}", count);
            check(&[], &was, &object(&mut (0..=count), ""), &[last.as_str()]);
        }
    }

    #[test]
    fn differences_are_named() {
        check(&[], r#"{"result":1}"#, r#"{"result":2}"#, &["$.result: was 1, now 2"]);
        check(
            &[],
            r#"{"result":{"a b":[1,2],"c":1}}"#,
            r#"{"result":{"a b":[1],"d":"x"}}"#,
            &[
                "$.result[\"a b\"][1]: was 2, now nothing",
                "$.result.c: was 1, now nothing",
                "$.result.d: was nothing, now \"x\"",
            ],
        );
        check(
            &[],
            r#"{"result":1}"#,
            r#"{"error":{"code":1,"message":"x"}}"#,
            &["$.result: was 1, now nothing", r#"$.error: was nothing, now {"code":1,"message":"x"}"#],
        );
        check(&[], r#"{"result":"1"}"#, r#"{"result":1}"#, &["$.result: was \"1\", now 1"]);
        check(
            &[],
            r#"{"result":12345678901234567890}"#,
            r#"{"result":12345678901234567891}"#,
            &["$.result: was 12345678901234567890, now 12345678901234567891"],
        );
    }

    #[test]
    fn what_is_volatile_is_ignored() {
        let (was, now) =
            (r#"{"result":{"t":1,"list":[{"t":1,"v":1}]}}"#, r#"{"result":{"t":2,"list":[{"v":2}]}}"#);
        check(&["$.result.t", "$.result.list[*].t"], was, now, &["$.result.list[0].v: was 1, now 2"]);
        check(&["$..t", "$..v"], was, now, &[]);
        check(&["$.result"], was, r#"{"result":1}"#, &[]);
    }

    #[test]
    fn long_and_hostile_values_are_cut() {
        let long = format!("{{\"result\":\"{}\\u001b[2J\"}}", "x".repeat(1 << 20));
        let (ignore, handles) = (Ignore::default(), Handles::default());
        let found = Compare { ignore: &ignore, handles: &handles }.messages(&long, r#"{"result":"a\u0007"}"#);
        assert!(found[0].was.as_ref().is_some_and(|was| was.chars().count() == LONGEST_VALUE + 1));
        assert_eq!(found[0].now.as_deref(), Some(r#""a\u0007""#));
        let many = |count: usize| format!("{{\"result\":[{}1]}}", "1,".repeat(count));
        let found = Compare { ignore: &ignore, handles: &handles }.messages(&many(0), &many(10_000));
        assert_eq!(found.len(), MOST);
    }
}
