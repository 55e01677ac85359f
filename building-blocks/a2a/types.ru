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
    ("CancelTask" <urn:sabir:ontology:a2a#CancelTask>)
    ("CreateTaskPushNotificationConfig" <urn:sabir:ontology:a2a#CreateTaskPushNotificationConfig>)
    ("DeleteTaskPushNotificationConfig" <urn:sabir:ontology:a2a#DeleteTaskPushNotificationConfig>)
    ("GetExtendedAgentCard" <urn:sabir:ontology:a2a#GetExtendedAgentCard>)
    ("GetTask" <urn:sabir:ontology:a2a#GetTask>)
    ("GetTaskPushNotificationConfig" <urn:sabir:ontology:a2a#GetTaskPushNotificationConfig>)
    ("ListTaskPushNotificationConfigs" <urn:sabir:ontology:a2a#ListTaskPushNotificationConfigs>)
    ("ListTasks" <urn:sabir:ontology:a2a#ListTasks>)
    ("SendMessage" <urn:sabir:ontology:a2a#SendMessage>)
    ("SendStreamingMessage" <urn:sabir:ontology:a2a#SendStreamingMessage>)
    ("SubscribeToTask" <urn:sabir:ontology:a2a#SubscribeToTask>)
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
    (-32009 <urn:sabir:ontology:a2a#VersionNotSupported>)
    (-32008 <urn:sabir:ontology:a2a#ExtensionSupportRequired>)
    (-32007 <urn:sabir:ontology:a2a#ExtendedAgentCardNotConfigured>)
    (-32006 <urn:sabir:ontology:a2a#InvalidAgentResponse>)
    (-32005 <urn:sabir:ontology:a2a#ContentTypeNotSupported>)
    (-32004 <urn:sabir:ontology:a2a#UnsupportedOperation>)
    (-32003 <urn:sabir:ontology:a2a#PushNotificationNotSupported>)
    (-32002 <urn:sabir:ontology:a2a#TaskNotCancelable>)
    (-32001 <urn:sabir:ontology:a2a#TaskNotFound>)
  }
  ?error jrpc:hasErrorCode ?code
}
