//! By hand on HTTP: hyper and `serde_json`, a task for each connection, as hyper's guide does it.

use std::convert::Infallible;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use sabir_bench_peers::request;
use tokio::net::TcpListener;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("serving on http://{}", listener.local_addr()?);
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service_fn(answer)));
    }
}

async fn answer(incoming: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    if incoming.method() != Method::POST {
        return Ok(refusal(StatusCode::METHOD_NOT_ALLOWED));
    }
    let Ok(body) = incoming.into_body().collect().await else {
        return Ok(refusal(StatusCode::BAD_REQUEST));
    };
    let mut out = Vec::new();
    Ok(match request(&body.to_bytes(), &mut out) {
        Ok(true) => {
            let mut response = Response::new(Full::from(out));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Ok(false) => refusal(StatusCode::ACCEPTED),
        Err(_) => refusal(StatusCode::BAD_REQUEST),
    })
}

fn refusal(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}
