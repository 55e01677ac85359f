//! A service behind NATS as a stream of lines, for those who send what no session would: each line is a message, whatever
//! is in it, and all go to one worker.

use std::time::Duration;

use async_nats::{Client, HeaderMap, HeaderValue, Message, StatusCode, Subject, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::connect::{connect, service};
use super::options::Nats;
use super::parts::{Assembler, split};
use super::wire::{self, Status, Token, header};
use crate::Error;
use crate::transport::endpoint::Dial;
use crate::transport::url::Url;
use crate::transport::{ByteTransport, Duplex};

/// How long it may take until it is known who has the first message. Somebody who knows of no sessions never says so.
const FIRST: Duration = Duration::from_secs(2);

/// What is read ahead.
const BUFFER: usize = 64 * 1024;

/// Opens it.
pub(crate) async fn open(url: &Url, dial: &Dial) -> Result<ByteTransport, Error> {
    let service = service(url)?.to_owned();
    let nats: Nats = dial.nats.clone();
    let tls = dial.tls.clone().or(&nats.tls);
    let (client, events) = connect(url, &nats, &tls, "sabir").await?;
    let prefix = wire::reply_prefix(&nats.inbox_prefix, &wire::unique_name());
    let subscribed = client.subscribe(format!("{prefix}*")).await;
    let inbox = subscribed.map_err(|error| Error::config(format!("cannot use `{prefix}*`: {error}")))?;
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let (read, write) = tokio::io::split(theirs);
    let (tell, told) = oneshot::channel();
    let limit = dial.limits.message_bytes;
    let subject = wire::calls_subject(&service).into();
    let bridge = Bridge {
        client,
        inbox,
        prefix,
        subject,
        is_bound: false,
        sent: 0,
        write,
        parts: Assembler::new(limit, nats.accept_within),
        limit,
    };
    tokio::spawn(async move {
        // Nobody looks at them here; but they end when the connection does.
        let _events = events;
        if let Some(reason) = bridge.run(BufReader::new(read)).await {
            let _ = tell.send(format!("{reason} `{service}`"));
        }
    });
    let mut transport = ByteTransport::over(Box::new(ours) as Box<dyn Duplex>);
    transport.exit_reason = Some(Box::pin(async move { told.await.ok() }));
    Ok(transport)
}

struct Bridge {
    client: Client,
    inbox: Subscriber,
    prefix: String,
    /// Where messages go: to any worker, and then to the one that has the first.
    subject: Subject,
    is_bound: bool,
    sent: u64,
    write: WriteHalf<DuplexStream>,
    parts: Assembler,
    limit: usize,
}

impl Bridge {
    /// Passes lines and messages on, until one side ends. Why, if that is worth telling.
    async fn run(mut self, mut lines: BufReader<ReadHalf<DuplexStream>>) -> Option<&'static str> {
        let mut line = Vec::new();
        loop {
            let most = (self.limit as u64).saturating_mul(2).saturating_sub(line.len() as u64);
            let mut limited = (&mut lines).take(most);
            tokio::select! {
                read = limited.read_until(b'\n', &mut line) => match read {
                    Ok(0) | Err(_) => return None,
                    Ok(_) if line.ends_with(b"\n") => {
                        line.pop();
                        if let Err(reason) = self.send(Bytes::from(std::mem::take(&mut line))).await {
                            return Some(reason);
                        }
                    }
                    Ok(_) => {}
                },
                message = self.inbox.next() => match message {
                    Some(message) => {
                        if let Err(reason) = self.receive(message).await {
                            return reason;
                        }
                    }
                    None => return Some("the connection to NATS was closed, and with it that to"),
                },
            }
        }
    }

    async fn send(&mut self, text: Bytes) -> Result<(), &'static str> {
        const FAILED: &str = "NATS takes no more messages for";
        self.sent += 1;
        let reply = Token::Call(self.sent).subject(&self.prefix);
        let room = wire::room(self.client.max_payload());
        let is_single = text.len() <= room;
        for (number, part) in split(&text, room) {
            let mut headers = HeaderMap::new();
            if !self.is_bound {
                headers.insert(wire::STICKY, HeaderValue::from(1u64));
            }
            if !is_single {
                headers.insert(wire::PART, number.as_str());
            }
            let sending = self.client.publish_with_reply_and_headers(
                self.subject.clone(),
                reply.clone(),
                headers,
                part,
            );
            sending.await.map_err(|_| FAILED)?;
            // The others go where this one went.
            if !self.is_bound
                && let Ok(Some(message)) = timeout(FIRST, self.inbox.next()).await
            {
                self.receive(message).await.map_err(|reason| reason.unwrap_or(FAILED))?;
            }
        }
        Ok(())
    }

    async fn receive(&mut self, message: Message) -> Result<(), Option<&'static str>> {
        if message.status == Some(StatusCode::NO_RESPONDERS) {
            return Err(Some("no worker is connected to NATS for"));
        }
        if let (Some(reply), false) = (&message.reply, self.is_bound) {
            self.subject = reply.clone();
        }
        self.is_bound = true;
        match Status::of(&message) {
            Some(Status::Gone) => return Err(Some("the worker has stopped of")),
            Some(Status::Moved) => {
                return Err(Some("its server of NATS stops, and was left by the worker of"));
            }
            Some(Status::More | Status::Refused) | None => {}
            Some(_) => return Ok(()),
        }
        let text = match header(&message, wire::PART) {
            None => message.payload.clone(),
            Some(part) => match self.parts.push(&message.subject, part, &message.payload, Instant::now()) {
                Ok(Some(text)) => text,
                Ok(None) => return Ok(()),
                Err(_) => return Err(Some("a message in parts was incomplete from")),
            },
        };
        // Line breaks are white space in JSON.
        let mut line: Vec<u8> = text.iter().map(|&byte| if byte == b'\n' { b' ' } else { byte }).collect();
        line.push(b'\n');
        self.write.write_all(&line).await.map_err(|_| None)
    }
}
