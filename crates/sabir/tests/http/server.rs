//! The service behind a socket.

#![allow(dead_code)] // Each test uses some of it.

use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use sabir::{Ctx, ErrorObject, HttpService, Remote, Router};
use tokio::net::TcpListener;

/// Serves until the test ends. Returns the port.
pub(crate) async fn serve(service: HttpService) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (stream, remote) = listener.accept().await.unwrap();
            let service = service.clone();
            tokio::spawn(async move {
                let service = service_fn(move |mut request: hyper::Request<Incoming>| {
                    request.extensions_mut().insert(Remote(remote));
                    let service = service.clone();
                    async move { Ok::<_, std::convert::Infallible>(service.handle(request).await) }
                });
                let mut http = http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(30));
                let _ = http.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    port
}

#[derive(serde::Deserialize)]
struct Count {
    to: u32,
}

pub(crate) fn router() -> Router {
    Router::new()
        .method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) })
        .method("echo", |_, text: String| async move { Ok(text) })
        .method("log", |_, (): ()| async { Ok(()) })
        .method("fail", |_, (): ()| async { Err::<(), _>(ErrorObject::new(7, "it failed")) })
        .method("remote", |ctx: Ctx, (): ()| async move {
            let remote = ctx.http().unwrap().extensions.get::<Remote>().unwrap().0;
            Ok(remote.ip().to_string())
        })
        .method("who", |ctx: Ctx, (): ()| async move { Ok(ctx.identity::<String>().cloned()) })
        .method("count", |ctx: Ctx, Count { to }: Count| async move {
            for n in 1..=to {
                ctx.progress(n).await;
            }
            Ok(to)
        })
        .method("announce", |ctx: Ctx, text: String| async move {
            let peer = ctx.peer().clone();
            ctx.after_reply(move |_| drop(peer.try_notify("news", (text,))));
            Ok(())
        })
        .method("tell", |ctx: Ctx, (): ()| async move {
            ctx.peer().notify("told", ()).await?;
            Ok("told")
        })
        .method("ask", |ctx: Ctx, (): ()| async move {
            let answer: String = ctx.peer().call("question", ()).await?;
            Ok(format!("they say {answer}"))
        })
        .method("nap", |_, ms: u64| async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(ms)
        })
        .method("leave", |ctx: Ctx, (): ()| async move {
            let hung_up = ctx.close_stream();
            // Once more makes no difference.
            assert_eq!(hung_up, ctx.close_stream());
            let answer: String = ctx.peer().call("question", ()).await?;
            Ok((hung_up, answer))
        })
        .method("initialize", |_, (): ()| async { Ok("ready") })
}
