//! `sabir demo --mcp` with an issuer: whose tokens it takes, and which settings it refuses to start with.

#![allow(clippy::unwrap_used)]

mod started;

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use sabir_mcp::testing::FakeIssuer;
use sabir_mcp::{McpClient, OAuth};
use serde_json::{Value, json};
use started::Started;

fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// A demo that runs until it is dropped, and its URL.
fn demo(issuer: &FakeIssuer, options: &[&str]) -> (Started, String) {
    // Tokens are issued for the server's URL, so its port is chosen before it listens.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let fixed = ["demo", "--mcp", "--listen", &url, "--issuer", issuer.url()];
    let mut started = Started::new(folder(), &[&fixed, options].concat());
    assert_eq!(started.url("serving on"), url);
    (started, url)
}

/// Greets somebody with a token, or says why not.
async fn greet(url: &str, token: &str) -> String {
    let client = McpClient::new("test", "1.0.0");
    let session = match client.connect(sabir::transport::url(url).bearer(token)).await {
        Ok(session) => session,
        Err(error) => return error.to_string(),
    };
    match session.call("greet", json!({"name": "Ann"})).await {
        Ok(result) => result.text(),
        Err(error) => error.to_string(),
    }
}

async fn check(url: &str, cases: &[(&str, String, &str)]) {
    for (what, token, want) in cases {
        let told = greet(url, token).await;
        assert!(told.contains(want), "{what}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_takes_tokens_of_its_issuer() {
    let (issuer, other) = (FakeIssuer::start().await.unwrap(), FakeIssuer::start().await.unwrap());
    let (_demo, url) = demo(&issuer, &["--scope", "mcp", "--scope", "greet=people", "--algorithm", "ES256"]);
    let cases = [
        ("a token for it", issuer.token(&url, "mcp people"), "Hello, Ann!"),
        ("one that is too narrow", issuer.token(&url, "mcp"), "403"),
        ("one for nothing", issuer.token(&url, "people"), "403"),
        ("one for another server", issuer.token("http://127.0.0.1:1/mcp", "mcp people"), "401"),
        ("one that has expired", issuer.token_with(&url, "mcp people", &json!({"exp": 1})), "401"),
        ("one of another issuer", other.token(&url, "mcp people"), "401"),
        ("no token", "nothing".to_owned(), "401"),
    ];
    check(&url, &cases).await;
    let (_demo, url) = demo(&issuer, &["--algorithm", "RS256", "--algorithm", "PS256"]);
    check(&url, &[("another algorithm", issuer.token(&url, ""), "401")]).await;
    let (_demo, url) = demo(&issuer, &["--resource", "http://127.0.0.1:1/elsewhere"]);
    let cases = [
        ("a token for the URL", issuer.token(&url, ""), "401"),
        ("a token for the resource", issuer.token("http://127.0.0.1:1/elsewhere", ""), "Hello, Ann!"),
    ];
    check(&url, &cases).await;
}

/// Behind a proxy that passes on the host that clients call, or that does not.
#[tokio::test(flavor = "multi_thread")]
async fn it_answers_to_the_host_of_its_resource() {
    let issuer = FakeIssuer::start().await.unwrap();
    let resource = "https://mcp.example.com/mcp";
    let (_demo, url) = demo(&issuer, &["--resource", resource]);
    let here = url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
    // Without a token, one that is called by its name asks for one.
    for (host, want) in [("mcp.example.com", "401"), (here, "401"), ("evil.example", "421")] {
        let mut stream = std::net::TcpStream::connect(here).unwrap();
        let head = "Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close";
        write!(stream, "POST /mcp HTTP/1.1\r\nHost: {host}\r\n{head}\r\n\r\n{{}}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {want} ")), "{host}: {answer}");
    }
    check(&url, &[("a token for the resource", issuer.token(resource, ""), "Hello, Ann!")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_says_that_a_proxy_has_to_rewrite_paths() {
    let issuer = FakeIssuer::start().await.unwrap();
    let args = ["demo", "--mcp", "--listen", "http://127.0.0.1:0/rpc", "--issuer", issuer.url()];
    let mut demo =
        Started::new(folder(), &[&args[..], &["--resource", "https://mcp.example.com/mcp"]].concat());
    let note = demo.line("rewrite");
    assert!(note.contains("the path /mcp, but /rpc is served"), "{note}");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_asks_its_issuer() {
    let (issuer, other) = (FakeIssuer::start().await.unwrap(), FakeIssuer::start().await.unwrap());
    let endpoint = format!("{}/introspect", issuer.url());
    let (_demo, url) = demo(&issuer, &["--introspection", &endpoint, "--client-id", "demo"]);
    let cases = [
        ("a token for it", issuer.token(&url, ""), "Hello, Ann!"),
        ("one for another server", issuer.token("http://127.0.0.1:1/mcp", ""), "401"),
        ("one of another issuer", other.token(&url, ""), "401"),
    ];
    check(&url, &cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_wants_proofs_with_nonces() {
    let issuer = FakeIssuer::start().await.unwrap();
    let (_demo, url) = demo(&issuer, &["--require-dpop", "--dpop-nonces"]);
    check(&url, &[("a token of anybody", issuer.token(&url, ""), "401")]).await;
    let client = McpClient::new("test", "1.0.0").auth(OAuth::browser(issuer.browser()));
    let session = client.connect(url.as_str()).await.unwrap();
    assert_eq!(session.call("greet", json!({"name": "Ann"})).await.unwrap().text(), "Hello, Ann!");
    // It says so where clients look.
    let metadata = url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
    let request = sabir::http::Request::get(metadata).body("").unwrap();
    let found = sabir::Fetch::default().send(request).await.unwrap();
    let found: Value = serde_json::from_slice(found.body()).unwrap();
    assert_eq!(found["dpop_bound_access_tokens_required"], true);
}

/// Ends at once: none of these listens.
fn refused(options: &[&str]) -> Output {
    let fixed = ["demo", "--mcp", "--listen", "http://127.0.0.1:9/mcp"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_sabir"));
    command.args(fixed).args(options).env_remove("SABIR_UNSET").stdin(Stdio::null());
    command.output().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn it_does_not_start_with_wrong_settings() {
    let issuer = FakeIssuer::start().await.unwrap();
    let url = issuer.url();
    let endpoint = format!("{url}/introspect");
    for (options, code, why) in [
        (vec!["--scope", "greeet=people"], 2, "the tool `greeet`"),
        (vec!["--scope", "greet=a b"], 3, "cannot be a scope"),
        (vec!["--scope", "offline_access"], 3, "cannot be a scope"),
        (vec!["--algorithm", "HS256"], 2, "tokens can be signed with RS256"),
        (vec!["--algorithm", "none"], 2, "tokens can be signed with RS256"),
        (vec!["--resource", "http://mcp.example/mcp"], 3, "must be https://"),
        (vec!["--introspection", &endpoint], 2, "--client-id"),
        (vec!["--introspection", "http://as.example/ask", "--client-id", "x"], 3, "must be https://"),
        (
            vec!["--introspection", &endpoint, "--client-id", "x", "--issuer", "https://b.example"],
            2,
            "one --issuer",
        ),
        (
            vec!["--introspection", &endpoint, "--client-id", "x", "--client-secret-env", "SABIR_UNSET"],
            2,
            "`SABIR_UNSET` is not set",
        ),
        (vec!["--issuer", "http://127.0.0.1:1"], 3, "http://127.0.0.1:1"),
    ] {
        let ended = refused(&[&["--issuer", url], &options[..]].concat());
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(told.contains(why), "{options:?}: {told}");
        assert_eq!(ended.status.code(), Some(code), "{options:?}: {told}");
    }
    for alone in [["--scope", "x"], ["--algorithm", "ES256"], ["--client-id", "x"]] {
        let ended = refused(&alone);
        assert_eq!(ended.status.code(), Some(2), "{alone:?}");
    }
}
