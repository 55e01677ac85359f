//! Params checked against their schema before the handler sees them.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use jsonschema::{Draft, Validator};
use sabir_proto::RequestKey;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::handler::ctx::Ctx;
use crate::handler::task::{BoxTask, Task};
use crate::router::handlers::{Handler, RawFuture};
use crate::runtime::session_context::SessionContext;
use crate::schema::describe::Description;
use crate::schema::discover::Shape;
use crate::schema::openrpc::Content;
use crate::{ErrorCode, ErrorObject, JsonKind, RawJson, Result};

/// Violations that are reported. Params can have as many as they are long.
const MOST_VIOLATIONS: usize = 16;

/// A handler behind a check.
pub(crate) struct Validated {
    handler: Arc<dyn Handler>,
    check: Arc<LazyCheck>,
}

/// A check that is made when it is first needed: most servers are started more often than each method is
/// called.
struct LazyCheck {
    description: Description,
    made: OnceLock<Check>,
}

impl LazyCheck {
    fn run(&self, params: Option<&RawJson<'_>>) -> Result<()> {
        self.made.get_or_init(|| Check::new(&self.description)).run(params)
    }
}

impl Validated {
    pub(crate) fn new(handler: Arc<dyn Handler>, description: Description) -> Self {
        Validated { handler, check: Arc::new(LazyCheck { description, made: OnceLock::new() }) }
    }
}

impl Handler for Validated {
    fn task(&self) -> BoxTask {
        Box::pin(Checked { check: Arc::clone(&self.check), task: self.handler.task() })
    }

    fn call(&self, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Result<RawFuture> {
        self.check.run(params)?;
        self.handler.call(ctx, method, params)
    }
}

/// A handler's task, which starts only with params that fit.
struct Checked {
    check: Arc<LazyCheck>,
    task: BoxTask,
}

impl Task for Checked {
    fn start(mut self: Pin<&mut Self>, ctx: Ctx, method: &str, params: Option<&RawJson<'_>>) -> Result<()> {
        self.check.run(params)?;
        self.task.as_mut().start(ctx, method, params)
    }

    fn poll(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        context: &mut SessionContext,
        key: Option<RequestKey>,
    ) -> Poll<()> {
        self.task.as_mut().poll(cx, context, key)
    }
}

/// One schema for params by name, one for params by position. Where there is none, anything goes.
struct Check {
    by_name: Option<Validator>,
    by_position: Option<Validator>,
}

#[derive(Serialize)]
struct Violations {
    reason: String,
    violations: Vec<Violation>,
}

#[derive(Serialize)]
struct Violation {
    /// A JSON Pointer into the params.
    path: String,
    reason: String,
}

impl Check {
    fn new(description: &Description) -> Self {
        let mut generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
        let shape = Shape::of(description, &mut generator);
        let definitions = generator.take_definitions(true);
        let (by_name, by_position) = match shape {
            Shape::Named(contents) => (Some(object(&contents)), Some(array(contents))),
            Shape::Names(contents) => (Some(object(&contents)), Some(json!({"type": "object"}))),
            Shape::Positions(contents) => (Some(json!({"type": "array"})), Some(array(contents))),
            Shape::Whole(schema) => (Some(schema.clone()), Some(schema)),
        };
        let validator = |schema: Option<Value>| compiled(schema?, &definitions);
        Check { by_name: validator(by_name), by_position: validator(by_position) }
    }

    fn run(&self, params: Option<&RawJson<'_>>) -> Result<()> {
        let empty = RawJson::from_value(&Map::new())?;
        let params = params.unwrap_or(&empty);
        let validator = match params.kind() {
            JsonKind::Array => &self.by_position,
            _ => &self.by_name,
        };
        let Some(validator) = validator else { return Ok(()) };
        let Ok(mut params) = params.parse::<Value>() else { return Ok(()) };
        if let Some(members) = params.as_object_mut() {
            // It travels beside the arguments.
            members.shift_remove("_meta");
        }
        if validator.is_valid(&params) {
            return Ok(());
        }
        Err(refusal(validator, &params))
    }
}

fn refusal(validator: &Validator, params: &Value) -> ErrorObject {
    let violations: Vec<_> = validator
        .iter_errors(params)
        .take(MOST_VIOLATIONS)
        // Values are left out: they may be as large as the message.
        .map(|error| Violation {
            path: error.instance_path().to_string(),
            reason: error.masked_with("the value").to_string(),
        })
        .collect();
    let reason = match violations.first() {
        Some(Violation { path, reason }) if !path.is_empty() => format!("{path}: {reason}"),
        Some(Violation { reason, .. }) => reason.clone(),
        None => "the params do not fit".to_owned(),
    };
    ErrorObject::standard(ErrorCode::INVALID_PARAMS).with_data(Violations { reason, violations })
}

fn object(contents: &[Content]) -> Value {
    let properties: Map<_, _> = contents.iter().map(|c| (c.name.clone(), c.schema.clone())).collect();
    let required: Vec<_> = contents.iter().filter(|c| c.required).map(|c| c.name.clone()).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

fn array(contents: Vec<Content>) -> Value {
    let least = contents.iter().rposition(|c| c.required).map_or(0, |last| last + 1);
    let most = contents.len();
    let items: Vec<_> = contents.into_iter().map(|c| c.schema).collect();
    match items.is_empty() {
        true => json!({"type": "array", "maxItems": 0}),
        false => json!({"type": "array", "prefixItems": items, "minItems": least, "maxItems": most}),
    }
}

/// A schema that cannot be compiled checks nothing: it came from our own types, and the handler reads them.
fn compiled(mut schema: Value, definitions: &Map<String, Value>) -> Option<Validator> {
    if !definitions.is_empty() {
        schema.as_object_mut()?.insert("$defs".to_owned(), Value::Object(definitions.clone()));
    }
    jsonschema::options().with_draft(Draft::Draft202012).build(&schema).ok()
}
