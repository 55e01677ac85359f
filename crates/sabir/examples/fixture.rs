//! The server that the tests start as a process, with handlers that misbehave.
//!
//! Run with `cargo run -p sabir --example fixture -- [no-signals] [lines|headers|auto|early|unguarded|listen URL|
//! [blocking-]parent CMD…|blocking-connect CMD…|farewell]`.

// To print where nothing should is what it is for.
#![allow(clippy::print_stdout)]

use std::io::Write;
use std::process::Command;
use std::time::Duration;

use futures_util::{Stream, stream};
use sabir::{Feed, Framing, RawJson, Router, SubscriptionStyle, blocking, transport};

/// What a library in C does to a protocol on standard output.
mod c {
    #![allow(unsafe_code)]

    // SAFETY: `int putchar(int)` of the C library, which takes any number.
    unsafe extern "C" {
        pub(crate) safe fn putchar(byte: i32) -> i32;
    }
}

/// Prints to standard output in every way there is, finished lines and unfinished ones.
fn print() -> sabir::Result<()> {
    println!("stray from println");
    print!("stray from print");
    for &byte in b"stray from C" {
        c::putchar(byte.into());
    }
    raw_stdout()?.write_all(b"stray from write\n")?;
    let (shell, command) = if cfg!(windows) { ("cmd", "/c") } else { ("sh", "-c") };
    Command::new(shell).args([command, "echo stray from a child"]).status()?;
    Ok(())
}

/// Standard output without what Rust puts in between.
fn raw_stdout() -> std::io::Result<std::fs::File> {
    #[cfg(unix)]
    let raw = std::os::fd::AsFd::as_fd(&std::io::stdout()).try_clone_to_owned()?;
    #[cfg(windows)]
    let raw = std::os::windows::io::AsHandle::as_handle(&std::io::stdout()).try_clone_to_owned()?;
    Ok(raw.into())
}

fn flood_style(policy: &str) -> SubscriptionStyle {
    SubscriptionStyle {
        subscribe: format!("flood_{policy}").into(),
        ..SubscriptionStyle::new("", "flood", "leave")
    }
}

/// Items of about this many bytes, for ever: a megabyte a second. Every other one is a byte longer.
fn flood(bytes: usize) -> impl Stream<Item = String> + Send + 'static {
    stream::unfold(0, move |n| async move {
        tokio::time::sleep(Duration::from_millis(1 + bytes as u64 / 1000)).await;
        Some(("x".repeat(bytes + n % 2), n + 1))
    })
}

fn router() -> Router {
    Router::new()
        .method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) })
        .method_raw("echo", |_, params| async move { Ok(params.unwrap_or(RawJson::NULL)) })
        .method_raw("hold", |_, params| async move {
            std::future::pending::<()>().await;
            Ok(params.unwrap_or(RawJson::NULL))
        })
        .method("sleep", |_, ms: u64| async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(ms)
        })
        .method("print", |_, ()| async { print() })
        .method("panic", |_, ()| async { if true { panic!("on purpose") } else { Ok(()) } })
        .method("big", |_, bytes: usize| async move { Ok("x".repeat(bytes)) })
        .method("complain", |_, bytes: usize| async move {
            Ok(std::io::stderr().write_all(&[&vec![b'x'; bytes], &b"\n"[..]].concat())?)
        })
        .method("exit", |_, code: i32| async move { if true { std::process::exit(code) } else { Ok(()) } })
        .subscription(flood_style("wait"), |_, bytes: usize| async move { Ok(flood(bytes)) })
        .subscription(flood_style("drop"), |_, bytes: usize| async move {
            Ok(Feed::new(flood(bytes)).drop_oldest())
        })
        .subscription(flood_style("latest"), |_, bytes: usize| async move {
            Ok(Feed::new(flood(bytes)).keep_latest(String::len))
        })
        .subscription(
            flood_style("close"),
            |_, bytes: usize| async move { Ok(Feed::new(flood(bytes)).close()) },
        )
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), sabir::Error> {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let mut args: Vec<_> = args.iter().map(String::as_str).collect();
    let handles_signals = args.first() != Some(&"no-signals");
    if !handles_signals {
        args.remove(0);
    }
    let stdio = match args[..] {
        [] | ["lines"] => transport::stdio(),
        ["headers"] => transport::stdio().framing(Framing::Headers),
        ["auto"] => transport::stdio().framing(None),
        // Prints before it serves.
        ["early"] => {
            let stdio = transport::stdio();
            print().map_err(|error| std::io::Error::other(error.to_string()))?;
            stdio
        }
        ["unguarded"] => transport::Stdio::unguarded(),
        ["listen", url] => {
            let (url, sessions) = match url.strip_prefix("session+") {
                Some(url) => (url, true),
                None => (url, false),
            };
            let server = sabir::listen(url, router());
            #[cfg(feature = "http")]
            let server = match sessions {
                true => server.http(sabir::Http::new().sessions(sabir::Sessions::opened_by("echo"))),
                false => server,
            };
            #[cfg(not(feature = "http"))]
            let _ = sessions;
            let server = if handles_signals { server.with_signals() } else { server }.await?;
            println!("{}", server.url());
            return server.run().await;
        }
        // Waits for ever for a call to a process.
        ["parent", program, ref args @ ..] => {
            let mut command = Command::new(program);
            command.args(args);
            let peer = sabir::connect(transport::child(command)?, Router::new()).await?;
            peer.call::<()>("complain", 10_000_000).await?;
            return Ok(peer.call::<()>("sleep", u64::MAX).await?);
        }
        // The same without a runtime.
        ["blocking-parent", program, ref args @ ..] => {
            let mut command = Command::new(program);
            command.args(args);
            let child = blocking::child(command)?;
            return tokio::task::spawn_blocking(move || {
                let peer = blocking::connect(child, Router::new())?;
                peer.call::<()>("complain", 10_000_000)?;
                Ok(peer.call::<()>("sleep", u64::MAX)?)
            })
            .await
            .map_err(std::io::Error::other)?;
        }
        // Connects without a runtime, and ends at once.
        ["blocking-connect", program, ref args @ ..] => {
            let mut command = Command::new(program);
            command.args(args);
            let peer = blocking::connect(blocking::child(command)?, Router::new())?;
            peer.shutdown(Duration::ZERO);
            // The process is ended by the connection's own thread.
            std::thread::sleep(Duration::from_secs(1));
            return Ok(());
        }
        // Says that it has seen the end of its input.
        ["farewell"] => {
            std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
            eprintln!("the input has ended");
            return Ok(());
        }
        _ => return Err(std::io::Error::other("see the first lines of examples/fixture.rs").into()),
    };
    sabir::serve(if handles_signals { stdio.with_signals() } else { stdio }, router()).await
}
