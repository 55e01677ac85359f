//! Runs a generator over connections, on one thread.

use std::cell::{RefCell, RefMut};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::alarm::Alarm;
use crate::exchange::Rendered;
use crate::generator::{Generator, Ticket};
use crate::lane::{Answer, Lane};
use crate::plan::Plan;
use crate::tally::{Measured, Outcome};
use crate::units::nanos;

/// How often it is told how far a run is.
const TOLD: Duration = Duration::from_millis(250);

/// How far a run is.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// Since the start.
    pub elapsed: Duration,
    /// Calls that are open.
    pub in_flight: usize,
    /// What it came to so far.
    pub so_far: &'a Measured,
}

/// What all connections share. One thread has it.
pub(crate) struct Shared {
    state: RefCell<State>,
    start: Instant,
    pub(crate) rendered: Rendered,
    pub(crate) answer: Rc<Answer>,
    pub(crate) max_size: usize,
    batch: usize,
    wakers: RefCell<Vec<Option<Waker>>>,
    pacer: RefCell<Option<Waker>>,
}

pub(crate) struct State {
    pub(crate) generator: Generator,
    /// For those who take calls, one after the other.
    pub(crate) tickets: Vec<Ticket>,
    woken: Vec<u32>,
    accepted: Vec<u64>,
}

impl State {
    /// Wakes the connections that have something to send, and the pacer when the run is over.
    pub(crate) fn wake(&mut self, shared: &Shared) {
        self.generator.take_woken(&mut self.woken);
        if !self.woken.is_empty() {
            let wakers = shared.wakers.borrow();
            for lane in self.woken.drain(..) {
                if let Some(waker) = &wakers[lane as usize] {
                    waker.wake_by_ref();
                }
            }
        }
        if self.generator.in_flight() == 0
            && self.generator.is_over(shared.now())
            && let Some(waker) = &*shared.pacer.borrow()
        {
            waker.wake_by_ref();
        }
    }

    /// What was posted was accepted without an answer: fine for notifications.
    pub(crate) fn accepted(&mut self, now: u64, lane: usize) {
        let mut ids = std::mem::take(&mut self.accepted);
        self.generator.notifications_of(lane, &mut ids);
        ids.drain(..).for_each(|id| self.generator.answered(id, now, &Outcome::Ok));
        self.accepted = ids;
    }
}

impl Shared {
    pub(crate) fn state(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }

    pub(crate) fn now(&self) -> u64 {
        nanos(self.start.elapsed())
    }

    /// The connection waits until it is woken.
    pub(crate) fn park(&self, lane: usize, cx: &Context<'_>) {
        let mut wakers = self.wakers.borrow_mut();
        match &mut wakers[lane] {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
    }

    /// How many messages about fill so many bytes.
    pub(crate) fn messages_at_once(&self, bytes: usize) -> u32 {
        (bytes / self.rendered.usual_length(self.batch)).max(1) as u32
    }

    pub(crate) fn lost(&self, lane: usize, what: &str) {
        let mut state = self.state();
        let now = self.now();
        state.generator.lost(lane, now, what);
        state.generator.poll(now);
        state.wake(self);
    }

    /// Those that are still open have this outcome.
    pub(crate) fn finish_all(&self, tickets: &[Ticket], outcome: &Outcome) {
        let mut state = self.state();
        let now = self.now();
        for ticket in tickets {
            if state.generator.is_open(ticket.id) {
                state.generator.answered(ticket.id, now, outcome);
            }
        }
        state.wake(self);
    }
}

/// Runs a plan over some connections.
///
/// `answer` says what the server is answered; `told` hears four times a second how far it is; when `stop` is ready, the run
/// ends with what it has.
///
/// # Errors
///
/// If the thread that keeps the time cannot be started.
pub async fn drive(
    plan: Plan,
    lanes: Vec<Lane>,
    answer: Rc<Answer>,
    mut told: impl FnMut(Progress<'_>),
    stop: impl Future<Output = ()>,
) -> std::io::Result<Measured> {
    let alarm = Alarm::start()?;
    let shared = Rc::new(Shared {
        rendered: Rendered::new(&plan),
        answer,
        max_size: plan.max_size,
        batch: plan.batch,
        wakers: RefCell::new(vec![None; lanes.len()]),
        pacer: RefCell::new(None),
        state: RefCell::new(State {
            generator: Generator::new(plan, lanes.len()),
            tickets: Vec::new(),
            woken: Vec::new(),
            accepted: Vec::new(),
        }),
        start: Instant::now(),
    });
    {
        let mut running: FuturesUnordered<_> =
            lanes.into_iter().enumerate().map(|(index, lane)| lane.run(&shared, index)).collect();
        let mut stop = pin!(stop);
        let mut is_stopped = false;
        let mut last_told = Duration::ZERO;
        std::future::poll_fn(|cx| {
            if !is_stopped && stop.as_mut().poll(cx).is_ready() {
                is_stopped = true;
                let mut state = shared.state();
                state.generator.stop(shared.now());
            }
            // Connections first: their answers may be what ends the run.
            while let Poll::Ready(Some(())) = running.poll_next_unpin(cx) {}
            loop {
                let mut state = shared.state();
                let now = shared.now();
                state.generator.poll(now);
                state.wake(&shared);
                let elapsed = Duration::from_nanos(now);
                if elapsed - last_told >= TOLD {
                    last_told = elapsed;
                    let in_flight = state.generator.in_flight();
                    told(Progress { elapsed, in_flight, so_far: state.generator.so_far() });
                }
                if state.generator.is_over(now) {
                    return Poll::Ready(());
                }
                let next = state.generator.next_wake(now);
                drop(state);
                *shared.pacer.borrow_mut() = Some(cx.waker().clone());
                let next = Duration::from_nanos(next).min(last_told + TOLD);
                match alarm.poll_until(shared.start + next, cx) {
                    Poll::Ready(()) => {
                        // What became due has to go out before the next is looked at.
                        while let Poll::Ready(Some(())) = running.poll_next_unpin(cx) {}
                    }
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await;
    }
    let now = shared.now();
    let shared =
        Rc::into_inner(shared).ok_or_else(|| std::io::Error::other("a connection was not let go"))?;
    Ok(shared.state.into_inner().generator.finish(now))
}
