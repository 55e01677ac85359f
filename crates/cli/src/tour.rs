//! `sabir tour`: shows the whole protocol, with the demo service in this process.
//!
//! `tour.rpc` has what is sent, and what the answers must contain. The tour shows what was really received.

use std::time::Duration;

use sabir::transport;
use sabir_proto::{Line, RawJson, transcript};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

use crate::demo::rpc;
use crate::exit::{Exit, Failure};
use crate::expect::{self, Names};
use crate::print::Printer;

const SCRIPT: &str = include_str!("tour.rpc");

/// The tour takes a fraction of a second. Longer than this is a bug.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) async fn run(printer: &Printer) -> Result<Exit, Failure> {
    rpc::quiet_panic();
    let (client, server) = tokio::io::duplex(64 * 1024);
    let (read, write) = tokio::io::split(server);
    tokio::spawn(sabir::serve(transport::streams(read, write), rpc::router()));
    let (read, write) = tokio::io::split(client);
    let tour = Tour { lines: BufReader::new(read).lines(), write, printer, names: Names::default() };
    match tokio::time::timeout(TIMEOUT, tour.play()).await {
        Ok(played) => played,
        Err(_) => Err(not_as_expected(format_args!("no answer within {TIMEOUT:?}"))),
    }
}

struct Tour<'p> {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    write: WriteHalf<DuplexStream>,
    printer: &'p Printer,
    names: Names,
}

impl Tour<'_> {
    async fn play(mut self) -> Result<Exit, Failure> {
        for line in transcript(SCRIPT) {
            match line.map_err(not_as_expected)? {
                Line::ToServer(text) => self.send(&text).await?,
                Line::ToClient(expected) => self.receive(&expected).await?,
                other => self.printer.transcript(&other)?,
            }
        }
        Ok(Exit::Ok)
    }

    async fn send(&mut self, text: &str) -> Result<(), Failure> {
        let text = self.names.fill(text, usize::MAX).unwrap_or_default();
        self.printer.transcript(&Line::ToServer(text.as_ref().into()))?;
        self.write.write_all(format!("{text}\n").as_bytes()).await.map_err(not_as_expected)
    }

    async fn receive(&mut self, expected: &str) -> Result<(), Failure> {
        let came = self.lines.next_line().await.map_err(not_as_expected)?;
        let came = came.ok_or_else(|| not_as_expected("the service has ended"))?;
        self.printer.transcript(&Line::ToClient(came.as_str().into()))?;
        let came = RawJson::new(came).map_err(not_as_expected)?;
        let expected = expect::read(expected).map_err(not_as_expected)?;
        self.names.compare(&expected, &came).map_err(not_as_expected)
    }
}

fn not_as_expected(what: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Error, format_args!("the tour failed: {what}"))
        .hint("this is a bug in sabir: please report it")
}
