//! Runs over real streams in memory: every way in which messages are delimited, both directions, and connections that break.

use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use sabir_load::{Call, Class, Codec, Lane, Measured, Outcome, Pace, Plan, drive};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

fn call(method: &str, is_notification: bool) -> Call {
    Call {
        name: method.to_owned(),
        method: format!("\"{method}\""),
        params: Some("[1]".to_owned()),
        is_notification,
        expected: Some("[1]".to_owned()),
    }
}

fn plan(calls: Vec<Call>, batch: usize) -> Plan {
    Plan {
        pace: Pace::Closed(50),
        order: (0..calls.len() as u32).collect(),
        calls,
        warmup: Duration::ZERO,
        duration: None,
        count: Some(1000),
        batch,
        grace: Duration::from_secs(60),
        timeout: Duration::from_secs(60),
        max_in_flight: 1000,
        until: None,
        max_size: 1 << 20,
    }
}

fn run(plan: Plan, lanes: impl FnOnce() -> Vec<Lane>) -> Measured {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let answer =
            |method: &str, _: Option<&sabir_proto::RawJson<'_>>| Ok(format!("\"{method} yourself\""));
        drive(plan, lanes(), Rc::new(answer), |_| {}, pending()).await.expect("a run")
    })
}

/// Answers each line with its own params, after a question of its own; every third call fails.
async fn lines(stream: DuplexStream, dies_after: usize) {
    let (read, mut write) = tokio::io::split(stream);
    let mut read = tokio::io::BufReader::new(read);
    let mut line = String::new();
    for number in 0..dies_after {
        line.clear();
        if tokio::io::AsyncBufReadExt::read_line(&mut read, &mut line).await.unwrap_or(0) == 0 {
            return;
        }
        if line.contains("yourself") {
            continue;
        }
        let id = line.split("\"id\":").nth(1).and_then(|rest| rest.split(',').next()).expect("an id");
        let answer = match number % 3 {
            0 => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":[1]}}\n"),
            1 => {
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":-5,\"message\":\"no\"}}}}\n")
            }
            _ => format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ask\"}}\n{{\"jsonrpc\":\"2.0\",\"method\":\"say\"}}\n\
                 {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":[ 2 ]}}\n"
            ),
        };
        if write.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn count(measured: &Measured, class: Class) -> u64 {
    measured.errors.iter().find(|error| error.class == class).map_or(0, |error| error.count)
}

#[test]
fn answers_are_matched_checked_and_counted_and_questions_answered() {
    let measured = run(plan(vec![call("echo", false)], 1), || {
        let (ours, theirs) = duplex(1 << 16);
        tokio::spawn(lines(theirs, usize::MAX));
        vec![Lane::Stream { io: Box::new(ours), codec: Codec::Lines }]
    });
    let total = measured.total();
    let (failed, wrong) = (count(&measured, Class::Rpc(-5)), count(&measured, Class::Wrong));
    assert_eq!(total.sent, 1000);
    assert_eq!(total.ok + failed + wrong, 1000);
    assert!(failed > 200 && wrong > 200, "{:?}", measured.errors);
    assert_eq!((measured.questions, measured.notifications), (wrong, wrong));
    assert_eq!((measured.strays, measured.late_answers), (0, 0));
    assert!(measured.bytes.0 > 50_000 && measured.bytes.1 > 40_000, "{:?}", measured.bytes);
}

