//! A small site on this machine, such as an authorization server, and the keys that it signs with.

#![allow(dead_code, clippy::unwrap_used)] // Each test file uses some of it.

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The time in all tests, in seconds since 1970.
pub(crate) const NOW: u64 = 1_800_000_000;

pub(crate) fn clock() -> std::time::SystemTime {
    std::time::UNIX_EPOCH + std::time::Duration::from_secs(NOW)
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn is(&self, start: &str) -> bool {
        self.line.starts_with(start)
    }
}

/// Status, further headers, body.
pub(crate) type Reply = (u16, String, String);

pub(crate) fn ok(body: &Value) -> Reply {
    (200, String::new(), body.to_string())
}

pub(crate) fn missing() -> Reply {
    (404, String::new(), String::new())
}

pub(crate) struct Site {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Site {
    /// Answers by a function of its own URL and the request.
    pub(crate) async fn start(answer: impl Fn(&str, &Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let site = Site { url: url.clone(), asked: Arc::default() };
        let (asked, answer) = (Arc::clone(&site.asked), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (asked, answer, url) = (Arc::clone(&asked), Arc::clone(&answer), url.clone());
                tokio::spawn(async move { drop(serve(stream, &asked, &*answer, &url).await) });
            }
        });
        site
    }

    /// The requests so far that begin with this, such as `GET /keys`.
    pub(crate) fn asked(&self, start: &str) -> Vec<Asked> {
        self.asked.lock().unwrap().iter().filter(|asked| asked.is(start)).cloned().collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    asked: &Mutex<Vec<Asked>>,
    answer: &(dyn Fn(&str, &Asked) -> Reply + Send + Sync),
    url: &str,
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let length = text.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().ok())?
    });
    while bytes.len() < head + length.unwrap_or(0) {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    }
    let body = String::from_utf8_lossy(&bytes[head..]).into_owned();
    let line = text.lines().next().unwrap_or_default().to_owned();
    let request = Asked { line, head: text, body };
    let (status, headers, body) = answer(url, &request);
    asked.lock().unwrap().push(request);
    let reply = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(reply.as_bytes()).await?;
    stream.shutdown().await
}

pub(crate) fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A key for ES256.
pub(crate) struct Key(EcdsaKeyPair);

impl Key {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Key(EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap())
    }

    /// The point, as bytes.
    pub(crate) fn public(&self) -> &[u8] {
        self.0.public_key().as_ref()
    }

    pub(crate) fn jwk(&self, id: Option<&str>) -> Value {
        let point = &self.public()[1..];
        let mut jwk = json!({"kty": "EC", "crv": "P-256", "x": b64(&point[..32]), "y": b64(&point[32..])});
        if let Some(id) = id {
            jwk["kid"] = json!(id);
            jwk["use"] = json!("sig");
        }
        jwk
    }

    pub(crate) fn thumbprint(&self) -> String {
        let jwk = self.jwk(None);
        let text = format!(r#"{{"crv":"P-256","kty":"EC","x":{},"y":{}}}"#, jwk["x"], jwk["y"]);
        b64(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()))
    }

    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        self.sign_text(header, &claims.to_string())
    }

    /// Claims as they are written here.
    pub(crate) fn sign_text(&self, header: &Value, claims: &str) -> String {
        let message = format!("{}.{}", b64(header.to_string()), b64(claims));
        let signature = self.0.sign(&SystemRandom::new(), message.as_bytes()).unwrap();
        format!("{message}.{}", b64(signature))
    }
}

/// Changes members of an object.
pub(crate) fn with(mut value: Value, change: &Value) -> Value {
    for (name, change) in change.as_object().unwrap() {
        value[name] = change.clone();
    }
    value
}
