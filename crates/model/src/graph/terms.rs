//! The vocabulary: every class, property and datatype that a graph uses. What each means is said in
//! `files/ontology.ttl`.

/// A name in one of the vocabularies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Term {
    pub(crate) prefix: Prefix,
    pub(crate) local: &'static str,
    /// Its place among all of them.
    pub(crate) index: u16,
}

/// A vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Prefix {
    A2ax,
    Jrpc,
    Lspx,
    Mcp,
    Mcpx,
    Prov,
    Rdf,
    Rpcx,
    Xsd,
}

impl Prefix {
    pub(crate) const ALL: [Prefix; 9] = [
        Prefix::A2ax,
        Prefix::Jrpc,
        Prefix::Lspx,
        Prefix::Mcp,
        Prefix::Mcpx,
        Prefix::Prov,
        Prefix::Rdf,
        Prefix::Rpcx,
        Prefix::Xsd,
    ];

    pub(crate) fn label(self) -> &'static str {
        match self {
            Prefix::A2ax => "a2ax",
            Prefix::Jrpc => "jrpc",
            Prefix::Lspx => "lspx",
            Prefix::Mcp => "mcp",
            Prefix::Mcpx => "mcpx",
            Prefix::Prov => "prov",
            Prefix::Rdf => "rdf",
            Prefix::Rpcx => "rpcx",
            Prefix::Xsd => "xsd",
        }
    }

    pub(crate) fn iri(self) -> &'static str {
        match self {
            Prefix::A2ax => "urn:sabir:ontology:a2a#",
            Prefix::Lspx => "urn:sabir:ontology:lsp#",
            Prefix::Jrpc => "http://json-rpc.org/ontology#",
            Prefix::Mcp => "http://modelcontextprotocol.io/ontology#",
            Prefix::Mcpx => "urn:sabir:ontology:mcp#",
            Prefix::Prov => "http://www.w3.org/ns/prov#",
            Prefix::Rdf => "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
            Prefix::Rpcx => "urn:sabir:ontology#",
            Prefix::Xsd => "http://www.w3.org/2001/XMLSchema#",
        }
    }
}

macro_rules! terms {
    ($($prefix:ident: $($name:ident = $local:literal),+;)+) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Index { $($($name),+),+, ALL }

        $($(pub(crate) const $name: Term =
            Term { prefix: Prefix::$prefix, local: $local, index: Index::$name as u16 };)+)+

        /// All of them, each at its place.
        pub(crate) const TERMS: [Term; Index::ALL as usize] = [$($($name),+),+];
    };
}