/// Each answer is an error with a code of its own, or an answer that is not valid.
#[test]
fn many_codes_and_invalid_answers_are_counted_as_what_they_are() {
    let measured = run(plan(vec![call("echo", false)], 1), || {
        let (ours, theirs) = duplex(1 << 16);
        tokio::spawn(async move {
            let (read, mut write) = tokio::io::split(theirs);
            let mut requests = tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(read));
            let mut number = 0;
            while let Ok(Some(line)) = requests.next_line().await {
                let id = line.split("\"id\":").nth(1).and_then(|rest| rest.split(',').next()).expect("an id");
                number += 1;
                let both = if number % 2 == 0 { ",\"result\":1" } else { "" };
                let error = format!("\"error\":{{\"code\":{number},\"message\":\"no\"}}");
                let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{error}{both}}}\n");
                if write.write_all(answer.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        vec![Lane::Stream { io: Box::new(ours), codec: Codec::Lines }]
    });
    let codes: Vec<u64> = measured
        .errors
        .iter()
        .filter(|error| matches!(error.class, Class::Rpc(_)))
        .map(|error| error.count)
        .collect();
    assert!(codes.len() > 50 && codes.iter().all(|count| *count == 1), "{:?}", measured.errors);
    assert_eq!(count(&measured, Class::RpcOther), 500 - codes.len() as u64);
    assert_eq!(count(&measured, Class::Protocol), 500);
    assert_eq!(measured.total().sent, 1000);
}

#[test]
fn a_connection_that_breaks_ends_the_run_with_what_was_measured() {
    let measured = run(plan(vec![call("echo", false)], 1), || {
        let (ours, theirs) = duplex(1 << 16);
        tokio::spawn(lines(theirs, 100));
        vec![Lane::Stream { io: Box::new(ours), codec: Codec::Lines }]
    });
    let total = measured.total();
    assert!(total.ok > 20 && total.ok < 100, "{}", total.ok);
    assert_eq!(measured.ended_by.as_deref(), Some("the server closed the connection"));
    assert!(count(&measured, Class::Transport) > 0, "{:?}", measured.errors);
    assert_eq!(total.sent, total.ok + total.errors);
}

/// Answers every call of a stream with [1], however messages are delimited.
async fn echo(mut stream: DuplexStream, codec: Codec) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).await.unwrap_or(0);
        if count == 0 {
            return;
        }
        bytes.extend_from_slice(&buffer[..count]);
        while let Some((text, used)) = next(&bytes, codec) {
            bytes.drain(..used);
            let ids = text.split("\"id\":").skip(1).filter_map(|rest| rest.split(',').next());
            let answers: Vec<String> =
                ids.map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":[1]}}")).collect();
            let body =
                if text.starts_with('[') { format!("[{}]", answers.join(",")) } else { answers.join("") };
            let framed = match codec {
                Codec::Lines => format!("{body}\n").into_bytes(),
                Codec::Headers => format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes(),
                Codec::WebSocket => {
                    let mut frame = vec![0x81, 126];
                    frame.extend_from_slice(&(body.len() as u16).to_be_bytes());
                    frame.extend_from_slice(body.as_bytes());
                    frame
                }
            };
            if !answers.is_empty() && stream.write_all(&framed).await.is_err() {
                return;
            }
        }
    }
}

fn next(bytes: &[u8], codec: Codec) -> Option<(String, usize)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    match codec {
        Codec::Lines => {
            let end = bytes.iter().position(|byte| *byte == b'\n')?;
            Some((text(&bytes[..end]), end + 1))
        }
        Codec::Headers => {
            let all = String::from_utf8_lossy(bytes);
            let (head, _) = all.split_once("\r\n\r\n")?;
            let length: usize = head.strip_prefix("Content-Length: ")?.parse().ok()?;
            let start = head.len() + 4;
            Some((text(bytes.get(start..start + length)?), start + length))
        }
        Codec::WebSocket => {
            let (head, length) = match *bytes.get(1)? & 0x7f {
                126 => (4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
                short => (2, usize::from(short)),
            };
            let mask = bytes.get(head..head + 4)?;
            let body = bytes.get(head + 4..head + 4 + length)?;
            let body: Vec<u8> =
                body.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
            Some((text(&body), head + 4 + length))
        }
    }
}

#[test]
fn every_codec_carries_calls_batches_and_notifications() {
    for codec in [Codec::Lines, Codec::Headers, Codec::WebSocket] {
        for batch in [1, 8] {
            let calls = vec![call("echo", false), call("log", true)];
            let measured = run(plan(calls, batch), || {
                // Small enough that writes do not fit at once.
                let (ours, theirs) = duplex(300);
                tokio::spawn(echo(theirs, codec));
                vec![Lane::Stream { io: Box::new(ours), codec }]
            });
            let total = measured.total();
            assert_eq!(
                (total.sent, total.ok, total.errors),
                (1000, 1000, 0),
                "{codec:?} {batch} {measured:?}"
            );
            let rows: Vec<_> = measured.methods.iter().map(|row| (row.name.as_str(), row.ok)).collect();
            assert_eq!(rows, [("echo", 500), ("log", 500)], "{codec:?} {batch}");
        }
    }
}

