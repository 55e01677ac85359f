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
    ("$/cancelRequest" <urn:sabir:ontology:lsp#CancelRequest>)
    ("$/progress" <urn:sabir:ontology:lsp#Progress>)
  }
  ?m jrpc:hasMethod ?method
} ;
INSERT { ?error a ?class } WHERE {
  VALUES (?code ?class) {
    (-32803 <urn:sabir:ontology:lsp#RequestFailed>)
    (-32802 <urn:sabir:ontology:lsp#ServerCancelled>)
    (-32801 <urn:sabir:ontology:lsp#ContentModified>)
    (-32800 <urn:sabir:ontology:lsp#RequestCancelled>)
    (-32700 <http://json-rpc.org/ontology#ParseError>)
    (-32603 <http://json-rpc.org/ontology#InternalError>)
    (-32602 <http://json-rpc.org/ontology#InvalidParams>)
    (-32601 <http://json-rpc.org/ontology#MethodNotFound>)
    (-32600 <http://json-rpc.org/ontology#InvalidRequest>)
    (-32002 <urn:sabir:ontology:lsp#ServerNotInitialized>)
    (-32001 <urn:sabir:ontology:lsp#UnknownErrorCode>)
  }
  ?error jrpc:hasErrorCode ?code
}
