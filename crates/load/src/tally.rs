//! What a run came to.

use std::collections::HashMap;

use crate::plan::{Call, Plan};
use crate::schedule::Segment;
use crate::times::Times;

/// Rows of methods: each has a histogram of its own. What has none is counted in the last.
const MOST_METHODS: usize = 64;

/// The name of the row that calls share which have none of their own.
pub const OTHERS: &str = "others";

/// Kinds of errors before further codes of the server are counted together.
const MOST_ERRORS: usize = 64;

/// Characters of a message that are kept.
const LONGEST_EXAMPLE: usize = 200;

/// Samples over time. When there are more, two become one.
const MOST_SAMPLES: usize = 480;

/// How long a sample is at first.
const FIRST_INTERVAL: u64 = 250_000_000;

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered as wanted; a notification was taken.
    Ok,
    /// It failed, and why, in a few words.
    Failed(Class, String),
}

/// A kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The server answered with an error of this code.
    Rpc(i64),
    /// The server answered with an error of a code for which there was no row left.
    RpcOther,
    /// There was no answer within the timeout.
    Timeout,
    /// The connection broke, or HTTP refused it.
    Transport,
    /// The server broke the protocol.
    Protocol,
    /// The result is not the expected one.
    Wrong,
    /// There was no answer until the end of the run.
    Unanswered,
    /// It was due, and there was no room to send it until the end of the run.
    Unsent,
}

impl Class {
    /// Its name, without the code.
    pub fn name(self) -> &'static str {
        match self {
            Class::Rpc(_) => "rpc",
            Class::RpcOther => "rpc, other codes",
            Class::Timeout => "timeout",
            Class::Transport => "transport",
            Class::Protocol => "protocol",
            Class::Wrong => "wrong result",
            Class::Unanswered => "unanswered",
            Class::Unsent => "unsent",
        }
    }
}

/// A part of a run with a rate of its own.
#[derive(Debug, Clone, Default)]
pub struct StepTally {
    /// The rate that was asked for, as it is shown; empty in a closed loop.
    pub label: String,
    /// Calls a second that were asked for, on average.
    pub asked: Option<f64>,
    /// When it began and ended, in nanoseconds since the start of the run. The end is that of sending.
    pub start: u64,
    /// See `start`.
    pub end: u64,
    /// Calls that were sent.
    pub sent: u64,
    /// Calls that were answered as wanted.
    pub ok: u64,
    /// Calls that failed.
    pub errors: u64,
    /// From when a call was due to its answer. In a closed loop it is due when it is sent.
    pub latency: Times,
    /// From when a call was sent to its answer.
    pub service: Times,
    /// From when a call was due to when the generator came to send it, without the time that it waited for room.
    pub late: Times,
}

/// One method, or one row of a mix.
#[derive(Debug, Clone, Default)]
pub struct MethodTally {
    /// Its name.
    pub name: String,
    /// Calls that were sent.
    pub sent: u64,
    /// Calls that were answered as wanted.
    pub ok: u64,
    /// Calls that failed.
    pub errors: u64,
    /// From when a call was due to its answer.
    pub latency: Times,
}

/// Calls that failed in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorTally {
    /// In which way.
    pub class: Class,
    /// How many.
    pub count: u64,
    /// What the first of them said.
    pub example: String,
}

/// Calls that were due and had to wait, because too many were open or every connection was busy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// The longest, in nanoseconds.
    pub longest: u64,
}

/// What happened in a short time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sample {
    /// When it began, in nanoseconds since the start of the run.
    pub start: u64,
    /// How long it was.
    pub length: u64,
    /// Calls that were sent in it.
    pub sent: u64,
    /// Calls that were answered in it as wanted.
    pub ok: u64,
    /// Calls that failed in it.
    pub errors: u64,
    /// Half of the latencies were below this; of two samples in one, the larger.
    pub p50: u64,
    /// 99 of 100 were below this.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

