//! `--pick`: a part of a result, by a filter of jq.

use std::fmt;

use jaq_core::data::JustLut;
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Filter, Vars, unwrap_valr};
use jaq_json::Val;
use sabir::RawJson;

use crate::exit::{Exit, Failure};
use crate::json::{escape_lines, has_more_values};

/// Values of a result that a filter reads: they are all in memory.
const MOST_VALUES: usize = 1_000_000;

/// A filter, compiled.
pub(super) struct Pick {
    filter: Filter<JustLut<Val>>,
}

impl Pick {
    pub(super) fn new(code: &str) -> Result<Pick, Failure> {
        let wrong = || {
            Failure::usage(format_args!("`{code}` is not a filter of jq"))
                .hint("write a path such as .tools[].name, .content[0].text or '.[] | select(.id == 7)'")
        };
        let funs = jaq_core::funs().chain(jaq_std::base_funs()).chain(jaq_json::funs());
        let arena = Arena::default();
        let modules =
            Loader::new(jaq_core::defs()).load(&arena, File { code, path: () }).map_err(|_| wrong())?;
        let filter = Compiler::default().with_funs(funs).compile(modules).map_err(|_| wrong())?;
        Ok(Pick { filter })
    }

    /// What the filter leads to; strings without their quotes.
    pub(super) fn from(&self, result: &RawJson<'_>) -> Result<Vec<String>, Failure> {
        let failed = |why: &dyn fmt::Display| Failure::new(Exit::Error, format_args!("--pick: {why}"));
        if has_more_values(result.as_str(), MOST_VALUES) {
            return Err(failed(&format_args!("the result has more than {MOST_VALUES} values"))
                .hint("leave out --pick to get it whole"));
        }
        let input =
            jaq_json::read::parse_single(result.as_str().as_bytes()).map_err(|error| failed(&error))?;
        let ctx = Ctx::<JustLut<Val>>::new(&self.filter.lut, Vars::new([]));
        let mut picked = Vec::new();
        for value in self.filter.id.run((ctx, input)).map(unwrap_valr) {
            picked.push(match value.map_err(|error| failed(&error))? {
                Val::TStr(text) => escape_lines(&String::from_utf8_lossy(&text)),
                other => escape_lines(&other.to_string()),
            });
        }
        Ok(picked)
    }
}

impl fmt::Debug for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pick").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_picked_as_they_came() {
        let result = r#"{"tools":[{"name":"a","n":1.0},{"name":"b","n":90071992547409931}],"x":null}"#;
        let result = RawJson::new(result).expect("JSON");
        for (code, want) in [
            (".tools[].name", &["a", "b"][..]),
            (".tools[].n", &["1.0", "90071992547409931"]),
            (".tools | length", &["2"]),
            (".tools[] | select(.name == \"b\")", &[r#"{"name":"b","n":90071992547409931}"#]),
            (".x", &["null"]),
            (".nothing", &["null"]),
        ] {
            let picked = Pick::new(code).and_then(|pick| pick.from(&result)).expect(code);
            assert_eq!(picked, want, "{code}");
        }
        assert!(Pick::new(".tools[").is_err());
        assert!(Pick::new(".x[]").and_then(|pick| pick.from(&result)).is_err());
    }
}
