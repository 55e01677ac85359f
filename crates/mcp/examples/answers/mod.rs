//! A client that answers every question of a server, for the examples.

use sabir_mcp::{Elicit, ElicitResult, McpClient, Root, Sampled};
use serde_json::{Map, Value, json};

pub(crate) fn client() -> McpClient {
    McpClient::new("sabir-example", env!("CARGO_PKG_VERSION"))
        .on_sample(|question| async move {
            let text: String =
                question.messages.iter().flat_map(|m| &m.content).filter_map(|c| c.as_text()).collect();
            Ok(Sampled::new("parrot", format!("you said: {text}")))
        })
        .on_elicit(|question| async move {
            let Elicit::Form { schema, .. } = question else { return Ok(ElicitResult::decline()) };
            Ok(ElicitResult::accept(filled_in(&schema.parse()?)))
        })
        .roots([Root { uri: "file:///a".into(), name: Some("a".into()), ..Root::default() }])
}

/// A form with its defaults, and something that fits where there is none.
fn filled_in(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let value = |property: &Value| match (property.get("default"), property["type"].as_str()) {
        (Some(default), _) => default.clone(),
        (None, Some("boolean")) => json!(true),
        (None, Some("integer" | "number")) => json!(7),
        (None, Some("array")) => json!([]),
        (None, _) => property
            .pointer("/enum/0")
            .or(property.pointer("/oneOf/0/const"))
            .cloned()
            .unwrap_or(json!("Ann")),
    };
    properties.iter().map(|(name, property)| (name.clone(), value(property))).collect::<Map<_, _>>().into()
}
