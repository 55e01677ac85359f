//! Where a result goes, and what of it: all, a part, or the contents of what an MCP server returned.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sabir::RawJson;
use sabir_proto::ByteSize;
use serde::Deserialize;

use super::pick::Pick;
use crate::args::ResultArgs;
use crate::exit::Failure;
use crate::json::{compact, escape_lines};
use crate::print::Printer;
use crate::session::{Answer, Form};

#[derive(Debug)]
pub(crate) struct Output {
    pick: Option<Pick>,
    file: Option<PathBuf>,
}

impl Output {
    pub(crate) fn new(args: ResultArgs) -> Result<Output, Failure> {
        let pick = args.pick.as_deref().map(Pick::new).transpose()?;
        // Before anything is called that cannot be taken back. What the file holds stays until there is a result.
        if let Some(path) = &args.output {
            try_to_write(path).map_err(|error| unwritable(path, &error))?;
        }
        Ok(Output { pick, file: args.output })
    }

    /// Prints a result, or writes it to a file.
    pub(crate) fn put(&self, answer: &Answer, printer: &Printer) -> Result<(), Failure> {
        if let Some(pick) = &self.pick {
            let picked = pick.from(&answer.result)?;
            return match &self.file {
                Some(_) => self.write((picked.join("\n") + "\n").as_bytes()),
                None => picked.iter().try_for_each(|text| printer.data(text)).map_err(Failure::from),
            };
        }
        let mut parts = parts(answer);
        if self.file.is_some() {
            let Some(first) = parts.iter().position(|part| matches!(part, Part::Binary { .. })) else {
                return self.write(&text(&parts, &answer.result));
            };
            if let Part::Binary { bytes, .. } = parts.remove(first) {
                self.write(&bytes)?;
            }
        }
        for part in parts {
            match part {
                Part::Text(text) => printer.data(&escape_lines(&text))?,
                Part::Json(json) => printer.value(&json)?,
                Part::Binary { mime, bytes } => {
                    let how = match self.file {
                        Some(_) => "not saved: a file has one",
                        None => "-o FILE saves it",
                    };
                    printer.note(&format!("{mime}, {}: {how}", ByteSize(bytes.len())));
                }
            }
        }
        Ok(())
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let Some(path) = &self.file else { return Ok(()) };
        std::fs::write(path, bytes).map_err(|error| unwritable(path, &error))
    }
}

/// Whether a file can be written. One that is not there yet is not left behind: there may be no result.
fn try_to_write(path: &Path) -> std::io::Result<()> {
    match std::fs::OpenOptions::new().create_new(true).append(true).open(path) {
        Ok(_) => std::fs::remove_file(path),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            std::fs::OpenOptions::new().append(true).open(path).map(drop)
        }
        Err(error) => Err(error),
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::file(format_args!("cannot write `{}`: {error}", path.display()))
}

/// What a tool says that went wrong.
pub(crate) fn error_text(answer: &Answer) -> String {
    let answer = Answer { result: answer.result.clone(), form: Form::Tool };
    let texts: Vec<String> = parts(&answer)
        .into_iter()
        .map(|part| match part {
            Part::Text(text) => text,
            Part::Json(json) => compact(json.as_str()).into_owned(),
            Part::Binary { mime, .. } => mime,
        })
        .collect();
    match texts.is_empty() {
        true => "the tool failed, and does not say why".to_owned(),
        false => texts.join("\n"),
    }
}

/// A piece of a result.
enum Part {
    Text(String),
    Json(RawJson<'static>),
    Binary { mime: String, bytes: Vec<u8> },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    #[serde(default, rename = "type")]
    kind: String,
    text: Option<String>,
    /// Of an image or a sound, in base64.
    data: Option<String>,
    /// Of a resource, in base64.
    blob: Option<String>,
    mime_type: Option<String>,
    uri: Option<String>,
    resource: Option<Box<Content>>,
}

impl Content {
    fn part(self) -> Option<Part> {
        if let Some(resource) = self.resource {
            return resource.part();
        }
        if let Some(text) = self.text {
            return Some(Part::Text(text));
        }
        if let Some(data) = self.data.or(self.blob) {
            let mime = self.mime_type.unwrap_or_else(|| "binary content".to_owned());
            return Some(match BASE64_STANDARD.decode(&data) {
                Ok(bytes) => Part::Binary { mime, bytes },
                Err(_) => Part::Text(data),
            });
        }
        (self.kind == "resource_link").then_some(self.uri).flatten().map(Part::Text)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolResult {
    #[serde(default)]
    content: Vec<Content>,
    structured_content: Option<RawJson<'static>>,
}

#[derive(Deserialize)]
struct PromptResult {
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    role: String,
    content: Content,
}

#[derive(Deserialize)]
struct ResourceResult {
    contents: Vec<Content>,
}

fn parts(answer: &Answer) -> Vec<Part> {
    let result = &answer.result;
    let whole = || vec![Part::Json(result.clone())];
    match answer.form {
        Form::Nothing => Vec::new(),
        Form::Task => match result.get("taskId").and_then(|id| id.parse().ok()) {
            Some(id) => vec![Part::Text(id)],
            None => whole(),
        },
        Form::Json | Form::ToolsCall => whole(),
        Form::Tool => match result.parse::<ToolResult>() {
            Ok(ToolResult { content, structured_content }) => {
                match (content.is_empty(), structured_content) {
                    (true, Some(json)) => vec![Part::Json(json)],
                    _ => content.into_iter().filter_map(Content::part).collect(),
                }
            }
            Err(_) => whole(),
        },
        Form::Resource => match result.parse::<ResourceResult>() {
            Ok(ResourceResult { contents }) => contents.into_iter().filter_map(Content::part).collect(),
            Err(_) => whole(),
        },
        Form::Prompt => match result.parse::<PromptResult>() {
            Ok(PromptResult { messages }) => {
                let line = |Message { role, content }: Message| match content.part()? {
                    Part::Text(text) => Some(Part::Text(format!("{role}: {text}"))),
                    other => Some(other),
                };
                messages.into_iter().filter_map(line).collect()
            }
            Err(_) => whole(),
        },
    }
}

/// What a file holds of what is not binary.
fn text(parts: &[Part], result: &RawJson<'_>) -> Vec<u8> {
    let texts: Vec<String> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.clone()),
            Part::Json(json) => Some(json.to_string()),
            Part::Binary { .. } => None,
        })
        .collect();
    match texts.is_empty() {
        true => result.to_string().into_bytes(),
        false => (texts.join("\n") + "\n").into_bytes(),
    }
}
