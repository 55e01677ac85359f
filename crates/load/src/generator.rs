//! Decides what is sent when, and what the answers come to. No I/O, and no clock: times are arguments, in nanoseconds since
//! the start of the run.

use std::collections::VecDeque;

use crate::limit::Measure;
use crate::open_calls::{Found, OpenCall, OpenCalls};
use crate::plan::{MOST_OPEN, Pace, Plan};
use crate::rate::Rate;
use crate::schedule::Schedule;
use crate::tally::{Class, Measured, Outcome, Tally};
use crate::times::Times;
use crate::units::nanos;

/// How often a limit that ends the run is looked at.
const WINDOW: u64 = 1_000_000_000;

/// Answers in such a window below which nothing is said of quantiles.
const FEWEST: u64 = 20;

/// A call to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// The id of the call.
    pub id: u64,
    /// Which call of the plan.
    pub call: u32,
    /// Whether the message ends with it: the last of a batch.
    pub is_last: bool,
}

/// Decides what is sent when.
///
/// A driver gives each connection room with [`set_room`](Self::set_room), calls [`poll`](Self::poll) when
/// [`next_wake`](Self::next_wake) says so and after answers, and sends what [`take`](Self::take) hands out.
#[derive(Debug)]
pub struct Generator {
    plan: Plan,
    /// Of an open loop; in a closed one it only says what counts.
    schedule: Schedule,
    open: OpenCalls,
    lanes: Vec<LaneQueue>,
    /// Those that have room, in turn.
    ready: VecDeque<u32>,
    /// Those that something has happened to since the driver asked last.
    woken: Vec<u32>,
    tally: Tally,
    /// Calls that were given out: of the plan's order, and of those that count.
    issued: u64,
    counted: u64,
    /// Since when a call is due and has no room.
    blocked_since: Option<u64>,
    /// When the first of the open calls times out, at the earliest.
    next_timeout: u64,
    /// When sending ended.
    ended: Option<u64>,
    /// When the last call that counts was over, answered or not.
    last_done: u64,
    stopped: bool,
    alive: usize,
    window: Window,
}

/// What a connection is to send.
#[derive(Debug, Default)]
struct LaneQueue {
    tickets: Vec<Ticket>,
    /// Messages that it takes.
    room: u32,
    is_lost: bool,
    /// A call on it has timed out.
    timed_out: bool,
}

/// The last second, for the limit that ends a run.
#[derive(Debug)]
struct Window {
    end: u64,
    times: Times,
    ok: u64,
    errors: u64,
}

impl Generator {
    /// For so many connections, none of which has room yet.
    ///
    /// # Panics
    ///
    /// If the plan has no calls, or its order none.
    pub fn new(plan: Plan, lanes: usize) -> Generator {
        assert!(!plan.calls.is_empty() && !plan.order.is_empty(), "a plan has calls, and an order");
        // A closed loop has one step, which needs no rate.
        let rate = match &plan.pace {
            Pace::Open(rate) => rate.clone(),
            Pace::Closed(_) => Rate::Constant(1.0),
        };
        let schedule = Schedule::new(&rate, plan.warmup, plan.duration);
        let mut tally = Tally::new(&plan, &schedule.segments);
        if matches!(plan.pace, Pace::Closed(_)) {
            for step in &mut tally.measured.steps {
                (step.label, step.asked) = (String::new(), None);
            }
        }
        let window = Window { end: nanos(plan.warmup) + WINDOW, times: Times::new(), ok: 0, errors: 0 };
        Generator {
            plan,
            schedule,
            open: OpenCalls::default(),
            lanes: (0..lanes).map(|_| LaneQueue::default()).collect(),
            ready: VecDeque::new(),
            woken: Vec::new(),
            tally,
            issued: 0,
            counted: 0,
            blocked_since: None,
            next_timeout: u64::MAX,
            ended: None,
            last_done: 0,
            stopped: false,
            alive: lanes,
            window,
        }
    }

