//! What a service says that its methods take and give, in an OpenRPC document.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use sabir_proto::{ErrorObject, JsonKind};
use serde_json::Value;

use crate::json_path::{elements, kind, members};
use crate::rules::engine::finding::quoted;
use crate::rules::schemas::{BudgetGuard, MemoryBudget, Mismatch, Schema, value_bytes};

/// References that may lead to each other.
const STEPS: usize = 16;
/// Wrong params that are reported for one message.
const MOST: usize = 20;

/// What a service says that its methods take and give.
///
/// ```
/// use sabir_model::rules::OpenRpc;
///
/// assert!(OpenRpc::parse(r#"{"openrpc":"1.3.2","methods":[]}"#).is_ok());
/// let error = OpenRpc::parse("[]").unwrap_err();
/// assert_eq!(error.to_string(), "this is not an OpenRPC document: `openrpc` and `methods` are missing");
/// ```
#[derive(Debug)]
pub struct OpenRpc {
    methods: HashMap<Box<str>, Method>,
    _guard: Option<BudgetGuard>,
}

#[derive(Debug)]
struct Method {
    structure: Structure,
    params: Vec<Param>,
    result: Option<Schema>,
    /// Of `error.data`, by code.
    errors: HashMap<i64, Schema>,
}

/// How params may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Structure {
    ByName,
    ByPosition,
    Either,
    /// One schema is that of all params together.
    Whole,
}

#[derive(Debug)]
struct Param {
    name: Box<str>,
    required: bool,
    schema: Option<Schema>,
}

/// Why a text is not an OpenRPC document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotOpenRpc(String);

impl fmt::Display for NotOpenRpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotOpenRpc {}

impl OpenRpc {
    /// Reads a document. References within it are followed, others are not.
    ///
    /// # Errors
    /// If the text is not JSON, not an OpenRPC document, or refers to what is not in it.
    pub fn parse(text: &str) -> Result<OpenRpc, NotOpenRpc> {
        OpenRpc::read(text, &MemoryBudget::given())
    }

    fn read(text: &str, budget: &MemoryBudget) -> Result<OpenRpc, NotOpenRpc> {
        let root: Value =
            serde_json::from_str(text).map_err(|error| NotOpenRpc(format!("this is not JSON: {error}")))?;
        let methods = match (root.get("openrpc"), root.get("methods")) {
            (Some(Value::String(_)), Some(Value::Array(methods))) => methods.len(),
            _ => {
                let what = "this is not an OpenRPC document: `openrpc` and `methods` are missing";
                return Err(NotOpenRpc(what.to_owned()));
            }
        };
        let document = Document { root: Arc::new(root), bytes: text.len(), budget };
        let methods = (0..methods).map(|index| method(&document, format!("/methods/{index}")));
        Ok(OpenRpc { methods: methods.collect::<Result<_, _>>()?, _guard: None })
    }

    /// Where in the document, as JSON Pointers, there are schemas that cannot be used: they are none, or refer to what is
    /// not in it. Nothing is compared with them.
    pub fn unusable(&self) -> Vec<&str> {
        let schemas = self.methods.values().flat_map(|method| {
            let params = method.params.iter().filter_map(|param| param.schema.as_ref());
            params.chain(&method.result).chain(method.errors.values())
        });
        let mut places: Vec<_> = schemas.filter_map(Schema::unusable).collect();
        places.sort_unstable();
        places
    }

    /// Learns from an answer to `rpc.discover`, if there is room.
    pub(crate) fn seen(text: &str, budget: &MemoryBudget) -> Option<OpenRpc> {
        let taken = budget.take(value_bytes(text))?;
        Some(OpenRpc { _guard: Some(taken), ..OpenRpc::read(text, budget).ok()? })
    }

    /// Compares the params of a call. Of a method that is not in the document nothing is known.
    pub(crate) fn params<'t>(&self, name: &str, params: Option<&'t str>) -> Vec<Mismatch<'t>> {
        let Some(method) = self.methods.get(name) else { return Vec::new() };
        let mut found = match params.map(|params| (kind(params), params)) {
            Some((_, params)) if method.structure == Structure::Whole => {
                method.params.iter().filter_map(|param| param.check(params)).collect()
            }
            Some((JsonKind::Array, params)) => method.by_position(name, params),
            Some((JsonKind::Object, params)) => method.by_name(name, params),
            _ if method.structure == Structure::Whole => Vec::new(),
            _ => missing(None, method.params.iter()),
        };
        found.truncate(MOST);
        found
    }

    pub(crate) fn result<'t>(&self, method: &str, result: &'t str) -> Option<Mismatch<'t>> {
        self.methods.get(method)?.result.as_ref()?.check("the result", result)
    }

    /// Compares the data of an error. Without any there is nothing to compare.
    pub(crate) fn error<'t>(&self, method: &str, error: &'t ErrorObject<'t>) -> Option<Mismatch<'t>> {
        let schema = self.methods.get(method)?.errors.get(&error.code.0)?;
        schema.check("`error.data`", error.data.as_ref()?.as_str())
    }
}

