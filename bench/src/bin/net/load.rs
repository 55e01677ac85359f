//! Load: one thread keeps requests open on some connections, for a time, and counts the answers.

use std::fs::File;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use sabir_bench::{Load, Process, Ring, check_count, cpu_of, cpu_of_this_thread};

use crate::connection::Connection;

const MOST_MESSAGES: u64 = 20_000_000;

/// A server that says nothing for so long has failed.
const SILENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

struct Client {
    connection: Connection,
    ring: Ring,
    /// The chunk of the ring that goes out, and how much of it is already sent.
    chunk: usize,
    sent: usize,
    /// Messages in chunks that have been started, and answers to them.
    asked: u64,
    answered: u64,
}

pub(crate) fn run(
    process: &Process,
    connections: Vec<Connection>,
    ring: impl Fn(&Connection) -> Ring,
    time: Duration,
) -> io::Result<Load> {
    let client = |connection| {
        let ring = ring(&connection);
        Client { connection, ring, chunk: 0, sent: 0, asked: 0, answered: 0 }
    };
    let mut clients: Vec<Client> = connections.into_iter().map(client).collect();
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (key, Client { connection, .. }) in clients.iter().enumerate() {
        rustix::io::ioctl_fionbio(&connection.input, true)?;
        rustix::io::ioctl_fionbio(&connection.output, true)?;
        let key = epoll::EventData::new_u64(key as u64);
        epoll::add(&poll, &connection.output, key, epoll::EventFlags::IN)?;
    }

    let (server_before, own_before) = (cpu_of(process.id())?, cpu_of_this_thread()?);
    let started = Instant::now();
    let (mut open, mut asking) = (clients.len(), true);
    let mut total = 0;
    for client in &mut clients {
        client.ask(true)?;
    }
    let mut events = Vec::with_capacity(64);
    while open > 0 {
        events.clear();
        epoll::wait(&poll, spare_capacity(&mut events), Some(&SILENCE))?;
        if events.is_empty() {
            return Err(io::Error::other("no answer for ten seconds"));
        }
        asking = asking && started.elapsed() < time && total < MOST_MESSAGES;
        for event in &events {
            let client = &mut clients[event.data.u64() as usize];
            total += client.read()?;
            client.ask(asking)?;
            if !asking && client.is_done() {
                open -= 1;
            }
        }
    }
    let time = started.elapsed();
    let server_cpu = cpu_of(process.id())?.saturating_sub(server_before);
    let own_cpu = cpu_of_this_thread()?.saturating_sub(own_before);
    let asked = clients.iter().map(|client| client.asked).sum();
    check_count(total, asked)?;
    Ok(Load { messages: total, time, server_cpu, own_cpu })
}

impl Client {
    /// One read.
    fn read(&mut self) -> io::Result<u64> {
        let Connection { output, answers, .. } = &mut self.connection;
        answers.fill(output)?;
        let count = answers.take(|_| ())?;
        self.answered += count;
        if self.answered > self.asked {
            check_count(self.answered, self.asked)?;
        }
        Ok(count)
    }

    /// Sends what the window allows; without `more` only the rest of what has been started.
    ///
    /// When the kernel takes no more, whole requests lie unread in its buffer. Their answers are still to
    /// come, and with them the next turn, so there is no need to wait for room to write.
    fn ask(&mut self, more: bool) -> io::Result<()> {
        let (per_chunk, window) = (self.ring.per_chunk as u64, self.ring.window as u64);
        loop {
            if self.sent == 0 {
                if !more || self.asked + per_chunk > self.answered + window {
                    return Ok(());
                }
                self.asked += per_chunk;
            }
            let chunk = &self.ring.chunks[self.chunk];
            let mut input: &File = &self.connection.input;
            match input.write(&chunk[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            }
            if self.sent == chunk.len() {
                self.chunk = (self.chunk + 1) % self.ring.chunks.len();
                self.sent = 0;
            }
        }
    }

    fn is_done(&self) -> bool {
        self.answered == self.asked
    }
}
