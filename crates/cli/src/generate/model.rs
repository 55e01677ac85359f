//! Methods and types of a client, independent of the language.

use std::collections::HashSet;

use sabir::openrpc::{Content, Document, Method, ParamStructure};

use super::names::{self, Taken};
use super::schema::Types;

/// What the methods of a client are at its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flavour {
    /// Methods.
    JsonRpc,
    /// Tools of an MCP server.
    Mcp,
}

/// Everything that goes into a client.
#[derive(Debug)]
pub(super) struct Api {
    pub(super) flavour: Flavour,
    /// The name of the client's type.
    pub(super) name: String,
    pub(super) title: String,
    pub(super) methods: Vec<Call>,
    pub(super) types: Vec<TypeDef>,
}

#[derive(Debug)]
pub(super) struct Call {
    /// On the wire.
    pub(super) method: String,
    pub(super) doc: String,
    pub(super) deprecated: bool,
    pub(super) params: Params,
    /// `None` for notifications.
    pub(super) result: Option<Type>,
}

#[derive(Debug)]
pub(super) enum Params {
    /// Sent as an object.
    Named(Vec<Field>),
    /// Sent as an array.
    Positions(Vec<Field>),
    /// One value that is the params as a whole; it is optional.
    Whole(Type),
}

#[derive(Debug, Clone)]
pub(super) struct Field {
    /// On the wire.
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) type_: Type,
    pub(super) required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Type {
    Any,
    Null,
    Boolean,
    Integer,
    Unsigned,
    Number,
    String,
    List(Box<Type>),
    Tuple(Vec<Type>),
    Map(Box<Type>),
    Nullable(Box<Type>),
    /// One of the definitions.
    Named(String),
}

#[derive(Debug)]
pub(super) struct TypeDef {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    Record(Vec<Field>),
    Union(Vec<Type>),
    /// One of these strings.
    Literals(Vec<String>),
    Alias(Type),
}

/// Names that a type cannot have: keywords of a language, and names that the clients themselves use.
const RESERVED: &[&str] = &[
    "Any",
    "Array",
    "Awaitable",
    "AsyncIterable",
    "Box",
    "Callable",
    "ConnectionError",
    "Err",
    "Error",
    "Exception",
    "Exchange",
    "False",
    "Io",
    "Lines",
    "Literal",
    "Map",
    "Message",
    "NoResult",
    "None",
    "NotRequired",
    "Object",
    "Ok",
    "Option",
    "Params",
    "Promise",
    "Protocol",
    "Record",
    "Result",
    "RpcError",
    "Self",
    "Some",
    "String",
    "TextDecoder",
    "ToolCaller",
    "ToolError",
    "ToolResult",
    "True",
    "TypeAlias",
    "TypedDict",
    "Uint8array",
    "Vec",
];

/// Whether a type cannot have this name.
pub(super) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

impl Api {
    pub(super) fn new(document: &Document, name: Option<&str>, flavour: Flavour) -> Api {
        let title = document.info.title.clone();
        let mut taken = Taken::with(RESERVED);
        let name = match name {
            Some(name) => taken.free(name),
            None if title.chars().any(|c| c.is_ascii_alphabetic()) => taken.free(&names::pascal(&title)),
            None => taken.free("Client"),
        };
        let mut types = Types::new(&document.components.schemas, &mut taken);
        let methods = document.methods.iter().map(|method| Call::new(method, &mut types)).collect();
        Api { flavour, name, title, methods, types: types.finish() }
    }
}

impl Call {
    fn new(method: &Method, types: &mut Types<'_>) -> Call {
        let context = names::pascal(&method.name);
        let field = |param: &Content, types: &mut Types<'_>| Field {
            name: param.name.clone(),
            doc: param.description.clone().or(param.summary.clone()).unwrap_or_default(),
            type_: types.of(&param.schema, &format!("{context}{}", names::pascal(&param.name))),
            required: param.required,
        };
        let params = match (method.params.as_slice(), method.param_structure) {
            ([whole], _) if whole.whole => {
                Params::Whole(types.of(&whole.schema, &format!("{context}Params")))
            }
            (params, Some(ParamStructure::ByName)) => {
                let mut seen = HashSet::new();
                let once = params.iter().filter(|param| seen.insert(&param.name));
                Params::Named(once.map(|param| field(param, types)).collect())
            }
            // Where either will do, or nothing is said, positions are what every server takes: those that take no
            // names leave it unsaid.
            (params, Some(ParamStructure::ByPosition | ParamStructure::Either) | None) => {
                Params::Positions(params.iter().map(|param| field(param, types)).collect())
            }
        };
        let paragraphs: Vec<_> =
            method.summary.iter().chain(&method.description).map(|text| text.trim()).collect();
        Call {
            method: method.name.clone(),
            doc: paragraphs.join("\n\n"),
            deprecated: method.deprecated,
            params,
            result: method
                .result
                .as_ref()
                .map(|result| types.of(&result.schema, &format!("{context}Result"))),
        }
    }
}
