//! Asks the person at the terminal what a server wants to know.

use std::path::PathBuf;

use sabir::RawJson;
use serde_json::{Map, Value, json};

use super::Protocol;
use super::answers::sampled;
use crate::json::{escape_lines, has_more_values};
use crate::platform;
use crate::print::Printer;

/// Messages of a conversation that are shown.
const SHOWN: usize = 20;

/// Characters of a question, of its parts, and of an address.
const LONGEST_QUESTION: usize = 2000;
const LONGEST_PART: usize = 200;
const LONGEST_URL: usize = 2000;

/// Fields of a form that a person fills in.
const MOST_FIELDS: usize = 100;

/// Values in the params of a question: they are read as a tree.
const MOST_VALUES: usize = 10_000;

/// How often the same is asked before it counts as cancelled.
const ATTEMPTS: usize = 10;

/// Whether a person can answer it: a question of the protocol that the session speaks.
pub(super) fn can_ask(speaks: Option<Protocol>, method: &str) -> bool {
    match speaks {
        Some(Protocol::Mcp(_)) => {
            matches!(method, "elicitation/create" | "roots/list" | "sampling/createMessage")
        }
        Some(Protocol::Lsp) => matches!(method, "window/showMessageRequest" | "workspace/configuration"),
        Some(Protocol::Plain | Protocol::Eth) | None => false,
    }
}

/// `None` if the person does not want to.
pub(super) async fn ask(
    method: &str,
    params: Option<&RawJson<'static>>,
    printer: &Printer,
) -> Option<RawJson<'static>> {
    if params.is_some_and(|params| has_more_values(params.as_str(), MOST_VALUES)) {
        printer.note(&format!("the server calls `{method}` with more than {MOST_VALUES} values: refused"));
        return None;
    }
    let params: Value = params.and_then(|params| params.parse().ok()).unwrap_or_default();
    let answer = match method {
        "elicitation/create" => elicit(&params, printer).await,
        "sampling/createMessage" => sample(&params, printer).await?,
        "roots/list" => folders(printer).await?,
        "window/showMessageRequest" => choose(&params, printer).await,
        _ => configure(&params, printer).await?,
    };
    RawJson::from_value(&answer).ok()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// What is shown of a peer's text.
fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn question(params: &Value) -> String {
    escape_lines(&cut(text(params, "message"), LONGEST_QUESTION))
}

/// What a person decides about a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Accept,
    Decline,
    Cancel,
}

impl Decision {
    /// Nothing that is typed by accident accepts.
    fn read(typed: &str) -> Option<Decision> {
        match typed.trim().to_ascii_lowercase().as_str() {
            "a" | "accept" => Some(Decision::Accept),
            "d" | "decline" => Some(Decision::Decline),
            "c" | "cancel" => Some(Decision::Cancel),
            _ => None,
        }
    }

    async fn ask(printer: &Printer) -> Decision {
        for _ in 0..ATTEMPTS {
            let Some(typed) = printer.ask("accept, decline or cancel? [a/d/c] ").await else { break };
            if let Some(decision) = Decision::read(&typed) {
                return decision;
            }
        }
        Decision::Cancel
    }
}

/// Asks whether the person wants to answer, and then for each field of the form. A form without fields, or with a schema
/// that makes no sense, is a question as well: nothing is accepted unless the person says so.
async fn elicit(params: &Value, printer: &Printer) -> Value {
    printer.note(&format!("the server asks: {}", question(params)));
    if text(params, "mode") == "url" {
        printer.note(&format!("open {}", cut(text(params, "url"), LONGEST_URL)));
        let done = printer.ask("opened it? [y/N] ").await.unwrap_or_default();
        return json!({"action": if done.trim().eq_ignore_ascii_case("y") { "accept" } else { "decline" }});
    }
    let schema = params.get("requestedSchema").unwrap_or(&Value::Null);
    let fields = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    if fields.len() > MOST_FIELDS {
        printer.note(&format!("its form has {} fields, more than {MOST_FIELDS}: declined", fields.len()));
        return json!({"action": "decline"});
    }
    match Decision::ask(printer).await {
        Decision::Accept => {}
        Decision::Decline => return json!({"action": "decline"}),
        Decision::Cancel => return json!({"action": "cancel"}),
    }
    let required = |name: &str| {
        let all = schema.get("required").and_then(Value::as_array);
        all.is_some_and(|all| all.iter().any(|one| one == name))
    };
    let mut content = Map::new();
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
    let (title, kind, default) =
        (cut(title, LONGEST_PART), cut(&kind, LONGEST_PART), cut(&default, LONGEST_PART));
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
        let (role, said) = (cut(text(message, "role"), LONGEST_PART), cut(said, LONGEST_QUESTION));
        printer.note(&format!("{role}: {}", escape_lines(&said)));
    }
    let said = printer.ask("assistant: ").await?;
    Some(sampled(&said.trim_end().into()))
}

/// The folders that a server may use. Enter alone gives none: it is told that there are none, which is not a refusal.
async fn folders(printer: &Printer) -> Option<Value> {
    for _ in 0..ATTEMPTS {
        let typed = printer.ask("folders that the server may use, separated by commas, or nothing: ").await?;
        match typed.split(',').map(str::trim).filter(|path| !path.is_empty()).map(folder).collect() {
            Ok(roots) => return Some(json!({"roots": Value::Array(roots)})),
            Err(why) => printer.note(&why),
        }
    }
    None
}

