//! Several calls at once, wherever calls can be made. That this compiles is half of the test: an error type with
//! a lifetime makes the futures below no longer `Send`.

#![allow(clippy::unwrap_used)]

use futures_util::future::{join_all, select_all, try_join_all};
use futures_util::stream::{FuturesUnordered, StreamExt};
use sabir::{Batch, Call, CallError, Ctx, ErrorObject, Method, Peer, Router, ServiceError, transport};

const ADD: Method<(i64, i64), i64> = Method::new("add");

#[sabir::service]
trait Math {
    async fn sum(&self, a: i64, b: i64) -> sabir::Result<i64>;
    async fn divide(&self, a: i64, b: i64) -> Result<i64, MathError>;
    async fn count(&self, to: u64, progress: sabir::Progress<u64>) -> Result<u64, MathError>;
}

#[derive(Debug, Clone, PartialEq, sabir::RpcError)]
enum MathError {
    #[rpc(code = 1)]
    ByZero,
}

struct Calculator;

impl Math for Calculator {
    async fn sum(&self, a: i64, b: i64) -> sabir::Result<i64> {
        Ok(a + b)
    }

    async fn divide(&self, a: i64, b: i64) -> Result<i64, MathError> {
        a.checked_div(b).ok_or(MathError::ByZero)
    }

    async fn count(&self, to: u64, progress: sabir::Progress<u64>) -> Result<u64, MathError> {
        progress.send(to).await;
        Ok(to)
    }
}

async fn client() -> Peer {
    let (near, far) = transport::memory();
    let router = Calculator.into_router().method(ADD, |_, (a, b)| async move { Ok(a + b) });
    tokio::spawn(sabir::serve(far, router));
    // Calls back from handlers, several at once.
    let router = Router::new().method("fan", fan).method("fan typed", |ctx: Ctx, ()| async move {
        let math = MathClient::new(ctx.peer().clone());
        let (a, b) = tokio::try_join!(math.divide(4, 2), math.divide(9, 3))?;
        Ok(a + b)
    });
    sabir::connect(near, router).await.unwrap()
}

/// A handler that asks its caller several things at once.
async fn fan(ctx: Ctx, (): ()) -> sabir::Result<i64> {
    let peer = ctx.peer();
    let (a, b) = tokio::join!(peer.call_method(ADD, (1, 2)), peer.call_method(ADD, (3, 4)));
    let (c, d) = tokio::try_join!(peer.call_method(ADD, (1, 2)), peer.call_method(ADD, (3, 4)))?;
    let all = join_all((0..3).map(|i| peer.call_method(ADD, (i, i)))).await;
    let all: i64 = all.into_iter().collect::<Result<Vec<_>, _>>()?.iter().sum();
    let tried: Vec<i64> = try_join_all((0..3).map(|i| peer.call_method(ADD, (i, i)))).await?;
    let own = async { Ok::<i64, ErrorObject>(peer.call_method(ADD, (0, 0)).await?) };
    let (own, other) = tokio::try_join!(own, async { Ok(peer.call_method(ADD, (0, 0)).await?) })?;
    Ok(a? + b? + c + d + all + tried.iter().sum::<i64>() + own + other)
}