/// What a run came to. What was due in the warm-up is left out, except for `warmup_calls`.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// One for each rate.
    pub steps: Vec<StepTally>,
    /// One for each call of the plan that was made, the most frequent first.
    pub methods: Vec<MethodTally>,
    /// By class.
    pub errors: Vec<ErrorTally>,
    /// How long calls took that failed, as far as they were answered.
    pub error_latency: Times,
    /// What happened over time, warm-up included.
    pub samples: Vec<Sample>,
    /// Calls that had to wait for room.
    pub waits: Waits,
    /// Calls that were sent in the warm-up.
    pub warmup_calls: u64,
    /// Bytes that went out and came in, warm-up included.
    pub bytes: (u64, u64),
    /// Questions of the server that were answered, and its notifications.
    pub questions: u64,
    /// See `questions`.
    pub notifications: u64,
    /// Answers that came after their time.
    pub late_answers: u64,
    /// Messages that belong to no open call.
    pub strays: u64,
    /// Connections that were opened again.
    pub reconnects: u64,
    /// Calls that were open when the run was stopped before its end.
    pub cut_off: u64,
    /// The limit that ended the run, and what broke it.
    pub broken: Option<String>,
    /// Why the run ended early, if it did: all connections were lost.
    pub ended_by: Option<String>,
}

impl Measured {
    /// All steps as one.
    pub fn total(&self) -> StepTally {
        let mut total = StepTally { start: u64::MAX, ..StepTally::default() };
        for step in &self.steps {
            total.start = total.start.min(step.start);
            total.end = total.end.max(step.end);
            total.sent += step.sent;
            total.ok += step.ok;
            total.errors += step.errors;
            total.latency.add(&step.latency);
            total.service.add(&step.service);
            total.late.add(&step.late);
        }
        total.start = total.start.min(total.end);
        total
    }
}

/// Counts while a run goes on.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) measured: Measured,
    /// What came in the current sample.
    sample: Sample,
    sample_times: Times,
    interval: u64,
    /// The row of each call.
    rows: Vec<u32>,
}

impl Tally {
    /// A step for each of the segments, those of the warm-up included.
    pub(crate) fn new(plan: &Plan, segments: &[Segment]) -> Tally {
        let step = |segment: &Segment| StepTally {
            label: segment.label(),
            asked: Some(segment.rate()),
            start: segment.start,
            end: segment.end,
            ..StepTally::default()
        };
        let steps = segments.iter().map(step).collect();
        let (methods, rows) = rows(&plan.calls);
        Tally {
            measured: Measured { steps, methods, ..Measured::default() },
            sample: Sample::default(),
            sample_times: Times::new(),
            interval: FIRST_INTERVAL,
            rows,
        }
    }

    pub(crate) fn sent(&mut self, call: u32, segment: u32, is_measured: bool) {
        self.sample.sent += 1;
        match is_measured {
            true => {
                self.measured.steps[segment as usize].sent += 1;
                self.method(call).sent += 1;
            }
            false => self.measured.warmup_calls += 1,
        }
    }

    fn method(&mut self, call: u32) -> &mut MethodTally {
        &mut self.measured.methods[self.rows[call as usize] as usize]
    }

    #[inline]
    pub(crate) fn ok(&mut self, call: u32, segment: u32, latency: u64, service: u64) {
        let step = &mut self.measured.steps[segment as usize];
        step.ok += 1;
        step.latency.record(latency);
        step.service.record(service);
        let method = self.method(call);
        method.ok += 1;
        method.latency.record(latency);
    }

    #[inline]
    pub(crate) fn late(&mut self, segment: u32, own: u64, waited: u64) {
        self.measured.steps[segment as usize].late.record(own);
        if waited > 0 {
            self.measured.waits.count += 1;
            self.measured.waits.longest = self.measured.waits.longest.max(waited);
        }
    }

    /// `latency` is `None` if no answer came.
    pub(crate) fn failed(
        &mut self,
        call: u32,
        segment: u32,
        latency: Option<u64>,
        class: Class,
        what: &str,
        count: u64,
    ) {
        self.measured.steps[segment as usize].errors += count;
        self.method(call).errors += count;
        if let Some(latency) = latency {
            self.measured.error_latency.record(latency);
        }
        let errors = &mut self.measured.errors;
        // Codes are the server's choice, and may be many.
        let is_new = |class| !errors.iter().any(|error: &ErrorTally| error.class == class);
        let class = match class {
            Class::Rpc(_) if errors.len() >= MOST_ERRORS && is_new(class) => Class::RpcOther,
            class => class,
        };
        match errors.iter_mut().find(|error| error.class == class) {
            Some(error) => error.count += count,
            None => {
                let end = what.char_indices().nth(LONGEST_EXAMPLE).map_or(what.len(), |(at, _)| at);
                errors.push(ErrorTally { class, count, example: what[..end].to_owned() });
            }
        }
    }

