//! A text that a regular expression matches, for the expressions that schemas usually have.

/// Characters of a text, at most.
const LONGEST: usize = 1024;

/// The shortest text that is easily found; `None` for expressions that need more than is understood here.
pub(super) fn text(pattern: &str) -> Option<String> {
    let mut parser = Parser { rest: pattern, depth: 0 };
    let text = parser.choices()?;
    parser.rest.is_empty().then_some(text)
}

struct Parser<'p> {
    rest: &'p str,
    depth: usize,
}

impl Parser<'_> {
    /// The first of the alternatives.
    fn choices(&mut self) -> Option<String> {
        let first = self.sequence()?;
        while self.rest.starts_with('|') {
            self.rest = &self.rest[1..];
            self.sequence()?;
        }
        Some(first)
    }

    fn sequence(&mut self) -> Option<String> {
        let mut out = String::new();
        while let Some(next) = self.rest.chars().next() {
            if matches!(next, '|' | ')') {
                break;
            }
            let one = self.one()?;
            for _ in 0..self.times()? {
                out.push_str(&one);
                if out.len() > LONGEST {
                    return None;
                }
            }
        }
        Some(out)
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn one(&mut self) -> Option<String> {
        Some(match self.next()? {
            '^' | '$' => String::new(),
            '.' => "x".to_owned(),
            '[' => self.class()?.to_string(),
            '(' => {
                for start in ["?:", "?<"] {
                    if let Some(rest) = self.rest.strip_prefix(start) {
                        self.rest = match start {
                            "?<" => rest.split_once('>').filter(|(name, _)| !name.starts_with(['=', '!']))?.1,
                            _ => rest,
                        };
                    }
                }
                // Expressions that look around are not understood.
                if self.rest.starts_with('?') || self.depth > 32 {
                    return None;
                }
                self.depth += 1;
                let inner = self.choices()?;
                self.depth -= 1;
                (self.next()? == ')').then_some(inner)?
            }
            '\\' => self.escape()?.to_string(),
            '*' | '+' | '?' | '{' | ')' | '|' => return None,
            plain => plain.to_string(),
        })
    }

    fn escape(&mut self) -> Option<char> {
        Some(match self.next()? {
            'd' => '1',
            'w' => 'a',
            's' => ' ',
            'D' | 'S' => 'a',
            'W' => '-',
            'n' => '\n',
            't' => '\t',
            letter if letter.is_ascii_alphanumeric() => return None,
            other => other,
        })
    }

    /// A character of a class. Of one that is negated, the first letter or digit that is not in it.
    fn class(&mut self) -> Option<char> {
        let is_negated = self.rest.starts_with('^');
        if is_negated {
            self.next();
        }
        let mut ranges: Vec<(char, char)> = Vec::new();
        loop {
            let low = match self.next()? {
                ']' if !ranges.is_empty() => break,
                '\\' => match self.rest.chars().next()? {
                    'd' => {
                        self.next();
                        ranges.push(('0', '9'));
                        continue;
                    }
                    'w' => {
                        self.next();
                        ranges.extend([('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')]);
                        continue;
                    }
                    _ => self.escape()?,
                },
                plain => plain,
            };
            let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            let high = match is_range {
                true => {
                    self.next();
                    match self.next()? {
                        '\\' => self.escape()?,
                        plain => plain,
                    }
                }
                false => low,
            };
            ranges.push((low, high));
        }
        match is_negated {
            false => ranges.first().map(|(low, _)| *low),
            true => ('a'..='z')
                .chain('0'..='9')
                .find(|c| !ranges.iter().any(|(low, high)| (low..=high).contains(&c))),
        }
    }

    /// How often what came before is repeated.
    fn times(&mut self) -> Option<usize> {
        let times = match self.rest.chars().next() {
            Some('*' | '?') => 0,
            Some('+') => 1,
            Some('{') => {
                let (inside, rest) = self.rest[1..].split_once('}')?;
                self.rest = rest;
                if self.rest.starts_with('?') {
                    self.next();
                }
                return inside.split(',').next()?.parse().ok().filter(|times| *times <= LONGEST);
            }
            _ => return Some(1),
        };
        self.next();
        if self.rest.starts_with('?') {
            self.next();
        }
        Some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_match() {
        for (pattern, want) in [
            ("^0x[0-9a-f]+$", Some("0x0")),
            ("^[a-z]{3}-\\d+$", Some("aaa-1")),
            ("(foo|bar)+\\.txt", Some("foo.txt")),
            ("^(?:a|b)?c*$", Some("")),
            ("[^abc]", Some("d")),
            ("(?<year>\\d{4})-[01]\\d", Some("1111-01")),
            ("[\\w-]{2}", Some("aa")),
            ("a{2,5}?b", Some("aab")),
            ("(?=x)a", None),
            ("\\p{L}", None),
            ("(a", None),
            ("a{99999}", None),
            ("[", None),
        ] {
            assert_eq!(text(pattern).as_deref(), want, "{pattern}");
        }
    }
}
