//! MCP Apps, the extension `io.modelcontextprotocol/ui`: tools with a page to show. What is here are the parts of `_meta`;
//! the page itself talks to the host, which is a browser's business.

use serde::{Deserialize, Serialize};

use crate::types::{Meta, Resource, Tool};

/// The name of the extension.
pub const UI_EXTENSION: &str = "io.modelcontextprotocol/ui";
/// The type of a resource that is such a page.
pub const UI_MIME_TYPE: &str = "text/html;profile=mcp-app";

/// What a page may load and use. The host asks for nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UiPage {
    /// Where it may load from.
    pub csp: UiDomains,
    /// What of the device it may use.
    pub permissions: UiPermissions,
    /// An origin of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Whether the host should draw a border.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefers_border: Option<bool>,
}

/// Origins that a page may use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UiDomains {
    /// For requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connect_domains: Vec<String>,
    /// For scripts, styles, images, fonts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_domains: Vec<String>,
    /// For pages in the page.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame_domains: Vec<String>,
}

/// What of the device a page may use: what is there, it asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UiPermissions {
    /// The camera.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub camera: Option<Meta>,
    /// The microphone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microphone: Option<Meta>,
    /// The place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geolocation: Option<Meta>,
    /// Writing to the clipboard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clipboard_write: Option<Meta>,
}

impl Tool {
    /// Shows a page with the tool: a resource made by [`Resource::ui`].
    ///
    /// ```
    /// use sabir_mcp::{McpServer, Resource, Tool, UiPage};
    ///
    /// let server = McpServer::new("clock", "1.0.0")
    ///     .resource(Resource::ui("ui://clock", "clock", &UiPage::default()), |_| async { Ok("<h1>Noon</h1>") })
    ///     .tool(Tool::new("time", "The time").ui("ui://clock"), |_, ()| async { Ok("noon") });
    /// ```
    #[must_use]
    pub fn ui(mut self, resource_uri: impl Into<String>) -> Self {
        let ui = serde_json::json!({"resourceUri": resource_uri.into()});
        self.meta.get_or_insert_default().insert("ui".to_owned(), ui);
        self
    }
}

impl Resource {
    /// A page that is shown with tools. Its URI begins with `ui://`.
    pub fn ui(uri: impl Into<String>, name: impl Into<String>, page: &UiPage) -> Self {
        let mut resource = Resource::new(uri, name);
        resource.mime_type = Some(UI_MIME_TYPE.to_owned());
        if let Ok(page) = serde_json::to_value(page) {
            resource.meta.get_or_insert_default().insert("ui".to_owned(), page);
        }
        resource
    }
}
