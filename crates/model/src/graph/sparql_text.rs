//! What can be seen of a query before it is parsed: whether it is nested too deeply for the parser's stack, asks for other
//! places, or uses a prefix that nobody has declared.

/// Bytes that a query may have, and brackets within brackets. The parser and the evaluator call themselves for each.
const LONGEST: usize = 64 << 10;
const DEEPEST: usize = 100;

/// The words of a query: not what is in strings, IRIs and comments.
#[derive(Debug, Default)]
pub(crate) struct Survey<'q> {
    depth: usize,
    words: Vec<&'q str>,
}

impl<'q> Survey<'q> {
    pub(crate) fn of(query: &'q str) -> Self {
        let mut survey = Survey::default();
        let (mut open, mut rest) = (0_usize, query);
        while let Some(first) = rest.chars().next() {
            let end = match first {
                '"' | '\'' => string_end(rest, first),
                '<' => iri_end(rest),
                '#' => rest.find('\n').unwrap_or(rest.len()),
                '(' | '{' | '[' => {
                    open += 1;
                    survey.depth = survey.depth.max(open);
                    1
                }
                ')' | '}' | ']' => {
                    open = open.saturating_sub(1);
                    1
                }
                c if is_word(c) => {
                    let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                    survey.words.push(&rest[..end]);
                    end
                }
                other => other.len_utf8(),
            };
            rest = &rest[end..];
        }
        survey
    }

    /// Why the query is not even parsed.
    pub(crate) fn refusal(&self, query: &str) -> Option<String> {
        if query.len() > LONGEST {
            return Some(format!("it is longer than {LONGEST} bytes"));
        }
        if self.depth > DEEPEST {
            return Some(format!("it is nested more than {DEEPEST} deep"));
        }
        let asks_others = self.words.iter().any(|word| word.eq_ignore_ascii_case("service"));
        asks_others.then(|| {
            "SERVICE asks another server, and a query reaches only the captures that are given: load them into a store of your \
             own (--format ntriples), and ask that"
                .to_owned()
        })
    }

    /// The first prefix that is used and not declared.
    pub(crate) fn undeclared(&self, known: &[&str]) -> Option<&'q str> {
        let mut declared: Vec<&str> = known.to_vec();
        let mut words = self.words.iter().peekable();
        while let Some(word) = words.next() {
            if word.eq_ignore_ascii_case("prefix") {
                declared.extend(words.next().and_then(|next| next.strip_suffix(':')));
                continue;
            }
            let Some((prefix, _)) = word.split_once(':').filter(|(prefix, _)| *prefix != "_") else {
                continue;
            };
            if !declared.contains(&prefix) {
                return Some(prefix);
            }
        }
        None
    }
}

/// Of names, variables and numbers.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ':' | '-' | '.' | '?' | '$')
}

fn string_end(text: &str, quote: char) -> usize {
    let long: String = [quote; 3].iter().collect();
    let mark = if text.starts_with(&long) { long } else { quote.to_string() };
    let mut at = mark.len();
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with(&mark) {
            return at + mark.len();
        }
        let mut chars = rest.chars();
        let escaped = chars.next() == Some('\\');
        at += rest.len() - chars.as_str().len();
        at += if escaped { chars.next().map_or(0, char::len_utf8) } else { 0 };
    }
    text.len()
}

/// An IRI, unless the sign is a comparison.
fn iri_end(text: &str) -> usize {
    let end = text[1..].find(|c: char| c == '>' || c.is_whitespace() || "<\"{}|^`\\".contains(c));
    match end.map(|at| at + 1) {
        Some(at) if text[at..].starts_with('>') => at + 1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::Survey;

    #[test]
    fn what_is_in_strings_and_iris_does_not_count() {
        let query =
            "SELECT * { ?a <http://x/service(> \"((( service x:y\" , 'it ((' # service\n FILTER(?a < 3) }";
        let survey = Survey::of(query);
        assert_eq!(survey.depth, 2);
        assert_eq!(survey.refusal(query), None);
        assert_eq!(survey.undeclared(&[]), None);
        let query = "SELECT * { service silent <urn:x> {} }";
        assert!(Survey::of(query).refusal(query).is_some());
        assert_eq!(Survey::of("PREFIX a: <urn:a> SELECT * { a:b c:d _:e }").undeclared(&[]), Some("c"));
        assert_eq!(Survey::of("SELECT * { a:b c:d ?e }").undeclared(&["a", "c"]), None);
    }
}
