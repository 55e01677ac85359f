//! A generator and a server in virtual time: what is sent when, and what is reported of a server that stalls.

use std::collections::VecDeque;
use std::time::Duration;

use sabir_load::{Call, Class, Generator, Measured, Outcome, Pace, Plan, Ticket};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

fn plan(pace: Pace) -> Plan {
    let call = Call {
        name: "work".to_owned(),
        method: "\"work\"".to_owned(),
        params: None,
        is_notification: false,
        expected: None,
    };
    Plan {
        pace,
        calls: vec![call],
        order: vec![0],
        warmup: Duration::ZERO,
        duration: Some(Duration::from_secs(10)),
        count: None,
        batch: 1,
        grace: Duration::from_secs(5),
        timeout: Duration::from_secs(30),
        max_in_flight: 10_000,
        until: None,
        max_size: 1 << 20,
    }
}

fn open(rate: &str) -> Pace {
    Pace::Open(rate.parse().expect("a rate"))
}

/// Answers calls one after the other, each after `takes`, except while it stalls.
struct Server {
    takes: u64,
    /// From when to when nothing is answered.
    stall: (u64, u64),
    /// Calls and when they are answered.
    queue: VecDeque<(u64, u64)>,
    free: u64,
}

impl Server {
    fn new(takes: u64, stall: (u64, u64)) -> Server {
        Server { takes, stall, queue: VecDeque::new(), free: 0 }
    }

    fn receive(&mut self, id: u64, now: u64) {
        let mut done = self.free.max(now).saturating_add(self.takes);
        if done > self.stall.0 && done < self.stall.1 {
            done = self.stall.1.saturating_add(self.takes);
        }
        self.free = done;
        self.queue.push_back((done, id));
    }
}

/// Runs a plan to its end, over one connection that takes everything.
fn run(plan: Plan, mut server: Server) -> (Measured, u64) {
    let mut generator = Generator::new(plan, 1);
    let (mut now, mut tickets) = (0, Vec::new());
    loop {
        generator.set_room(0, u32::MAX);
        generator.poll(now);
        generator.take(0, now, &mut tickets);
        tickets.drain(..).for_each(|ticket| server.receive(ticket.id, now));
        if generator.is_over(now) {
            return (generator.finish(now), now);
        }
        let answer = server.queue.front().map_or(u64::MAX, |(time, _)| *time);
        now = generator.next_wake(now).min(answer).max(now + 1);
        while let Some((time, id)) = server.queue.front().copied().filter(|(time, _)| *time <= now) {
            server.queue.pop_front();
            generator.answered(id, time, &Outcome::Ok);
        }
    }
}

const NO_STALL: (u64, u64) = (u64::MAX, u64::MAX);

/// The server stands still for two seconds of ten. Who asked at a fixed rate waited for up to two seconds; a closed loop has
/// one slow call among thousands, and reports that all was well.
#[test]
fn an_open_loop_shows_a_stall_and_a_closed_one_hides_it() {
    let stall = (4 * SECOND, 6 * SECOND);
    let (shown, _) = run(plan(open("500")), Server::new(MS, stall));
    let (hidden, _) = run(plan(Pace::Closed(1)), Server::new(MS, stall));
    let (shown, hidden) = (shown.total(), hidden.total());
    // A fifth of all calls was due in the stall, and a fifth as many after it, before the queue was empty again.
    assert_eq!((shown.sent, shown.ok, shown.errors), (5000, 5000, 0));
    assert!(shown.latency.quantile(0.99) > 1900 * MS, "{}", shown.latency.quantile(0.99));
    assert!(shown.latency.quantile(0.80) > 900 * MS, "{}", shown.latency.quantile(0.80));
    assert!(shown.latency.quantile(0.50) < 2 * MS, "{}", shown.latency.quantile(0.50));
    assert!(hidden.latency.quantile(0.999) < 2 * MS, "{}", hidden.latency.quantile(0.999));
    assert!(hidden.latency.max() > 1900 * MS);
    assert!(hidden.ok > 7500, "{}", hidden.ok);
}

/// With one call open at a time the schedule has to wait, and the waits count: the same latencies, with one connection or
/// with a thousand.
#[test]
fn what_waits_for_room_counts_from_when_it_was_due() {
    let stall = (4 * SECOND, 6 * SECOND);
    let limited = Plan { max_in_flight: 1, ..plan(open("500")) };
    let (measured, _) = run(limited, Server::new(MS, stall));
    let total = measured.total();
    assert_eq!((total.sent, total.ok, total.errors), (5000, 5000, 0));
    assert!(total.latency.quantile(0.99) > 1900 * MS, "{}", total.latency.quantile(0.99));
    // The call itself took no longer, and the generator was never late: it had no room.
    assert!(total.service.quantile(0.999) < 2 * MS, "{}", total.service.quantile(0.999));
    assert!(total.late.max() < MS / 10, "{}", total.late.max());
    assert!(measured.waits.count > 1500 && measured.waits.longest > 1900 * MS, "{:?}", measured.waits);
}

