//! Resources: what a server offers to be read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::{Annotations, Icon, Meta};
use crate::McpRevision;

/// A kind of thing that is listed with resources: what it is read by, what is said of it, and what only this kind
/// has.
macro_rules! listed {
    (
        $(#[$about:meta])*
        $kind:ident by $(#[$key_about:meta])* $key:ident
        $(, $(#[$own_about:meta])* $own:ident: $type:ty)*
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $kind {
            $(#[$key_about])*
            pub $key: String,
            /// For programs, and for people where there is no title.
            pub name: String,
            /// For people.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub title: Option<String>,
            /// For people and models.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub description: Option<String>,
            /// Of which type the contents are, if all are of one.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub mime_type: Option<String>,
            $(
                $(#[$own_about])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $own: $type,
            )*
            /// Whom it is for.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub annotations: Option<Annotations>,
            /// Images to show.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub icons: Vec<Icon>,
            /// Anything else.
            #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
            pub meta: Option<Meta>,
        }

        impl $kind {
            /// With a name.
            pub fn new($key: impl Into<String>, name: impl Into<String>) -> Self {
                $kind { $key: $key.into(), name: name.into(), ..$kind::default() }
            }

            /// Leaves out what a revision does not know.
            pub(crate) fn fit(mut self, revision: McpRevision) -> Self {
                if revision < McpRevision::V2025_06_18 {
                    (self.title, self.meta) = (None, None);
                }
                if revision < McpRevision::V2025_11_25 {
                    self.icons.clear();
                }
                self
            }
        }

        impl From<&str> for $kind {
            fn from($key: &str) -> Self {
                $kind::new($key, $key)
            }
        }
    };
}

listed! {
    /// A resource, as it is listed.
    ///
    /// ```
    /// use sabir_mcp::Resource;
    ///
    /// let log = Resource { mime_type: Some("text/plain".into()), ..Resource::new("file:///log", "log") };
    /// ```
    Resource by
    /// What it is read by.
    uri,
    /// Bytes of its contents.
    size: Option<u64>
}

listed! {
    /// Resources whose URIs follow a pattern such as `notes://{id}`: `{name}` is text without a slash,
    /// `{+name}` any text.
    Template by
    /// The pattern.
    uri_template
}

/// What is in a resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Contents {
    Text {
        uri: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        text: String,
        #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
        meta: Option<Meta>,
    },
    /// In base64.
    Blob {
        uri: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        blob: String,
        #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
        meta: Option<Meta>,
    },
}

impl Contents {
    /// A text.
    pub fn text(uri: impl Into<String>, mime_type: Option<String>, text: impl Into<String>) -> Self {
        Contents::Text { uri: uri.into(), mime_type, text: text.into(), meta: None }
    }

    /// Bytes.
    pub fn blob(uri: impl Into<String>, mime_type: Option<String>, bytes: impl AsRef<[u8]>) -> Self {
        Contents::Blob { uri: uri.into(), mime_type, blob: STANDARD.encode(bytes), meta: None }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Contents::Text { text, .. } => Some(text),
            Contents::Blob { .. } => None,
        }
    }
}
