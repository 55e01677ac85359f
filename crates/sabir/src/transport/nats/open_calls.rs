//! The calls of a connection that wait for their answers, the workers that are at work on them, and what is lost when one
//! of those falls silent.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use async_nats::{HeaderMap, Subject};
use bytes::Bytes;
use foldhash::fast::RandomState;
use tokio::time::Instant;

/// Workers that are remembered.
const MOST_WORKERS: usize = 1024;

/// Beats in a row that a worker may miss.
const MISSED_BEATS: u32 = 3;

/// A message with calls that waits for its answer.
pub(crate) struct OpenCall {
    /// The last id in it.
    pub(crate) last: u64,
    since: Instant,
    worker: Option<usize>,
    /// What is for the worker that has it, once that is known: the rest of a large message, and cancels.
    pub(crate) held: Vec<(Bytes, Option<HeaderMap>)>,
    /// Nobody waits for it any more.
    is_cancelled: bool,
}

impl OpenCall {
    fn ids(&self, first: u64) -> Vec<u64> {
        (first..=self.last).collect()
    }
}

struct Worker {
    subject: Subject,
    heard: Instant,
    /// How often it says that it is alive, while it does.
    beat: Option<Duration>,
}

/// Calls, by the first id of their message, and workers, by the number that they have here.
#[derive(Default)]
pub(crate) struct OpenCalls {
    calls: HashMap<u64, OpenCall, RandomState>,
    workers: Vec<Worker>,
    by_subject: HashMap<Box<str>, usize, RandomState>,
}

/// What became known as time went by.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Silence {
    /// Ids of calls that no worker has accepted in time.
    pub(crate) unaccepted: Vec<u64>,
    /// Workers that have missed their beats, and the ids of the calls that they had.
    pub(crate) lost: Vec<(usize, Vec<u64>)>,
}

impl OpenCalls {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(crate) fn sent(
        &mut self,
        first: u64,
        last: u64,
        worker: Option<usize>,
        now: Instant,
    ) -> &mut OpenCall {
        let call = OpenCall { last, since: now, worker, held: Vec::new(), is_cancelled: false };
        self.calls.entry(first).insert_entry(call).into_mut()
    }

    /// A message is answered. The ids in it, if somebody has waited for that.
    pub(crate) fn answered(&mut self, first: u64) -> Option<RangeInclusive<u64>> {
        self.calls.remove(&first).map(|call| first..=call.last)
    }

    /// A call is over. The ids in its message.
    pub(crate) fn take(&mut self, first: u64) -> Option<Vec<u64>> {
        Some(self.calls.remove(&first)?.ids(first))
    }

    /// All of them.
    pub(crate) fn take_all(&mut self) -> Vec<u64> {
        self.calls.drain().flat_map(|(first, call)| call.ids(first)).collect()
    }

