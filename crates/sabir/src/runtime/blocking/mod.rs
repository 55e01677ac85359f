//! The same engine with threads, and no async runtime.
//!
//! A connection runs on one thread, in a loop around `poll(2)`; on Windows two more threads read and write for it.
//! The routers are the same as elsewhere: [`Router::method_sync`] and [`Router::method_blocking`] take plain functions. An
//! `async` handler works too, as long as it waits only for calls to the peer.
//!
//! ```no_run
//! use sabir::{Router, blocking};
//!
//! fn main() -> Result<(), sabir::Error> {
//!     let router = Router::new().method_sync("add", |_, (a, b): (i64, i64)| Ok(a + b));
//!     blocking::serve(blocking::stdio(), router)
//! }
//! ```
//!
//! A client:
//!
//! ```no_run
//! # fn run() -> Result<(), sabir::Error> {
//! use sabir::{Router, blocking};
//! use std::process::Command;
//!
//! let peer = blocking::connect(blocking::child(Command::new("adder"))?, Router::new())?;
//! let sum: i64 = peer.call("add", (1, 2))?;
//! # Ok(())
//! # }
//! ```
//!
//! What runs over descriptors is here: standard input and output, started processes, TCP, and Unix sockets or named pipes,
//! by their functions or by [`url`]; and [`memory`] for tests. HTTP, WebSocket and TLS need the async side, and so does
//! [`listen`](crate::listen) with its limits for strangers. A server for programs that trust each other is a loop:
//!
//! ```no_run
//! use sabir::{Router, blocking};
//!
//! fn main() -> Result<(), sabir::Error> {
//!     let router = Router::new().method_sync("add", |_, (a, b): (i64, i64)| Ok(a + b));
//!     for stream in std::net::TcpListener::bind("127.0.0.1:4000")?.incoming() {
//!         let (stream, router) = (stream?, router.clone());
//!         let streams = blocking::Streams::new(stream.try_clone()?, stream);
//!         std::thread::spawn(move || blocking::serve(streams, router));
//!     }
//!     Ok(())
//! }
//! ```

mod drive;
#[cfg_attr(unix, path = "unix/mod.rs")]
#[cfg_attr(windows, path = "windows/mod.rs")]
mod platform;
mod process;
mod streams;
#[cfg(any(windows, test))]
mod thread_io;

use std::borrow::Cow;
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

#[cfg(unix)]
pub use platform::unix;
#[cfg(windows)]
pub use platform::{Stream, pipe};
use sabir_proto::{Cause, Role, SendError, SubscriptionStyle};
use serde::Serialize;
use serde::de::DeserializeOwned;
pub use streams::{Streams, child, memory, stdio, tcp, url};

use crate::handler::ctx::Ctx;
use crate::peer::commands::Command;
use crate::router::Router;
use crate::router::method::Method;
use crate::runtime::serve::good_end;
use crate::{CallError, Error, SubscriptionEnd, SubscriptionError, peer};

thread_local! {
    /// Whether this thread drives a connection.
    static DRIVING: Cell<bool> = const { Cell::new(false) };
}

/// Serves one connection on this thread until it ends. A peer that disconnects is not an error.
pub fn serve(streams: Streams, router: Router) -> Result<(), Error> {
    let (driver, _) = drive::Driver::new(streams, router, Role::Server)?;
    Ok(good_end(driver.run())?)
}

/// Connects: runs the connection on a thread of its own, and returns the peer to call.
pub fn connect(streams: Streams, router: Router) -> Result<Peer, Error> {
    let (driver, peer) = drive::Driver::new(streams, router, Role::Client)?;
    thread::Builder::new().name("sabir".to_owned()).spawn(move || driver.run())?;
    Ok(Peer(peer))
}

/// The other end of a connection, for threads that can wait.
#[derive(Debug, Clone)]
pub struct Peer(peer::Peer);

impl Peer {
    /// Calls a method and waits for its result, for as long as the connection lives. The params and the type of
    /// the result are those of [`sabir::Peer::call`](crate::Peer::call).
    pub fn call<R: DeserializeOwned>(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: impl Serialize,
    ) -> Result<R, CallError> {
        waited(self.0.call(method, params))
    }

    /// Calls a [`Method`], whose types the compiler checks, and waits for its result.
    pub fn call_method<P: Serialize, R: DeserializeOwned>(
        &self,
        method: Method<P, R>,
        params: P,
    ) -> Result<R, CallError> {
        waited(self.0.call_method(method, params))
    }

