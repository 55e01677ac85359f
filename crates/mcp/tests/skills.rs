//! Skills: listed with digests, served as resources, and checked when they are read.

#![allow(clippy::unwrap_used)]

use sabir::{CallError, RawJson};
use sabir_mcp::{McpClient, McpServer, McpSession, Meta, Resource, Skill, Tool, UiDomains, UiPage};
use serde_json::{Value, json};

fn server() -> McpServer {
    let pdf = Skill::new("pdf-forms", "Fills in \"forms\": all", "Read references/FORMS.md first.")
        .frontmatter("license", "MIT")
        .file("references/FORMS.md", "text/markdown", "Fields\n")
        .file("logo.png", "image/png", vec![0x89, 0xff, 0xfe]);
    McpServer::new("office", "1.0.0")
        .page_size(1)
        .skill(pdf)
        .skill(Skill::new("other", "Another", "Nothing."))
}

async fn connected(server: McpServer) -> McpSession {
    McpClient::new("tester", "1.0.0").connect(server.in_memory()).await.unwrap()
}

/// Frontmatter that our server writes has JSON behind each key.
fn yaml(text: &str) -> Option<Meta> {
    let field = |line: &str| {
        let (key, value) = line.split_once(": ")?;
        Some((key.to_owned(), serde_json::from_str(value).ok()?))
    };
    text.lines().map(field).collect()
}

#[tokio::test]
async fn skills_are_listed_got_and_read() {
    let session = connected(server()).await;
    let declared = session.capabilities().extensions.clone().unwrap();
    assert_eq!(declared["io.modelcontextprotocol/skills"], json!({"directoryRead": true}));
    let skills = session.skills().await.unwrap();
    assert_eq!(skills.len(), 2);
    assert_eq!(skills[0].uri, "skill://pdf-forms/SKILL.md");
    assert_eq!(session.skill(&skills[0].uri).await.unwrap(), skills[0]);
    let text = session.load_skill(&skills[0], yaml).await.unwrap();
    assert!(text.ends_with("---\n\nRead references/FORMS.md first.\n"), "{text}");
    let logo = session.read_skill_file(&skills[0], "skill://pdf-forms/logo.png").await.unwrap();
    assert_eq!(logo, [0x89, 0xff, 0xfe]);
    let unlisted = session.read_skill_file(&skills[0], "skill://other/SKILL.md").await;
    assert!(matches!(unlisted, Err(CallError::Error(_))), "{unlisted:?}");
    assert!(session.skill("skill://unknown/SKILL.md").await.is_err());
}

#[tokio::test]
async fn folders_list_what_is_directly_in_them() {
    let session = connected(server()).await;
    let read = async |uri: &str| -> Result<Vec<(String, bool)>, i64> {
        let params = RawJson::from_value(&json!({"uri": uri})).unwrap();
        match session.request("resources/directory/read", Some(params)).await {
            Ok(read) => {
                let read: Value = read.parse().unwrap();
                let children = read["resources"].as_array().unwrap().iter();
                let child = |child: &Value| {
                    (child["name"].as_str().unwrap().to_owned(), child["mimeType"] == "inode/directory")
                };
                Ok(children.map(child).collect())
            }
            Err(CallError::Error(error)) => Err(error.code.0),
            Err(error) => panic!("{error}"),
        }
    };
    let children = read("skill://pdf-forms").await.unwrap();
    let want = [("SKILL.md", false), ("logo.png", false), ("references", true)];
    assert_eq!(children, want.map(|(name, folder)| (name.to_owned(), folder)));
    assert_eq!(read("skill://pdf-forms/references/").await.unwrap(), [("FORMS.md".to_owned(), false)]);
    assert_eq!(read("skill://pdf-forms/SKILL.md").await, Err(-32602));
    assert_eq!(read("skill://nothing").await, Err(-32602));
}

#[tokio::test]
async fn what_is_not_as_it_was_listed_is_refused() {
    let uri = "skill://other/SKILL.md";
    let honest = connected(server()).await.skill(uri).await.unwrap();
    let text = connected(server()).await.load_skill(&honest, yaml).await.unwrap();
    for (served, reason) in
        [(text.replace("Nothing.", "Evil!!!!"), "digest"), (format!("{text} and more"), "as long")]
    {
        let server = McpServer::new("liar", "1.0.0")
            .resource(Resource::new(uri, "other"), move |_| std::future::ready(Ok(served.clone())));
        let refused = connected(server).await.load_skill(&honest, yaml).await;
        let Err(CallError::Error(error)) = refused else { panic!("{refused:?}") };
        assert!(error.data.unwrap().as_str().contains(reason), "{reason}");
    }
    let mut other = honest.clone();
    other.frontmatter.insert("description".to_owned(), json!("Harmless"));
    assert!(connected(server()).await.load_skill(&other, yaml).await.is_err());
}

#[tokio::test]
async fn pages_of_tools_are_in_meta() {
    let page = UiPage {
        csp: UiDomains { connect_domains: vec!["https://example.com".into()], ..Default::default() },
        ..UiPage::default()
    };
    let server = McpServer::new("clock", "1.0.0")
        .resource(Resource::ui("ui://clock", "clock", &page), |_| async { Ok("<h1>Noon</h1>") })
        .tool(Tool::new("time", "The time").ui("ui://clock"), |_, ()| async { Ok("noon") });
    let session = connected(server).await;
    let tool = &session.tools().await.unwrap()[0];
    assert_eq!(tool.meta.as_ref().unwrap()["ui"], json!({"resourceUri": "ui://clock"}));
    let resource = &session.resources().await.unwrap()[0];
    assert_eq!(resource.mime_type.as_deref(), Some("text/html;profile=mcp-app"));
    let want = json!({"csp": {"connectDomains": ["https://example.com"]}, "permissions": {}});
    assert_eq!(resource.meta.as_ref().unwrap()["ui"], want);
}
