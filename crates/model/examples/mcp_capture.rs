//! Writes a capture of sessions of MCP to standard output, with as many messages as are asked for: for measuring. The same
//! number gives the same bytes.
//!
//! Run with `cargo run --release -p sabir-model --example mcp_capture -- MESSAGES > capture.jrl`. Half of its sessions are of
//! gateways, and what these call is called on in the other half, in the course of the same trace. There are calls with
//! progress, with questions to the client, that fail and that are refused, and resources that are read.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};

/// Sessions of gateways, and as many behind them.
const GATEWAYS: u64 = 10;
/// Tools of each server.
const TOOLS: u64 = 40;
/// Nanoseconds between two messages.
const STEP: u64 = 137_000;

fn main() -> Result<(), Box<dyn Error>> {
    let messages: u64 = std::env::args().nth(1).as_deref().unwrap_or("1000000").parse()?;
    let mut capture = Capture {
        out: BufWriter::with_capacity(1 << 20, io::stdout().lock()),
        messages,
        written: 0,
        random: Random(20),
    };
    writeln!(
        capture.out,
        r#"{{"jrl":1,"at":"2026-11-18T12:00:00.000Z","tool":"sabir/0.1","transport":"stdio","frame":"lines","profile":"mcp"}}"#
    )?;
    for session in 1..=2 * GATEWAYS {
        capture.handshake(session)?;
    }
    let mut call = 0;
    while !capture.is_full() {
        call += 1;
        capture.call(1 + call % GATEWAYS, call)?;
    }
    Ok(capture.out.flush()?)
}

/// A sequence that looks random and is always the same (an LCG of Knuth's).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

struct Capture<W> {
    out: W,
    messages: u64,
    written: u64,
    random: Random,
}

#[derive(Clone, Copy)]
enum To {
    Server,
    Client,
}

impl<W: Write> Capture<W> {
    fn is_full(&self) -> bool {
        self.written >= self.messages
    }