    /// Calls a method and waits for its result, for `timeout` at the most.
    pub fn call_timeout<R: DeserializeOwned>(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: impl Serialize,
        timeout: Duration,
    ) -> Result<R, CallError> {
        waited(self.0.call(method, params).timeout(timeout))
    }

    /// Subscribes, as [`sabir::Peer::subscribe`](crate::Peer::subscribe) does, and waits for the response. The items come
    /// from an iterator, which waits for each.
    ///
    /// ```no_run
    /// # fn run(peer: sabir::blocking::Peer) -> Result<(), Box<dyn std::error::Error>> {
    /// use sabir::SubscriptionStyle;
    ///
    /// let style = SubscriptionStyle::new("subscribe_ticks", "ticks", "unsubscribe_ticks");
    /// for tick in peer.subscribe::<u64>(style, (3, 100))? {
    ///     println!("{}", tick?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn subscribe<T: DeserializeOwned>(
        &self,
        style: SubscriptionStyle,
        params: impl Serialize,
    ) -> Result<Subscription<T>, CallError> {
        let subscribed = wait(self.0.subscribe(style, params));
        subscribed.unwrap_or(Err(CallError::NotSent(SendError::OwnThread))).map(Subscription)
    }

    /// Sends a notification. Waits while the peer leaves too much unread, unless a handler on the
    /// connection's own thread sends it: that is refused then.
    pub fn notify(
        &self,
        method: impl Into<Cow<'static, str>>,
        params: impl Serialize,
    ) -> Result<(), SendError> {
        if DRIVING.get() {
            return self.0.try_notify(method, params);
        }
        wait(self.0.notify(method, params)).unwrap_or(Err(SendError::OwnThread))
    }

    /// Sends a notification by its [`Method`], whose types the compiler checks.
    pub fn notify_method<P: Serialize>(&self, method: Method<P, ()>, params: P) -> Result<(), SendError> {
        self.notify(method.name(), params)
    }

    /// Ends the connection gracefully, and waits for its end. On the connection's own thread, where handlers
    /// run that were not added by [`method_blocking`](Router::method_blocking), it does not wait, and returns `None`; and a blocking
    /// handler of the same connection does not wait for itself.
    pub fn shutdown(&self, grace: Duration) -> Option<Cause> {
        if DRIVING.get() {
            let _ = self.0.shared.command(Command::Shutdown(grace));
            return self.0.cause();
        }
        wait(self.0.shutdown(grace))
    }

    /// Starts to shut the connection down, and does not wait.
    pub fn close(&self) {
        self.0.close();
    }

    /// The same peer for async code, and for batches and progress.
    pub fn as_async(&self) -> &peer::Peer {
        &self.0
    }
}

/// A subscription whose items a thread waits for. Dropped, it is left.
#[derive(Debug)]
pub struct Subscription<T>(crate::Subscription<T>);

impl<T> Subscription<T> {
    /// Why it has ended, if it has.
    pub fn end(&self) -> Option<SubscriptionEnd> {
        self.0.end()
    }

    /// Leaves it, and waits for the peer's answer: whether the peer still had it. On the connection's own thread it does not
    /// wait, and returns `false`.
    pub fn unsubscribe(&mut self) -> bool {
        wait(self.0.unsubscribe()).unwrap_or(false)
    }

    /// The same subscription for async code.
    pub fn as_async(&mut self) -> &mut crate::Subscription<T> {
        &mut self.0
    }
}

/// On the connection's own thread, where nobody could wait, there is no next item.
impl<T: DeserializeOwned> Iterator for Subscription<T> {
    type Item = Result<T, SubscriptionError>;

    fn next(&mut self) -> Option<Self::Item> {
        wait(self.0.next()).flatten()
    }
}

/// The caller of a handler, to call back. Only a handler on a thread of its own can wait for the answer.
impl From<&Ctx> for Peer {
    fn from(ctx: &Ctx) -> Self {
        Peer(ctx.peer().clone())
    }
}

fn waited<R: DeserializeOwned>(call: crate::Call<R>) -> Result<R, CallError> {
    wait(call).unwrap_or(Err(CallError::NotSent(SendError::OwnThread)))
}

/// Runs a future on this thread, such as a [`Call`](crate::Call) of a [`Peer::as_async`]. `None` if this
/// thread drives a connection, which nobody would do meanwhile.
pub fn wait<F: Future>(future: F) -> Option<F::Output> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    if DRIVING.get() {
        return None;
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return Some(output),
            Poll::Pending => thread::park(),
        }
    }
}
