//! The methods of MCP, of all revisions, and the classes of their messages.

use crate::graph::terms::*;

#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) class: Term,
}

macro_rules! methods {
    ($($name:literal $class:ident),+ $(,)?) => {
        pub(crate) const METHODS: &[Method] = &[$(Method { name: $name, class: $class }),+];
    };
}

methods! {
    "tools/call" CALL_TOOL,
    "notifications/progress" PROGRESS,
    "notifications/message" LOG_MESSAGE,
    "notifications/cancelled" CANCELLED,
    "tools/list" LIST_TOOLS,
    "resources/read" READ_RESOURCE,
    "resources/list" LIST_RESOURCES,
    "resources/templates/list" LIST_TEMPLATES,
    "resources/subscribe" SUBSCRIBE,
    "resources/unsubscribe" UNSUBSCRIBE,
    "prompts/list" LIST_PROMPTS,
    "prompts/get" GET_PROMPT,
    "completion/complete" COMPLETE,
    "logging/setLevel" SET_LEVEL,
    "sampling/createMessage" CREATE_MESSAGE,
    "elicitation/create" ELICIT,
    "roots/list" LIST_ROOTS,
    "initialize" INITIALIZE,
    "ping" PING,
    "server/discover" DISCOVER,
    "subscriptions/listen" LISTEN,
    "tasks/get" GET_TASK,
    "tasks/result" GET_TASK_PAYLOAD,
    "tasks/list" LIST_TASKS,
    "tasks/cancel" CANCEL_TASK,
    "notifications/initialized" INITIALIZED,
    "notifications/resources/list_changed" RESOURCES_CHANGED,
    "notifications/resources/updated" RESOURCE_UPDATED,
    "notifications/prompts/list_changed" PROMPTS_CHANGED,
    "notifications/tools/list_changed" TOOLS_CHANGED,
    "notifications/roots/list_changed" ROOTS_CHANGED,
    "notifications/tasks/status" TASK_STATUS,
    "notifications/elicitation/complete" ELICITATION_COMPLETE,
    "notifications/subscriptions/acknowledged" ACKNOWLEDGED,
}

/// Each is a class of the generated ontology, and none is missing.
#[cfg(all(test, feature = "schemas"))]
mod tests {
    use super::METHODS;

    #[test]
    fn the_methods_are_those_of_the_ontology() {
        let ontology = crate::blocks::mcp_ontology();
        for method in METHODS {
            let class = format!("{}:{} a owl:Class", method.class.prefix.label(), method.class.local);
            let statement = ontology.split(&class).nth(1).unwrap_or_else(|| panic!("there is no {class}"));
            let statement = &statement[..statement.find("isDefinedBy").expect("an end")];
            assert!(statement.contains(&format!("owl:hasValue \"{}\"", method.name)), "{class} {statement}");
        }
        assert_eq!(ontology.matches("owl:onProperty jrpc:hasMethod").count(), METHODS.len());
    }
}