    /// When the one was sent that has waited for longest.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.calls.values().map(|call| call.since).min()
    }

    /// Those without a worker.
    pub(crate) fn take_unowned(&mut self) -> Vec<u64> {
        let unowned = self.calls.extract_if(|_, call| call.worker.is_none());
        unowned.flat_map(|(first, call)| call.ids(first)).collect()
    }

    /// The worker that is reached at this subject.
    pub(crate) fn worker(&mut self, subject: &Subject, now: Instant) -> Option<usize> {
        if let Some(&worker) = self.by_subject.get(subject.as_str()) {
            self.workers[worker].heard = now;
            return Some(worker);
        }
        let new = Worker { subject: subject.clone(), heard: now, beat: None };
        let worker = match self.workers.len() < MOST_WORKERS {
            true => {
                self.workers.push(new);
                self.workers.len() - 1
            }
            false => {
                let worker = self.unused_worker()?;
                let before = std::mem::replace(&mut self.workers[worker], new);
                self.by_subject.remove(before.subject.as_str());
                worker
            }
        };
        self.by_subject.insert(subject.as_str().into(), worker);
        Some(worker)
    }

    /// The one that was silent for longest, of those that have nothing open for us.
    fn unused_worker(&self) -> Option<usize> {
        let has_call = |worker| self.calls.values().any(|call| call.worker == Some(worker));
        let unused = self.workers.iter().enumerate().filter(|(_, worker)| worker.beat.is_none());
        unused.filter(|(at, _)| !has_call(*at)).min_by_key(|(_, worker)| worker.heard).map(|(at, _)| at)
    }

    pub(crate) fn subject(&self, worker: usize) -> Option<&Subject> {
        self.workers.get(worker).map(|worker| &worker.subject)
    }

    /// Whether any worker says that it is alive.
    pub(crate) fn has_beats(&self) -> bool {
        self.workers.iter().any(|worker| worker.beat.is_some())
    }

    /// Those that have something open for this connection.
    pub(crate) fn at_work(&self) -> impl Iterator<Item = &Subject> {
        self.workers.iter().filter(|worker| worker.beat.is_some()).map(|worker| &worker.subject)
    }

    /// A worker says that it is alive, and how often it will; or that it has nothing open.
    pub(crate) fn set_beat(&mut self, worker: usize, beat: Option<Duration>) {
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.beat = beat;
        }
    }

    /// A worker has something for this call: what waited for that.
    pub(crate) fn set_worker(&mut self, first: u64, worker: usize) -> Vec<(Bytes, Option<HeaderMap>)> {
        let Some(call) = self.calls.get_mut(&first) else { return Vec::new() };
        call.worker.get_or_insert(worker);
        let held = std::mem::take(&mut call.held);
        // No answer is owed to what is cancelled.
        if call.is_cancelled {
            self.calls.remove(&first);
        }
        held
    }

    /// A call is cancelled by this message. The worker to tell; if it is not known yet, the message is kept for it.
    pub(crate) fn cancel(&mut self, id: u64, message: &[u8]) -> Option<usize> {
        let first = match self.calls.contains_key(&id) {
            true => id,
            false => *self.calls.iter().find(|(first, call)| (**first..=call.last).contains(&id))?.0,
        };
        let call = self.calls.get_mut(&first)?;
        let is_single = call.last == first;
        if call.worker.is_none() {
            call.held.push((Bytes::copy_from_slice(message), None));
            call.is_cancelled = is_single;
            return None;
        }
        let worker = call.worker;
        if is_single {
            self.calls.remove(&first);
        }
        worker
    }

    /// A worker is lost: the ids of its calls.
    pub(crate) fn lose(&mut self, worker: usize) -> Vec<u64> {
        self.set_beat(worker, None);
        let lost = self.calls.extract_if(|_, call| call.worker == Some(worker));
        lost.flat_map(|(first, call)| call.ids(first)).collect()
    }

    /// This process has stood still for so long: it could not have heard anybody.
    pub(crate) fn forgive(&mut self, stood_still: Duration) {
        self.workers.iter_mut().for_each(|worker| worker.heard += stood_still);
        self.calls.values_mut().for_each(|call| call.since += stood_still);
    }

    /// What is lost by now.
    pub(crate) fn check(&mut self, now: Instant, accept_within: Duration) -> Silence {
        // A worker that has something to say before it says that it is at work may be lost before it says that.
        let late = |call: &OpenCall| {
            let worker = call.worker.and_then(|worker| self.workers.get(worker));
            let heard = match worker {
                Some(worker) if worker.beat.is_some() => return false,
                Some(worker) => call.since.max(worker.heard),
                None => call.since,
            };
            now.duration_since(heard) > accept_within
        };
        let unaccepted = self.calls.extract_if(|_, call| late(call));
        let unaccepted = unaccepted
            .filter(|(_, call)| !call.is_cancelled)
            .flat_map(|(first, call)| call.ids(first))
            .collect();
        let is_silent = |worker: &Worker| {
            worker.beat.is_some_and(|beat| now.duration_since(worker.heard) > beat * MISSED_BEATS)
        };
        let silent: Vec<_> = (0..self.workers.len()).filter(|&at| is_silent(&self.workers[at])).collect();
        let lost = silent.into_iter().map(|worker| (worker, self.lose(worker))).collect();
        Silence { unaccepted, lost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITHIN: Duration = Duration::from_secs(15);
    const BEAT: Duration = Duration::from_secs(5);

    fn seconds(now: Instant, seconds: u64) -> Instant {
        now + Duration::from_secs(seconds)
    }

    #[test]
    fn a_call_that_nobody_accepts_is_lost() {
        let (mut calls, now) = (OpenCalls::default(), Instant::now());
        calls.sent(1, 3, None, now);
        assert_eq!(calls.check(seconds(now, 15), WITHIN), Silence::default());
        let lost = Silence { unaccepted: vec![1, 2, 3], lost: Vec::new() };
        assert_eq!(calls.check(seconds(now, 16), WITHIN), lost);
        assert!(calls.is_empty());
    }

    #[test]
    fn a_worker_that_misses_its_beats_is_lost_with_its_calls() {
        let (mut calls, now) = (OpenCalls::default(), Instant::now());
        calls.sent(1, 1, None, now);
        calls.sent(2, 2, None, now);
        let worker = calls.worker(&"a".into(), now).expect("room");
        assert_eq!(calls.worker(&"a".into(), now), Some(worker));
        calls.set_worker(1, worker);
        calls.set_beat(worker, Some(BEAT));
        assert_eq!(calls.check(seconds(now, 15), WITHIN), Silence::default());
        // A beat.
        calls.worker(&"a".into(), seconds(now, 15));
        let silence = calls.check(seconds(now, 30), WITHIN);
        assert_eq!(silence, Silence { unaccepted: vec![2], lost: Vec::new() });
        let silence = calls.check(seconds(now, 31), WITHIN);
        assert_eq!(silence, Silence { unaccepted: Vec::new(), lost: vec![(worker, vec![1])] });
        assert_eq!(calls.check(seconds(now, 99), WITHIN), Silence::default());
    }

    #[test]
    fn one_that_falls_silent_before_its_first_beat_is_lost() {
        let (mut calls, now) = (OpenCalls::default(), Instant::now());
        calls.sent(1, 1, None, now);
        // It has sent progress, and has not said that it is at work.
        let worker = calls.worker(&"a".into(), seconds(now, 5)).expect("room");
        calls.set_worker(1, worker);
        assert_eq!(calls.check(seconds(now, 20), WITHIN), Silence::default());
        let silence = calls.check(seconds(now, 21), WITHIN);
        assert_eq!(silence, Silence { unaccepted: vec![1], lost: Vec::new() });
    }

    #[test]
    fn nobody_is_lost_because_we_did_not_listen() {
        let (mut calls, now) = (OpenCalls::default(), Instant::now());
        calls.sent(1, 1, None, now);
        let worker = calls.worker(&"a".into(), now).expect("room");
        calls.set_beat(worker, Some(BEAT));
        calls.forgive(Duration::from_secs(20));
        assert_eq!(calls.check(seconds(now, 35), WITHIN), Silence::default());
        assert_ne!(calls.check(seconds(now, 36), WITHIN), Silence::default());
    }

    #[test]
    fn workers_that_are_gone_make_room() {
        let (mut calls, now) = (OpenCalls::default(), Instant::now());
        let subject = |n: usize| Subject::from(n.to_string());
        for n in 0..MOST_WORKERS {
            assert_eq!(calls.worker(&subject(n), now + Duration::from_secs(n as u64)), Some(n));
            calls.set_beat(n, Some(BEAT));
        }
        assert_eq!(calls.worker(&subject(MOST_WORKERS), now), None, "all have something open");
        for free in [5, 3] {
            calls.set_beat(free, None);
        }
        calls.sent(1, 1, Some(3), now);
        assert_eq!(calls.worker(&subject(MOST_WORKERS), seconds(now, 9999)), Some(5));
        assert_eq!(calls.subject(5), Some(&subject(MOST_WORKERS)));
    }

    #[test]
    fn one_that_has_nothing_open_may_be_silent() {
        let (mut calls, now) = (OpenCalls::default(), Instant::now());
        let worker = calls.worker(&"a".into(), now).expect("room");
        calls.set_beat(worker, Some(BEAT));
        assert!(calls.has_beats());
        calls.set_beat(worker, None);
        assert!(!calls.has_beats());
        assert_eq!(calls.check(seconds(now, 99), WITHIN), Silence::default());
    }

    #[test]
    fn a_cancel_waits_for_the_worker_to_be_known() {
        let (mut calls, now) = (OpenCalls::default(), Instant::now());
        calls.sent(1, 1, None, now);
        calls.sent(2, 4, None, now);
        assert_eq!(calls.cancel(1, b"cancel 1"), None);
        assert_eq!(calls.cancel(3, b"cancel 3"), None);
        assert_eq!(calls.cancel(9, b"cancel 9"), None);
        let worker = calls.worker(&"a".into(), now).expect("room");
        assert_eq!(calls.set_worker(1, worker), [(Bytes::from("cancel 1"), None)]);
        assert_eq!(calls.take(1), None);
        assert_eq!(calls.set_worker(2, worker), [(Bytes::from("cancel 3"), None)]);
        // The others of the batch are answered still.
        assert_eq!(calls.cancel(4, b"cancel 4"), Some(worker));
        assert_eq!(calls.take(2), Some(vec![2, 3, 4]));
    }

    #[test]
    fn a_cancelled_call_that_nobody_accepts_is_no_loss() {
        let (mut calls, now) = (OpenCalls::default(), Instant::now());
        calls.sent(1, 1, None, now);
        calls.cancel(1, b"cancel");
        assert_eq!(calls.check(seconds(now, 16), WITHIN), Silence::default());
        assert!(calls.is_empty());
    }
}
