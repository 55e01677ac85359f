//! Servers that listen at TCP and Unix sockets, and their clients.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod fixture;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fixture::{LONG, framed, listening};
use sabir::{CallError, Cause, Ctx, Framing, Peer, Reconnect, Router, Server, transport};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};

const ADD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#;
const SUM: &str = r#"{"jsonrpc":"2.0","id":1,"result":3}"#;

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, future).await.expect("it hangs")
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A client that knows no protocol.
async fn dial(url: &str) -> Box<dyn Stream> {
    match url.split_once(':').unwrap() {
        ("unix", path) => Box::new(UnixStream::connect(path).await.unwrap()),
        (_, address) => Box::new(TcpStream::connect(&address[2..]).await.unwrap()),
    }
}

async fn connect(url: &str, router: Router) -> Peer {
    let transport = match url.split_once(':').unwrap() {
        ("unix", path) => transport::unix(path).await.unwrap(),
        (_, address) => transport::tcp(&address[2..]).await.unwrap(),
    };
    sabir::connect(transport, router).await.unwrap()
}

/// A path for a socket, of this test only.
fn path(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("sabir-{}-{name}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

fn urls(name: &str) -> [String; 2] {
    ["tcp://127.0.0.1:0".to_owned(), format!("unix:{}", path(name).display())]
}

fn router() -> Router {
    Router::new()
        .method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) })
        .method("big", |_, bytes: usize| async move { Ok("x".repeat(bytes)) })
        .method("sleep", |_, ms: u64| async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Ok(ms)
        })
}

async fn listen(url: &str, router: Router) -> Server {
    sabir::listen(url, router).await.unwrap()
}

/// Starts a server, and returns where it is.
async fn serve(url: &str, router: Router) -> String {
    let server = listen(url, router).await;
    let url = server.url().to_owned();
    tokio::spawn(server.run());
    url
}

#[tokio::test]
async fn both_framings_on_one_listener() {
    for url in urls("framings") {
        let url = serve(&url, router()).await;
        for (request, answer) in [(format!("{ADD}\n"), format!("{SUM}\n")), (framed(ADD), framed(SUM))] {
            let mut stream = dial(&url).await;
            stream.write_all(request.as_bytes()).await.unwrap();
            // Half a connection is enough for the answer.
            stream.shutdown().await.unwrap();
            let mut got = String::new();
            within(stream.read_to_string(&mut got)).await.unwrap();
            assert_eq!(got, answer, "{url}");
        }
        assert_eq!(within(connect(&url, Router::new()).await.call("add", (1, 2))).await, Ok(3));
    }
    let url = serve("tcp://127.0.0.1:0", router()).await;
    let headers = transport::tcp(&url[6..]).await.unwrap().framing(Framing::Headers);
    let peer = sabir::connect(headers, Router::new()).await.unwrap();
    assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
}

#[tokio::test]
async fn the_file_of_a_unix_socket() {
    let path = path("file");
    let url = format!("unix:{}", path.display());
    let refused = async || sabir::listen(url.as_str(), router()).await.unwrap_err().to_string();

    let server = listen(&url, router()).await;
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let at = format!("cannot listen at `{url}`: ");
    assert_eq!(refused().await, format!("{at}another server listens there"));
    assert!(path.exists());
    drop(server);
    assert!(!path.exists());

    // One that was left behind by a server that was killed.
    drop(listening(&url));
    assert!(path.exists());
    let server = listen(&url, router()).await;
    // One that is somebody else's by now stays.
    std::fs::remove_file(&path).unwrap();
    let other = listen(&url, router()).await;
    drop(server);
    assert!(path.exists());
    drop(other);

    std::fs::write(&path, "of value").unwrap();
    assert_eq!(refused().await, format!("{at}a file with this name exists and is not a socket"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "of value");
    std::fs::remove_file(&path).unwrap();
}

#[tokio::test]
async fn a_server_that_is_stopped_finishes_what_is_open() {
    for url in urls("stop") {
        let server = listen(&url, router()).await;
        let (stopper, url) = (server.stopper(), server.url().to_owned());
        let server = tokio::spawn(server.run());
        let peer = connect(&url, Router::new()).await;
        let mut sleeping = std::pin::pin!(peer.call::<u64>("sleep", 300));
        let idle = connect(&url, Router::new()).await;
        tokio::select! {
            _ = &mut sleeping => panic!("it sleeps"),
            sum = peer.call::<i64>("add", (1, 2)) => assert_eq!(sum, Ok(3)),
        }
        stopper.stop();
        assert_eq!(within(idle.closed()).await, Cause::Ended);
        assert_eq!(within(sleeping).await, Ok(300));
        within(server).await.unwrap().unwrap();
        assert_eq!(within(peer.closed()).await, Cause::Ended);
    }
}

#[tokio::test]
async fn a_server_that_dies_ends_every_call_with_the_cause() {
    for (reads, cause) in [(true, "Closed(Ended)"), (false, "Closed(Lost(\"Connection reset")] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("tcp://{}", listener.local_addr().unwrap());
        let peer = connect(&url, Router::new()).await;
        let calls: Vec<_> = (0..10)
            .map(|_| {
                let peer = peer.clone();
                tokio::spawn(async move { peer.call::<()>("add", (1, 2)).await })
            })
            .collect();
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.readable().await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        if reads {
            while stream.read(&mut [0; 65536]).await.unwrap() == 65536 {}
        }
        // With something unread, closing resets.
        drop(stream);
        for call in calls {
            let ended = format!("{:?}", within(call).await.unwrap().unwrap_err());
            assert!(ended.starts_with(cause), "{ended}");
        }
    }
}

