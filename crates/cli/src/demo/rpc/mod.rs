//! The demo service: methods to try every feature of the protocol.
//!
//! It is the same on every transport, in the program and in memory.

pub(super) mod chain;
mod notes;
mod number;
mod subscriptions;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use notes::Notes;
use number::{Number, Sum};
use sabir::openrpc::Info;
use sabir::{Ctx, ErrorCode, ErrorObject, JsonKind, RawJson, Router, describe};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;

/// The methods of the service, with no notes remembered yet.
pub(crate) fn router() -> Router {
    let router = arithmetic(Router::new().expose_exceptions());
    let router = time(router);
    let router = failures(router);
    let router = subscriptions::add_to(router);
    notifications(router).info(
        Info::new("Sabir demo", env!("CARGO_PKG_VERSION"))
            .description("One service to try everything on, the same on every transport."),
    )
}

fn arithmetic(router: Router) -> Router {
    router
        .method(
            describe("add").doc("Adds two numbers.\n\nIntegers of up to 128 bits are added exactly."),
            |_, Add { a, b }| async move { a.plus(b) },
        )
        .method(
            describe("subtract").doc("Subtracts one number from another."),
            |_, Subtract { minuend, subtrahend }| async move { minuend.minus(subtrahend) },
        )
        .method(describe("sum").doc("Adds any number of numbers."), |_, sum: Sum| async move { Ok(sum.0) })
        .method(describe("get_data").doc("Returns a string and a number."), |_, ()| async {
            Ok((Cow::Borrowed("hello"), 5))
        })
        .method_raw("echo", |_, params| async { Ok(params.unwrap_or(RawJson::NULL)) })
        .describe(describe("echo").doc("Returns its params as they came, or null if there are none."))
}

fn time(router: Router) -> Router {
    router
        .method(describe("sleep").doc("Waits, and returns for how long.\n\nIt can be cancelled."), sleep)
        .method(
            describe("progress").progress::<Step>().doc(
                "Tells its progress, and returns the number of steps.\n\n\
                 With a token in `_meta.progressToken` it tells `notifications/progress`, without one `progress`.",
            ),
            progress,
        )
        .method(
            describe("work")
                .doc("Tells its progress as language servers do, and returns the number of steps.")
                .progress::<Step>(),
            work,
        )
        .method(
            describe("tick").names(&["n"]).doc("Sends `n` notifications `ticked`, and returns `n`."),
            tick,
        )
        .method(describe("ask").doc("Calls a method of the caller, and returns what came of it."), ask)
}

fn failures(router: Router) -> Router {
    router
        .method(
            describe("fail")
                .doc("Fails with the error that it is given.\n\nWithout a code the handler fails by itself.")
                .error(ErrorCode::INTERNAL_ERROR.0, "failed as asked"),
            fail,
        )
        .method(
            describe("panic")
                .doc("Panics. The server keeps running.")
                .error(ErrorCode::INTERNAL_ERROR.0, "Internal error"),
            |_, ()| async { panic() },
        )
}

fn notifications(router: Router) -> Router {
    router
        .method_raw("update", |ctx: Ctx, params| async move {
            ctx.state::<Notes>().add(params.unwrap_or(RawJson::NULL));
            Ok(RawJson::NULL)
        })
        .describe(describe("update").doc("Remembers its params, for `notes`.").notification())
        .method(
            describe("notes").doc("Returns what `update` was given, the oldest first."),
            |ctx: Ctx, ()| async move { Ok(ctx.state::<Notes>().all()) },
        )
        .method_raw("notify_hello", ignore)
        .describe(describe("notify_hello").doc("Accepts the notification and does nothing.").notification())
        .method_raw("notify_sum", ignore)
        .describe(describe("notify_sum").doc("Accepts the notification and does nothing.").notification())
        .method_raw("log", ignore)
        .describe(describe("log").doc("Accepts the notification and does nothing.").notification())
        .state(Notes::default())
}

#[derive(Deserialize, JsonSchema)]
#[serde(expecting = "two numbers, `a` and `b`")]
struct Add {
    a: Number,
    b: Number,
}

#[derive(Deserialize, JsonSchema)]
#[serde(expecting = "two numbers, `minuend` and `subtrahend`")]
struct Subtract {
    minuend: Number,
    subtrahend: Number,
}

async fn ignore(_: Ctx, _: Option<RawJson<'static>>) -> sabir::Result<RawJson<'static>> {
    Ok(RawJson::NULL)
}

fn invalid(reason: impl fmt::Display) -> ErrorObject {
    ErrorObject::because(ErrorCode::INVALID_PARAMS, reason)
}

#[derive(Deserialize, JsonSchema)]
#[serde(expecting = "a number of milliseconds, `ms`")]
struct Sleep {
    /// Milliseconds.
    ms: u64,
}

async fn sleep(_: Ctx, Sleep { ms }: Sleep) -> sabir::Result<u64> {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    Ok(ms)
}

#[derive(Deserialize, JsonSchema)]
#[serde(expecting = "`steps` and `ms`")]
struct Progress {
    /// How often to tell.
    steps: u64,
    /// Milliseconds before each.
    #[serde(default, alias = "delay_ms")]
    ms: u64,
    #[serde(default, rename = "_meta")]
    #[schemars(skip)]
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(default, rename = "progressToken")]
    token: Option<RawJson<'static>>,
}

#[derive(Serialize)]
struct ProgressParams<'a> {
    #[serde(rename = "progressToken")]
    token: &'a RawJson<'a>,
    progress: u64,
    total: u64,
}

#[derive(Serialize, JsonSchema)]
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
                let params = ProgressParams { token, progress: step, total: steps };
                ctx.peer().notify("notifications/progress", params).await?;
            }
            None => ctx.peer().notify("progress", Step { step, steps: Some(steps) }).await?,
        }
    }
    Ok(steps)
}

#[derive(Deserialize, JsonSchema)]
#[serde(expecting = "`steps` and `workDoneToken`")]
struct Work {
    /// How often to tell.
    steps: u64,
    /// Told with each: a string or a number.
    #[serde(rename = "workDoneToken")]
    #[schemars(with = "Token")]
    token: RawJson<'static>,
}

/// What a progress token may be.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it is only described")]
enum Token {
    Text(String),
    Number(f64),
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

#[derive(Deserialize, JsonSchema)]
#[serde(expecting = "`method` and `params`")]
struct Ask {
    /// The method to call.
    method: String,
    /// Its params, an array or an object.
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

#[derive(Deserialize, JsonSchema)]
#[serde(expecting = "`code`, `message` and `data`")]
struct Fail {
    /// The code of the error.
    #[serde(default)]
    code: Option<i64>,
    /// Its message.
    #[serde(default)]
    message: Option<String>,
    /// Its data; `null` is data too.
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
        None => {
            // As a handler that fails is answered, but without the path of the type in this program.
            let message = message.unwrap_or_else(|| "failed as asked".to_owned());
            Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, message)
                .with_data(json!({"exception": "Failure"})))
        }
    }
}

/// The payload of the panic that was asked for.
struct AsAsked;

fn panic() -> sabir::Result<()> {
    std::panic::panic_any(AsAsked)
}

/// Does not print the panic that a caller can ask for. All others are printed as usual.
pub(crate) fn quiet_panic() {
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<AsAsked>() {
            loud(info);
        }
    }));
}
