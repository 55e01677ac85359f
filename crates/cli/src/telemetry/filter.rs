//! Which events are logged: a level, or a list such as `info,sabir=debug`, as in `RUST_LOG`.

use tracing::Metadata;
use tracing::level_filters::LevelFilter;

/// Directives in one filter.
const MOST: usize = 64;

/// Those whose events can be chosen by a name alone, besides our own. Any other word may be a level that was misspelt.
const NAMES: [&str; 4] = ["async_nats", "h2", "hyper", "hyper_util"];

/// The finest level of other crates. At `trace` they show what goes over the wire, passwords and tokens included.
const FINEST_OF_OTHERS: LevelFilter = LevelFilter::DEBUG;

/// A level for all targets, and others for those that begin with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogFilter {
    /// The longest name first.
    targets: Vec<(String, LevelFilter)>,
    rest: LevelFilter,
}

impl std::str::FromStr for LogFilter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        LogFilter::parse(text, |name| is_own(name) || NAMES.iter().any(|known| is_within(name, known)))
    }
}

/// Whether a target is one of this program's libraries.
fn is_own(target: &str) -> bool {
    target.starts_with("sabir")
}

/// Whether a target is a crate, or a module of it.
fn is_within(target: &str, krate: &str) -> bool {
    target.strip_prefix(krate).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

impl LogFilter {
    /// As `RUST_LOG` has it, which may be meant for other programs: a name alone may be any.
    pub(super) fn of_others(text: &str) -> Result<Self, String> {
        LogFilter::parse(text, |_| true)
    }

    fn parse(text: &str, is_known: impl Fn(&str) -> bool) -> Result<Self, String> {
        let mut filter = LogFilter { targets: Vec::new(), rest: LevelFilter::OFF };
        let wrong = |part: &str| {
            let part = sabir_proto::escape_controls(part).into_owned();
            format!("`{part}` is not a level (off, error, warn, info, debug, trace) or NAME=LEVEL")
        };
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let level = |text: &str| text.parse::<LevelFilter>().ok();
            let is_name = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "_:-".contains(c));
            match part.split_once('=').map(|(target, of)| (target.trim(), level(of.trim()))) {
                Some((target, Some(level))) if is_name(target) => {
                    filter.targets.push((target.to_owned(), level));
                }
                None => match level(part) {
                    Some(level) => filter.rest = level,
                    None if is_name(part) && is_known(part) => {
                        filter.targets.push((part.to_owned(), LevelFilter::TRACE));
                    }
                    None => return Err(wrong(part)),
                },
                Some(_) => return Err(wrong(part)),
            }
        }
        if filter.targets.len() > MOST {
            return Err(format!("more than {MOST} names"));
        }
        filter.targets.sort_by_key(|(target, _)| std::cmp::Reverse(target.len()));
        Ok(filter)
    }

    /// What goes to a collector unless a filter was given: our own events, from info on.
    pub(super) fn own() -> Self {
        LogFilter { targets: vec![("sabir".to_owned(), LevelFilter::INFO)], rest: LevelFilter::OFF }
    }

    pub(super) fn lets_through(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level(metadata.target())
    }

    fn level(&self, target: &str) -> LevelFilter {
        let of = self.targets.iter().find(|(name, _)| target.starts_with(name.as_str()));
        let level = of.map_or(self.rest, |(_, level)| *level);
        if is_own(target) { level } else { level.min(FINEST_OF_OTHERS) }
    }

    /// The finest level that any target has.
    pub(super) fn finest(&self) -> LevelFilter {
        self.targets.iter().map(|(_, level)| *level).fold(self.rest, LevelFilter::max)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    #[test]
    fn the_longest_name_decides() {
        let filter: LogFilter =
            "warn, sabir=info,sabir::rpc=debug,sabir::trace,h2=off,hyper".parse().unwrap();
        for (target, want) in [
            ("other", LevelFilter::WARN),
            ("sabir", LevelFilter::INFO),
            ("sabir_cli::tap", LevelFilter::INFO),
            ("sabir::rpc", LevelFilter::DEBUG),
            ("h2::codec", LevelFilter::OFF),
            ("sabir::trace", LevelFilter::TRACE),
            ("hyper::proto", LevelFilter::DEBUG),
        ] {
            assert_eq!(filter.level(target), want, "{target}");
        }
        assert_eq!(filter.finest(), LevelFilter::TRACE);
        assert_eq!("".parse::<LogFilter>().unwrap().finest(), LevelFilter::OFF);
        for wrong in ["sabir=loud", "a b", "[span]=info", "blah", "verbose", "hyperactive"] {
            let error = wrong.parse::<LogFilter>().unwrap_err();
            assert!(error.contains("is not a level (off, error, warn, info, debug, trace)"), "{error}");
        }
        assert!(LogFilter::of_others("blah").is_ok() && "blah=info".parse::<LogFilter>().is_ok());
    }

    /// The client of NATS shows the password with which it signs in.
    #[test]
    fn other_crates_never_show_what_goes_over_the_wire() {
        for text in
            ["trace", "async_nats=trace", "async_nats::connection=trace", "async_nats", "off,async_nats"]
        {
            let filter: LogFilter = text.parse().unwrap();
            assert_eq!(filter.level("async_nats::connection"), LevelFilter::DEBUG, "{text}");
        }
    }
}
