//! `sabir tour`: the whole protocol at work, against the demo service in this process.
//!
//! `tour.rpc` says what is sent and what the answers must have in them. What is shown is what came.

use std::time::Duration;

use sabir::transport;
use sabir_proto::{Line, RawJson, transcript};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

use crate::demo::rpc;
use crate::exit::{Exit, Failure};
use crate::print::Printer;

const SCRIPT: &str = include_str!("tour.rpc");

/// In the script, the id of the request that came last.
const ITS_ID: &str = "$id";

/// The tour takes a fraction of a second; something is badly wrong if it takes this long.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn run(printer: &Printer) -> Result<Exit, Failure> {
    rpc::quiet_panic();
    let (client, server) = tokio::io::duplex(64 * 1024);
    let (read, write) = tokio::io::split(server);
    tokio::spawn(sabir::serve(transport::streams(read, write), rpc::router()));
    let (read, write) = tokio::io::split(client);
    let tour = Tour { lines: BufReader::new(read).lines(), write, printer, last: RawJson::NULL };
    match tokio::time::timeout(PATIENCE, tour.play()).await {
        Ok(played) => played,
        Err(_) => Err(not_as_told(format_args!("nothing came for {PATIENCE:?}"))),
    }
}

struct Tour<'p> {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    printer: &'p Printer,
    /// What came last.
    last: RawJson<'static>,
}

impl Tour<'_> {
    async fn play(mut self) -> Result<Exit, Failure> {
        for line in transcript(SCRIPT) {
            match line.map_err(not_as_told)? {
                Line::ToServer(text) => self.send(&text).await?,
                Line::ToClient(expected) => self.receive(&expected).await?,
                other => self.printer.transcript(&other)?,
            }
        }
        Ok(Exit::Ok)
    }

    async fn send(&mut self, text: &str) -> Result<(), Failure> {
        let id = self.last.get("id").map_or_else(|| "null".to_owned(), |id| id.to_string());
        let text = text.replace(ITS_ID, &id);
        self.printer.transcript(&Line::ToServer(text.as_str().into()))?;
        self.write.write_all(format!("{text}\n").as_bytes()).await.map_err(not_as_told)
    }

    async fn receive(&mut self, expected: &str) -> Result<(), Failure> {
        let came = self.lines.next_line().await.map_err(not_as_told)?;
        let came = came.ok_or_else(|| not_as_told("the service has gone"))?;
        self.printer.transcript(&Line::ToClient(came.as_str().into()))?;
        self.last = RawJson::new(came).map_err(not_as_told)?;
        let parsed = |text: &str| serde_json::from_str::<Value>(text).map_err(not_as_told);
        if fits(&parsed(expected)?, &parsed(self.last.as_str())?) {
            Ok(())
        } else {
            Err(not_as_told(format_args!("expected a message with {expected}")))
        }
    }
}

/// Whether `came` has everything that is `expected`.
fn fits(expected: &Value, came: &Value) -> bool {
    match (expected, came) {
        (Value::Object(expected), Value::Object(came)) => {
            expected.iter().all(|(name, value)| came.get(name).is_some_and(|came| fits(value, came)))
        }
        (Value::Array(expected), Value::Array(came)) => {
            expected.len() == came.len()
                && expected.iter().zip(came).all(|(expected, came)| fits(expected, came))
        }
        _ => expected == came,
    }
}

fn not_as_told(what: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Error, format_args!("the tour did not go as told: {what}"))
        .hint("this is a defect of sabir itself: please report it")
}