    /// What it does.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// A connection takes so many messages with the next [`take`](Self::take), those included that it was given before.
    pub fn set_room(&mut self, lane: usize, room: u32) {
        let queue = &mut self.lanes[lane];
        let given = queue.tickets.iter().filter(|ticket| ticket.is_last).count();
        let room = room.saturating_sub(given as u32);
        if queue.room == 0 && room > 0 && !queue.is_lost {
            self.ready.push_back(lane as u32);
        }
        queue.room = room;
    }

    /// Gives calls that are due to connections that have room, and ends those that took too long.
    pub fn poll(&mut self, now: u64) {
        self.tally.turn(now);
        self.end_late(now);
        self.check_window(now);
        while let Some((due, segment)) = self.next_due(now) {
            let open = self.open.len();
            let room = match self.plan.pace {
                Pace::Open(_) => self.plan.max_in_flight.min(MOST_OPEN),
                Pace::Closed(concurrency) => concurrency.min(MOST_OPEN),
            };
            let left = self.plan.count.map_or(u64::MAX, |count| count - self.counted.min(count));
            let batch = (self.plan.batch as u64).min(left).max(1) as usize;
            // One message always goes: a batch may be larger than what may be open.
            if open > 0 && open + batch > room {
                self.block(now, due);
                break;
            }
            let Some(lane) = self.next_lane() else {
                self.block(now, due);
                break;
            };
            // What was due before there was no room waited from then on; what became due since, from its time.
            let waited = self.blocked_since.map_or(0, |since| now - since.max(due).min(now));
            if self.schedule.segments[segment].measured {
                self.tally.late(segment as u32, now - due - waited, waited);
            }
            self.give(lane, due, segment as u32, batch);
        }
        if self.next_due(now).is_none() {
            self.blocked_since = None;
        }
    }

    /// When the next call is due, if it is, and in which part of the run.
    fn next_due(&mut self, now: u64) -> Option<(u64, usize)> {
        if self.ended.is_some() {
            return None;
        }
        if self.plan.count.is_some_and(|count| self.counted >= count) || self.alive == 0 {
            self.ended = Some(now);
            return None;
        }
        match self.plan.pace {
            Pace::Open(_) => match self.schedule.peek() {
                Some((due, segment)) => (due <= now).then_some((due, segment)),
                None => {
                    let end = self.schedule.segments.last().map_or(now, |segment| segment.end);
                    self.ended = Some(end);
                    None
                }
            },
            Pace::Closed(_) => {
                let segment = self.schedule.segments.iter().position(|segment| now < segment.end);
                if segment.is_none() {
                    self.ended = Some(now);
                }
                segment.map(|segment| (now, segment))
            }
        }
    }

    /// The next call has no room. In a closed loop that is what is wanted.
    fn block(&mut self, now: u64, due: u64) {
        if matches!(self.plan.pace, Pace::Open(_)) && due < now {
            self.blocked_since.get_or_insert(now);
        }
    }

    /// A connection with room, in turn.
    fn next_lane(&mut self) -> Option<u32> {
        while let Some(lane) = self.ready.pop_front() {
            let queue = &mut self.lanes[lane as usize];
            if queue.room == 0 || queue.is_lost {
                continue;
            }
            queue.room -= 1;
            if queue.room > 0 {
                self.ready.push_back(lane);
            }
            return Some(lane);
        }
        None
    }

    fn give(&mut self, lane: u32, due: u64, segment: u32, batch: usize) {
        let is_measured = self.schedule.segments[segment as usize].measured;
        for number in 0..batch {
            let call = self.plan.order[(self.issued % self.plan.order.len() as u64) as usize];
            self.issued += 1;
            self.counted += u64::from(is_measured);
            let id = self.open.insert(OpenCall { due, sent: due, call, lane, segment });
            let queue = &mut self.lanes[lane as usize];
            if queue.tickets.is_empty() {
                self.woken.push(lane);
            }
            queue.tickets.push(Ticket { id, call, is_last: number + 1 == batch });
        }
        if matches!(self.plan.pace, Pace::Open(_)) {
            self.schedule.advance(batch as u64);
        }
    }

