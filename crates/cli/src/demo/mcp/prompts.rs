//! Prompts, and completions of their arguments.

use sabir_mcp::{Content, Contents, McpCtx, McpServer, Partial, Prompt, PromptMessage};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::demo::mcp::PNG;

pub(crate) fn add(server: McpServer) -> McpServer {
    server
        .prompt(Prompt::new("test_simple_prompt", "One message"), |_, ()| async {
            Ok("This is a simple prompt for testing.")
        })
        .prompt(
            Prompt::new("test_prompt_with_arguments", "Takes two arguments"),
            |_, Two { arg1, arg2 }| async move {
                Ok(format!("Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))
            },
        )
        .prompt(Prompt::new("test_prompt_with_embedded_resource", "Brings a resource along"), embedded)
        .prompt(Prompt::new("test_prompt_with_image", "Brings an image along"), |_, ()| async {
            Ok(vec![
                PromptMessage::user(Content::image(PNG, "image/png")),
                PromptMessage::user("Please analyze the image above."),
            ])
        })
        .prompt(
            Prompt::new("test_input_required_result_prompt", "Asks the user first"),
            |ctx: McpCtx, ()| async move {
                let answer: Option<Given> =
                    ctx.elicit("user_context", "What context should the prompt use?").await?;
                Ok(format!("The context is: {}", answer.map_or("none".to_owned(), |answer| answer.context)))
            },
        )
        .complete_prompt("test_prompt_with_arguments", "arg1", |_, partial: Partial| async move {
            let words = ["hello", "help", "paris", "park", "party"];
            Ok(words.into_iter().filter(|word| word.starts_with(&partial.value)).map(str::to_owned).collect())
        })
}

#[derive(Deserialize, JsonSchema)]
struct Two {
    /// First test argument
    arg1: String,
    /// Second test argument
    arg2: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Embedded {
    /// URI of the resource to embed
    resource_uri: String,
}

#[derive(Deserialize, JsonSchema)]
struct Given {
    context: String,
}

async fn embedded(
    _: McpCtx,
    Embedded { resource_uri }: Embedded,
) -> sabir_mcp::McpResult<Vec<PromptMessage>> {
    let text = "Embedded resource content for testing.";
    Ok(vec![
        PromptMessage::user(Content::resource(Contents::text(resource_uri, Some("text/plain".into()), text))),
        PromptMessage::user("Please process the embedded resource above."),
    ])
}