    fn message(&mut self, session: u64, to: To, message: &str) -> io::Result<()> {
        if self.is_full() {
            return Ok(());
        }
        self.written += 1;
        let (sign, time) = (if let To::Server = to { '>' } else { '<' }, self.written * STEP);
        let number = self.written;
        writeln!(self.out, r#"{{"n":{number},"t":{time},"d":"{sign}","c":{session},"msg":{message}}}"#)
    }

    fn request(&mut self, session: u64, to: To, id: u64, method: &str, params: &str) -> io::Result<()> {
        self.message(
            session,
            to,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#),
        )
    }

    fn notify(&mut self, session: u64, method: &str, params: &str) -> io::Result<()> {
        self.message(
            session,
            To::Client,
            &format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#),
        )
    }

    fn result(&mut self, session: u64, to: To, id: u64, result: &str) -> io::Result<()> {
        self.message(session, to, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
    }

    /// Both sides say who they are, and the server which tools it has.
    fn handshake(&mut self, session: u64) -> io::Result<()> {
        let role = if session > GATEWAYS { "shop" } else { "gateway" };
        let hello = r#"{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"elicitation":{}},"clientInfo":{"name":"agent","version":"1"}}"#;
        self.request(session, To::Server, 1, "initialize", hello)?;
        let answer = format!(
            r#"{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}},"resources":{{}},"logging":{{}}}},"serverInfo":{{"name":"{role}-{session}","version":"2"}}}}"#
        );
        self.result(session, To::Client, 1, &answer)?;
        self.message(session, To::Server, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        self.request(session, To::Server, 2, "tools/list", "{}")?;
        let mut tools = String::new();
        for tool in 0..TOOLS {
            let _ = write!(
                tools,
                r#"{}{{"name":"tool_{tool}","description":"Looks for articles of kind {tool}","inputSchema":{{"type":"object","properties":{{"query":{{"type":"string"}},"limit":{{"type":"integer","minimum":1}}}},"required":["query"]}},"outputSchema":{{"type":"object","properties":{{"count":{{"type":"integer"}},"articles":{{"type":"array","items":{{"type":"string"}}}}}},"required":["count"]}}}}"#,
                if tool > 0 { "," } else { "" },
            );
        }
        self.result(session, To::Client, 2, &format!(r#"{{"tools":[{tools}]}}"#))
    }

    /// A call of a gateway's tool, and what happens until it is answered. The last two tools are never called.
    fn call(&mut self, session: u64, number: u64) -> io::Result<()> {
        let (id, kind) = (number + 2, self.random.below(100));
        if kind < 4 {
            return self.read(session, id);
        }
        let tool = self.random.below(TOOLS - 2);
        self.request(session, To::Server, id, "tools/call", &arguments(tool, number, kind, "a"))?;
        match kind {
            // Passed on to the server behind, in the same trace.
            4..34 => {
                let behind = session + GATEWAYS;
                self.request(behind, To::Server, id, "tools/call", &arguments(tool, number, kind, "b"))?;
                let result = found(number, &mut self.random);
                self.result(behind, To::Client, id, &result)?;
            }
            34..44 => {
                for step in 1..=3 {
                    let params = format!(r#"{{"progressToken":{number},"progress":{step},"total":3}}"#);
                    self.notify(session, "notifications/progress", &params)?;
                }
            }
            44..48 => {
                let params = r#"{"message":"Which shelf?","requestedSchema":{"type":"object","properties":{"shelf":{"type":"integer"}}}}"#;
                self.request(session, To::Client, id, "elicitation/create", params)?;
                self.result(session, To::Server, id, r#"{"action":"accept","content":{"shelf":4}}"#)?;
            }
            48..50 => {
                let params = format!(
                    r#"{{"messages":[{{"role":"user","content":{{"type":"text","text":"Sum up {number}"}}}}],"maxTokens":200}}"#
                );
                self.request(session, To::Client, id, "sampling/createMessage", &params)?;
                let result = r#"{"role":"assistant","model":"parrot-1","content":{"type":"text","text":"All of it"},"stopReason":"endTurn"}"#;
                self.result(session, To::Server, id, result)?;
            }
            50..53 => {
                let params =
                    format!(r#"{{"level":"warning","logger":"shelf","data":"query {number} was slow"}}"#);
                self.notify(session, "notifications/message", &params)?;
            }
            _ => {}
        }
        match kind {
            53..56 => {
                let why = format!(
                    r#"{{"content":[{{"type":"text","text":"shelf {} is closed"}}],"isError":true}}"#,
                    number % 50
                );
                self.result(session, To::Client, id, &why)
            }
            56..57 => {
                let error = r#""error":{"code":-32602,"message":"Unknown shelf"}"#;
                self.message(session, To::Client, &format!(r#"{{"jsonrpc":"2.0","id":{id},{error}}}"#))
            }
            // A result that is not what the tool has announced.
            57..58 => self.result(
                session,
                To::Client,
                id,
                r#"{"content":[{"type":"text","text":"many"}],"structuredContent":{"count":"many"}}"#,
            ),
            _ => {
                let result = found(number, &mut self.random);
                self.result(session, To::Client, id, &result)
            }
        }
    }

    fn read(&mut self, session: u64, id: u64) -> io::Result<()> {
        let uri = format!("shop://articles/{}", self.random.below(500));
        self.request(session, To::Server, id, "resources/read", &format!(r#"{{"uri":"{uri}"}}"#))?;
        self.result(
            session,
            To::Client,
            id,
            &format!(
                r#"{{"contents":[{{"uri":"{uri}","mimeType":"text/plain","text":"article of {id}"}}]}}"#
            ),
        )
    }
}

/// Params of a call. One in fifty has arguments that the tool does not take.
fn arguments(tool: u64, number: u64, kind: u64, span: &str) -> String {
    let query = if kind == 99 { "7".to_owned() } else { format!(r#""article {}""#, number % 5000) };
    format!(
        r#"{{"name":"tool_{tool}","arguments":{{"query":{query},"limit":{}}},"_meta":{{"progressToken":{number},"traceparent":"00-{number:032x}-{span:0>16}-01"}}}}"#,
        1 + number % 20,
    )
}

/// A result with its structured content.
fn found(number: u64, random: &mut Random) -> String {
    let article = random.below(5000);
    format!(
        r#"{{"content":[{{"type":"text","text":"found article {article} on shelf {}"}}],"structuredContent":{{"count":2,"articles":["article {article}","article {}"]}},"isError":false}}"#,
        number % 50,
        number % 700,
    )
}
