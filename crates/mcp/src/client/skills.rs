//! Skills from the client's side: listed, and read only when they are needed; what is read is checked against the list.

use sabir::{CallError, RawJson};
use serde::Deserialize;

use super::McpSession;
use super::call::{McpCall, Params, undecodable, written};
use crate::extensions::skills::{self, SkillEntry, SkillFile};
use crate::types::Meta;

impl McpSession {
    /// All skills. Nothing of them is read.
    pub async fn skills(&self) -> Result<Vec<SkillEntry>, CallError> {
        let mut pages = self.pages("skills/list", "skills");
        let mut all = Vec::new();
        while let Some(page) = pages.next().await? {
            let listed = page.get("skills").unwrap_or(RawJson::NULL);
            all.extend(listed.parse::<Vec<SkillEntry>>().map_err(undecodable)?);
        }
        Ok(all)
    }

    /// A skill by the URI of its `SKILL.md`.
    pub async fn skill(&self, uri: &str) -> Result<SkillEntry, CallError> {
        #[derive(Deserialize)]
        struct Got {
            skill: SkillEntry,
        }
        let params = Params::from([("uri".into(), written(&uri)?)]);
        let Got { skill } = McpCall::new(self, "skills/get", Ok(params)).await?;
        Ok(skill)
    }

    /// Reads the `SKILL.md` of a skill for a model. It must be what was listed, by its digest and its length, and must
    /// begin with the same frontmatter; `yaml` reads that.
    pub async fn load_skill(
        &self,
        skill: &SkillEntry,
        yaml: impl FnOnce(&str) -> Option<Meta>,
    ) -> Result<String, CallError> {
        let bytes = self.read_skill_file(skill, &skill.uri).await?;
        let differs = || CallError::Error(skills::refused(&skill.uri, "does not begin with what was listed"));
        let text = String::from_utf8(bytes).map_err(|_| differs())?;
        let frontmatter = skills::head(&text).and_then(yaml).ok_or_else(differs)?;
        if frontmatter == skill.frontmatter { Ok(text) } else { Err(differs()) }
    }

    /// Reads a file of a skill. It must be what was listed, by its digest and its length; one that is not listed is refused,
    /// unless the server makes the files when they are read.
    pub async fn read_skill_file(&self, skill: &SkillEntry, uri: &str) -> Result<Vec<u8>, CallError> {
        let unlisted = || CallError::Error(skills::refused(uri, "is not a file of the skill"));
        let listed: Option<&SkillFile> = match &skill.resources {
            Some(files) => Some(files.iter().find(|file| file.uri == uri).ok_or_else(unlisted)?),
            None => None,
        };
        let params = Params::from([("uri".into(), written(&uri)?)]);
        let read: RawJson<'static> = McpCall::new(self, "resources/read", Ok(params)).await?;
        let contents = read.get("contents").unwrap_or(RawJson::NULL);
        let first = contents.elements().next();
        let bytes = first.and_then(|contents| skills::bytes(&contents)).ok_or_else(unlisted)?;
        if let Some(file) = listed {
            skills::verify(file, &bytes).map_err(CallError::Error)?;
        }
        Ok(bytes)
    }
}