#[tokio::test(flavor = "multi_thread")]
async fn in_spawned_tasks() {
    let peer = client().await;
    let sums = tokio::spawn(async move {
        let (a, b) = tokio::join!(peer.call_method(ADD, (1, 2)), peer.call_method(ADD, (3, 4)));
        let (c, d) = tokio::try_join!(peer.call_method(ADD, (5, 6)), peer.call_method(ADD, (7, 8)))?;
        let many = try_join_all((0..10).map(|i| peer.call_method(ADD, (i, 1)))).await?;
        let (first, _, _) = select_all((0..3).map(|_| peer.call_method(ADD, (1, 1)))).await;
        let mut unordered: FuturesUnordered<Call<i64>> =
            (0..3).map(|i| peer.call_method(ADD, (i, 0))).collect();
        let mut more = 0;
        while let Some(sum) = unordered.next().await {
            more += sum?;
        }
        Ok::<_, CallError>((a?, b?, c, d, many.len(), first?, more))
    });
    assert_eq!(sums.await.unwrap(), Ok((3, 7, 11, 15, 10, 2, 3)));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_typed_clients() {
    let math = MathClient::new(client().await);
    let sums = tokio::spawn(async move {
        let (sum, quotient) = tokio::join!(math.sum(1, 2), math.divide(1, 0));
        assert_eq!(quotient, Err(ServiceError::Answered(MathError::ByZero)));
        let both = tokio::try_join!(math.divide(4, 2), math.divide(6, 2))?;
        let all = join_all((1..4).map(|n| math.divide(12, n))).await;
        let counted = try_join_all((1..4).map(|n| math.count(n))).await?;
        let mixed =
            tokio::try_join!(async { math.sum(1, 1).await.map_err(|error| error.to_string()) }, async {
                math.divide(2, 1).await.map_err(|error| error.to_string())
            },);
        Ok::<_, ServiceError<MathError>>((sum.ok(), both, all.len(), counted, mixed))
    });
    assert_eq!(sums.await.unwrap().unwrap(), (Some(3), (2, 3), 3, vec![1, 2, 3], Ok((2, 2))));
}

#[tokio::test(flavor = "multi_thread")]
async fn in_handlers() {
    let (near, far) = transport::memory();
    let asks = Router::new().method("ask", |ctx: Ctx, method: String| async move {
        let (a, b) = tokio::try_join!(
            ctx.peer().call::<i64>(method.clone(), ()),
            ctx.peer().call::<i64>(method, ()),
        )?;
        Ok(a + b)
    });
    let asks = Calculator.add_to(asks).method(ADD, |_, (a, b)| async move { Ok(a + b) });
    tokio::spawn(sabir::serve(far, asks));
    let router = Router::new().method("fan", fan).method("fan typed", |ctx: Ctx, ()| async move {
        let math = MathClient::new(ctx.peer().clone());
        let (a, b) = tokio::try_join!(math.divide(4, 2), math.divide(9, 3))?;
        Ok(a + b)
    });
    let peer = sabir::connect(near, router).await.unwrap();
    assert_eq!(peer.call::<i64>("ask", "fan").await, Ok(2 * (10 + 10 + 6 + 6)));
    assert_eq!(peer.call::<i64>("ask", "fan typed").await, Ok(2 * (2 + 3)));
}

#[tokio::test(flavor = "multi_thread")]
async fn in_batches() {
    let peer = client().await;
    let sums = tokio::spawn(async move {
        let mut batch: Batch = peer.batch();
        let calls: Vec<Call<i64>> = (0..5).map(|i| batch.call_method(ADD, (i, i))).collect();
        let (a, b) = (batch.call_method(ADD, (1, 1)), batch.call_method(ADD, (2, 2)));
        batch.send()?;
        let (all, pair) = tokio::join!(try_join_all(calls), async { tokio::try_join!(a, b) });
        Ok::<_, CallError>((all?, pair?))
    });
    assert_eq!(sums.await.unwrap(), Ok((vec![0, 2, 4, 6, 8], (2, 4))));
}

#[cfg(unix)]
#[test]
fn without_a_runtime() {
    use std::os::unix::net::UnixStream;

    use sabir::blocking;

    let (near, far) = UnixStream::pair().unwrap();
    let router = Router::new().method(ADD, |_, (a, b)| async move { Ok(a + b) });
    let streams = |stream: UnixStream| blocking::Streams::new(stream.try_clone().unwrap(), stream);
    std::thread::spawn(move || blocking::serve(streams(far), router));
    let peer = blocking::connect(streams(near), Router::new()).unwrap();
    let asked = peer.clone();
    let sums = std::thread::spawn(move || {
        let peer = asked.as_async();
        blocking::wait(try_join_all((0..5).map(|i| peer.call_method(ADD, (i, i)))))
    });
    assert_eq!(sums.join().unwrap(), Some(Ok(vec![0, 2, 4, 6, 8])));
    let threads: Vec<_> = (0..5)
        .map(|i| {
            let peer = peer.clone();
            std::thread::spawn(move || peer.call_method(ADD, (i, i)))
        })
        .collect();
    let sums: Result<Vec<i64>, CallError> =
        threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(sums, Ok(vec![0, 2, 4, 6, 8]));
}