struct Running(Arc<AtomicUsize>);

impl Running {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Running(Arc::clone(count))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_client_that_dies_ends_its_handlers() {
    let running = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&running);
    let router = Router::new().method("hang", move |_, ()| {
        let running = Running::new(&count);
        async move {
            let _running = running;
            std::future::pending::<sabir::Result<()>>().await
        }
    });
    let url = serve("tcp://127.0.0.1:0", router).await;
    let mut stream = TcpStream::connect(&url[6..]).await.unwrap();
    let hang = r#"{"jsonrpc":"2.0","id":"h","method":"hang"}"#;
    stream.write_all(format!("{hang}\n{ADD}\n").as_bytes()).await.unwrap();
    // The other is answered, and the answer is left unread: closing resets.
    stream.readable().await.unwrap();
    assert_eq!(running.load(Ordering::SeqCst), 1);
    drop(stream);
    within(async {
        while running.load(Ordering::SeqCst) > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_slow_reader_gets_everything() {
    let url = serve("tcp://127.0.0.1:0", router()).await;
    let (mut read, mut write) = TcpStream::connect(&url[6..]).await.unwrap().into_split();
    let calls = 400;
    let sending = tokio::spawn(async move {
        for id in 0..calls {
            let call = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"big\",\"params\":[20000]}}\n");
            write.write_all(call.as_bytes()).await.unwrap();
        }
        write
    });
    let (mut got, mut chunk) = (Vec::new(), [0; 16 * 1024]);
    while got.iter().filter(|&&byte| byte == b'\n').count() < calls {
        let count = within(read.read(&mut chunk)).await.unwrap();
        assert!(count > 0);
        // The text itself is of no interest.
        got.extend(chunk[..count].iter().filter(|&&byte| byte != b'x'));
        tokio::task::yield_now().await;
    }
    let expected: String =
        (0..calls).map(|id| format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":\"\"}}\n")).collect();
    assert_eq!(String::from_utf8(got).unwrap(), expected);
    drop(within(sending).await.unwrap());
}

/// Both sides call each other back, one level deeper each time, on one connection.
#[tokio::test]
async fn nested_call_backs_do_not_deadlock() {
    async fn down(ctx: Ctx, depth: u32) -> sabir::Result<u32> {
        match depth {
            0 => Ok(0),
            _ => Ok(ctx.peer().call::<u32>("down", depth - 1).await? + 1),
        }
    }
    let router = Router::new().method("down", down);
    let url = serve("tcp://127.0.0.1:0", router.clone()).await;
    let peer = connect(&url, router).await;
    assert_eq!(within(peer.call("down", 5000u32)).await, Ok(5000));
}

#[tokio::test]
async fn a_lost_connection_is_made_again() {
    let path = path("again");
    let url = format!("unix:{}", path.display());
    let server = listening(&url);
    let reconnect = Reconnect::new(Router::new(), move || transport::unix(path.clone())).timeout(LONG);
    let peer = reconnect.peer().await.unwrap();
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let peer = peer.clone();
            tokio::spawn(async move { peer.call::<u64>("sleep", 60_000).await })
        })
        .collect();
    assert_eq!(within(peer.call("add", (1, 2))).await, Ok(3));
    drop(server);
    for call in calls {
        assert!(matches!(within(call).await.unwrap(), Err(CallError::Closed(_))));
    }
    let again = tokio::spawn(async move { reconnect.peer().await.unwrap().call("add", (3, 4)).await });
    let _server = listening(&url);
    assert_eq!(within(again).await.unwrap(), Ok(7));
}

/// What cannot be served is refused when the server is made, before anybody is told that it serves.
#[tokio::test]
async fn a_scheme_with_tls_needs_a_certificate() {
    let schemes: &[&str] = if cfg!(feature = "http") { &["tls", "https", "wss"] } else { &["tls"] };
    for scheme in schemes {
        let url = format!("{scheme}://127.0.0.1:0");
        let error = sabir::listen(url.as_str(), router()).await.unwrap_err();
        assert!(matches!(error, sabir::Error::Config(_)), "{error:?}");
        let reason = error.to_string();
        assert!(reason.starts_with(&format!("cannot listen at `{url}` without TLS: ")), "{reason}");
    }
}