#[test]
fn a_server_that_is_too_slow_leaves_calls_unsent_and_unanswered() {
    let limited = Plan { max_in_flight: 10, grace: Duration::from_secs(1), ..plan(open("1000")) };
    let (measured, end) = run(limited, Server::new(10 * MS, NO_STALL));
    let total = measured.total();
    let count =
        |class| measured.errors.iter().find(|error| error.class == class).map_or(0, |error| error.count);
    assert_eq!(end / MS, 11_000, "the grace is kept");
    assert_eq!(total.ok + count(Class::Unanswered) + count(Class::Unsent), 10_000, "{:?}", measured.errors);
    assert_eq!(count(Class::Unanswered), 10);
    assert!(total.ok.abs_diff(1100) <= 2, "{}", total.ok);
    assert_eq!(total.errors, 10_000 - total.ok);
}

#[test]
fn a_call_that_takes_too_long_has_timed_out_once() {
    let stall = (4 * SECOND, 6 * SECOND);
    let timeout = Duration::from_millis(500);
    let (measured, _) = run(Plan { timeout, ..plan(open("100")) }, Server::new(MS, stall));
    let total = measured.total();
    let [error] = &measured.errors[..] else { panic!("{:?}", measured.errors) };
    assert_eq!((error.class, error.count), (Class::Timeout, total.errors));
    assert_eq!(total.ok + total.errors, 1000);
    assert!(error.count.abs_diff(167) <= 5, "{}", error.count);
    // Its answer came all the same, and is not taken for a wrong one.
    assert_eq!((measured.late_answers, measured.strays), (error.count, 0));
}

#[test]
fn counts_warm_ups_and_batches_are_exact() {
    for (pace, batch) in [(open("1000"), 1), (open("1000"), 7), (Pace::Closed(3), 1), (Pace::Closed(3), 7)] {
        let warmup = Duration::from_millis(100);
        let plan = Plan { warmup, count: Some(500), duration: None, batch, ..plan(pace.clone()) };
        let (measured, _) = run(plan, Server::new(MS / 2, NO_STALL));
        let total = measured.total();
        assert_eq!((total.sent, total.ok, total.errors), (500, 500, 0), "{pace:?} {batch}");
        assert!(measured.warmup_calls >= 90, "{pace:?} {batch}: {}", measured.warmup_calls);
        let sent: u64 = measured.samples.iter().map(|sample| sample.sent).sum();
        assert_eq!(sent, 500 + measured.warmup_calls, "{pace:?} {batch}");
    }
}

/// Ten calls at once of a second each are ten calls a second, and not ten in the moment in which they were sent.
#[test]
fn a_number_of_calls_lasts_until_the_last_answer() {
    let counted = Plan { count: Some(10), duration: None, ..plan(Pace::Closed(10)) };
    let (measured, _) = run(counted, Server::new(SECOND / 10, NO_STALL));
    let total = measured.total();
    assert_eq!((total.ok, total.start, total.end), (10, 0, SECOND));
}

#[test]
fn a_ramp_ends_where_the_server_cannot_follow() {
    // It can do a thousand a second.
    let until = Some("p99>50ms".parse().expect("a limit"));
    let plan = Plan { until, duration: None, ..plan(open("100..2000/20s")) };
    let (measured, end) = run(plan, Server::new(MS, NO_STALL));
    let broken = measured.broken.expect("the limit is broken");
    assert!(broken.starts_with("p99>50ms after 11 s at 1050..1240 calls/s"), "{broken}");
    assert!(end < 12 * SECOND, "{end}");
    let last = measured.steps.last().expect("a step");
    assert_eq!((measured.steps.len(), last.label.as_str()), (6, "1050..1240"));
}

/// The second that broke the limit is named, and the next step has not begun: it has no row, and nothing of it is missing.
#[test]
fn a_limit_is_broken_by_the_step_before() {
    let until = Some("p99>1us".parse().expect("a limit"));
    let plan = Plan { until, duration: None, ..plan(open("200,400,800@1s")) };
    let (measured, _) = run(plan, Server::new(MS, NO_STALL));
    let broken = measured.broken.as_deref().expect("the limit is broken");
    assert!(broken.starts_with("p99>1us after 1 s at 200 calls/s: "), "{broken}");
    let labels: Vec<_> = measured.steps.iter().map(|step| step.label.as_str()).collect();
    assert_eq!((&labels[..], &measured.errors[..]), (&["200"][..], &[][..]));
    assert_eq!((measured.total().sent, measured.total().end), (200, SECOND));
}

