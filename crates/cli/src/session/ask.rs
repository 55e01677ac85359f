//! Asks the person at the terminal what a server wants to know.

use sabir::RawJson;
use serde_json::{Map, Value, json};

use super::answers::sampled;
use crate::json::escape_lines;
use crate::print::Printer;

/// Messages of a conversation that are shown.
const SHOWN: usize = 20;

/// Whether a person can answer it.
pub(super) fn can_ask(method: &str) -> bool {
    matches!(
        method,
        "elicitation/create"
            | "sampling/createMessage"
            | "window/showMessageRequest"
            | "workspace/configuration"
    )
}

/// `None` if the person does not want to.
pub(super) async fn ask(
    method: &str,
    params: Option<&RawJson<'static>>,
    printer: &Printer,
) -> Option<RawJson<'static>> {
    let params: Value = params.and_then(|params| params.parse().ok()).unwrap_or_default();
    let answer = match method {
        "elicitation/create" => elicit(&params, printer).await,
        "sampling/createMessage" => sample(&params, printer).await?,
        "window/showMessageRequest" => choose(&params, printer).await,
        _ => configure(&params, printer).await?,
    };
    RawJson::from_value(&answer).ok()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Asks for each field of a form.
async fn elicit(params: &Value, printer: &Printer) -> Value {
    printer.note(&format!("the server asks: {}", escape_lines(text(params, "message"))));
    if text(params, "mode") == "url" {
        printer.note(&format!("open {}", text(params, "url")));
        let done = printer.ask("opened it? [y/N] ").await.unwrap_or_default();
        return json!({"action": if done.trim().eq_ignore_ascii_case("y") { "accept" } else { "decline" }});
    }
    let schema = params.get("requestedSchema").cloned().unwrap_or_default();
    let required = |name: &str| {
        let all = schema.get("required").and_then(Value::as_array);
        all.is_some_and(|all| all.iter().any(|one| one == name))
    };
    let mut content = Map::new();
    let fields = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, field) in fields {
        loop {
            let Some(typed) = printer.ask(&format!("{}: ", label(&name, &field, required(&name)))).await
            else {
                return json!({"action": "cancel"});
            };
            match read_field(typed.trim(), &field, required(&name)) {
                Ok(Some(value)) => drop(content.insert(name.clone(), value)),
                Ok(None) => {}
                Err(why) => {
                    printer.note(&why);
                    continue;
                }
            }
            break;
        }
    }
    json!({"action": "accept", "content": content})
}

fn label(name: &str, field: &Value, required: bool) -> String {
    let title = match text(field, "title") {
        "" => name,
        title => title,
    };
    let choices: Vec<&str> =
        field.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let kind = match choices.is_empty() {
        true => text(field, "type").to_owned(),
        false => choices.join("|"),
    };
    let default = field.get("default").map_or_else(String::new, |default| format!(" [{default}]"));
    let optional = if required { "" } else { ", may be empty" };
    format!("{title} ({kind}{optional}){default}")
}

/// The value of a field; nothing if it is left out.
fn read_field(typed: &str, field: &Value, required: bool) -> Result<Option<Value>, String> {
    if typed.is_empty() {
        return match (field.get("default"), required) {
            (Some(default), _) => Ok(Some(default.clone())),
            (None, false) => Ok(None),
            (None, true) => Err("it is required; Ctrl-D cancels".to_owned()),
        };
    }
    let wrong = |what: &str| Err(format!("`{typed}` is not {what}"));
    match text(field, "type") {
        "boolean" => match typed.to_ascii_lowercase().as_str() {
            "y" | "yes" | "true" => Ok(Some(true.into())),
            "n" | "no" | "false" => Ok(Some(false.into())),
            _ => wrong("yes or no"),
        },
        "integer" => {
            typed.parse::<i64>().map_or_else(|_| wrong("an integer"), |number| Ok(Some(number.into())))
        }
        "number" => match serde_json::from_str::<serde_json::Number>(typed) {
            Ok(number) => Ok(Some(Value::Number(number))),
            Err(_) => wrong("a number"),
        },
        "array" => Ok(Some(typed.split(',').map(|part| Value::from(part.trim())).collect())),
        _ => match field.get("enum").and_then(Value::as_array) {
            Some(choices) if !choices.iter().any(|choice| choice == typed) => wrong("one of the choices"),
            _ => Ok(Some(typed.into())),
        },
    }
}

/// The person speaks for the model.
async fn sample(params: &Value, printer: &Printer) -> Option<Value> {
    printer.note("the server asks a model:");
    let messages = params.get("messages").and_then(Value::as_array);
    for message in messages.into_iter().flatten().take(SHOWN) {
        let said = message.pointer("/content/text").and_then(Value::as_str).unwrap_or("…");
        printer.note(&format!("{}: {}", text(message, "role"), escape_lines(said)));
    }
    let said = printer.ask("assistant: ").await?;
    Some(sampled(&said.trim_end().into()))
}

/// One of the actions that a language server offers.
async fn choose(params: &Value, printer: &Printer) -> Value {
    printer.note(&format!("the server asks: {}", escape_lines(text(params, "message"))));
    let actions: Vec<Value> = params.get("actions").and_then(Value::as_array).cloned().unwrap_or_default();
    for (number, action) in actions.iter().enumerate().take(SHOWN) {
        printer.note(&format!("{}  {}", number + 1, text(action, "title")));
    }
    let typed = printer.ask("number, or nothing: ").await.unwrap_or_default();
    let chosen = typed.trim().parse::<usize>().ok().and_then(|number| actions.get(number.checked_sub(1)?));
    chosen.cloned().unwrap_or_default()
}

async fn configure(params: &Value, printer: &Printer) -> Option<Value> {
    let mut values: Vec<Value> = Vec::new();
    for item in params.get("items").and_then(Value::as_array).into_iter().flatten().take(SHOWN) {
        let typed = printer.ask(&format!("setting {} (JSON, or nothing): ", text(item, "section"))).await?;
        values.push(serde_json::from_str(&typed).unwrap_or_default());
    }
    Some(values.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_types() {
        for (typed, field, want) in [
            ("x", json!({"type": "string"}), Ok(Some(json!("x")))),
            ("7", json!({"type": "integer"}), Ok(Some(json!(7)))),
            ("7.5", json!({"type": "number"}), Ok(Some(json!(7.5)))),
            ("y", json!({"type": "boolean"}), Ok(Some(json!(true)))),
            ("a, b", json!({"type": "array"}), Ok(Some(json!(["a", "b"])))),
            ("", json!({"type": "integer", "default": 3}), Ok(Some(json!(3)))),
            ("x", json!({"type": "integer"}), Err("`x` is not an integer".to_owned())),
            (
                "c",
                json!({"type": "string", "enum": ["a", "b"]}),
                Err("`c` is not one of the choices".to_owned()),
            ),
            ("", json!({"type": "string"}), Err("it is required; Ctrl-D cancels".to_owned())),
        ] {
            assert_eq!(read_field(typed, &field, true), want, "{typed} {field}");
        }
        assert_eq!(read_field("", &json!({}), false), Ok(None));
        let field = json!({"type": "string", "enum": ["a", "b"], "default": "a"});
        assert_eq!(label("x", &field, false), "x (a|b, may be empty) [\"a\"]");
    }
}
