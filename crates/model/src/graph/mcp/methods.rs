//! The methods of MCP, of all revisions, and the classes of their messages.

use crate::capture::Direction::{self, ToClient, ToServer};
use crate::graph::terms::*;

#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) class: Term,
    /// Which way it goes, if only one side sends it.
    pub(crate) to: Option<Direction>,
}

macro_rules! methods {
    ($($name:literal $class:ident $to:expr),+ $(,)?) => {
        pub(crate) const METHODS: &[Method] = &[$(Method { name: $name, class: $class, to: $to }),+];
    };
}

methods! {
    "tools/call" CALL_TOOL Some(ToServer),
    "notifications/progress" PROGRESS None,
    "notifications/message" LOG_MESSAGE Some(ToClient),
    "notifications/cancelled" CANCELLED None,
    "tools/list" LIST_TOOLS Some(ToServer),
    "resources/read" READ_RESOURCE Some(ToServer),
    "resources/list" LIST_RESOURCES Some(ToServer),
    "resources/templates/list" LIST_TEMPLATES Some(ToServer),
    "resources/subscribe" SUBSCRIBE Some(ToServer),
    "resources/unsubscribe" UNSUBSCRIBE Some(ToServer),
    "prompts/list" LIST_PROMPTS Some(ToServer),
    "prompts/get" GET_PROMPT Some(ToServer),
    "completion/complete" COMPLETE Some(ToServer),
    "logging/setLevel" SET_LEVEL Some(ToServer),
    "sampling/createMessage" CREATE_MESSAGE Some(ToClient),
    "elicitation/create" ELICIT Some(ToClient),
    "roots/list" LIST_ROOTS Some(ToClient),
    "initialize" INITIALIZE Some(ToServer),
    "ping" PING None,
    "server/discover" DISCOVER Some(ToServer),
    "subscriptions/listen" LISTEN Some(ToServer),
    "tasks/get" GET_TASK None,
    "tasks/result" GET_TASK_PAYLOAD None,
    "tasks/list" LIST_TASKS None,
    "tasks/cancel" CANCEL_TASK None,
    "notifications/initialized" INITIALIZED Some(ToServer),
    "notifications/resources/list_changed" RESOURCES_CHANGED Some(ToClient),
    "notifications/resources/updated" RESOURCE_UPDATED Some(ToClient),
    "notifications/prompts/list_changed" PROMPTS_CHANGED Some(ToClient),
    "notifications/tools/list_changed" TOOLS_CHANGED Some(ToClient),
    "notifications/roots/list_changed" ROOTS_CHANGED Some(ToServer),
    "notifications/tasks/status" TASK_STATUS None,
    "notifications/elicitation/complete" ELICITATION_COMPLETE Some(ToClient),
    "notifications/subscriptions/acknowledged" ACKNOWLEDGED Some(ToClient),
}

/// Each is a class of the generated ontology, and none is missing.
#[cfg(all(test, feature = "schemas"))]
mod tests {
    use super::METHODS;
    use crate::capture::Direction;

    #[test]
    fn the_methods_are_those_of_the_ontology() {
        let ontology = crate::blocks::mcp_ontology();
        for method in METHODS {
            let class = format!("{}:{} a owl:Class", method.class.prefix.label(), method.class.local);
            let statement = ontology.split(&class).nth(1).unwrap_or_else(|| panic!("there is no {class}"));
            let statement = &statement[..statement.find("isDefinedBy").expect("an end")];
            assert!(statement.contains(&format!("owl:hasValue \"{}\"", method.name)), "{class} {statement}");
            let from = match method.to {
                Some(Direction::ToServer) => "sent by the client",
                Some(Direction::ToClient) => "sent by the server",
                None => "sent by either side",
            };
            assert!(statement.contains(from), "{from}: {statement}");
        }
        assert_eq!(ontology.matches("owl:onProperty jrpc:hasMethod").count(), METHODS.len());
    }
}