/// However late a generator comes to look, it looks at whole seconds.
#[test]
fn a_late_generator_gives_no_step_a_part_of_the_next() {
    let until = Some("p99>10ms".parse().expect("a limit"));
    let plan = Plan { until, duration: None, ..plan(open("100,200,300,400@1s")) };
    let mut generator = Generator::new(plan, 1);
    let (mut now, mut tickets) = (0, Vec::new());
    while !generator.is_over(now) {
        generator.set_room(0, u32::MAX);
        generator.poll(now);
        generator.take(0, now, &mut tickets);
        let takes = if now >= 2 * SECOND { 20 * MS } else { 0 };
        tickets.drain(..).for_each(|ticket| generator.answered(ticket.id, now + takes, &Outcome::Ok));
        now += MS * 7 / 10;
    }
    let measured = generator.finish(now);
    let broken = measured.broken.expect("the limit is broken");
    assert!(broken.starts_with("p99>10ms after 3 s at 300 calls/s: "), "{broken}");
    assert_eq!((measured.steps.len(), measured.steps[2].sent), (3, 300));
}

/// Whoever watches a run must not be told of calls that do not count in the end.
#[test]
fn the_warm_up_is_left_out_while_it_goes_on() {
    let warmup = Duration::from_secs(2);
    let plan = Plan { warmup, max_in_flight: 1, ..plan(open("20")) };
    let mut generator = Generator::new(plan, 1);
    let mut tickets = Vec::new();
    let mut late = 0;
    // One call is open at a time, and is sent each 60 ms, though one is due each 50 ms: those behind it wait for room.
    for now in (0..4 * SECOND).step_by(10 * MS as usize) {
        tickets.drain(..).for_each(|ticket: Ticket| generator.answered(ticket.id, now, &Outcome::Ok));
        generator.set_room(0, u32::MAX);
        generator.poll(now);
        if now % (60 * MS) == 0 {
            generator.take(0, now, &mut tickets);
        }
        let so_far = generator.so_far();
        let count = so_far.total().late.count();
        assert!(count >= late && (now >= 2 * SECOND || count + so_far.waits.count == 0), "{count} at {now}");
        late = count;
    }
    let measured = generator.finish(4 * SECOND);
    assert!(late > 10 && measured.total().late.count() == late, "{late}");
    assert!(measured.waits.count > 0);
}

/// A server that does not answer at all is seen without a single answer.
#[test]
fn a_limit_is_broken_by_silence() {
    let until = Some("p99>50ms".parse().expect("a limit"));
    let plan = Plan { until, ..plan(open("100")) };
    let (measured, end) = run(plan, Server::new(MS, (2 * SECOND, u64::MAX)));
    assert!(measured.broken.is_some());
    assert!(end < 10 * SECOND, "{end}");
}

#[test]
fn connections_take_turns_and_a_lost_one_is_left_out() {
    let mut generator = Generator::new(Plan { count: Some(90), ..plan(Pace::Closed(9)) }, 3);
    let mut took = [0; 3];
    let (mut now, mut tickets) = (0, Vec::new());
    while !generator.is_over(now) {
        for (lane, took) in took.iter_mut().enumerate() {
            generator.set_room(lane, 3);
            generator.poll(now);
            generator.take(lane, now, &mut tickets);
            *took += tickets.len();
            now += MS;
            if now == 12 * MS {
                generator.lost(1, now, "gone");
            }
            for ticket in tickets.drain(..) {
                if generator.is_open(ticket.id) {
                    generator.answered(ticket.id, now, &Outcome::Ok);
                }
            }
        }
    }
    let measured = generator.finish(now);
    assert_eq!(took.iter().sum::<usize>(), 90);
    assert!(took[1] > 5 && took[1] < took[0] && took[0].abs_diff(took[2]) <= 9, "{took:?}");
    assert_eq!(measured.ended_by, None);
}

/// A connection that is given a call while it waits, and asks again before it takes it, as one that posts does.
#[test]
fn a_connection_gets_no_more_messages_than_it_has_room_for() {
    let mut generator = Generator::new(plan(open("1000")), 1);
    let mut tickets = Vec::new();
    for now in [0, 10 * MS, 20 * MS] {
        generator.set_room(0, 1);
        generator.poll(now);
    }
    generator.take(0, 20 * MS, &mut tickets);
    assert_eq!(tickets.len(), 1);
}
