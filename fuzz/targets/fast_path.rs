//! The fast path of HTTP/1.1 and hyper: whatever comes over a connection, both answer the same bytes. Time is virtual,
//! so deadlines are part of it.

use sabir::fuzzing::{FastHead, fast_head, serve_connection};
use sabir::{Http, Router};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// More than this is not a head for the fast path, and slow to compare.
const LONGEST: usize = 4096;

pub(crate) fn run(data: &[u8]) {
    let data = &data[..data.len().min(LONGEST)];
    check_head(data);
    let fast = answers(data, Http::new());
    let hyper = answers(data, Http::new().hyper_only());
    assert_eq!(fast, hyper, "fast\n{fast}\nhyper\n{hyper}\nfor {}", data.escape_ascii());
}

/// A part of a head may become one, and more behind it changes nothing.
fn check_head(data: &[u8]) {
    let FastHead::Post(_, head, length) = fast_head(data) else { return };
    for end in 0..head {
        assert!(matches!(fast_head(&data[..end]), FastHead::Partial), "{end}: {}", data.escape_ascii());
    }
    let FastHead::Post(_, alone, same) = fast_head(&data[..head]) else { panic!("{}", data.escape_ascii()) };
    assert_eq!((head, length), (alone, same), "{}", data.escape_ascii());
}

/// Everything that a server answers until it closes the connection, without dates.
fn answers(data: &[u8], http: Http) -> String {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let router = Router::new().method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) }).method(
            "nap",
            |_, ms: u32| async move {
                tokio::time::sleep(std::time::Duration::from_millis(ms.into())).await;
                Ok(ms)
            },
        );
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let serving = tokio::spawn(serve_connection(theirs, router, http));
        let (mut read, mut write) = tokio::io::split(ours);
        let _ = write.write_all(data).await;
        let mut answers = Vec::new();
        let _ = read.read_to_end(&mut answers).await;
        let _ = serving.await;
        let text = String::from_utf8_lossy(&answers).into_owned();
        let lines = text.split_inclusive("\r\n").filter(|line| !line.starts_with("date: "));
        lines.collect()
    })
}
