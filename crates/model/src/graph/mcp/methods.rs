//! The methods of MCP, of all revisions, and the classes of their messages and results.

use crate::capture::Direction::{self, ToClient, ToServer};
use crate::graph::terms::*;

#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) class: Term,
    /// The class of its result, if it is a request.
    pub(crate) result: Option<Term>,
    /// Which way it goes, if only one side sends it.
    pub(crate) to: Option<Direction>,
}

macro_rules! methods {
    ($($name:literal $class:ident $(-> $result:ident)?, $to:expr;)+) => {
        pub(crate) const METHODS: &[Method] = &[$(Method {
            name: $name,
            class: $class,
            result: methods!(@ $($result)?),
            to: $to,
        }),+];
    };
    (@ $result:ident) => { Some($result) };
    (@) => { None };
}

methods! {
    "tools/call" CALL_TOOL -> CALL_TOOL_RESULT, Some(ToServer);
    "notifications/progress" PROGRESS, None;
    "notifications/message" LOG_MESSAGE, Some(ToClient);
    "notifications/cancelled" CANCELLED, None;
    "tools/list" LIST_TOOLS -> LIST_TOOLS_RESULT, Some(ToServer);
    "resources/read" READ_RESOURCE -> READ_RESOURCE_RESULT, Some(ToServer);
    "resources/list" LIST_RESOURCES -> LIST_RESOURCES_RESULT, Some(ToServer);
    "resources/templates/list" LIST_TEMPLATES -> LIST_TEMPLATES_RESULT, Some(ToServer);
    "resources/subscribe" SUBSCRIBE -> EMPTY_RESULT, Some(ToServer);
    "resources/unsubscribe" UNSUBSCRIBE -> EMPTY_RESULT, Some(ToServer);
    "prompts/list" LIST_PROMPTS -> LIST_PROMPTS_RESULT, Some(ToServer);
    "prompts/get" GET_PROMPT -> GET_PROMPT_RESULT, Some(ToServer);
    "completion/complete" COMPLETE -> COMPLETE_RESULT, Some(ToServer);
    "logging/setLevel" SET_LEVEL -> EMPTY_RESULT, Some(ToServer);
    "sampling/createMessage" CREATE_MESSAGE -> CREATE_MESSAGE_RESULT, Some(ToClient);
    "elicitation/create" ELICIT -> ELICIT_RESULT, Some(ToClient);
    "roots/list" LIST_ROOTS -> LIST_ROOTS_RESULT, Some(ToClient);
    "initialize" INITIALIZE -> INITIALIZE_RESULT, Some(ToServer);
    "ping" PING -> EMPTY_RESULT, None;
    "server/discover" DISCOVER -> DISCOVER_RESULT, Some(ToServer);
    "subscriptions/listen" LISTEN -> LISTEN_RESULT, Some(ToServer);
    "tasks/get" GET_TASK -> GET_TASK_RESULT, None;
    "tasks/result" GET_TASK_PAYLOAD -> GET_TASK_PAYLOAD_RESULT, None;
    "tasks/update" UPDATE_TASK -> EMPTY_RESULT, Some(ToServer);
    "tasks/list" LIST_TASKS -> LIST_TASKS_RESULT, None;
    "tasks/cancel" CANCEL_TASK -> CANCEL_TASK_RESULT, None;
    "notifications/initialized" INITIALIZED, Some(ToServer);
    "notifications/resources/list_changed" RESOURCES_CHANGED, Some(ToClient);
    "notifications/resources/updated" RESOURCE_UPDATED, Some(ToClient);
    "notifications/prompts/list_changed" PROMPTS_CHANGED, Some(ToClient);
    "notifications/tools/list_changed" TOOLS_CHANGED, Some(ToClient);
    "notifications/roots/list_changed" ROOTS_CHANGED, Some(ToServer);
    "notifications/tasks/status" TASK_STATUS, None;
    "notifications/tasks" TASK_NEWS, Some(ToClient);
    "notifications/elicitation/complete" ELICITATION_COMPLETE, Some(ToClient);
    "notifications/subscriptions/acknowledged" ACKNOWLEDGED, Some(ToClient);
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
            let result = method.result.map(|class| format!("{}:{}", class.prefix.label(), class.local));
            let said = statement.split_once("mcpx:resultClass ").map(|(_, rest)| rest);
            let said = said.and_then(|rest| rest.split(' ').next()).map(str::to_owned);
            assert_eq!(result, said, "{statement}");
        }
        assert_eq!(ontology.matches("owl:onProperty jrpc:hasMethod").count(), METHODS.len());
    }
}
