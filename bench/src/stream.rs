//! A server under load over one connection, pipes or a socket: started, spoken to, and stopped.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use crate::counter::Counter;
use crate::load::{Load, Ring, check_count};
use crate::process::{Process, cpu_of, cpu_of_this_thread};

const MOST_MESSAGES: u64 = 20_000_000;

pub struct StreamServer {
    pub process: Process,
    input: Box<dyn Write + Send>,
    output: Box<dyn Read + Send>,
    counter: Counter,
    buffer: Vec<u8>,
}

impl StreamServer {
    /// Over its standard input and output.
    pub fn start(command: &[&str], counter: Counter) -> io::Result<StreamServer> {
        let mut program = Command::new(command[0]);
        program.args(&command[1..]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let (process, pipes) =
            Process::start(&mut program, |child| (child.stdin.take(), child.stdout.take()))?;
        let (Some(input), Some(output)) = pipes else {
            return Err(io::Error::other("no pipes"));
        };
        Ok(StreamServer::new(process, Box::new(input), Box::new(output), counter))
    }

    /// Over a socket. The process tells on standard error where it listens.
    pub fn connect(process: Process, url: &str, counter: Counter) -> io::Result<StreamServer> {
        let stream = TcpStream::connect(url.trim_start_matches("tcp://").trim_end_matches('/'))?;
        stream.set_nodelay(true)?;
        Ok(StreamServer::new(process, Box::new(stream.try_clone()?), Box::new(stream), counter))
    }

    fn new(
        process: Process,
        input: Box<dyn Write + Send>,
        output: Box<dyn Read + Send>,
        counter: Counter,
    ) -> Self {
        StreamServer { process, input, output, counter, buffer: vec![0; 256 * 1024] }
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.input.write_all(bytes)
    }

    /// Answers to `requests`, whole.
    pub fn ask(&mut self, requests: &[u8], answers: usize) -> io::Result<Vec<serde_json::Value>> {
        self.send(requests)?;
        let (mut bytes, mut count) = (Vec::new(), 0);
        while count < answers {
            let n = self.read()?;
            count += self.counter.count(&self.buffer[..n]);
            bytes.extend_from_slice(&self.buffer[..n]);
        }
        check_count(count as u64, answers as u64)?;
        Ok(self.counter.parse(&bytes)?)
    }

    /// One request at a time: how long each answer took.
    pub fn ping_pong(&mut self, requests: &[Vec<u8>], time: Duration) -> io::Result<Vec<Duration>> {
        let (started, mut times) = (Instant::now(), Vec::new());
        for request in requests {
            let sent = Instant::now();
            self.input.write_all(request)?;
            let mut count = 0;
            while count == 0 {
                let n = self.read()?;
                count = self.counter.count(&self.buffer[..n]);
            }
            times.push(sent.elapsed());
            check_count(count as u64, 1)?;
            if started.elapsed() > time {
                break;
            }
        }
        Ok(times)
    }

    /// A thread writes as long as `time` lasts and the window allows, this one reads and counts.
    pub fn pipelined(&mut self, ring: &Ring, time: Duration) -> io::Result<Load> {
        let (sent, answered) = (AtomicU64::new(0), AtomicU64::new(0));
        // Known before the last chunk goes out, so that the reader never waits for what won't come.
        let total = AtomicU64::new(u64::MAX);
        let ended = AtomicBool::new(false);
        let (window, per_chunk) = (ring.window as u64, ring.per_chunk as u64);
        let StreamServer { input, output, counter, buffer, process } = self;
        let server_before = cpu_of(process.id())?;
        let own_before = cpu_of_this_thread()?;
        let started = Instant::now();

        let (read, written) = thread::scope(|scope| {
            let writer = scope.spawn(|| -> io::Result<Duration> {
                for chunk in ring.chunks.iter().cycle() {
                    let after = sent.load(SeqCst) + per_chunk;
                    while after > answered.load(SeqCst) + window {
                        if ended.load(SeqCst) {
                            return cpu_of_this_thread();
                        }
                        thread::park_timeout(Duration::from_millis(10));
                    }
                    let last = started.elapsed() >= time || after >= MOST_MESSAGES;
                    if last {
                        total.store(after, SeqCst);
                    }
                    sent.store(after, SeqCst);
                    input.write_all(chunk)?;
                    if last {
                        break;
                    }
                }
                cpu_of_this_thread()
            });
            let mut read = || -> io::Result<()> {
                let mut count = 0;
                while count < total.load(SeqCst) {
                    let n = some(output.read(buffer)?)?;
                    count += counter.count(&buffer[..n]) as u64;
                    answered.store(count, SeqCst);
                    // Not at the first gap: a writer that wakes for every answer costs more than it sends.
                    if sent.load(SeqCst).saturating_sub(count) <= window / 2 {
                        writer.thread().unpark();
                    }
                }
                check_count(count, total.load(SeqCst))
            };
            let read = read();
            ended.store(true, SeqCst);
            writer.thread().unpark();
            (read, writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer panicked"))))
        });

        let time = started.elapsed();
        read?;
        let own_cpu = cpu_of_this_thread()? - own_before + written?;
        let messages = answered.into_inner();
        Ok(Load { messages, time, server_cpu: cpu_of(process.id())?.saturating_sub(server_before), own_cpu })
    }

    /// The same message, as often as `time` allows, and a last one that is answered when all of them have arrived.
    /// How many there were, and how long they took.
    pub fn one_way(&mut self, message: &[u8], last: &[u8], time: Duration) -> io::Result<(u64, Duration)> {
        let (started, mut count) = (Instant::now(), 0);
        while started.elapsed() < time {
            self.input.write_all(message)?;
            count += 1;
        }
        self.input.write_all(last)?;
        let mut answers = 0;
        while answers == 0 {
            let n = self.read()?;
            answers = self.counter.count(&self.buffer[..n]);
        }
        check_count(answers as u64, 1)?;
        Ok((count, started.elapsed()))
    }

    /// Closes its input. Nothing more may come, and it must end by itself.
    pub fn stop(self) -> io::Result<()> {
        let StreamServer { process, input, mut output, .. } = self;
        drop(input);
        process.ends()?;
        match output.read_to_end(&mut Vec::new())? {
            0 => Ok(()),
            n => Err(io::Error::other(format!("{n} bytes too many after the last answer"))),
        }
    }

    fn read(&mut self) -> io::Result<usize> {
        some(self.output.read(&mut self.buffer)?)
    }
}

fn some(n: usize) -> io::Result<usize> {
    if n == 0 {
        Err(io::Error::other("the server ended, or met its deadline, before its last answer"))
    } else {
        Ok(n)
    }
}

/// Starts a server on a socket. The URL is what it says on standard error behind `says`.
pub fn start_listening(command: &[&str], says: &str) -> io::Result<(Process, String)> {
    let mut program = Command::new(command[0]);
    program.args(&command[1..]).stdin(Stdio::null()).stderr(Stdio::piped());
    let (process, stderr) = Process::start(&mut program, |child| child.stderr.take())?;
    let url = listening(stderr.ok_or(io::ErrorKind::BrokenPipe)?, says)?;
    Ok((process, url))
}

/// What else it says is shown.
fn listening(stderr: ChildStderr, says: &str) -> io::Result<String> {
    let mut lines = BufReader::new(stderr).lines();
    for line in &mut lines {
        let line = line?;
        let Some(url) = line.strip_prefix(says).and_then(|rest| rest.split([' ', ',']).next()) else {
            eprintln!("{line}");
            continue;
        };
        let url = url.to_owned();
        // A server that writes more must not stop for it.
        thread::spawn(move || lines.map_while(Result::ok).for_each(|line| eprintln!("{line}")));
        return Ok(url);
    }
    Err(io::Error::other(format!("it ended without a line `{says}URL`")))
}
