//! Faults on demand: `delay 2s 10%`, `close after 5 on tools/call`.

use std::str::FromStr;
use std::time::Duration;

use crate::args::parse_duration;
use crate::recorded::ignore::is_named;

/// What goes wrong, and when.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub(super) kind: FaultKind,
    /// Between 0 and 1.
    probability: f64,
    /// Calls that are spared first.
    after: u64,
    /// The only method or tool that it is for.
    pub(super) name: Option<String>,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// The answer comes later.
    Delay(Duration),
    /// There is no answer.
    Drop,
    /// The answer is an error with this code.
    Error(i64),
    /// The answer is not JSON.
    Garbage,
    /// The connection is closed instead of an answer.
    Close,
}

const KINDS: &str = "a fault begins with delay TIME, drop, error, garbage or close";

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace().peekable();
        let kind = match words.next() {
            Some("delay") => {
                let time = words.next().ok_or("`delay` needs a time, such as `delay 2s`")?;
                FaultKind::Delay(parse_duration(time)?)
            }
            Some("drop") => FaultKind::Drop,
            Some("error") => match words.peek().and_then(|word| word.parse().ok()) {
                Some(code) => {
                    words.next();
                    FaultKind::Error(code)
                }
                None => FaultKind::Error(-32603),
            },
            Some("garbage") => FaultKind::Garbage,
            Some("close") => FaultKind::Close,
            Some(other) => return Err(format!("unknown fault `{other}`: {KINDS}")),
            None => return Err(KINDS.to_owned()),
        };
        let mut fault = Fault { kind, probability: 1.0, after: 0, name: None };
        while let Some(word) = words.next() {
            match word {
                "after" => {
                    let count = words.next().ok_or("`after` needs a count, such as `after 5`")?;
                    fault.after = count.parse().map_err(|_| format!("`{count}` is not a count of calls"))?;
                }
                "on" => {
                    let name =
                        words.next().ok_or("`on` needs a method or a tool, such as `on tools/call`")?;
                    fault.name = Some(name.to_owned());
                }
                percent if percent.ends_with('%') => {
                    let number = percent.trim_end_matches('%').parse::<f64>();
                    fault.probability = match number {
                        Ok(number) if (0.0..=100.0).contains(&number) => number / 100.0,
                        _ => return Err(format!("`{percent}` is not between 0% and 100%")),
                    };
                }
                other => {
                    return Err(format!(
                        "`{other}` is not expected here: a probability such as 10%, `after COUNT` and `on METHOD` are"
                    ));
                }
            }
        }
        Ok(fault)
    }
}

/// Decides which calls have a fault.
#[derive(Debug)]
pub(super) struct Faults {
    faults: Vec<(Fault, u64)>,
    random: Random,
}

impl Faults {
    pub(super) fn new(faults: Vec<Fault>, seed: u64) -> Self {
        Faults { faults: faults.into_iter().map(|fault| (fault, 0)).collect(), random: Random::new(seed) }
    }

    /// Whether one needs to change the bytes of an answer.
    pub(super) fn change_bytes(&self) -> bool {
        self.faults.iter().any(|(fault, _)| matches!(fault.kind, FaultKind::Garbage | FaultKind::Close))
    }

    /// The fault of the next call, by its method, and its tool behind a space. The first that applies counts.
    pub(super) fn next(&mut self, name: &str) -> Option<FaultKind> {
        let mut found = None;
        for (fault, calls) in &mut self.faults {
            if fault.name.as_deref().is_some_and(|only| !is_named(only, name)) {
                continue;
            }
            *calls += 1;
            // Each draws its number whether or not another applies: so one fault does not move another.
            let is_drawn = self.random.part() < fault.probability;
            if found.is_none() && *calls > fault.after && is_drawn {
                found = Some(fault.kind);
            }
        }
        found
    }
}

/// Numbers that are the same each time for the same seed (splitmix64).
#[derive(Debug, Clone)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 to less than 1.
    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read() {
        let fault = |kind| Fault { kind, probability: 1.0, after: 0, name: None };
        let second = Duration::from_secs(1);
        for (text, want) in [
            ("drop", Ok(fault(FaultKind::Drop))),
            ("delay 1s 10%", Ok(Fault { probability: 0.1, ..fault(FaultKind::Delay(second)) })),
            ("close after 5", Ok(Fault { after: 5, ..fault(FaultKind::Close) })),
            ("error", Ok(fault(FaultKind::Error(-32603)))),
            ("error -1 50%", Ok(Fault { probability: 0.5, ..fault(FaultKind::Error(-1)) })),
            (
                " garbage  on tools/call 100% after 1 ",
                Ok(Fault { after: 1, name: Some("tools/call".to_owned()), ..fault(FaultKind::Garbage) }),
            ),
            ("", Err("a fault begins with delay TIME, drop, error, garbage or close")),
            (
                "explode",
                Err("unknown fault `explode`: a fault begins with delay TIME, drop, error, garbage or close"),
            ),
            ("delay", Err("`delay` needs a time, such as `delay 2s`")),
            ("delay 2", Err("a time needs its unit, such as 500ms, 30s or 2m")),
            ("drop 200%", Err("`200%` is not between 0% and 100%")),
            ("drop after", Err("`after` needs a count, such as `after 5`")),
            ("drop after x", Err("`x` is not a count of calls")),
            ("drop on", Err("`on` needs a method or a tool, such as `on tools/call`")),
            (
                "drop 5",
                Err("`5` is not expected here: a probability such as 10%, `after COUNT` and `on METHOD` are"),
            ),
        ] {
            assert_eq!(text.parse::<Fault>(), want.map_err(str::to_owned), "{text}");
        }
    }

    #[test]
    fn faults_are_for_methods_and_tools() {
        for (fault, name, want) in [
            ("drop on tools/call", "tools/call get-sum", true),
            ("drop on get-sum", "tools/call get-sum", true),
            ("drop on get-sum", "tools/call echo", false),
            ("drop on add", "add", true),
            ("drop", "tools/call echo", true),
        ] {
            let fault = fault.parse().expect("a fault");
            assert_eq!(Faults::new(vec![fault], 0).next(name).is_some(), want, "{name}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_faults() {
        let faults = |seed| {
            let faults = ["drop 30%", "close after 50"].map(|text| text.parse().expect("a fault"));
            let mut faults = Faults::new(faults.to_vec(), seed);
            (0..100).map(|_| faults.next("a")).collect::<Vec<_>>()
        };
        assert_eq!(faults(1), faults(1));
        assert_ne!(faults(1), faults(2));
        let drops = faults(1)[..50].iter().filter(|kind| **kind == Some(FaultKind::Drop)).count();
        assert!((5..30).contains(&drops), "{drops}");
        assert!(faults(1)[..50].iter().all(|kind| *kind != Some(FaultKind::Close)));
        assert!(faults(1)[50..].iter().all(Option::is_some));
    }
}
