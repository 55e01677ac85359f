//! The demo service: one method for everything that a protocol can be tried on.
//!
//! It is the same on every transport, in the program and in memory.

mod notes;
mod number;

use std::fmt;
use std::time::Duration;

use notes::Notes;
use number::{Number, Sum};
use sabir::{Ctx, ErrorCode, ErrorObject, JsonKind, RawJson, Router};
use serde::{Deserialize, Deserializer, Serialize};

/// The methods of the service, with no notes remembered yet.
pub(crate) fn router() -> Router {
    Router::new()
        .method("add", |_, Add { a, b }| async move { a.plus(b) })
        .method("subtract", |_, Subtract { minuend, subtrahend }| async move { minuend.minus(subtrahend) })
        .method("sum", |_, sum: Sum| async move { Ok(sum.0) })
        .method("get_data", |_, ()| async { Ok(("hello", 5)) })
        .raw("echo", |_, params| async { Ok(params.unwrap_or(RawJson::NULL)) })
        .method("sleep", sleep)
        .method("progress", progress)
        .method("work", work)
        .method("tick", tick)
        .method("ask", ask)
        .method("fail", fail)
        .method("panic", |_, ()| async { panic() })
        .raw("update", |ctx: Ctx, params| async move {
            ctx.state::<Notes>().add(params.unwrap_or(RawJson::NULL));
            Ok(RawJson::NULL)
        })
        .method("notes", |ctx: Ctx, ()| async move { Ok(ctx.state::<Notes>().all()) })
        .raw("notify_hello", heard)
        .raw("notify_sum", heard)
        .raw("log", heard)
        .state(Notes::default())
}

#[derive(Deserialize)]
#[serde(expecting = "two numbers, `a` and `b`")]
struct Add {
    a: Number,
    b: Number,
}

#[derive(Deserialize)]
#[serde(expecting = "two numbers, `minuend` and `subtrahend`")]
struct Subtract {
    minuend: Number,
    subtrahend: Number,
}

async fn heard(_: Ctx, _: Option<RawJson<'static>>) -> sabir::Result<RawJson<'static>> {
    Ok(RawJson::NULL)
}

fn invalid(reason: impl fmt::Display) -> ErrorObject {
    ErrorObject::because(ErrorCode::INVALID_PARAMS, reason)
}

#[derive(Deserialize)]
#[serde(expecting = "a number of milliseconds, `ms`")]
struct Sleep {
    ms: u64,
}

async fn sleep(_: Ctx, Sleep { ms }: Sleep) -> sabir::Result<u64> {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    Ok(ms)
}

#[derive(Deserialize)]
#[serde(expecting = "`steps` and `ms`")]
struct Progress {
    steps: u64,
    #[serde(default, alias = "delay_ms")]
    ms: u64,
    #[serde(default, rename = "_meta")]
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(default, rename = "progressToken")]
    token: Option<RawJson<'static>>,
}

#[derive(Serialize)]
struct Told<'a> {
    #[serde(rename = "progressToken")]
    token: &'a RawJson<'a>,
    progress: u64,
    total: u64,
}

#[derive(Serialize)]
struct Step {
    step: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<u64>,
}

async fn progress(ctx: Ctx, Progress { steps, ms, meta }: Progress) -> sabir::Result<u64> {
    let token = meta.and_then(|meta| meta.token).map(checked_token).transpose()?;
    for step in 1..=steps {
        if ms > 0 {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        match &token {
            Some(token) => {
                let params = Told { token, progress: step, total: steps };
                ctx.peer().notify("notifications/progress", params).await?;
            }
            None => ctx.peer().notify("progress", Step { step, steps: Some(steps) }).await?,
        }
    }
    Ok(steps)
}

#[derive(Deserialize)]
#[serde(expecting = "`steps` and `workDoneToken`")]
struct Work {
    steps: u64,
    #[serde(rename = "workDoneToken")]
    token: RawJson<'static>,
}

#[derive(Serialize)]
struct Worked<'a> {
    token: &'a RawJson<'a>,
    value: Step,
}

async fn work(ctx: Ctx, Work { steps, token }: Work) -> sabir::Result<u64> {
    let token = checked_token(token)?;
    for step in 0..steps {
        let params = Worked { token: &token, value: Step { step, steps: None } };
        ctx.peer().notify("$/progress", params).await?;
    }
    Ok(steps)
}

fn checked_token(token: RawJson<'static>) -> sabir::Result<RawJson<'static>> {
    match token.kind() {
        JsonKind::String | JsonKind::Number => Ok(token),
        other => Err(invalid(format_args!("a progress token must be a string or a number, found {other}"))),
    }
}

async fn tick(ctx: Ctx, n: u64) -> sabir::Result<u64> {
    for i in 0..n {
        ctx.peer().notify("ticked", (i,)).await?;
    }
    Ok(n)
}

#[derive(Deserialize)]
#[serde(expecting = "`method` and `params`")]
struct Ask {
    method: String,
    #[serde(default)]
    params: Option<RawJson<'static>>,
}

async fn ask(ctx: Ctx, Ask { method, params }: Ask) -> sabir::Result<RawJson<'static>> {
    match params.as_ref().map(RawJson::kind) {
        None | Some(JsonKind::Array | JsonKind::Object) => {}
        Some(other) => {
            return Err(invalid(format_args!("`params` must be an array or an object, found {other}")));
        }
    }
    Ok(ctx.peer().call_raw(method, params).await?)
}

#[derive(Deserialize)]
#[serde(expecting = "`code`, `message` and `data`")]
struct Fail {
    #[serde(default)]
    code: Option<i64>,
    #[serde(default)]
    message: Option<String>,
    /// `null` is data too.
    #[serde(default, deserialize_with = "present")]
    data: Option<RawJson<'static>>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson<'static>>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

async fn fail(_: Ctx, Fail { code, message, data }: Fail) -> sabir::Result<()> {
    match code {
        Some(code) => {
            let mut error = ErrorObject::standard(code.into());
            if let Some(message) = message {
                error.message = message.into();
            }
            error.data = data;
            Err(error)
        }
        None => Err(Failure(message.unwrap_or_else(|| "failed as asked".to_owned())))?,
    }
}

/// What a handler that fails without a code of its own fails with.
#[derive(Debug)]
struct Failure(String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// The payload of the panic that was asked for.
struct AsAsked;

fn panic() -> sabir::Result<()> {
    std::panic::panic_any(AsAsked)
}

/// Lets the panic that a caller can ask for pass in silence. All others are printed as ever.
pub(crate) fn quiet_panic() {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<AsAsked>() {
            loud(info);
        }
    }));
}
