//! Files of requests and what is answered. `UPDATE=1` rewrites them.
//!
//! `## ` begins a connection and says why. Lines after `> ` are sent: a head, a line with nothing, a body. `*`
//! as its `Content-Length` is the right one; `{session}` stands for the last `Mcp-Session-Id` that came. `< ` is
//! what came back, without the date, and `! closed` that nothing more will. `#! NAME` says which of the settings
//! below are served, in a new server.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use http::StatusCode;
use sabir::{Denied, ErrorCode, Http, HttpService, Limits, Sessions};

use crate::client::Client;
use crate::server::{router, serve};

fn service(name: &str) -> HttpService {
    let http = Http::new();
    let sessions = Sessions {
        versions: &["2025-06-18", "2025-11-25"],
        stateless: &["2026-07-28"],
        ..Sessions::opened_by("initialize")
    };
    let http = match name {
        "plain" => http,
        "path" => http.path("/rpc").no_content(),
        "hosts" => http.allow_host("api.example").allow_host("other.example:8080"),
        "origins" => http.allow_origin("https://app.example"),
        "bearer" => http.bearer("sesame"),
        "auth" => http.auth(|parts| match parts.headers.get("x-user").map(|user| user.to_str().unwrap()) {
            Some("mallory") => Err(Denied::forbidden()),
            Some(user) => Ok(user.to_owned()),
            None => Err(Denied::unauthorized("Basic realm=\"calls\"")),
        }),
        "statuses" => http.error_status(|parts, code| match code {
            ErrorCode::METHOD_NOT_FOUND if parts.headers.contains_key("x-modern") => StatusCode::NOT_FOUND,
            _ => StatusCode::OK,
        }),
        "small" => {
            let limits = Limits { message_bytes: 100, ..Limits::default() };
            let http = http.body_deadline(Duration::from_millis(50));
            return HttpService::new(router(), http).limits(limits);
        }
        "stopped" => {
            let service = HttpService::new(router(), http);
            service.stop();
            return service;
        }
        "sessions" => http.sessions(sessions),
        "owned" => http.sessions(sessions).auth(|parts| {
            let user = parts.headers.get("x-user").map(|user| user.to_str().unwrap().to_owned());
            user.ok_or(Denied::unauthorized("Basic"))
        }),
        other => panic!("no settings `{other}`"),
    };
    HttpService::new(router(), http)
}

struct Player {
    port: u16,
    client: Option<Client>,
    request: Vec<String>,
    session: String,
    out: String,
}

impl Player {
    async fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("#! ") {
            self.port = serve(service(name)).await;
        } else if line.starts_with("##") {
            self.client = None;
        } else if let Some(sent) = line.strip_prefix('>') {
            self.request.push(sent.strip_prefix(' ').unwrap_or(sent).to_owned());
        } else {
            return;
        }
        writeln!(self.out, "{line}").unwrap();
    }

    async fn answer(&mut self) {
        if self.request.is_empty() {
            return;
        }
        let lines = std::mem::take(&mut self.request);
        let blank = lines.iter().position(String::is_empty).unwrap_or(lines.len());
        let body = lines[(blank + 1).min(lines.len())..].join("\r\n");
        let head = lines[..blank].join("\r\n").replace("{session}", &self.session);
        let head = head.replace("Content-Length: *", &format!("Content-Length: {}", body.len()));
        let client = match &mut self.client {
            Some(client) => client,
            none => none.insert(Client::connect(self.port).await),
        };
        client.send(&format!("{head}\r\n\r\n{body}")).await;
        let head = client.head().await;
        if let Some(session) = head.header("mcp-session-id") {
            self.session = session.to_owned();
        }
        let closes = head.header("connection") == Some("close");
        let body = if lines[0].starts_with("HEAD") { String::new() } else { client.body(&head).await };
        let mut text = head.text;
        if !body.is_empty() {
            text += &format!("\n\n{}", body.trim_end_matches('\n'));
        }
        if !self.session.is_empty() {
            text = text.replace(&self.session, "{session}");
        }
        text.lines().for_each(|line| writeln!(self.out, "{}", format!("< {line}").trim_end()).unwrap());
        if closes {
            assert!(client.is_closed().await, "more came after `Connection: close`:\n{}", self.out);
            writeln!(self.out, "! closed").unwrap();
        }
    }
}

async fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/http/data/{name}.http"));
    let told = std::fs::read_to_string(&path).unwrap();
    let mut player =
        Player { port: 0, client: None, request: Vec::new(), session: String::new(), out: String::new() };
    for line in told.lines() {
        if !line.starts_with('>') {
            player.answer().await;
        }
        if line.starts_with("##") && !player.out.is_empty() && !player.out.ends_with("\n\n") {
            player.out.push('\n');
        }
        player.line(line).await;
    }
    player.answer().await;
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, player.out).unwrap();
    } else {
        assert_eq!(player.out, told, "{name}: the left side came, the right side was told");
    }
}

#[tokio::test]
async fn plain() {
    check("plain").await;
}

#[tokio::test]
async fn safety() {
    check("safety").await;
}

#[tokio::test]
async fn sessions() {
    check("sessions").await;
}
