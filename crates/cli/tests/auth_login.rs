//! `sabir auth login` and `logout` with a user who sits in front of a browser: which client the authorization server sees.

#![allow(clippy::unwrap_used)]

#[allow(dead_code)] // Other test files use the rest of it.
mod folder;
mod started;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use folder::{Folder, wait};
use serde_json::{Value, json};
use started::Started;

/// An MCP server that is its own authorization server.
#[derive(Clone)]
struct Site {
    url: String,
    /// The clients that it knows. It shows others an error, and does not send their browser back.
    clients: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let site = Site { url, clients: Arc::default() };
        let serving = site.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                serving.serve(stream.unwrap());
            }
        });
        site
    }

    fn mcp(&self) -> String {
        format!("{}/mcp", self.url)
    }

    fn serve(&self, mut stream: TcpStream) {
        let head = request(&mut stream);
        let line = head.lines().next().unwrap_or_default();
        let at = |path: &str| format!("{}/{path}", self.url);
        let (status, headers, body) = match line.split(['?', ' ']).nth(1).unwrap_or_default() {
            "/mcp" => (401, "WWW-Authenticate: Bearer\r\n".to_owned(), json!({})),
            "/.well-known/oauth-protected-resource/mcp" => {
                (200, String::new(), json!({"resource": self.mcp(), "authorization_servers": [self.url]}))
            }
            "/.well-known/oauth-authorization-server" => (
                200,
                String::new(),
                json!({
                    "issuer": self.url, "authorization_endpoint": at("authorize"), "token_endpoint": at("token"),
                    "registration_endpoint": at("register"), "code_challenge_methods_supported": ["S256"],
                }),
            ),
            "/register" => {
                let mut clients = self.clients.lock().unwrap();
                let id = format!("client-{}", clients.len() + 1);
                clients.push(id.clone());
                (201, String::new(), json!({"client_id": id}))
            }
            "/authorize" if self.clients.lock().unwrap().contains(&parameter(line, "client_id")) => {
                let back = parameter(line, "redirect_uri").replace("%3A", ":").replace("%2F", "/");
                let location = format!("{back}?code=x&state={}", parameter(line, "state"));
                (302, format!("Location: {location}\r\n"), json!({}))
            }
            "/token" => (200, String::new(), json!({"access_token": "x", "token_type": "Bearer"})),
            _ => (400, String::new(), json!({})),
        };
        let body = body.to_string();
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n{body}"
        );
        stream.write_all(answer.as_bytes()).unwrap();
    }
}

fn parameter(line: &str, name: &str) -> String {
    let name = format!("{name}=");
    let found = line.split(['?', '&', ' ']).find_map(|part| part.strip_prefix(name.as_str()));
    found.unwrap_or_default().to_owned()
}

/// The head of a message, and its body.
fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        let mut more = [0; 4096];
        match stream.read(&mut more).unwrap() {
            0 => return text,
            count => bytes.extend_from_slice(&more[..count]),
        }
    }
}

/// The head of the answer to a GET.
fn get(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A login that has shown its URL.
fn begun(folder: &Path, site: &Site, options: &[&str]) -> (Started, String) {
    let server = site.mcp();
    let args = [&["auth", "login", &server, "--no-browser"], options].concat();
    let mut login = Started::new(folder, &args);
    let url = login.url("log in at");
    (login, url)
}

/// A login whose user goes where the browser is sent: with which client it did.
fn log_in(folder: &Path, site: &Site, options: &[&str]) -> String {
    let (mut login, url) = begun(folder, site, options);
    let answer = get(&url);
    let location = answer.lines().find_map(|line| line.strip_prefix("Location: "));
    let location = location.unwrap_or_else(|| panic!("the browser is not sent back: {url}\n{answer}"));
    assert!(get(location).starts_with("HTTP/1.1 200"));
    login.line("logged in to");
    assert!(wait(&mut login.child).success());
    parameter(&url, "client_id")
}

/// A login that the user gives up, for the page shows nothing but an error.
fn give_up(folder: &Path, site: &Site, options: &[&str]) -> String {
    let (login, url) = begun(folder, site, options);
    assert!(get(&url).starts_with("HTTP/1.1 400"), "{url}");
    drop(login);
    parameter(&url, "client_id")
}

fn log_out(folder: &Path, site: &Site) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sabir"));
    command.args(["auth", "logout", &site.mcp()]).stdin(Stdio::null());
    started::with_settings(&mut command, folder).output().unwrap()
}

fn stored(folder: &Path) -> Value {
    let path = folder.join("sabir/credentials.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_client_that_is_wrong_is_not_kept() {
    let (folder, site) = (Folder::new(), Site::start());
    let wrong = ["--client-id", "typo", "--issuer", &site.url];
    assert_eq!(give_up(&folder.0, &site, &wrong), "typo");
    assert_eq!(log_in(&folder.0, &site, &[]), "client-1");
    // One that is right is, and used again.
    site.clients.lock().unwrap().push("known".to_owned());
    let right = ["--client-id", "known", "--issuer", &site.url];
    assert_eq!(log_in(&folder.0, &site, &right), "known");
    assert_eq!(log_in(&folder.0, &site, &[]), "known");
    assert_eq!(stored(&folder.0)["tokens"][site.mcp()]["client"]["client_id"], "known");
}

#[test]
fn a_client_that_is_not_known_any_more_is_registered_anew() {
    let (folder, site) = (Folder::new(), Site::start());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let fixed = ["--port", &port];
    assert_eq!(log_in(&folder.0, &site, &fixed), "client-1");
    *site.clients.lock().unwrap() = vec!["another".to_owned()];
    assert_eq!(log_in(&folder.0, &site, &fixed), "client-2");
}

#[test]
fn a_logout_forgets_the_client() {
    let (folder, site) = (Folder::new(), Site::start());
    let other = Site::start();
    assert_eq!(log_in(&folder.0, &other, &[]), "client-1");
    site.clients.lock().unwrap().push("known".to_owned());
    let named = ["--client-id", "known", "--issuer", &site.url];
    assert_eq!(log_in(&folder.0, &site, &named), "known");
    assert!(log_out(&folder.0, &site).status.success());
    let registrations = stored(&folder.0)["registrations"].clone();
    assert_eq!(registrations.as_object().unwrap().keys().collect::<Vec<_>>(), [&other.url]);
    assert_eq!(log_in(&folder.0, &site, &[]), "client-2");
}
