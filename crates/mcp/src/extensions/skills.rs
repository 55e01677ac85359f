//! Skills, the extension `io.modelcontextprotocol/skills`: instructions for a model with the files that they need, served
//! as resources and listed with digests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sabir::{ErrorCode, ErrorObject, RawJson};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Extension;
use crate::error::{McpResult, ToolError, invalid, shown};
use crate::page::page;
use crate::server::{McpCtx, McpServer};
use crate::types::{Contents, Meta, Resource};

/// The name of the extension.
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";
/// Files that a skill may have.
const MOST_FILES: usize = 512;
/// Bytes that they may have together.
const MOST_BYTES: usize = 16 << 20;
const FOLDER: &str = "inode/directory";
const SKILL_MD: &str = "SKILL.md";

/// A skill that a server offers: what it is good for, the instructions, and the files that belong to them.
///
/// ```
/// use sabir_mcp::{McpServer, Skill};
///
/// let skill = Skill::new("pdf-forms", "Fills in PDF forms", "Read references/FORMS.md first.")
///     .file("references/FORMS.md", "text/markdown", "Names of fields are …");
/// let server = McpServer::new("office", "1.0.0").skill(skill);
/// ```
#[derive(Debug, Clone)]
pub struct Skill {
    folder: String,
    frontmatter: Meta,
    body: String,
    files: BTreeMap<String, (String, Vec<u8>)>,
}

impl Skill {
    /// A skill by its name, in small letters, digits and single hyphens.
    pub fn new(name: impl Into<String>, description: impl Into<String>, body: impl Into<String>) -> Self {
        let name = name.into();
        let frontmatter = Meta::from_iter([
            ("name".to_owned(), json!(name)),
            ("description".to_owned(), json!(description.into())),
        ]);
        Skill { folder: format!("skill://{name}"), frontmatter, body: body.into(), files: BTreeMap::new() }
    }

    /// Says more about it, such as its `license`.
    #[must_use]
    pub fn frontmatter(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.frontmatter.insert(key.into(), value.into());
        self
    }

    /// Adds a file, by its path in the skill's folder.
    #[must_use]
    pub fn file(
        mut self,
        path: impl Into<String>,
        mime_type: impl Into<String>,
        bytes: impl Into<Vec<u8>>,
    ) -> Self {
        self.files.insert(path.into(), (mime_type.into(), bytes.into()));
        self
    }

    /// The text of `SKILL.md`. Values of JSON are values of YAML, too.
    fn markdown(&self) -> String {
        let fields = self.frontmatter.iter().map(|(key, value)| format!("{key}: {value}\n"));
        format!("---\n{}---\n\n{}\n", fields.collect::<String>(), self.body)
    }

    /// What is wrong with it.
    fn fault(&self) -> Option<String> {
        let name = self.frontmatter["name"].as_str().unwrap_or_default();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let bytes: usize = self.files.values().map(|(_, bytes)| bytes.len()).sum();
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
            return Some("its name must have 1 to 64 small letters, digits and hyphens".to_owned());
        }
        if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
            return Some("hyphens of its name must be between others, one at a time".to_owned());
        }
        if self.files.len() >= MOST_FILES || bytes + self.body.len() > MOST_BYTES {
            return Some(format!("it has more than {MOST_FILES} files or {MOST_BYTES} bytes"));
        }
        let odd =
            |path: &&String| path.split('/').any(|part| matches!(part, "" | "." | "..")) || *path == SKILL_MD;
        self.files.keys().find(odd).map(|path| format!("a file cannot be named `{path}`"))
    }
}

/// A skill, as it is listed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillEntry {
    /// The URI of its `SKILL.md`.
    pub uri: String,
    /// What that begins with: `name`, `description` and more.
    pub frontmatter: Meta,
    /// Its files. `None` if the server makes them when they are read.
    #[serde(with = "files")]
    pub resources: Option<Vec<SkillFile>>,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillFile {
    /// Where it is read.
    pub uri: String,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// Its length in bytes.
    pub size: u64,
}

