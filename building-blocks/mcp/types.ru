# Adds its class to each message, and to each error by its code, that a context has made RDF of.

PREFIX jrpc: <http://json-rpc.org/ontology#>
PREFIX rpcx: <urn:sabir:ontology#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>

INSERT { ?m a jrpc:Request } WHERE { ?m jrpc:hasMethod ?method ; rpcx:id ?id } ;
INSERT { ?m a jrpc:Notification } WHERE { ?m jrpc:hasMethod ?method FILTER NOT EXISTS { ?m rpcx:id ?id } } ;
INSERT { ?m a jrpc:Response } WHERE { ?m jrpc:hasResult|rpcx:result ?result } ;
INSERT { ?m a jrpc:ErrorResponse } WHERE { ?m jrpc:hasError ?error } ;
INSERT { ?error a jrpc:ServerError } WHERE {
  ?error jrpc:hasErrorCode ?code FILTER (datatype(?code) = xsd:integer && ?code >= -32099 && ?code <= -32000)
} ;
INSERT { ?m a ?class } WHERE {
  VALUES (?method ?class) {
    ("completion/complete" <http://modelcontextprotocol.io/ontology#CompleteRequest>)
    ("elicitation/create" <http://modelcontextprotocol.io/ontology#ElicitRequest>)
    ("initialize" <http://modelcontextprotocol.io/ontology#InitializeRequest>)
    ("logging/setLevel" <http://modelcontextprotocol.io/ontology#SetLevelRequest>)
    ("notifications/cancelled" <http://modelcontextprotocol.io/ontology#CancelledNotification>)
    ("notifications/elicitation/complete" <urn:sabir:ontology:mcp#ElicitationCompleteNotification>)
    ("notifications/initialized" <http://modelcontextprotocol.io/ontology#InitializedNotification>)
    ("notifications/message" <http://modelcontextprotocol.io/ontology#LoggingMessageNotification>)
    ("notifications/progress" <http://modelcontextprotocol.io/ontology#ProgressNotification>)
    ("notifications/prompts/list_changed" <http://modelcontextprotocol.io/ontology#PromptListChangedNotification>)
    ("notifications/resources/list_changed" <http://modelcontextprotocol.io/ontology#ResourceListChangedNotification>)
    ("notifications/resources/updated" <http://modelcontextprotocol.io/ontology#ResourceUpdatedNotification>)
    ("notifications/roots/list_changed" <http://modelcontextprotocol.io/ontology#RootsListChangedNotification>)
    ("notifications/subscriptions/acknowledged" <urn:sabir:ontology:mcp#SubscriptionsAcknowledgedNotification>)
    ("notifications/tasks" <urn:sabir:ontology:mcp#TaskNotification>)
    ("notifications/tasks/status" <urn:sabir:ontology:mcp#TaskStatusNotification>)
    ("notifications/tools/list_changed" <http://modelcontextprotocol.io/ontology#ToolListChangedNotification>)
    ("ping" <http://modelcontextprotocol.io/ontology#PingRequest>)
    ("prompts/get" <http://modelcontextprotocol.io/ontology#GetPromptRequest>)
    ("prompts/list" <http://modelcontextprotocol.io/ontology#ListPromptsRequest>)
    ("resources/list" <http://modelcontextprotocol.io/ontology#ListResourcesRequest>)
    ("resources/read" <http://modelcontextprotocol.io/ontology#ReadResourceRequest>)
    ("resources/subscribe" <http://modelcontextprotocol.io/ontology#SubscribeRequest>)
    ("resources/templates/list" <http://modelcontextprotocol.io/ontology#ListResourceTemplatesRequest>)
    ("resources/unsubscribe" <http://modelcontextprotocol.io/ontology#UnsubscribeRequest>)
    ("roots/list" <http://modelcontextprotocol.io/ontology#ListRootsRequest>)
    ("sampling/createMessage" <http://modelcontextprotocol.io/ontology#CreateMessageRequest>)
    ("server/discover" <urn:sabir:ontology:mcp#DiscoverRequest>)
    ("subscriptions/listen" <urn:sabir:ontology:mcp#SubscriptionsListenRequest>)
    ("tasks/cancel" <urn:sabir:ontology:mcp#CancelTaskRequest>)
    ("tasks/get" <urn:sabir:ontology:mcp#GetTaskRequest>)
    ("tasks/list" <urn:sabir:ontology:mcp#ListTasksRequest>)
    ("tasks/result" <urn:sabir:ontology:mcp#GetTaskPayloadRequest>)
    ("tasks/update" <urn:sabir:ontology:mcp#UpdateTaskRequest>)
    ("tools/call" <http://modelcontextprotocol.io/ontology#CallToolRequest>)
    ("tools/list" <http://modelcontextprotocol.io/ontology#ListToolsRequest>)
  }
  ?m jrpc:hasMethod ?method
} ;
INSERT { ?error a ?class } WHERE {
  VALUES (?code ?class) {
    (-32700 <http://json-rpc.org/ontology#ParseError>)
    (-32603 <http://json-rpc.org/ontology#InternalError>)
    (-32602 <http://json-rpc.org/ontology#InvalidParams>)
    (-32601 <http://json-rpc.org/ontology#MethodNotFound>)
    (-32600 <http://json-rpc.org/ontology#InvalidRequest>)
    (-32042 <urn:sabir:ontology:mcp#URLElicitationRequired>)
    (-32022 <urn:sabir:ontology:mcp#UnsupportedProtocolVersion>)
    (-32021 <urn:sabir:ontology:mcp#MissingRequiredClientCapability>)
    (-32020 <urn:sabir:ontology:mcp#HeaderMismatch>)
    (-32002 <urn:sabir:ontology:mcp#ResourceNotFound>)
  }
  ?error jrpc:hasErrorCode ?code
}