    /// Hands out what a connection is to send. It is sent now.
    pub fn take(&mut self, lane: usize, now: u64, into: &mut Vec<Ticket>) {
        let tickets = std::mem::take(&mut self.lanes[lane].tickets);
        for ticket in &tickets {
            if let Some(open) = self.open.get_mut(ticket.id) {
                open.sent = now;
                if matches!(self.plan.pace, Pace::Closed(_)) {
                    open.due = now;
                }
                let (call, segment) = (open.call, open.segment);
                let is_measured = self.schedule.segments[segment as usize].measured;
                self.tally.sent(call, segment, is_measured);
                let timeout = now.saturating_add(nanos(self.plan.timeout));
                self.next_timeout = self.next_timeout.min(timeout);
            }
        }
        into.extend_from_slice(&tickets);
        // Its memory is used again.
        if self.lanes[lane].tickets.is_empty() {
            let mut tickets = tickets;
            tickets.clear();
            self.lanes[lane].tickets = tickets;
        }
    }

    /// Whether the call with this id is open.
    pub fn is_open(&mut self, id: u64) -> bool {
        self.open.get_mut(id).is_some()
    }

    /// The notifications that are open on a connection.
    pub fn notifications_of(&self, lane: usize, into: &mut Vec<u64>) {
        let calls = &self.plan.calls;
        let is_one =
            |call: &OpenCall| call.lane as usize == lane && calls[call.call as usize].is_notification;
        into.extend(self.open.iter().filter(|(_, call)| is_one(call)).map(|(id, _)| id));
    }

    /// Which call of the plan has this id, if it is open.
    pub fn call_of(&mut self, id: u64) -> Option<u32> {
        self.open.get_mut(id).map(|open| open.call)
    }

    /// The answer to a call came, or it is known that none will.
    #[inline]
    pub fn answered(&mut self, id: u64, now: u64, outcome: &Outcome) {
        match self.open.remove(id, false) {
            Found::Open(call) => self.close(call, now, outcome, true),
            Found::Late => self.tally.measured.late_answers += 1,
            Found::Unknown => self.stray(),
        }
    }

    /// A message came that belongs to no call.
    pub fn stray(&mut self) {
        self.tally.measured.strays += 1;
    }

    fn close(&mut self, call: OpenCall, now: u64, outcome: &Outcome, has_answer: bool) {
        let latency = now.saturating_sub(call.due);
        let is_measured = self.schedule.segments[call.segment as usize].measured;
        self.tally.sample(matches!(outcome, Outcome::Ok).then_some(latency));
        if self.plan.until.is_some() && is_measured {
            self.window.times.record(latency);
            match outcome {
                Outcome::Ok => self.window.ok += 1,
                Outcome::Failed(..) => self.window.errors += 1,
            }
        }
        if !is_measured {
            return;
        }
        self.last_done = self.last_done.max(now);
        match outcome {
            Outcome::Ok => {
                self.tally.ok(call.call, call.segment, latency, now.saturating_sub(call.sent));
            }
            Outcome::Failed(class, what) => {
                let latency = has_answer.then_some(latency);
                self.tally.failed(call.call, call.segment, latency, *class, what, 1);
            }
        }
    }

    /// Ends calls that took too long.
    fn end_late(&mut self, now: u64) {
        if now < self.next_timeout {
            return;
        }
        let timeout = nanos(self.plan.timeout);
        let mut next = u64::MAX;
        let mut late = Vec::new();
        for (id, call) in self.open.iter() {
            let end = call.sent.saturating_add(timeout);
            match end <= now {
                true => late.push(id),
                false => next = next.min(end),
            }
        }
        self.next_timeout = next;
        let failed = Outcome::Failed(Class::Timeout, "no answer within --timeout".to_owned());
        for id in late {
            if let Found::Open(call) = self.open.remove(id, true) {
                self.close(call, now, &failed, false);
                let lane = &mut self.lanes[call.lane as usize];
                lane.timed_out = true;
                self.woken.push(call.lane);
            }
        }
    }

