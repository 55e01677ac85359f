//! One connection to a server, with blocking calls: what is not load goes through here.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use sabir_bench::check_count;
use serde_json::Value;

use crate::mcp;
use crate::protocol::{Speaks, upgraded};

/// More than all answers that can be open, in any protocol.
const BUFFER: usize = 256 * 1024;

pub(crate) struct Connection {
    pub(crate) input: Rc<File>,
    pub(crate) output: Rc<File>,
    pub(crate) answers: Answers,
    /// The id of its session, if it has one.
    session: String,
}

/// What came and is not counted yet.
pub(crate) struct Answers {
    speaks: Speaks,
    buffer: Vec<u8>,
    filled: usize,
}

impl Connection {
    /// Only a server on this machine is ever put under load.
    pub(crate) fn open(address: SocketAddr, speaks: Speaks) -> io::Result<Connection> {
        if !address.ip().is_loopback() {
            return Err(io::Error::other(format!("{address} is not a loopback address")));
        }
        let socket = TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        let file = Rc::new(File::from(OwnedFd::from(socket)));
        let mut connection = Connection::new(file.clone(), file, speaks);
        if let Some(upgrade) = speaks.upgrade() {
            connection.upgrade(upgrade)?;
        }
        if speaks == Speaks::McpSession {
            connection.session = connection.take_part(&mcp::initialize(), mcp::opened)?;
            let initialized = mcp::initialized(&connection.session);
            connection.take_part(&initialized, |bytes| Ok(mcp::accepted(bytes)?.map(|end| ((), end))))?;
        }
        Ok(connection)
    }

    pub(crate) fn new(input: Rc<File>, output: Rc<File>, speaks: Speaks) -> Connection {
        let answers = Answers { speaks, buffer: Vec::new(), filled: 0 };
        Connection { input, output, answers, session: String::new() }
    }

    fn upgrade(&mut self, upgrade: &[u8]) -> io::Result<()> {
        self.take_part(upgrade, |came| Ok(upgraded(came)?.map(|end| ((), end))))
    }

    /// A step of the protocol before the first call. `find` finds what it answers, and where that ends.
    fn take_part<T>(
        &mut self,
        request: &[u8],
        find: impl Fn(&[u8]) -> io::Result<Option<(T, usize)>>,
    ) -> io::Result<T> {
        (&*self.input).write_all(request)?;
        loop {
            self.answers.fill(&self.output)?;
            let came = &self.answers.buffer[..self.answers.filled];
            if let Some((found, end)) = find(came)? {
                check_count(came.len() as u64, end as u64)?;
                self.answers.filled = 0;
                return Ok(found);
            }
        }
    }

    /// A request for an `add`.
    pub(crate) fn add(&self, id: usize) -> Vec<u8> {
        self.answers.speaks.add(id, &self.session)
    }

    /// Answers to `requests`, whole.
    pub(crate) fn ask(&mut self, requests: &[u8], answers: usize) -> io::Result<Vec<Value>> {
        (&*self.input).write_all(requests)?;
        let mut values = Vec::new();
        while values.len() < answers {
            self.answers.fill(&self.output)?;
            self.answers.take(|json| values.push(serde_json::from_slice(json)))?;
        }
        check_count(values.len() as u64, answers as u64)?;
        Ok(values.into_iter().collect::<Result<_, _>>()?)
    }

    /// An `add`, and its answer counted.
    pub(crate) fn call_once(&mut self) -> io::Result<()> {
        let request = self.add(1);
        self.call(&request)
    }

    /// One request, and its answer counted.
    fn call(&mut self, request: &[u8]) -> io::Result<()> {
        (&*self.input).write_all(request)?;
        let mut count = 0;
        while count == 0 {
            self.answers.fill(&self.output)?;
            count = self.answers.take(|_| ())?;
        }
        check_count(count, 1)
    }

    /// One request at a time: how long each answer took.
    pub(crate) fn ping_pong(&mut self, count: usize, time: Duration) -> io::Result<Vec<Duration>> {
        let requests: Vec<Vec<u8>> = (0..count).map(|id| self.add(id)).collect();
        let (started, mut times) = (Instant::now(), Vec::new());
        for request in requests {
            let sent = Instant::now();
            self.call(&request)?;
            times.push(sent.elapsed());
            if started.elapsed() > time {
                break;
            }
        }
        Ok(times)
    }
}

impl Answers {
    /// One read.
    pub(crate) fn fill(&mut self, mut output: &File) -> io::Result<()> {
        // Not before it is needed: a thousand idle connections need none between their calls.
        self.buffer.resize(BUFFER, 0);
        match output.read(&mut self.buffer[self.filled..])? {
            0 => Err(io::Error::other("the server closed the connection, or met its deadline")),
            n => {
                self.filled += n;
                Ok(())
            }
        }
    }

    /// Hands out all whole answers and returns how many there were.
    pub(crate) fn take(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<u64> {
        let (mut at, mut count) = (0, 0);
        while let Some(answer) = self.speaks.answer(&self.buffer[at..self.filled])? {
            each(&self.buffer[at..self.filled][answer.json]);
            at += answer.end;
            count += 1;
        }
        self.buffer.copy_within(at..self.filled, 0);
        self.filled -= at;
        Ok(count)
    }

    pub(crate) fn release(&mut self) {
        self.buffer = Vec::new();
    }
}
