//! A JSON-RPC server on plain `std::net`, a thread for each connection: all that a driver has to do.
//!
//! Run with `cargo run -p sabir-proto --example tcp_server`, then
//! `echo '{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}' | nc -N 127.0.0.1 4000`.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use sabir_proto::{Cause, Config, ErrorCode, ErrorObject, Event, Output, RawJson, Session, Time};

/// Runs a session over the stream until one side ends it.
fn drive(mut stream: &TcpStream, mut session: Session) -> io::Result<Cause> {
    let start = Instant::now();
    let now = || Time::since(start.elapsed());
    loop {
        match session.poll_output(now()) {
            Output::Event(Event::Request { key, method, params, .. }) => {
                match answer(&method, params.as_ref()) {
                    Ok(result) => session.reply(now(), key, &result),
                    Err(error) => session.reply_error(now(), key, &error),
                };
            }
            Output::Event(Event::Notification { .. }) => session.finish_notification(now()),
            Output::Event(_) => {}
            Output::Wait(wait) => {
                let timeout = wait.deadline.map(|at| (at - now()).max(Duration::from_millis(1)));
                if wait.write.is_empty() {
                    stream.set_read_timeout(timeout)?;
                    match stream.read(session.space()) {
                        Ok(0) => session.handle_eof(now()),
                        Ok(count) => session.handle_read(now(), count),
                        Err(e) if is_timeout(&e) => {}
                        Err(e) => session.handle_lost(now(), e.to_string()),
                    }
                } else {
                    stream.set_write_timeout(timeout)?;
                    match stream.write(wait.write) {
                        Ok(count) => session.handle_written(now(), count),
                        Err(e) if is_timeout(&e) => {}
                        Err(e) => session.handle_lost(now(), e.to_string()),
                    }
                }
            }
            Output::Done(cause) => return Ok(cause),
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn answer(method: &str, params: Option<&RawJson<'_>>) -> Result<i64, ErrorObject<'static>> {
    match method {
        "add" => {
            let (a, b): (i64, i64) = params
                .ok_or("`add` takes two numbers".to_owned())
                .and_then(|params| params.parse().map_err(|e| e.to_string()))
                .map_err(|reason| ErrorObject::because(ErrorCode::INVALID_PARAMS, reason))?;
            Ok(a.saturating_add(b))
        }
        _ => Err(ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND)),
    }
}

/// Serves each connection on a thread of its own.
pub(crate) fn serve(listener: &TcpListener) -> io::Result<()> {
    loop {
        let (stream, peer) = listener.accept()?;
        std::thread::spawn(move || match drive(&stream, Session::new(Config::default())) {
            Ok(cause) => eprintln!("{peer}: {cause}"),
            Err(error) => eprintln!("{peer}: {error}"),
        });
    }
}

fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:4000")?;
    eprintln!("serving on {}", listener.local_addr()?);
    serve(&listener)
}