/// Answers so many posts on a connection, then closes it; each seventh with a status of its own.
async fn http(mut stream: DuplexStream, posts: usize) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    for number in 1..=posts {
        let body = loop {
            let all = String::from_utf8_lossy(&bytes).into_owned();
            if let Some((head, rest)) = all.split_once("\r\n\r\n") {
                let length: usize = head
                    .split("Content-Length: ")
                    .nth(1)
                    .and_then(|length| length.parse().ok())
                    .expect("a length");
                if rest.len() >= length {
                    bytes.drain(..head.len() + 4 + length);
                    break rest[..length].to_owned();
                }
            }
            match stream.read(&mut buffer).await.unwrap_or(0) {
                0 => return,
                count => bytes.extend_from_slice(&buffer[..count]),
            }
        };
        let id = body.split("\"id\":").nth(1).and_then(|rest| rest.split(',').next()).expect("an id");
        let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":[1]}}");
        let response = match number % 7 {
            0 => "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy".to_owned(),
            1 => format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{answer}\r\n0\r\n\r\n",
                answer.len()
            ),
            _ => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{answer}", answer.len()),
        };
        if stream.write_all(response.as_bytes()).await.is_err() {
            return;
        }
    }
}

#[test]
fn http_connections_are_opened_again_and_refusals_counted() {
    let measured = run(plan(vec![call("echo", false)], 1), || {
        let lane = || Lane::Http {
            first: None,
            connect: Box::new(|| {
                Box::pin(async {
                    let (ours, theirs) = duplex(1 << 16);
                    tokio::spawn(http(theirs, 20));
                    Ok(Box::new(ours) as _)
                })
            }),
            head: b"POST / HTTP/1.1\r\nHost: x\r\n".to_vec(),
        };
        (0..4).map(|_| lane()).collect()
    });
    let total = measured.total();
    assert_eq!(total.sent, 1000);
    assert_eq!(total.ok + total.errors, 1000, "{:?}", measured.errors);
    let errors = count(&measured, Class::Transport);
    assert_eq!(errors, total.errors, "{:?}", measured.errors);
    assert!((100..=250).contains(&errors), "{:?}", measured.errors);
    assert!(measured.reconnects >= 40, "{}", measured.reconnects);
}

#[test]
fn futures_are_made_for_each_call() {
    let measured = run(plan(vec![call("echo", false)], 1), || {
        let number = std::cell::Cell::new(0);
        let make = move |calls: &[u32]| {
            assert_eq!(calls, [0]);
            number.set(number.get() + 1);
            let fails = number.get() % 10 == 0;
            Box::pin(async move {
                tokio::task::yield_now().await;
                match fails {
                    true => vec![Outcome::Failed(Class::Timeout, "late".to_owned())],
                    false => vec![Outcome::Ok],
                }
            }) as _
        };
        vec![Lane::Calls(Box::new(make))]
    });
    assert_eq!((measured.total().ok, count(&measured, Class::Timeout)), (900, 100));
}

#[test]
fn the_calls_of_a_batch_are_one_future() {
    let plan = Plan { batch: 8, ..plan(vec![call("echo", false)], 1) };
    let measured = run(plan, || {
        let make = |calls: &[u32]| {
            assert_eq!(calls, [0; 8]);
            let outcome = |number| match number {
                3 => Outcome::Failed(Class::Rpc(-32000), "no".to_owned()),
                _ => Outcome::Ok,
            };
            let outcomes: Vec<Outcome> = (0..calls.len()).map(outcome).collect();
            Box::pin(async move {
                tokio::task::yield_now().await;
                outcomes
            }) as _
        };
        vec![Lane::Calls(Box::new(make))]
    });
    assert_eq!((measured.total().ok, count(&measured, Class::Rpc(-32000))), (875, 125));
}
