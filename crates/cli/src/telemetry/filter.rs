//! Which events are logged: a level, or a list such as `info,sabir=debug`, as in `RUST_LOG`.

use tracing::Metadata;
use tracing::level_filters::LevelFilter;

/// Directives in one filter.
const MOST: usize = 64;

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
                    None if is_name(part) => filter.targets.push((part.to_owned(), LevelFilter::TRACE)),
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
}

impl LogFilter {
    /// What goes to a collector unless a filter was given: our own events, from info on.
    pub(super) fn own() -> Self {
        LogFilter { targets: vec![("sabir".to_owned(), LevelFilter::INFO)], rest: LevelFilter::OFF }
    }

    pub(super) fn lets_through(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level(metadata.target())
    }

    fn level(&self, target: &str) -> LevelFilter {
        let of = self.targets.iter().find(|(name, _)| target.starts_with(name.as_str()));
        of.map_or(self.rest, |(_, level)| *level)
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
        let filter: LogFilter = "warn, sabir=info,sabir::rpc=debug,h2=off,tower".parse().unwrap();
        for (target, want) in [
            ("other", LevelFilter::WARN),
            ("sabir", LevelFilter::INFO),
            ("sabir_cli::tap", LevelFilter::INFO),
            ("sabir::rpc", LevelFilter::DEBUG),
            ("h2::codec", LevelFilter::OFF),
            ("tower", LevelFilter::TRACE),
        ] {
            assert_eq!(filter.level(target), want, "{target}");
        }
        assert_eq!(filter.finest(), LevelFilter::TRACE);
        assert_eq!("".parse::<LogFilter>().unwrap().finest(), LevelFilter::OFF);
        for wrong in ["sabir=loud", "a b", "[span]=info"] {
            assert!(wrong.parse::<LogFilter>().is_err(), "{wrong}");
        }
    }
}
