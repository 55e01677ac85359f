//! A server under load: started, spoken to, watched, and stopped.
//!
//! One deadline bounds all that happens with it. When it passes, the process is killed, and whoever waits
//! for it sees the end of a pipe.

use std::fs;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::messages::{Counter, Ring};

const DEADLINE: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(2);
const MOST_MESSAGES: u64 = 20_000_000;

pub(crate) struct Server {
    child: Arc<Mutex<Child>>,
    id: u32,
    input: ChildStdin,
    output: ChildStdout,
    counter: Counter,
    buffer: Vec<u8>,
    /// Its end tells the watchdog that all went well.
    watched: mpsc::Sender<()>,
}

/// What a time of pipelined messages came to.
pub(crate) struct Load {
    pub(crate) messages: u64,
    pub(crate) time: Duration,
    pub(crate) server_cpu: Duration,
    pub(crate) own_cpu: Duration,
}

impl Server {
    pub(crate) fn start(command: &[&str], counter: Counter) -> io::Result<Server> {
        let mut child = Command::new(command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("no pipes"));
        };
        let id = child.id();
        let child = Arc::new(Mutex::new(child));
        let (watched, watch) = mpsc::channel::<()>();
        let doomed = child.clone();
        thread::spawn(move || {
            if watch.recv_timeout(DEADLINE) == Err(RecvTimeoutError::Timeout) {
                kill(&doomed);
            }
        });
        Ok(Server { child, id, input, output, counter, buffer: vec![0; 256 * 1024], watched })
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.input.write_all(bytes)
    }

    /// Answers to `requests`, whole.
    pub(crate) fn ask(&mut self, requests: &[u8], answers: usize) -> io::Result<Vec<serde_json::Value>> {
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
    pub(crate) fn ping_pong(&mut self, requests: &[Vec<u8>], time: Duration) -> io::Result<Vec<Duration>> {
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
    pub(crate) fn pipelined(&mut self, ring: &Ring, time: Duration) -> io::Result<Load> {
        let (sent, answered) = (AtomicU64::new(0), AtomicU64::new(0));
        // Known before the last chunk goes out, so that the reader never waits for what won't come.
        let total = AtomicU64::new(u64::MAX);
        let ended = AtomicBool::new(false);
        let (window, per_chunk) = (ring.window as u64, ring.per_chunk as u64);
        let Server { input, output, counter, buffer, id, .. } = self;
        let server_before = cpu_of(*id)?;
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
        Ok(Load { messages, time, server_cpu: cpu_of(*id)?.saturating_sub(server_before), own_cpu })
    }

    pub(crate) fn threads(&self) -> io::Result<Vec<libc::pid_t>> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id))?;
        tasks.map(|task| task?.file_name().to_string_lossy().parse().map_err(io::Error::other)).collect()
    }

    /// In MiB.
    pub(crate) fn peak_memory(&self) -> io::Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
        kib.map(|kib| kib / 1024.0).ok_or_else(|| io::Error::other("no VmHWM in status"))
    }

    /// Closes its input. Nothing more may come, and it must end by itself.
    pub(crate) fn stop(self) -> io::Result<()> {
        let Server { child, input, mut output, watched, .. } = self;
        drop(input);
        let deadline = Instant::now() + GRACE;
        while child.lock().unwrap_or_else(PoisonError::into_inner).try_wait()?.is_none() {
            if Instant::now() > deadline {
                kill(&child);
                return Err(io::Error::other("still running after its input was closed"));
            }
            thread::sleep(Duration::from_millis(1));
        }
        drop(watched);
        match output.read_to_end(&mut Vec::new())? {
            0 => Ok(()),
            n => Err(io::Error::other(format!("{n} bytes too many after the last answer"))),
        }
    }

    /// After a failure: whatever state it is in.
    pub(crate) fn abandon(self) {
        kill(&self.child);
    }

    fn read(&mut self) -> io::Result<usize> {
        some(self.output.read(&mut self.buffer)?)
    }
}

fn kill(child: &Mutex<Child>) {
    let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
    // It may have ended already, which is all that was wanted.
    let _ = child.kill();
    let _ = child.wait();
}

fn some(n: usize) -> io::Result<usize> {
    if n == 0 {
        Err(io::Error::other("the server ended, or met its deadline, before its last answer"))
    } else {
        Ok(n)
    }
}

fn check_count(count: u64, want: u64) -> io::Result<()> {
    if count == want { Ok(()) } else { Err(io::Error::other(format!("{count} answers to {want} messages"))) }
}

/// Of all its threads that are still there. The ticks of `/proc/PID/stat` are too coarse for short runs.
fn cpu_of(id: u32) -> io::Result<Duration> {
    let mut sum = Duration::ZERO;
    for task in fs::read_dir(format!("/proc/{id}/task"))? {
        // A thread may end between the listing and the look.
        sum += cpu_in(&task?.path().join("schedstat")).unwrap_or_default();
    }
    Ok(sum)
}

fn cpu_of_this_thread() -> io::Result<Duration> {
    cpu_in("/proc/thread-self/schedstat".as_ref())
}

fn cpu_in(schedstat: &std::path::Path) -> io::Result<Duration> {
    let text = fs::read_to_string(schedstat)?;
    let ns = text.split(' ').next().and_then(|ns| ns.parse().ok());
    ns.map(Duration::from_nanos).ok_or_else(|| io::Error::other("no time in schedstat"))
}
