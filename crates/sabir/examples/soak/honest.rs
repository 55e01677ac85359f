//! A client that asks for little, and wants to know how long that takes.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;

const ADD: &str = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"add\",\"params\":[1,2]}\n";
const SUM: &str = "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":3}\n";

/// Calls on one connection before it takes a new one.
const CALLS: usize = 20;

/// An answer that takes longer does not count.
const LONGEST: Duration = Duration::from_secs(20);

#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) worst: Duration,
    pub(crate) calls: usize,
    pub(crate) failures: usize,
}

pub(crate) struct Honest {
    stop: oneshot::Sender<()>,
    seen: JoinHandle<Seen>,
}

impl Honest {
    /// Calls again and again, by lines, from an address of its own. It has a thread to itself: among the attackers'
    /// tasks it would also measure how long it waits for them.
    pub(crate) fn start(server: SocketAddr) -> Self {
        let (stop, mut stopped) = oneshot::channel();
        let calls = async move {
            let mut seen = Seen::default();
            while stopped.try_recv().is_err() {
                if let Ok(Ok(())) = timeout(LONGEST, visit(server, &mut seen)).await {
                    continue;
                }
                seen.failures += 1;
            }
            seen
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Honest { stop, seen: std::thread::spawn(move || runtime.block_on(calls)) }
    }

    pub(crate) async fn stop(self) -> Seen {
        let _ = self.stop.send(());
        tokio::task::spawn_blocking(|| self.seen.join().unwrap()).await.unwrap()
    }
}

/// A connection and some calls. The first one includes the time to connect.
async fn visit(server: SocketAddr, seen: &mut Seen) -> std::io::Result<()> {
    let mut start = Instant::now();
    let mut stream = BufReader::new(dial(server).await?);
    for _ in 0..CALLS {
        stream.write_all(ADD.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_line(&mut answer).await?;
        if answer != SUM {
            return Err(std::io::Error::other(format!("not the answer: {answer}")));
        }
        seen.worst = seen.worst.max(start.elapsed());
        seen.calls += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
        start = Instant::now();
    }
    Ok(())
}

/// Attackers have other addresses: each of them has its share of the connections.
async fn dial(server: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((Ipv4Addr::new(127, 0, 0, 77), 0).into())?;
    socket.connect(server).await
}
