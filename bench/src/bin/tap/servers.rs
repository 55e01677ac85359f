//! What is measured: a server by itself, and behind the tap with different work to do.

use sabir_bench::Kind::{Floor, Ours};
use sabir_bench::Program;

pub(crate) struct Server {
    pub(crate) program: Program,
    pub(crate) way: Way,
    /// What the tap does; nothing for a server by itself.
    pub(crate) options: Option<&'static [&'static str]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Pipes,
    Tcp,
}

pub(crate) const SABIR: &str = "../target/dist/sabir";

/// Stands for the file in the options.
pub(crate) const FILE: &str = "FILE";

/// With the page of the tap open: what is measured is then the traffic of somebody who looks at it.
pub(crate) const VIEW: &str = "--view";

/// On pipes, the fastest server that there is here: what the tap adds shows most beside it.
const ADDER: &[&str] = &["../target/dist/examples/blocking_adder"];
const DEMO: &[&str] = &[SABIR, "demo", "--listen", "tcp://127.0.0.1:0", "--framing", "lines"];

const fn server(
    name: &'static str,
    command: &'static [&'static str],
    way: Way,
    options: Option<&'static [&'static str]>,
) -> Server {
    // What the others are compared with is not part of the tap.
    let kind = if options.is_none() { Floor } else { Ours };
    Server { program: Program { name, command, kind }, way, options }
}

pub(crate) const SERVERS: &[Server] = &[
    server("sabir blocking", ADDER, Way::Pipes, None),
    server("tap", ADDER, Way::Pipes, Some(&[])),
    server("tap --check", ADDER, Way::Pipes, Some(&["--check"])),
    server("tap --record", ADDER, Way::Pipes, Some(&["--record", FILE])),
    server("tap --record --check", ADDER, Way::Pipes, Some(&["--record", FILE, "--check"])),
    server("tap --record --view", ADDER, Way::Pipes, Some(&["--record", FILE, VIEW])),
    server("sabir demo, TCP", DEMO, Way::Tcp, None),
    server("tap, TCP", DEMO, Way::Tcp, Some(&[])),
    server("tap --record, TCP", DEMO, Way::Tcp, Some(&["--record", FILE])),
    server("tap --record --view, TCP", DEMO, Way::Tcp, Some(&["--record", FILE, VIEW])),
];
