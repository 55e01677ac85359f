//! Resources, and a template of more.

use sabir_mcp::{Json, McpServer, Partial, Resource, Skill, Template};
use serde::Deserialize;
use serde_json::json;

use crate::demo::mcp::PNG;

pub(crate) fn add(server: McpServer) -> McpServer {
    let skill =
        Skill::new("tell-time", "Tells the time in words", "Round to five minutes; see references/words.md.")
            .file("references/words.md", "text/markdown", "Quarter past, half past, quarter to.\n");
    server
        .skill(skill)
        .resource(
            resource(
                "test://static-text",
                "Static Text Resource",
                "A static text resource for testing",
                "text/plain",
            ),
            |_| async { Ok("This is the content of the static text resource.") },
        )
        .resource(
            resource(
                "test://static-binary",
                "Static Binary Resource",
                "A static image for testing",
                "image/png",
            ),
            |_| async { Ok(PNG.to_vec()) },
        )
        .resource(
            resource(
                "test://watched-resource",
                "Watched Resource",
                "A resource to subscribe to",
                "text/plain",
            ),
            |_| async { Ok("Watched resource content") },
        )
        .template(
            Template {
                description: Some("Resources whose URIs follow a pattern".into()),
                mime_type: Some("application/json".into()),
                ..Template::new("test://template/{id}/data", "Resource Template")
            },
            |_, Id { id }| async move {
                Ok(Json(json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")})))
            },
        )
        .complete_template("test://template/{id}/data", "id", |_, partial: Partial| async move {
            Ok((1..=150).map(|id| id.to_string()).filter(|id| id.starts_with(&partial.value)).collect())
        })
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

fn resource(uri: &str, name: &str, description: &str, mime_type: &str) -> Resource {
    Resource {
        description: Some(description.to_owned()),
        mime_type: Some(mime_type.to_owned()),
        ..Resource::new(uri, name)
    }
}