    /// Whether a call on this connection has timed out since it was asked last.
    pub fn take_timed_out(&mut self, lane: usize) -> bool {
        std::mem::take(&mut self.lanes[lane].timed_out)
    }

    /// All calls that are open on a connection fail, such as those of one that broke.
    pub fn fail_all(&mut self, lane: usize, now: u64, outcome: &Outcome) {
        // What it was given counts as sent: nobody else will send it.
        self.take(lane, now, &mut Vec::new());
        let of_lane = |(id, call): (u64, &OpenCall)| (call.lane as usize == lane).then_some(id);
        let ids: Vec<u64> = self.open.iter().filter_map(of_lane).collect();
        for id in ids {
            if let Found::Open(call) = self.open.remove(id, false) {
                self.close(call, now, outcome, false);
            }
        }
    }

    /// A connection is lost, and does not come back.
    pub fn lost(&mut self, lane: usize, now: u64, what: &str) {
        if std::mem::replace(&mut self.lanes[lane].is_lost, true) {
            return;
        }
        self.fail_all(lane, now, &Outcome::Failed(Class::Transport, what.to_owned()));
        self.alive -= 1;
        if self.alive == 0 {
            self.tally.measured.ended_by = Some(what.to_owned());
            self.ended.get_or_insert(now);
        }
    }

    /// Looks at the last second, if a limit ends the run.
    fn check_window(&mut self, now: u64) {
        let Some(until) = &self.plan.until else { return };
        if now < self.window.end || self.ended.is_some() {
            return;
        }
        // Calls that are open have taken at least as long as they are late now, and so have those that wait for room.
        let Window { times, ok, errors, .. } = &mut self.window;
        for (_, call) in self.open.iter() {
            times.record(now.saturating_sub(call.due));
        }
        if let Some((due, _)) = self.schedule.peek().filter(|_| self.blocked_since.is_some()) {
            let waiting = u32::try_from(self.schedule.due_until(now)).unwrap_or(u32::MAX);
            times.record_many(now.saturating_sub(due) / 2, waiting);
        }
        let measure = Measure { latency: times, ok: *ok, errors: *errors, seconds: WINDOW as f64 / 1e9 };
        let enough = times.count() >= FEWEST || *errors > 0;
        if enough && let Some(measured) = until.broken_by(&measure) {
            // What comes next may have another rate, and has not begun.
            let end = self.window.end;
            let at = end.saturating_sub(nanos(self.plan.warmup)) as f64 / 1e9;
            let rate = match self.schedule.segments.iter().find(|segment| end <= segment.end) {
                Some(segment) if matches!(self.plan.pace, Pace::Open(_)) => {
                    format!(" at {} calls/s", segment.label())
                }
                _ => String::new(),
            };
            self.tally.measured.broken = Some(format!("{until} after {at:.0} s{rate}: {measured}"));
            self.ended = Some(end);
        }
        // Whole seconds, however late this is: a step must not get a part of the next one.
        let late = now - self.window.end;
        let end = now - late % WINDOW + WINDOW;
        self.window = Window { end, times: Times::new(), ok: 0, errors: 0 };
    }

    /// Connections that have something to send, or on which a call has timed out.
    pub fn take_woken(&mut self, into: &mut Vec<u32>) {
        into.append(&mut self.woken);
    }

    /// When to poll again, unless answers come before.
    pub fn next_wake(&mut self, now: u64) -> u64 {
        let due = match (&self.plan.pace, self.ended) {
            (Pace::Open(_), None) if self.blocked_since.is_none() && !self.ready.is_empty() => {
                self.schedule.peek().map(|(due, _)| due)
            }
            (Pace::Closed(_), None) => {
                self.schedule.segments.iter().map(|segment| segment.end).find(|end| *end > now)
            }
            _ => None,
        };
        let end = self.ended.unwrap_or(self.last_due()).saturating_add(nanos(self.plan.grace));
        [due, Some(end)].into_iter().flatten().fold(self.next_timeout, u64::min).min(self.tally.sample_end())
    }

