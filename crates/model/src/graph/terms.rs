//! The vocabulary: every class, property and datatype that a graph uses. What each means is said in
//! `files/ontology.ttl`.

/// A name in one of the vocabularies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Term {
    pub(crate) prefix: Prefix,
    pub(crate) local: &'static str,
}

/// A vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Prefix {
    Jrpc,
    Prov,
    Rdf,
    Rpcx,
    Xsd,
}

impl Prefix {
    pub(crate) const ALL: [Prefix; 5] = [Prefix::Jrpc, Prefix::Prov, Prefix::Rdf, Prefix::Rpcx, Prefix::Xsd];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Prefix::Jrpc => "jrpc",
            Prefix::Prov => "prov",
            Prefix::Rdf => "rdf",
            Prefix::Rpcx => "rpcx",
            Prefix::Xsd => "xsd",
        }
    }

    pub(crate) fn iri(self) -> &'static str {
        match self {
            Prefix::Jrpc => "http://json-rpc.org/ontology#",
            Prefix::Prov => "http://www.w3.org/ns/prov#",
            Prefix::Rdf => "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
            Prefix::Rpcx => "urn:sabir:ontology#",
            Prefix::Xsd => "http://www.w3.org/2001/XMLSchema#",
        }
    }
}

macro_rules! terms {
    ($($prefix:ident: $($name:ident = $local:literal),+;)+) => {
        $($(pub(crate) const $name: Term = Term { prefix: Prefix::$prefix, local: $local };)+)+
    };
}

terms! {
    Rdf: TYPE = "type", JSON = "JSON";
    Xsd: DATE_TIME = "dateTime", DECIMAL = "decimal", INTEGER = "integer";
    Jrpc: REQUEST = "Request", NOTIFICATION = "Notification", RESPONSE = "Response",
        ERROR_RESPONSE = "ErrorResponse", ERROR = "Error", PARSE_ERROR = "ParseError",
        INVALID_REQUEST = "InvalidRequest", METHOD_NOT_FOUND = "MethodNotFound",
        INVALID_PARAMS = "InvalidParams", INTERNAL_ERROR = "InternalError", SERVER_ERROR = "ServerError",
        STRING_ID = "StringId", NUMBER_ID = "NumberId", NULL_ID = "NullId",
        HAS_ID = "hasId", HAS_STRING_VALUE = "hasStringValue", HAS_NUMBER_VALUE = "hasNumberValue",
        HAS_METHOD = "hasMethod", HAS_PARAMETERS = "hasParameters", HAS_RESULT = "hasResult",
        HAS_ERROR = "hasError", HAS_ERROR_CODE = "hasErrorCode", HAS_ERROR_MESSAGE = "hasErrorMessage",
        HAS_ERROR_DATA = "hasErrorData";
    Prov: WAS_ATTRIBUTED_TO = "wasAttributedTo", WAS_ASSOCIATED_WITH = "wasAssociatedWith",
        GENERATED_AT_TIME = "generatedAtTime", STARTED_AT_TIME = "startedAtTime", ENDED_AT_TIME = "endedAtTime";
    Rpcx: SESSION_CLASS = "Session", CLIENT = "Client", SERVER = "Server", BATCH = "Batch",
        INVALID_MESSAGE = "InvalidMessage", NOISE = "Noise", TO_SERVER = "ToServer", TO_CLIENT = "ToClient",
        SESSION = "session", DIRECTION = "direction", LINE = "line", AT_MS = "atMs", BYTES = "bytes",
        ANSWERS = "answers", DURATION_MS = "durationMs", IN_BATCH = "inBatch", POSITION = "position",
        CANCELS = "cancels", PROGRESS_FOR = "progressFor", REUSES_ID_OF = "reusesIdOf",
        CALLED_DURING = "calledDuring", TRACE_ID = "traceId", SPAN_ID = "spanId", ID_TEXT = "idText",
        FAULT = "fault", TEXT = "text", TRANSPORT = "transport", FRAMING = "framing", PROFILE = "profile",
        RECORDED_BY = "recordedBy";
}
