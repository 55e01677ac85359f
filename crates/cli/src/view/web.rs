//! Serves the page, to nobody but the person who started the program.
//!
//! A page on the network can make a browser send requests to this machine, under any name that it points here, and read
//! the answers of those that it may. So every request must name a host that is this machine, must not come from another
//! site, and for data must have the token, which only the printed address has. The page itself has no data.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use super::api::Api;

pub(super) type Body = BoxBody<Bytes, Infallible>;

/// Bytes of a request that are read.
const LONGEST: usize = 1 << 20;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// The files of the page: path, type, content.
const FILES: &[(&str, &str, &[u8])] = &[
    ("/", "text/html; charset=utf-8", include_bytes!("page/index.html")),
    ("/style.css", "text/css; charset=utf-8", include_bytes!("page/style.css")),
    ("/api.js", SCRIPT, include_bytes!("page/api.js")),
    ("/app.js", SCRIPT, include_bytes!("page/app.js")),
    ("/detail.js", SCRIPT, include_bytes!("page/detail.js")),
    ("/grid.js", SCRIPT, include_bytes!("page/grid.js")),
    ("/json.js", SCRIPT, include_bytes!("page/json.js")),
    ("/sequence.js", SCRIPT, include_bytes!("page/sequence.js")),
    ("/stats.js", SCRIPT, include_bytes!("page/stats.js")),
    ("/store.js", SCRIPT, include_bytes!("page/store.js")),
    ("/text.js", SCRIPT, include_bytes!("page/text.js")),
    ("/timeline.js", SCRIPT, include_bytes!("page/timeline.js")),
];
const SCRIPT: &str = "text/javascript; charset=utf-8";

pub(super) struct Web {
    pub(super) api: Api,
    /// What the data needs.
    pub(super) token: String,
    pub(super) port: u16,
}

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, web: Arc<Web>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            continue;
        };
        let web = Arc::clone(&web);
        tokio::spawn(async move {
            let service = service_fn(move |request| {
                let web = Arc::clone(&web);
                async move { Ok::<_, Infallible>(web.answer(request).await) }
            });
            // A page that goes away in the middle is no news.
            let _ = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

impl Web {
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let mut response = match self.admit(&request) {
            Err((status, why)) => refused(status, why),
            Ok(()) => self.route(request).await,
        };
        secure(response.headers_mut());
        response
    }

    /// Whether a request may come at all.
    fn admit(&self, request: &Request<Incoming>) -> Result<(), (StatusCode, &'static str)> {
        let headers = request.headers();
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        if !is_here(host, self.port) {
            return Err((StatusCode::FORBIDDEN, "this page is only at the address that sabir printed"));
        }
        let foreign = headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none");
        let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
        let strange = origin.is_some_and(|origin| origin.strip_prefix("http://") != Some(host));
        // Following a link to the page is allowed: it has no data without the token.
        let is_page = request.method() == Method::GET && request.uri().path() == "/";
        if (foreign || strange) && !is_page {
            return Err((StatusCode::FORBIDDEN, "not from another site"));
        }
        Ok(())
    }

    async fn route(&self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path().to_owned();
        let Some(path) = path.strip_prefix("/api/") else { return file(&request, &path) };
        if !self.knows(request.headers()) {
            return refused(StatusCode::UNAUTHORIZED, "open the address that sabir printed: it has the token");
        }
        let query = request.uri().query().unwrap_or_default().to_owned();
        match *request.method() {
            Method::GET => self.api.get(path, &query),
            Method::POST => {
                let is_json = request.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
                if !is_json {
                    return refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be application/json");
                }
                match Limited::new(request.into_body(), LONGEST).collect().await {
                    Ok(body) => self.api.post(path, &body.to_bytes()),
                    Err(_) => refused(StatusCode::PAYLOAD_TOO_LARGE, "the request is too long"),
                }
            }
            _ => refused(StatusCode::METHOD_NOT_ALLOWED, "GET or POST"),
        }
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let given = given.strip_prefix("Bearer ").unwrap_or_default();
        // In the same time wherever they differ.
        given.len() == self.token.len() && given.bytes().zip(self.token.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
    }
}

/// Whether a `Host` is this machine, at this port.
fn is_here(host: &str, port: u16) -> bool {
    let Some((name, at)) = host.rsplit_once(':') else { return false };
    at.parse() == Ok(port) && ["127.0.0.1", "localhost", "[::1]"].contains(&name.to_ascii_lowercase().as_str())
}

fn file(request: &Request<Incoming>, path: &str) -> Response<Body> {
    if request.method() != Method::GET {
        return refused(StatusCode::METHOD_NOT_ALLOWED, "GET");
    }
    let Some((_, kind, content)) = FILES.iter().find(|(name, ..)| *name == path) else {
        return refused(StatusCode::NOT_FOUND, "there is no such page");
    };
    respond(StatusCode::OK, kind, Full::new(Bytes::from_static(content)).boxed())
}

pub(super) fn respond(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(super) fn refused(status: StatusCode, why: impl Into<String>) -> Response<Body> {
    respond(status, "text/plain; charset=utf-8", Full::new(Bytes::from(why.into())).boxed())
}

fn secure(headers: &mut HeaderMap) {
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// The address to open, with the token where no log keeps it.
pub(super) fn address(at: SocketAddr, token: &str) -> String {
    format!("http://{at}/#t={token}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_here() {
        for host in ["127.0.0.1:4000", "localhost:4000", "LOCALHOST:4000", "[::1]:4000"] {
            assert!(is_here(host, 4000), "{host}");
        }
        for host in ["", "127.0.0.1", "127.0.0.1:4001", "evil.example:4000", "127.0.0.1.evil.example:4000", "localhost.:4000", "::1:4000"] {
            assert!(!is_here(host, 4000), "{host}");
        }
    }

    #[test]
    fn the_page_is_small_and_asks_nobody_else() {
        let all: usize = FILES.iter().map(|(_, _, content)| content.len()).sum();
        assert!(all < 100_000, "{all} bytes");
        for (name, _, content) in FILES {
            let text = std::str::from_utf8(content).unwrap();
            for bad in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
                assert!(!text.contains(bad), "{name} has {bad}");
            }
            let remote = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!remote.contains("http://") && !remote.contains("https://"), "{name} asks another server");
        }
    }
}