/// A list of files, or the word `dynamic`.
mod files {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{MOST_FILES, SkillFile};
    use crate::bounded;

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Files {
        Listed(#[serde(deserialize_with = "bounded::list::<MOST_FILES, _, _>")] Vec<SkillFile>),
        Word(String),
    }

    pub(super) fn serialize<S: Serializer>(files: &Option<Vec<SkillFile>>, s: S) -> Result<S::Ok, S::Error> {
        match files {
            Some(files) => files.serialize(s),
            None => s.serialize_str("dynamic"),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Vec<SkillFile>>, D::Error> {
        match Files::deserialize(d)? {
            Files::Listed(files) => Ok(Some(files)),
            Files::Word(word) if word == "dynamic" => Ok(None),
            Files::Word(_) => Err(D::Error::custom("expected a list of files, or `dynamic`")),
        }
    }
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

impl McpServer {
    /// Offers a skill: its files are resources, and `skills/list`, `skills/get` and `resources/directory/read` find them.
    ///
    /// # Panics
    /// If its name, a path, or its size is not one that the extension allows.
    #[must_use]
    pub fn skill(mut self, skill: Skill) -> Self {
        if let Some(fault) = skill.fault() {
            panic!("the skill at `{}` is wrong: {fault}", skill.folder);
        }
        let text = |name: &str| skill.frontmatter[name].as_str().map(str::to_owned);
        let markdown = skill.markdown().into_bytes();
        let main = (format!("{}/{SKILL_MD}", skill.folder), "text/markdown".to_owned(), markdown);
        let others = skill.files.iter();
        let others = others
            .map(|(path, (mime, bytes))| (format!("{}/{path}", skill.folder), mime.clone(), bytes.clone()));
        let mut files = Vec::new();
        for (uri, mime, bytes) in std::iter::once(main).chain(others) {
            files.push(SkillFile { uri: uri.clone(), digest: digest(&bytes), size: bytes.len() as u64 });
            let is_main = files.len() == 1;
            let name = match is_main {
                true => text("name").unwrap_or_default(),
                false => uri.rsplit('/').next().unwrap_or_default().to_owned(),
            };
            let resource = Resource {
                description: text("description").filter(|_| is_main),
                mime_type: Some(mime.clone()),
                ..Resource::new(uri.clone(), name)
            };
            let contents = match String::from_utf8(bytes) {
                Ok(text) => Contents::text(uri, Some(mime), text),
                Err(error) => Contents::blob(uri, Some(mime), error.into_bytes()),
            };
            self = self.resource(resource, move |_| std::future::ready(Ok(contents.clone())));
        }
        let uri = files[0].uri.clone();
        let entry = SkillEntry { uri, frontmatter: skill.frontmatter, resources: Some(files) };
        self.add_skill_entry(entry);
        self
    }
}

/// The extension of a server with these skills.
pub(crate) fn extension(skills: Vec<SkillEntry>) -> Extension {
    let skills = Arc::new(skills);
    let (listed, folders) = (Arc::clone(&skills), Arc::clone(&skills));
    Extension::new(SKILLS_EXTENSION)
        .setting("directoryRead", true)
        .cached_method("skills/list", move |ctx, Cursor { cursor }| {
            std::future::ready(list(&ctx, &listed, cursor.as_deref()))
        })
        .cached_method("skills/get", move |_, Uri { uri }| {
            let found = skills.iter().find(|skill| skill.uri == uri);
            let found = found.map(|skill| json!({"skill": skill}));
            std::future::ready(found.ok_or_else(|| unknown("skill", &uri)))
        })
        .method("resources/directory/read", move |_, Uri { uri }| {
            std::future::ready(children(&folders, uri.trim_end_matches('/')))
        })
}

#[derive(Deserialize)]
struct Cursor {
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct Uri {
    uri: String,
}

fn unknown(what: &str, uri: &str) -> ToolError {
    ToolError::Rpc(invalid(format_args!("there is no {what} `{}`", shown(uri))))
}

fn list(ctx: &McpCtx, skills: &[SkillEntry], cursor: Option<&str>) -> McpResult<Value> {
    let (skills, next) = page(skills, cursor, ctx.page_size()).map_err(ToolError::Rpc)?;
    let mut listed = json!({"skills": skills});
    if let Some(next) = next {
        listed["nextCursor"] = json!(next);
    }
    Ok(listed)
}

/// What is directly in a folder: files, and folders once each.
fn children(skills: &[SkillEntry], folder: &str) -> McpResult<Value> {
    let files = skills.iter().flat_map(|skill| skill.resources.iter().flatten());
    let inside = files.filter_map(|file| file.uri.strip_prefix(folder)?.strip_prefix('/'));
    let mut folders = BTreeSet::new();
    let mut found = Vec::new();
    for path in inside {
        match path.split_once('/') {
            Some((name, _)) if folders.insert(name) => {
                found.push(json!({"uri": format!("{folder}/{name}"), "name": name, "mimeType": FOLDER}));
            }
            Some(_) => {}
            None => found.push(json!({"uri": format!("{folder}/{path}"), "name": path})),
        }
    }
    match found.is_empty() {
        true => Err(unknown("folder", folder)),
        false => Ok(json!({"resources": found})),
    }
}

/// Why the file of a skill is not used.
pub(crate) fn refused(uri: &str, why: &str) -> ErrorObject {
    ErrorObject::because(ErrorCode::INVALID_PARAMS, format_args!("{} {why}", shown(uri)))
}

/// Checks a file against its entry.
pub(crate) fn verify(file: &SkillFile, bytes: &[u8]) -> Result<(), ErrorObject> {
    if bytes.len() as u64 != file.size {
        return Err(refused(&file.uri, "is not as long as it is listed"));
    }
    match digest(bytes) == file.digest {
        true => Ok(()),
        false => Err(refused(&file.uri, "is not what was listed: its digest differs")),
    }
}

/// The YAML at the head of a `SKILL.md`.
pub(crate) fn head(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let end = rest.find("\n---")?;
    Some(&rest[..end + 1])
}

/// A value as text, for those who compare.
pub(crate) fn bytes(contents: &RawJson<'_>) -> Option<Vec<u8>> {
    use base64::Engine as _;
    let text = |name: &str| contents.get(name)?.parse::<String>().ok();
    match text("text") {
        Some(text) => Some(text.into_bytes()),
        None => base64::engine::general_purpose::STANDARD.decode(text("blob")?).ok(),
    }
}