    /// For the samples over time, warm-up included.
    #[inline]
    pub(crate) fn sample(&mut self, latency: Option<u64>) {
        match latency {
            Some(latency) => {
                self.sample.ok += 1;
                self.sample_times.record(latency);
            }
            None => self.sample.errors += 1,
        }
    }

    /// When the current sample ends.
    pub(crate) fn sample_end(&self) -> u64 {
        self.sample.start + self.interval
    }

    /// Ends samples that are over.
    pub(crate) fn turn(&mut self, now: u64) {
        if now < self.sample_end() {
            return;
        }
        let length = now - self.sample.start;
        self.end_sample(length);
        self.sample = Sample { start: now, ..Sample::default() };
        if self.measured.samples.len() >= MOST_SAMPLES {
            let merged = self.measured.samples.chunks(2).map(merge).collect();
            self.measured.samples = merged;
            self.interval *= 2;
        }
    }

    fn end_sample(&mut self, length: u64) {
        let times = &self.sample_times;
        let (p50, p99, max) = (times.quantile(0.5), times.quantile(0.99), times.max());
        self.measured.samples.push(Sample { length, p50, p99, max, ..self.sample });
        self.sample_times.clear();
    }

    /// What there is in all. `start` and `end` are when calls were sent that count.
    pub(crate) fn finish(mut self, end: u64) -> Measured {
        if end > self.sample.start {
            self.end_sample(end - self.sample.start);
        }
        for step in &mut self.measured.steps {
            step.end = step.end.min(end);
        }
        self.measured.errors.sort_by_key(|error| std::cmp::Reverse(error.count));
        self.measured.methods.retain(|method| method.sent + method.errors > 0);
        self.measured.methods.sort_by_key(|method| std::cmp::Reverse(method.sent));
        self.measured
    }
}

/// A row for each name, and the row of each call. What comes beyond shares the last.
fn rows(calls: &[Call]) -> (Vec<MethodTally>, Vec<u32>) {
    let mut methods: Vec<MethodTally> = Vec::new();
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut rows = Vec::with_capacity(calls.len());
    for call in calls {
        let row = *known.entry(call.name.as_str()).or_insert_with(|| {
            let is_full = methods.len() == MOST_METHODS;
            match methods.last_mut().filter(|_| is_full) {
                Some(last) => last.name = OTHERS.to_owned(),
                None => methods.push(MethodTally { name: call.name.clone(), ..MethodTally::default() }),
            }
            methods.len() as u32 - 1
        });
        rows.push(row);
    }
    (methods, rows)
}

fn merge(pair: &[Sample]) -> Sample {
    pair.iter().skip(1).fold(pair[0], |a, b| Sample {
        start: a.start,
        length: a.length + b.length,
        sent: a.sent + b.sent,
        ok: a.ok + b.ok,
        errors: a.errors + b.errors,
        p50: a.p50.max(b.p50),
        p99: a.p99.max(b.p99),
        max: a.max.max(b.max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_one_method_share_a_row() {
        let call = |name: String| Call {
            name,
            method: "\"a\"".to_owned(),
            params: None,
            is_notification: false,
            expected: None,
        };
        let check = |names: &[String], want: &[u32], last: &str| {
            let calls: Vec<Call> = names.iter().cloned().map(call).collect();
            let (methods, rows) = rows(&calls);
            assert_eq!(rows, want);
            assert_eq!(methods.last().map(|method| method.name.as_str()), Some(last));
        };
        check(&["add", "echo", "add"].map(str::to_owned), &[0, 1, 0], "echo");
        let mut names: Vec<String> = (0..MOST_METHODS).map(|number| number.to_string()).collect();
        let mut want: Vec<u32> = (0..MOST_METHODS as u32).collect();
        check(&names, &want, "63");
        names.extend(["more".to_owned(), "1".to_owned(), "more".to_owned()]);
        want.extend([63, 1, 63]);
        check(&names, &want, "others");
    }
}
