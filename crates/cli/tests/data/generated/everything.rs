// A client for Every kind of schema. Made by `sabir generate --lang rust`; needs the crates sabir, serde and serde_json.
//
// let client = EveryKindOfSchema::new(sabir::connect(transport, sabir::Router::new()).await?);

/// Calls the methods of Every kind of schema at a peer.
#[derive(Debug, Clone)]
pub struct EveryKindOfSchema {
    peer: sabir::Peer,
}

#[allow(clippy::all)]
impl EveryKindOfSchema {
    /// A client of this peer.
    pub fn new(peer: sabir::Peer) -> Self {
        EveryKindOfSchema { peer }
    }

    /// A notification */ with "quotes""" and \\ more.
    pub async fn text_document_did_open(
        &self,
        text_document: Tree,
    ) -> Result<(), sabir::SendError> {
        let params = (text_document,);
        self.peer.notify("textDocument/didOpen", params).await
    }

    #[deprecated]
    pub fn match_(
        &self,
        class: MatchClass,
        type_: Option<MatchTypeValue>,
        list: Option<Vec<MatchListItem>>,
    ) -> sabir::Call<std::collections::BTreeMap<String, bool>> {
        self.peer.call("match", positions(1, (class, type_, list)))
    }

    pub fn new_2(&self, a: u64, b: Option<f64>) -> sabir::Call<Option<Tree>> {
        self.peer.call("new", positions(1, (a, b)))
    }

    pub fn new_2_2(&self) -> sabir::Call<New2Result> {
        self.peer.call("new_2", ())
    }

    pub fn constructor(&self) -> sabir::Call<ConstructorResult> {
        self.peer.call("constructor", ())
    }
}

/// Alias
pub type Alias = String;

/// ConstructorResult
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum ConstructorResult {
    ConstructorResult1(ConstructorResult1),
    List((String, serde_json::Value)),
    Alias(Alias),
}

/// ConstructorResult1
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ConstructorResult1 {
    /// x
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<()>,
}

/// MatchClass
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum MatchClass {
    #[serde(rename = "a b")]
    AB,
    #[serde(rename = "Self")]
    Self_,
    #[serde(rename = "2")]
    T2,
}

/// MatchListItem
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum MatchListItem {
    #[serde(rename = "x")]
    X,
    #[serde(rename = "y")]
    Y,
}

/// MatchTypeValue
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum MatchTypeValue {
    Text(String),
    Integer(i64),
}

/// New2Result
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct New2Result {
    /// Of the
    /// root.
    pub name: String,
    /// left
    pub left: Option<Tree>,
    /// right
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<Tree>,
    /// rest
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Vec<Tree>>,
    /// from-where
    #[serde(rename = "from-where")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_where: Option<serde_json::Value>,
    /// more
    pub more: serde_json::Value,
}

/// String_
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[allow(missing_docs)]
pub enum String_ {
    #[serde(rename = "up")]
    Up,
    #[serde(rename = "down")]
    Down,
}

/// A tree.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Tree {
    /// Of the
    /// root.
    pub name: String,
    /// left
    pub left: Option<Box<Tree>>,
    /// right
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<Box<Tree>>,
    /// rest
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Vec<Tree>>,
    /// from-where
    #[serde(rename = "from-where")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_where: Option<serde_json::Value>,
}

/// Arguments by position. Those that are left out at the end are not sent.
fn positions(required: usize, params: impl serde::Serialize) -> Vec<serde_json::Value> {
    let mut list = match serde_json::to_value(params) {
        Ok(serde_json::Value::Array(list)) => list,
        _ => Vec::new(),
    };
    while list.len() > required && list.last().is_some_and(serde_json::Value::is_null) {
        list.pop();
    }
    list
}