terms! {
    Rdf: TYPE = "type", JSON = "JSON";
    Xsd: BOOLEAN = "boolean", DATE_TIME = "dateTime", DECIMAL = "decimal", DOUBLE = "double", INTEGER = "integer";
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
        ANSWERS = "answers", DURATION_MS = "durationMs", IS_REPEATED = "isRepeated", CHAIN = "chain", DEPTH = "depth", PARAMS = "params", RESULT = "result",
        IN_BATCH = "inBatch", POSITION = "position",
        CANCELS = "cancels", PROGRESS_FOR = "progressFor", REUSES_ID_OF = "reusesIdOf",
        CALLED_DURING = "calledDuring", TRACE_ID = "traceId", SPAN_ID = "spanId", ID_TEXT = "idText",
        FAULT = "fault", TEXT = "text", TRANSPORT = "transport", FRAMING = "framing", PROFILE = "profile",
        RECORDED_BY = "recordedBy", CAPTURE = "capture", IS_FORGOTTEN = "isForgotten";
    Mcp: INITIALIZE = "InitializeRequest", PING = "PingRequest", LIST_TOOLS = "ListToolsRequest",
        CALL_TOOL = "CallToolRequest", LIST_RESOURCES = "ListResourcesRequest",
        LIST_TEMPLATES = "ListResourceTemplatesRequest", READ_RESOURCE = "ReadResourceRequest",
        SUBSCRIBE = "SubscribeRequest", UNSUBSCRIBE = "UnsubscribeRequest", LIST_PROMPTS = "ListPromptsRequest",
        GET_PROMPT = "GetPromptRequest", COMPLETE = "CompleteRequest", SET_LEVEL = "SetLevelRequest",
        CREATE_MESSAGE = "CreateMessageRequest", ELICIT = "ElicitRequest", LIST_ROOTS = "ListRootsRequest",
        INITIALIZED = "InitializedNotification", CANCELLED = "CancelledNotification",
        PROGRESS = "ProgressNotification", LOG_MESSAGE = "LoggingMessageNotification",
        RESOURCES_CHANGED = "ResourceListChangedNotification", RESOURCE_UPDATED = "ResourceUpdatedNotification",
        PROMPTS_CHANGED = "PromptListChangedNotification", TOOLS_CHANGED = "ToolListChangedNotification",
        ROOTS_CHANGED = "RootsListChangedNotification", MCP_CLIENT = "MCPClient", MCP_SERVER = "MCPServer",
        TOOL = "Tool", RESOURCE = "Resource", PROMPT = "Prompt",
        EXECUTES_TOOL = "executesTool", EXPOSES_TOOL = "exposesTool", ACCESSES_RESOURCE = "accessesResource",
        PROVIDES_RESOURCE = "providesResource", INSTANTIATES_PROMPT = "instantiatesPrompt",
        OFFERS_PROMPT = "offersPrompt", HAS_NAME = "hasName", HAS_TITLE = "hasTitle",
        HAS_DESCRIPTION = "hasDescription", HAS_VERSION = "hasVersion", HAS_URI = "hasURI",
        HAS_MIME_TYPE = "hasMimeType", CALL_TOOL_RESULT = "CallToolResult", HAS_INPUT_SCHEMA = "hasInputSchema",
        HAS_OUTPUT_SCHEMA = "hasOutputSchema", HAS_ARGUMENTS = "hasArguments",
        HAS_PROTOCOL_VERSION = "hasProtocolVersion", IS_ERROR = "isError", HAS_PROGRESS = "hasProgress",
        HAS_TOTAL = "hasTotal", HAS_REASON = "hasReason", HAS_LEVEL = "hasLevel", HAS_LOGGER = "hasLogger",
        HAS_MESSAGE = "hasMessage", HAS_ARGUMENT = "hasArgument", HAS_REFERENCE = "hasReference",
        HAS_MAX_TOKENS = "hasMaxTokens", HAS_SYSTEM_PROMPT = "hasSystemPrompt", CONTAINS_MESSAGE = "containsMessage",
        HAS_ROLE = "hasRole", HAS_CONTENT = "hasContent", HAS_TEXT = "hasText", HAS_MODEL = "hasModel",
        HAS_STOP_REASON = "hasStopReason", HAS_REQUESTED_SCHEMA = "hasRequestedSchema", HAS_ACTION = "hasAction",
        HAS_COMPLETION = "hasCompletion", HAS_VALUES = "hasValues", HAS_MORE = "hasMore",
        HAS_URI_TEMPLATE = "hasURITemplate", CONTAINS_RESOURCE_TEMPLATE = "containsResourceTemplate",
        CONTAINS_ROOT = "containsRoot", RESOURCE_TEMPLATE = "ResourceTemplate", ROOT = "Root",
        SAMPLING_MESSAGE = "SamplingMessage",
        LIST_TOOLS_RESULT = "ListToolsResult", READ_RESOURCE_RESULT = "ReadResourceResult",
        LIST_RESOURCES_RESULT = "ListResourcesResult", LIST_TEMPLATES_RESULT = "ListResourceTemplatesResult",
        LIST_PROMPTS_RESULT = "ListPromptsResult", GET_PROMPT_RESULT = "GetPromptResult",
        COMPLETE_RESULT = "CompleteResult", CREATE_MESSAGE_RESULT = "CreateMessageResult",
        ELICIT_RESULT = "ElicitResult", LIST_ROOTS_RESULT = "ListRootsResult",
        INITIALIZE_RESULT = "InitializeResult", EMPTY_RESULT = "EmptyResult";
    Mcpx: GET_TASK = "GetTaskRequest", GET_TASK_PAYLOAD = "GetTaskPayloadRequest",
        LIST_TASKS = "ListTasksRequest", CANCEL_TASK = "CancelTaskRequest", DISCOVER = "DiscoverRequest",
        LISTEN = "SubscriptionsListenRequest", TASK_STATUS = "TaskStatusNotification",
        ELICITATION_COMPLETE = "ElicitationCompleteNotification",
        ACKNOWLEDGED = "SubscriptionsAcknowledgedNotification", TASK = "Task", TASK_ID = "taskId",
        OUTCOME = "outcome", SUCCEEDED = "Succeeded", TOOL_FAILED = "ToolFailed", REFUSED = "Refused",
        NEEDS_INPUT = "NeedsInput", BECAME_TASK = "BecameTask", LISTED_IN = "listedIn",
        ASKED_DURING = "askedDuring", CONTINUES = "continues", ABOUT_TASK = "aboutTask",
        ARGUMENTS_TEXT = "argumentsText", FAILURE = "failure",
        ARGUMENT_FAULT = "argumentFault", RESULT_FAULT = "resultFault",
        MODE = "mode", URL = "url", ELICITATION_ID = "elicitationId", STATUS = "status",
        STATUS_MESSAGE = "statusMessage", TASKS = "tasks",
        DISCOVER_RESULT = "DiscoverResult", LISTEN_RESULT = "SubscriptionsListenResult",
        GET_TASK_RESULT = "GetTaskResult", GET_TASK_PAYLOAD_RESULT = "GetTaskPayloadResult",
        LIST_TASKS_RESULT = "ListTasksResult", CANCEL_TASK_RESULT = "CancelTaskResult",
        CREATE_TASK_RESULT = "CreateTaskResult", INPUT_REQUIRED_RESULT = "InputRequiredResult",
        UPDATE_TASK = "UpdateTaskRequest", TASK_NEWS = "TaskNotification", FINAL_OUTCOME = "finalOutcome",
        TASK_FAILED = "TaskFailed", TASK_CANCELLED = "TaskCancelled", ENDED_BY = "endedBy", TOTAL_MS = "totalMs",
        RESULT_OF = "resultOf", QUESTION = "Question", ASKS_FOR = "asksFor", QUESTION_KEY = "questionKey",
        ASKED_IN = "askedIn", ANSWERED_IN = "answeredIn", SUBSCRIBED_BY = "subscribedBy";
}

#[cfg(all(test, feature = "schemas"))]
mod tests {
    use super::{Prefix, TERMS};

    /// A graph says nothing that the ontologies do not explain, and a document of JSON-LD has every property in its context.
    #[test]
    fn every_term_is_explained() {
        let ontologies = [crate::files::ONTOLOGY, &crate::blocks::mcp_ontology()].concat();
        let own = [Prefix::Jrpc, Prefix::Rpcx, Prefix::Mcp, Prefix::Mcpx];
        for (at, term) in TERMS.iter().enumerate() {
            assert_eq!(usize::from(term.index), at, "{term:?}");
            let name = format!("{}:{}", term.prefix.label(), term.local);
            if own.contains(&term.prefix) {
                assert!(ontologies.contains(&format!("\n{name} a ")), "{name} is in no ontology");
            }
            let is_property = term.local.starts_with(char::is_lowercase);
            let is_datatype = matches!(term.prefix, Prefix::Xsd | Prefix::Rdf);
            if is_property && !is_datatype {
                let context = crate::files::SESSION_CONTEXT;
                assert!(context.contains(&format!("\"{name}\"")), "{name} is not in the context of sessions");
            }
        }
    }
}
