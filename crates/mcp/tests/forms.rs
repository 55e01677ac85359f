//! What cannot be asked for in a form is never sent to a client.

#![allow(clippy::unwrap_used)]

mod raw;

use raw::Raw;
use sabir_mcp::{Elicit, McpCtx, McpServer, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Address {
    street: String,
}

#[derive(Deserialize, JsonSchema)]
struct Nested {
    name: String,
    address: Address,
}

#[derive(Debug, Deserialize, JsonSchema)]
enum Colour {
    Red,
    Green,
}

#[derive(Deserialize, JsonSchema)]
struct Favourite {
    colour: Option<Colour>,
}

fn server() -> McpServer {
    McpServer::new("forms", "1.0.0")
        .tool(Tool::new("nested", ""), |ctx: McpCtx, ()| async move {
            let Some(Nested { name, address }) = ctx.elicit("it", "Where?").await? else {
                return Ok(String::new());
            };
            Ok(name + &address.street)
        })
        .tool(Tool::new("by_hand", ""), |ctx: McpCtx, ()| async move {
            let schema = json!({"type": "object", "properties": {"a": {"type": "object"}}});
            let form = Elicit::form("Where?", sabir::RawJson::from_value(&schema)?);
            ctx.elicit_with("it", form).await?;
            Ok(())
        })
        .tool(Tool::new("favourite", ""), |ctx: McpCtx, ()| async move {
            let favourite = ctx.elicit::<Favourite>("it", "Which?").await?;
            Ok(format!("{:?}", favourite.map(|Favourite { colour }| colour)))
        })
        .tool(Tool::new("page", ""), |ctx: McpCtx, ()| async move {
            ctx.elicit_with("it", Elicit::url("Log in.", "https://example.org/", "1")).await?;
            Ok(())
        })
}

#[tokio::test]
async fn nested_forms_are_never_sent() {
    let legacy = Raw::legacy(server(), json!({"elicitation": {}})).await;
    let modern = Raw::open(server()).await;
    for (tool, why) in
        [("nested", "its member `address` is an object"), ("by_hand", "its member `a` is an object")]
    {
        for error in [
            legacy.call("tools/call", json!({"name": tool})).await.unwrap_err(),
            modern.modern("tools/call", json!({"name": tool}), json!({})).await.unwrap_err(),
        ] {
            assert_eq!(error.code.0, -32603);
            assert!(error.message.contains(why), "{error:?}");
        }
    }
    assert!(legacy.heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_optional_enum_is_an_enum() {
    let raw = Raw::open(server()).await;
    let asked = raw.modern("tools/call", json!({"name": "favourite"}), json!({})).await.unwrap();
    assert_eq!(
        asked["inputRequests"]["it"]["params"]["requestedSchema"],
        json!({"type": "object", "properties": {"colour": {"type": "string", "enum": ["Red", "Green"]}}})
    );
    for (content, want) in [(json!({}), "None"), (json!({"colour": "Green"}), "Some(Green)")] {
        let answered = json!({
            "name": "favourite",
            "inputResponses": {"it": {"action": "accept", "content": content}},
        });
        let result = raw.modern("tools/call", answered, json!({})).await.unwrap();
        let want = format!("Some({want})");
        assert_eq!(result["content"][0]["text"], Value::from(want));
    }
}

/// A client that has forms only is not sent to a page.
#[tokio::test]
async fn modes_that_a_client_lacks_are_not_used() {
    let capabilities = |elicitation: Value| json!({"io.modelcontextprotocol/clientCapabilities": {"elicitation": elicitation}});
    let raw = Raw::open(server()).await;
    for (tool, elicitation, want) in [
        ("page", json!({}), Err(-32021)),
        ("page", json!({"form": {}}), Err(-32021)),
        ("page", json!({"url": {}}), Ok("input_required")),
        ("favourite", json!({"url": {}}), Err(-32021)),
        ("favourite", json!({"form": {}}), Ok("input_required")),
    ] {
        let got = raw.modern("tools/call", json!({"name": tool}), capabilities(elicitation.clone())).await;
        let got =
            got.as_ref().map(|result| result["resultType"].as_str().unwrap()).map_err(|error| error.code.0);
        assert_eq!(got, want, "{tool} {elicitation}");
    }
}
