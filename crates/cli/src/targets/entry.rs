//! One saved target, as it is written in its file.

use std::path::{Path, PathBuf};

use sabir::Framing;

use super::fill::{self, Variables};
use super::{Source, shown};
use crate::exit::Failure;
use crate::peer::Chosen;
use crate::platform;
use crate::session::Protocol;
use crate::target::{Program, Target};
use crate::variables::environment;

/// What a name stands for. Variables are filled in when it is chosen, and never shown.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) source: Source,
    /// The file that it is from.
    pub(crate) path: PathBuf,
    pub(super) address: Address,
    pub(super) headers: Vec<(String, String)>,
    pub(super) env: Vec<(String, String)>,
    /// Where its command runs.
    pub(super) folder: Option<PathBuf>,
    pub(super) framing: Option<Framing>,
    pub(crate) protocol: Option<Protocol>,
    pub(super) variables: Variables,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// As a target is typed.
    Text(String),
    Command(Vec<String>),
}

impl Entry {
    pub(super) fn new(name: &str, source: Source, path: &Path, address: Address) -> Entry {
        Entry {
            name: name.to_owned(),
            source,
            path: path.to_owned(),
            address,
            headers: Vec::new(),
            env: Vec::new(),
            folder: None,
            framing: None,
            protocol: None,
            variables: Variables::Filled,
        }
    }

    pub(super) fn whole_name(&self) -> String {
        format!("{}/{}", self.source.name, self.name)
    }

    /// Whether both stand for the same peer.
    pub(super) fn is_same_as(&self, other: &Entry) -> bool {
        (&self.address, &self.env, &self.headers) == (&other.address, &other.env, &other.headers)
    }

    /// Whether it is one as it is written.
    pub(super) fn is_command(&self) -> bool {
        match &self.address {
            Address::Command(_) => true,
            Address::Text(text) => text.starts_with("stdio:"),
        }
    }

    /// Whether anything of the environment goes to the peer.
    pub(super) fn has_variables(&self) -> bool {
        let has = |text: &str| self.variables == Variables::Filled && text.contains("${");
        let values = self.headers.iter().chain(&self.env).map(|(_, value)| value.as_str());
        let address = match &self.address {
            Address::Text(text) => has(text),
            Address::Command(words) => words.iter().any(|word| has(word)),
        };
        address || values.into_iter().any(has)
    }

    /// As it is written, with variables that are not filled in.
    pub(super) fn what(&self) -> String {
        match &self.address {
            Address::Text(text) => without_password(text),
            Address::Command(words) => format!("stdio:{}", platform::join(words)),
        }
    }

    pub(super) fn chosen(&self) -> Result<Chosen, Failure> {
        let fill = |text: &str| {
            fill::fill(text, self.variables, &self.place(), environment).map_err(|mut failure| {
                failure.what =
                    format!("{}, which `{}` in {} needs", failure.what, self.name, shown(&self.path));
                failure
            })
        };
        let pairs = |pairs: &[(String, String)]| {
            let filled = pairs.iter().map(|(name, value)| Ok((name.clone(), fill(value)?)));
            filled.collect::<Result<Vec<_>, Failure>>()
        };
        let (target, is_as_written) = match &self.address {
            Address::Text(text) => {
                let filled = fill(text)?;
                let is_as_written = filled == *text;
                // What is wrong with it would be told with the values of its variables.
                let target = Target::parse(&filled).map_err(|failure| match is_as_written {
                    true => failure,
                    false => Failure::usage(format_args!(
                        "`{}` in {} is not a valid target with the values of its variables",
                        self.name,
                        shown(&self.path)
                    )),
                })?;
                (target, is_as_written)
            }
            Address::Command(words) => {
                let filled = words.iter().map(|word| fill(word)).collect::<Result<Vec<String>, _>>()?;
                let is_as_written = filled == *words;
                (Target::program(filled)?, is_as_written)
            }
        };
        let target = if is_as_written { target } else { target.shown_as(self.what()) };
        let target = match target {
            Target::Program(program) => {
                Target::Program(Program { env: pairs(&self.env)?, folder: self.folder.clone(), ..program })
            }
            other => other,
        };
        let Entry { framing, protocol, .. } = *self;
        Ok(Chosen { target, framing, protocol, headers: pairs(&self.headers)? })
    }

    /// The folder that the file speaks of.
    fn place(&self) -> PathBuf {
        self.path.parent().map_or_else(PathBuf::new, Path::to_owned)
    }
}

/// A URL to show: what stands before the `@` may be a secret.
fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let (host, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    match host.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://…@{host}{path}"),
        None => text.to_owned(),
    }
}
