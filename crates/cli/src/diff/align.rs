//! Two recordings: calls that belong together, and what differs between them.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use sabir_model::capture::Direction;

use crate::recorded::compare::{Compare, paired};
use crate::recorded::handles::Handles;
use crate::recorded::ignore::Ignore;
use crate::recorded::{Call, Recording};
use crate::replay::notifications;
use crate::replay::report::{Row, Verdict};

/// Places at which the order differs that are shown.
const MOST_ORDERS: usize = 5;

/// A difference in time below this is none: it is chance.
const CHANCE: Duration = Duration::from_millis(1);

pub(super) fn compare(
    a: &Recording,
    b: &Recording,
    ignore: &Ignore,
    strict: bool,
    slower: Option<f64>,
) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut handles = Handles::of(a, Direction::ToServer);
    for by in [Direction::ToServer, Direction::ToClient] {
        let counts = |call: &Call| !ignore.has_method(&call.name);
        let calls = |of: &Recording| of.calls(by).into_iter().filter(counts).collect::<Vec<_>>();
        let (old, new) = (calls(a), calls(b));
        let pairs = aligned(a, &old, b, &new, ignore);
        let named = |call: &Call| match by {
            Direction::ToServer => call.name.clone(),
            Direction::ToClient => format!("server asks {}", call.name),
        };
        for (call, pair) in old.iter().zip(&pairs) {
            let Some(other) = pair.map(|at| &new[at]) else {
                rows.push(Row { was: call.took, ..Row::new(named(call), Verdict::Missing) });
                continue;
            };
            if let (Some(was), Some(now)) = (call.answer, other.answer) {
                handles.learn(&call.name, a.text(was), b.text(now));
            }
            let compare = Compare { ignore, handles: &handles };
            let mut differences = compare.messages(a.text(call.request), b.text(other.request));
            let (mut verdict, mut note) = (Verdict::Same, None);
            match (call.answer, other.answer) {
                _ if call.cancelled && other.cancelled => {}
                (Some(was), Some(now)) => differences.extend(compare.messages(a.text(was), b.text(now))),
                (None, None) => {}
                (Some(_), None) => (verdict, note) = (Verdict::NoAnswer, Some("only in A it was answered")),
                (None, Some(_)) => (verdict, note) = (Verdict::Different, Some("only in B it was answered")),
            }
            if verdict == Verdict::Same && !differences.is_empty() {
                verdict = Verdict::Different;
            }
            let note = note.map(str::to_owned);
            let (was, now) = (call.took, other.took);
            rows.push(Row { differences, note, was, now, ..Row::new(named(call), verdict) });
        }
        let taken: Vec<usize> = pairs.iter().flatten().copied().collect();
        let is_taken: std::collections::HashSet<usize> = taken.iter().copied().collect();
        for (_, call) in new.iter().enumerate().filter(|(at, _)| !is_taken.contains(at)) {
            rows.push(Row { now: call.took, ..Row::new(named(call), Verdict::Extra) });
        }
        // A client decides when it calls. A server asks when it likes, often by a timer.
        if by == Direction::ToServer || strict {
            order(&new, &taken, &mut rows);
        }
    }
    let (was, now) = (told(a), told(b));
    notifications(&was, &now, Compare { ignore, handles: &handles }, strict, &mut rows);
    if let Some(factor) = slower {
        times(factor, &mut rows);
    }
    rows
}

/// What the server says by itself.
fn told(of: &Recording) -> Vec<&str> {
    of.notifications(Direction::ToClient).into_iter().map(|place| of.text(place)).collect()
}

/// For each call of A the one of B that it belongs to: of the same name, with equal params if there is one, in order.
fn aligned(a: &Recording, old: &[Call], b: &Recording, new: &[Call], ignore: &Ignore) -> Vec<Option<usize>> {
    let handles = Handles::default();
    let compare = Compare { ignore, handles: &handles };
    let mut named: HashMap<&str, (Vec<usize>, Vec<usize>)> = HashMap::new();
    old.iter().enumerate().for_each(|(at, call)| named.entry(&call.name).or_default().0.push(at));
    new.iter().enumerate().for_each(|(at, call)| named.entry(&call.name).or_default().1.push(at));
    let mut pairs = vec![None; old.len()];
    for (was, now) in named.into_values() {
        let old_texts: Vec<&str> = was.iter().map(|at| a.text(old[*at].request)).collect();
        let new_texts: Vec<&str> = now.iter().map(|at| b.text(new[*at].request)).collect();
        let found = paired(&old_texts, &new_texts, compare);
        for (at, pair) in was.iter().zip(found) {
            pairs[*at] = pair.map(|pair| now[pair]);
        }
    }
    pairs
}

/// Where calls come in another order.
fn order(new: &[Call], taken: &[usize], rows: &mut Vec<Row>) {
    let turned = taken.windows(2).filter(|pair| pair[1] < pair[0]);
    for pair in turned.take(MOST_ORDERS) {
        let (first, then) = (&new[pair[1]].name, &new[pair[0]].name);
        let note = Some(format!("B has {first} before {then}"));
        rows.push(Row { note, ..Row::new("order of calls".to_owned(), Verdict::Different) });
    }
}

