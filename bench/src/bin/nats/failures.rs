//! How long it takes until a caller is told that nobody is there, that its worker is gone, or that the server is.

use std::io::{self, BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sabir_bench::Process;

use crate::processes::{LOAD, Nats, reported, worker};

pub(crate) fn measure() -> io::Result<()> {
    println!("\nHow long it takes to notice, with the settings that nobody has changed\n");
    let nats = Nats::start(1 << 20)?;
    let missing = reported(Command::new(LOAD).args(["sabir", "missing", &nats.url, "2000"]))?;
    println!("no worker is there          {:>9.2} ms   the median of 2,000 calls", missing.p50_us / 1e3);
    drop(nats);
    for (what, works, kills) in [
        ("the server is killed", 300, Kills::Server),
        ("the worker is killed, early", 300, Kills::Worker),
        ("the worker is killed, later", 2500, Kills::Worker),
    ] {
        let nats = Nats::start(1 << 20)?;
        let worker = worker("sabir", &nats.url)?;
        let (took, reason) = waits(nats, worker, Duration::from_millis(works), kills)?;
        println!("{what:<28}{:>9.1} ms   {reason}", took.as_secs_f64() * 1e3);
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Kills {
    Server,
    Worker,
}

/// A call that is never answered, for which the worker has worked so long when something is killed.
fn waits(nats: Nats, worker: Process, works: Duration, kills: Kills) -> io::Result<(Duration, String)> {
    let mut command = Command::new(LOAD);
    command.args(["sabir", "wait", &nats.url]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (_caller, pipes) = Process::start(&mut command, |child| (child.stdout.take(), child.stderr.take()))?;
    let (Some(output), Some(errors)) = pipes else { return Err(io::Error::other("no pipes")) };
    // It says that it is connected.
    BufReader::new(errors).read_line(&mut String::new())?;
    thread::sleep(works);
    // Both end when they are dropped.
    let (mut nats, mut worker) = (Some(nats), Some(worker));
    let killed = Instant::now();
    match kills {
        Kills::Server => drop(nats.take()),
        Kills::Worker => drop(worker.take()),
    }
    let mut reason = String::new();
    BufReader::new(output).read_line(&mut reason)?;
    Ok((killed.elapsed(), reason.trim_end().to_owned()))
}
