//! Subscriptions between jsonrpsee and Sabir over WebSocket, both ways. Prints how each test went, in the lines that
//! `interop/run` counts.

mod as_client;
mod as_server;

use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

/// What a test found wrong.
type Outcome = Result<(), Box<dyn std::error::Error>>;
type Test = (&'static str, Pin<Box<dyn Future<Output = Outcome>>>);

/// Far more than any test needs; a peer that hangs must not hang the run.
const LONG: Duration = Duration::from_secs(30);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    for (name, test) in as_client::tests().into_iter().chain(as_server::tests()) {
        let outcome = tokio::time::timeout(LONG, test).await.unwrap_or_else(|late| Err(late.into()));
        match outcome {
            Ok(()) => println!("ok - jsonrpsee: {name}"),
            Err(error) => {
                println!("not ok - jsonrpsee: {name}");
                eprintln!("{error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

/// Fails with both sides if they differ.
fn check<T: PartialEq + std::fmt::Debug>(got: T, want: T) -> Outcome {
    if got == want { Ok(()) } else { Err(format!("   got {got:?}\n  want {want:?}").into()) }
}

/// Waits until something holds. Its deadline is that of the test.
async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