/// Methods that take so many times as long as before, by their medians.
fn times(factor: f64, rows: &mut Vec<Row>) {
    let mut all: BTreeMap<String, (Vec<Duration>, Vec<Duration>)> = BTreeMap::new();
    for row in rows.iter() {
        let (was, now) = all.entry(row.name.clone()).or_default();
        was.extend(row.was);
        now.extend(row.now);
    }
    for (name, (mut was, mut now)) in all {
        let (Some(was), Some(now)) = (median(&mut was), median(&mut now)) else { continue };
        if now > was.max(CHANCE).mul_f64(factor) {
            let note = Some(format!("it takes {:.1} ms, and took {:.1} ms", ms(now), ms(was)));
            rows.push(Row { note, ..Row::new(format!("time of {name}"), Verdict::Different) });
        }
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn median(times: &mut [Duration]) -> Option<Duration> {
    times.sort();
    times.get(times.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::Printer;

    fn recording(lines: &[&str]) -> Recording {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        Recording::read(text.as_bytes(), "test", &Printer::new(false))
            .unwrap_or_else(|failure| panic!("{}", failure.what))
    }

    /// Calls as `method params result`, with the milliseconds that they take.
    fn calls(calls: &[(&str, &str, &str, u64)]) -> Recording {
        let mut lines = Vec::new();
        for (at, (method, params, result, ms)) in calls.iter().enumerate() {
            lines.push(format!(r#"> {{"jsonrpc":"2.0","id":{at},"method":"{method}","params":{params}}}"#));
            lines.push(format!("~ {ms}ms"));
            lines.push(format!(r#"< {{"jsonrpc":"2.0","id":{at},"result":{result}}}"#));
        }
        recording(&lines.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn check(a: &Recording, b: &Recording, slower: Option<f64>, want: &[&str]) {
        check_rows(&compare(a, b, &Ignore::default(), false, slower), want);
    }

    fn check_rows(rows: &[Row], want: &[&str]) {
        let rows = rows.iter().filter(|row| row.verdict != Verdict::Same);
        let told: Vec<String> = rows
            .map(|row| {
                let found = row.differences.iter().map(|found| found.told("A", "B"));
                let details: Vec<String> = row.note.iter().cloned().chain(found).collect();
                format!("{} {} {}", row.verdict.name(), row.name, details.join("; ")).trim_end().to_owned()
            })
            .collect();
        assert_eq!(told, want);
    }

    #[test]
    fn calls_are_aligned() {
        let a = calls(&[("x", "[1]", "1", 1), ("y", "[]", "2", 1), ("x", "[2]", "3", 1)]);
        check(&a, &a, Some(2.0), &[]);
        let b = calls(&[("x", "[1]", "1", 1), ("x", "[2]", "4", 1), ("z", "[]", "5", 1)]);
        check(&a, &b, None, &["missing y", "different x $.result: A 3, B 4", "extra z"]);
        let b = calls(&[("y", "[]", "2", 1), ("x", "[2]", "3", 1), ("x", "[1]", "1", 1)]);
        check(&a, &b, None, &["different order of calls B has y before x"]);
        let b = calls(&[("x", "[1]", "1", 1), ("y", "[7]", "2", 90), ("x", "[2]", "3", 1)]);
        check(&a, &b, None, &["different y $.params[0]: A nothing, B 7"]);
        check(
            &a,
            &b,
            Some(10.0),
            &[
                "different y $.params[0]: A nothing, B 7",
                "different time of y it takes 90.0 ms, and took 1.0 ms",
            ],
        );
    }

    #[test]
    fn a_server_may_ask_in_another_order() {
        let roots = [
            r#"< {"jsonrpc":"2.0","id":0,"method":"roots/list"}"#,
            r#"> {"jsonrpc":"2.0","id":0,"result":1}"#,
        ];
        let sampling =
            [r#"< {"jsonrpc":"2.0","id":1,"method":"sample"}"#, r#"> {"jsonrpc":"2.0","id":1,"result":2}"#];
        let (a, b) = (recording(&[roots, sampling].concat()), recording(&[sampling, roots].concat()));
        check(&a, &b, None, &[]);
        let strict = compare(&a, &b, &Ignore::default(), true, None);
        check_rows(&strict, &["different order of calls B has sample before roots/list"]);
        check(&a, &recording(&roots), None, &["missing server asks sample"]);
    }

    /// One method, and no params that are equal: the time must not grow with the square of the calls.
    #[test]
    fn many_calls_that_all_differ_take_little() {
        let session = |from: u32| {
            let lines: Vec<String> = (0..4_000)
                .flat_map(|at| {
                    [
                        format!(r#"> {{"jsonrpc":"2.0","id":{at},"method":"x","params":[{}]}}"#, from + at),
                        format!(r#"< {{"jsonrpc":"2.0","method":"tick","params":[{}]}}"#, from + at),
                        format!(r#"< {{"jsonrpc":"2.0","id":{at},"result":1}}"#),
                    ]
                })
                .collect();
            recording(&lines.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let rows = compare(&session(0), &session(100_000), &Ignore::default(), false, None);
        assert_eq!(rows.len(), 8_000);
        assert!(rows.iter().all(|row| row.verdict == Verdict::Different));
        // Far apart in the other, and still found.
        let moved = session(2_000);
        let rows = compare(&session(0), &moved, &Ignore::default(), false, None);
        assert_eq!(rows.iter().filter(|row| row.verdict == Verdict::Same).count(), 4_000);
    }

    #[test]
    fn notifications_and_missing_answers_are_seen() {
        let call = r#"> {"jsonrpc":"2.0","id":1,"method":"x"}"#;
        let tick = r#"< {"jsonrpc":"2.0","method":"tick","params":[1]}"#;
        let tock = r#"< {"jsonrpc":"2.0","method":"tick","params":[2]}"#;
        let done = r#"< {"jsonrpc":"2.0","id":1,"result":1}"#;
        let a = recording(&[call, tick, tock, done]);
        check(&a, &recording(&[call, tock, tick, done]), None, &[]);
        check(&a, &recording(&[call, tock, done]), None, &["missing notification tick"]);
        check(&a, &recording(&[call, tick, tock]), None, &["no answer x only in A it was answered"]);
    }
}
