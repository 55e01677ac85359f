//! Asks for what the page of `sabir view` is served, without a browser.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Page {
    pub(crate) host: String,
    token: String,
}

impl Page {
    /// By a line that has its address.
    pub(crate) fn told(line: &str) -> Self {
        let address = line.split_whitespace().find_map(|word| word.strip_prefix("http://"));
        let (host, token) = address.and_then(|address| address.split_once("/#t=")).unwrap();
        // A filter may follow.
        let token = token.split('&').next().unwrap();
        Page { host: host.to_owned(), token: token.to_owned() }
    }

    /// The status and the body of an answer. In HTTP/1.0 it has no chunks.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.0\r\nContent-Length: {length}\r\n{headers}\r\n");
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    pub(crate) fn headers(&self) -> String {
        format!("Host: {}\r\nAuthorization: Bearer {}\r\n", self.host, self.token)
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let (status, body) = self.ask("GET", &format!("/api/{path}"), &self.headers(), "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap_or(Value::String(body))
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> String {
        let headers = format!("{}Content-Type: application/json\r\n", self.headers());
        let (status, text) = self.ask("POST", &format!("/api/{path}"), &headers, &body.to_string());
        assert_eq!(status, 200, "{path}: {text}");
        text
    }

    /// Asks until the answer is as wanted.
    pub(crate) fn until(&self, path: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let answer = self.get(path);
            if is_it(&answer) {
                return answer;
            }
            assert!(start.elapsed() < PATIENCE, "{path}: {answer}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