impl Method {
    fn by_position<'t>(&self, name: &str, params: &'t str) -> Vec<Mismatch<'t>> {
        if self.structure == Structure::ByName {
            let what = format!("{} takes its params by name", quoted(name));
            return vec![Mismatch { part: Some(params), what }];
        }
        let given: Vec<_> = elements(params).collect();
        let mut found = missing(Some(params), self.params.iter().skip(given.len()));
        found.extend(self.params.iter().zip(&given).filter_map(|(param, value)| param.check(value)));
        if let Some(extra) = given.get(self.params.len()) {
            let what =
                format!("{} takes {} params, and not {}", quoted(name), self.params.len(), given.len());
            found.push(Mismatch { part: Some(extra), what });
        }
        found
    }

    fn by_name<'t>(&self, name: &str, params: &'t str) -> Vec<Mismatch<'t>> {
        if self.structure == Structure::ByPosition {
            let what = format!("{} takes its params by position", quoted(name));
            return vec![Mismatch { part: Some(params), what }];
        }
        let given: Vec<_> = members(params).collect();
        let is_given = |param: &&Param| given.iter().any(|(name, _)| **name == *param.name);
        let mut found = missing(Some(params), self.params.iter().filter(|param| !is_given(param)));
        for (key, value) in &given {
            match self.params.iter().find(|param| *param.name == **key) {
                Some(param) => found.extend(param.check(value)),
                // It travels beside the params.
                None if key == "_meta" => {}
                None => {
                    let what = format!("{} has no param {}", quoted(name), quoted(key));
                    found.push(Mismatch { part: Some(value), what });
                }
            }
        }
        found
    }
}

/// Those of the params that are not given, and must be.
fn missing<'t, 'p>(part: Option<&'t str>, left_out: impl Iterator<Item = &'p Param>) -> Vec<Mismatch<'t>> {
    let required = left_out.filter(|param| param.required);
    required
        .map(|param| Mismatch { part, what: format!("the param {} is missing", quoted(&param.name)) })
        .collect()
}

impl Param {
    fn check<'t>(&self, value: &'t str) -> Option<Mismatch<'t>> {
        self.schema.as_ref()?.check(&format!("the param {}", quoted(&self.name)), value)
    }
}

/// A document that is being read.
struct Document<'r> {
    root: Arc<Value>,
    bytes: usize,
    budget: &'r MemoryBudget,
}

impl Document<'_> {
    fn schema(&self, pointer: String) -> Schema {
        Schema::new(&self.root, pointer, self.bytes, self.budget)
    }

    /// The schema of a param or a result that stands at a place in the document.
    fn schema_in(&self, content: &Value, at: &str) -> Option<Schema> {
        content.get("schema").map(|_| self.schema(format!("{at}/schema")))
    }
}

fn method(document: &Document<'_>, at: String) -> Result<(Box<str>, Method), NotOpenRpc> {
    let root = &*document.root;
    let (at, method) = follow(root, at)?;
    let name = text(method, "name").ok_or_else(|| NotOpenRpc(format!("the method at {at} has no name")))?;
    let mut structure = match text(method, "paramStructure") {
        Some("by-name") => Structure::ByName,
        Some("by-position") => Structure::ByPosition,
        _ => Structure::Either,
    };
    let mut params = Vec::new();
    for index in 0..method.get("params").and_then(Value::as_array).map_or(0, Vec::len) {
        let (at, param) = follow(root, format!("{at}/params/{index}"))?;
        let is = |name: &str| param.get(name) == Some(&Value::Bool(true));
        if is("x-whole") {
            structure = Structure::Whole;
        }
        let name = text(param, "name").unwrap_or_default().into();
        params.push(Param { name, required: is("required"), schema: document.schema_in(param, &at) });
    }
    let result = match method.get("result") {
        None => None,
        Some(_) => {
            let (at, result) = follow(root, format!("{at}/result"))?;
            document.schema_in(result, &at)
        }
    };
    let errors = method.get("x-error-data").and_then(Value::as_object).into_iter().flatten();
    let errors = errors
        .filter_map(|(code, _)| {
            Some((code.parse().ok()?, document.schema(format!("{at}/x-error-data/{code}"))))
        })
        .collect();
    Ok((name.into(), Method { structure, params, result, errors }))
}

fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

/// What stands at a place in the document, or at the place that it refers to.
fn follow(root: &Value, mut at: String) -> Result<(String, &Value), NotOpenRpc> {
    for _ in 0..STEPS {
        let value = root
            .pointer(&at)
            .ok_or_else(|| NotOpenRpc(format!("it refers to {}, which is not in it", quoted(&at))))?;
        match text(value, "$ref") {
            None => return Ok((at, value)),
            Some(reference) => at = reference.strip_prefix('#').unwrap_or(reference).to_owned(),
        }
    }
    Err(NotOpenRpc("its references form a cycle".to_owned()))
}