/// A folder as MCP names it: its address and the last part of its path.
fn folder(typed: &str) -> Result<Value, String> {
    let path = match typed.strip_prefix("~/").zip(platform::home()) {
        Some((rest, home)) => home.join(rest),
        None => PathBuf::from(typed),
    };
    let whole = std::path::absolute(&path).unwrap_or(path);
    let uri = sabir_lsp::file_uri(&whole).filter(|_| whole.is_dir());
    let uri = uri.ok_or_else(|| format!("`{typed}` is not a folder"))?;
    let name = whole.file_name().map_or_else(|| typed.to_owned(), |name| name.to_string_lossy().into_owned());
    Ok(json!({"uri": uri.as_str(), "name": name}))
}

/// One of the actions that a language server offers.
async fn choose(params: &Value, printer: &Printer) -> Value {
    printer.note(&format!("the server asks: {}", question(params)));
    let actions: Vec<Value> = params.get("actions").and_then(Value::as_array).cloned().unwrap_or_default();
    for (number, action) in actions.iter().enumerate().take(SHOWN) {
        printer.note(&format!("{}  {}", number + 1, cut(text(action, "title"), LONGEST_PART)));
    }
    for _ in 0..ATTEMPTS {
        let Some(typed) = printer.ask("number, or nothing: ").await else { break };
        match chosen(typed.trim(), &actions) {
            Ok(action) => return action,
            Err(why) => printer.note(&why),
        }
    }
    Value::Null
}

/// An action by its number or its title; none by nothing.
fn chosen(typed: &str, actions: &[Value]) -> Result<Value, String> {
    if typed.is_empty() {
        return Ok(Value::Null);
    }
    let number = typed.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let action = number.and_then(|number| actions.get(number));
    let action = action.or_else(|| actions.iter().find(|action| text(action, "title") == typed));
    action.cloned().ok_or_else(|| format!("`{typed}` is not one of the choices"))
}

/// The server wants as many values as it has asked for.
async fn configure(params: &Value, printer: &Printer) -> Option<Value> {
    let items = params.get("items").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut values: Vec<Value> = Vec::new();
    for item in items.iter().take(SHOWN) {
        let label = format!("setting {} (JSON, or nothing): ", cut(text(item, "section"), LONGEST_PART));
        values.push(setting(&label, printer).await?);
    }
    values.resize(items.len(), Value::Null);
    Some(values.into())
}

async fn setting(label: &str, printer: &Printer) -> Option<Value> {
    for _ in 0..ATTEMPTS {
        let typed = printer.ask(label).await?;
        match (typed.trim(), serde_json::from_str(&typed)) {
            ("", _) => return Some(Value::Null),
            (_, Ok(value)) => return Some(value),
            (typed, Err(_)) => printer.note(&format!("`{typed}` is not JSON; a text is in quotes")),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_accepted_by_accident() {
        for typed in ["", "\n", "y", "x", "aa", " "] {
            assert_eq!(Decision::read(typed), None, "{typed:?}");
        }
        assert_eq!(Decision::read("A\n"), Some(Decision::Accept));
        assert_eq!(Decision::read("decline\n"), Some(Decision::Decline));
    }

    #[test]
    fn questions_belong_to_a_protocol() {
        let mcp = Some(Protocol::Mcp(None));
        for (speaks, method, want) in [
            (mcp, "elicitation/create", true),
            (mcp, "roots/list", true),
            (mcp, "workspace/configuration", false),
            (Some(Protocol::Lsp), "workspace/configuration", true),
            (Some(Protocol::Lsp), "elicitation/create", false),
            (Some(Protocol::Plain), "sampling/createMessage", false),
            (None, "elicitation/create", false),
        ] {
            assert_eq!(can_ask(speaks, method), want, "{speaks:?} {method}");
        }
    }

    #[test]
    fn an_action_is_chosen_by_number_or_title() {
        let actions = [json!({"title": "Yes"}), json!({"title": "No", "then": 7})];
        for (typed, want) in [
            ("1", Ok(json!({"title": "Yes"}))),
            ("No", Ok(json!({"title": "No", "then": 7}))),
            ("", Ok(Value::Null)),
            ("0", Err("`0` is not one of the choices".to_owned())),
            ("3", Err("`3` is not one of the choices".to_owned())),
            ("no", Err("`no` is not one of the choices".to_owned())),
        ] {
            assert_eq!(chosen(typed, &actions), want, "{typed}");
        }
    }

    #[test]
    fn folders_are_typed_as_paths() {
        let here = std::env::current_dir().expect("a folder");
        let root = folder(".").expect("a folder");
        assert_eq!(root["name"], here.file_name().expect("a name").to_string_lossy().as_ref());
        assert!(root["uri"].as_str().is_some_and(|uri| uri.starts_with("file:///")), "{root}");
        assert_eq!(folder("Cargo.toml"), Err("`Cargo.toml` is not a folder".to_owned()));
        assert_eq!(folder("none"), Err("`none` is not a folder".to_owned()));
    }

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