    /// Whether nothing more is to be sent or awaited.
    pub fn is_over(&mut self, now: u64) -> bool {
        let has_due = self.next_due(now).is_some();
        let is_done = self.ended.is_some() && self.open.len() == 0 && !has_due;
        let end = self.ended.unwrap_or(self.last_due()).saturating_add(nanos(self.plan.grace));
        is_done || self.stopped || self.alive == 0 || now >= end
    }

    /// When the last call is due; later ones never are.
    fn last_due(&self) -> u64 {
        self.schedule.segments.last().map_or(u64::MAX, |segment| segment.end)
    }

    /// The user has enough: nothing more is sent, and nothing is waited for.
    pub fn stop(&mut self, now: u64) {
        self.stopped = true;
        self.ended.get_or_insert(now);
    }

    /// Counts bytes that went out and came in.
    pub fn moved(&mut self, out: usize, into: usize) {
        self.tally.measured.bytes.0 += out as u64;
        self.tally.measured.bytes.1 += into as u64;
    }

    /// The server asked something, and was answered.
    pub fn asked(&mut self) {
        self.tally.measured.questions += 1;
    }

    /// The server sent a notification.
    pub fn notified(&mut self) {
        self.tally.measured.notifications += 1;
    }

    /// A connection was opened again.
    pub fn reconnected(&mut self) {
        self.tally.measured.reconnects += 1;
    }

    /// What it came to so far.
    pub fn so_far(&self) -> &Measured {
        &self.tally.measured
    }

    /// Calls that are open.
    pub fn in_flight(&self) -> usize {
        self.open.len()
    }

    /// What it came to. What is still open has no answer.
    pub fn finish(mut self, now: u64) -> Measured {
        let ids: Vec<u64> = self.open.iter().map(|(id, _)| id).collect();
        // A schedule whose calls were all sent lasts to its end, also if the last answer came before.
        let end = self.ended.unwrap_or(self.last_due().min(now));
        if self.stopped {
            self.tally.measured.cut_off = ids.len() as u64;
        } else {
            let unanswered = Outcome::Failed(Class::Unanswered, "no answer until the end".to_owned());
            for id in ids {
                if let Found::Open(call) = self.open.remove(id, false) {
                    self.close(call, now, &unanswered, false);
                }
            }
            self.count_unsent(end);
        }
        // So many calls, as fast as they are answered: that lasts until the last of them is.
        let end = match (&self.plan.pace, self.plan.count) {
            (Pace::Closed(_), Some(_)) => end.max(self.last_done),
            _ => end,
        };
        // Steps that never began have nothing to say.
        let mut measured = self.tally.finish(end);
        let segments = self.schedule.segments.iter();
        let mut is_measured = segments.map(|segment| segment.measured && segment.start < end.max(1));
        measured.steps.retain(|step| is_measured.next().unwrap_or(false) || step.errors > 0);
        measured
    }

    /// Calls of an open loop that were due, and had no room until the end. Where a limit has ended it early, those that
    /// were about to be sent are not missing.
    fn count_unsent(&mut self, end: u64) {
        let is_open = matches!(self.plan.pace, Pace::Open(_));
        if !is_open || self.tally.measured.ended_by.is_some() || self.tally.measured.broken.is_some() {
            return;
        }
        while let Some((due, segment)) = self.schedule.peek().filter(|(due, _)| *due <= end) {
            let left = self.plan.count.map_or(u64::MAX, |count| count - self.counted.min(count));
            // Those of the same segment at once.
            let until = self.schedule.segments[segment].end.min(end.saturating_add(1));
            let unsent = self.schedule.due_until(until.saturating_sub(1).max(due)).min(left);
            if unsent == 0 {
                return;
            }
            if self.schedule.segments[segment].measured {
                let call = self.plan.order[(self.issued % self.plan.order.len() as u64) as usize];
                let what = "it was due, and had no room until the end";
                self.tally.failed(call, segment as u32, None, Class::Unsent, what, unsent);
                self.counted += unsent;
            }
            self.schedule.advance(unsent);
        }
    }
}
