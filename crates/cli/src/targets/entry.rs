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

    pub(super) fn is_command(&self) -> bool {
        match &self.address {
            Address::Command(_) => true,
            Address::Text(text) => text.starts_with("stdio:"),
        }
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
        let target = match &self.address {
            Address::Text(text) => Target::parse(&fill(text)?)?,
            Address::Command(words) => {
                Target::program(words.iter().map(|word| fill(word)).collect::<Result<Vec<String>, _>>()?)?
            }
        };
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
