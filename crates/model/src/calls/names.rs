//! The names of methods and tools, each kept once.

use std::fmt;
use std::hash::BuildHasher;

use hashbrown::HashTable;

/// Names that are kept. Peers choose them, so there is a limit; a name beyond it is read from its message.
const MOST: usize = 65_536;

/// Bytes of a name that is kept.
const LONGEST: usize = 256;

/// A method and, where the call is of a tool, the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Name(pub(crate) u32);

impl Name {
    /// There is no method.
    pub const NONE: Name = Name(0);
    /// There is one, but no room for it.
    pub(crate) const UNKNOWN: Name = Name(1);
}

/// What [`Name`]s stand for.
#[derive(Default)]
pub struct Names {
    texts: Vec<(Box<str>, Option<Box<str>>)>,
    table: HashTable<u32>,
    hasher: foldhash::fast::RandomState,
}

impl Names {
    /// The method, if there is one and it is known.
    pub fn method(&self, name: Name) -> Option<&str> {
        self.text(name).map(|(method, _)| &**method)
    }

    /// The tool that is called.
    pub fn tool(&self, name: Name) -> Option<&str> {
        self.text(name)?.1.as_deref()
    }

    /// Every name so far.
    pub fn all(&self) -> impl Iterator<Item = Name> + use<> {
        (0..self.texts.len() as u32).map(|at| Name(at + 2))
    }

    fn text(&self, name: Name) -> Option<&(Box<str>, Option<Box<str>>)> {
        self.texts.get(name.0.checked_sub(2)? as usize)
    }

    pub(crate) fn add(&mut self, method: &str, tool: Option<&str>) -> Name {
        let Names { texts, table, hasher } = self;
        let hash = hasher.hash_one((method, tool));
        let is_it = |at: &u32| {
            let (known, of) = &texts[*at as usize];
            **known == *method && of.as_deref() == tool
        };
        if let Some(at) = table.find(hash, is_it) {
            return Name(at + 2);
        }
        if texts.len() >= MOST || method.len() > LONGEST || tool.is_some_and(|tool| tool.len() > LONGEST) {
            return Name::UNKNOWN;
        }
        let at = texts.len() as u32;
        texts.push((method.into(), tool.map(Into::into)));
        table.insert_unique(hash, at, |at| {
            let (method, tool) = &texts[*at as usize];
            hasher.hash_one((&**method, tool.as_deref()))
        });
        Name(at + 2)
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.texts).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once_and_up_to_a_limit() {
        let mut names = Names::default();
        let echo = names.add("tools/call", Some("echo"));
        assert_eq!(names.add("tools/call", Some("echo")), echo);
        assert_ne!(names.add("tools/call", None), echo);
        assert_eq!((names.method(echo), names.tool(echo)), (Some("tools/call"), Some("echo")));
        assert_eq!((names.method(Name::NONE), names.method(Name::UNKNOWN)), (None, None));
        assert_eq!(names.add(&"x".repeat(LONGEST + 1), None), Name::UNKNOWN);
        for number in 0..MOST {
            names.add(&number.to_string(), None);
        }
        assert_eq!(names.add("one more", None), Name::UNKNOWN);
        assert_eq!(names.all().count(), MOST);
    }
}
