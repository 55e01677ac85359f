//! `sabir view --export`: rows of captures as a file.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use sabir_model::capture::Redactor;
use sabir_model::filter::Filter;

use super::export::{Export, Format};
use crate::exit::{Exit, Failure};
use crate::view::capture::{Captures, Given, Wanted};

/// How often it is looked whether all was read, or filtered.
const PAUSE: Duration = Duration::from_millis(5);

/// Writes what matches to a new file, whose name says what it is.
pub(in crate::view) async fn save(
    given: Given,
    to: &Path,
    filter: Filter,
    redactor: Redactor,
) -> Result<Exit, Failure> {
    let extension = to.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let format = match extension {
        "rpc" => Some(Format::Transcript),
        other => Format::named(other).filter(|format| *format != Format::Transcript),
    };
    let format = format.ok_or_else(|| {
        Failure::usage(format_args!("what {} is to be is not known", to.display()))
            .hint("name it .jrl for a capture, .rpc for a transcript, .har for HAR")
    })?;
    let failed =
        |error: &dyn std::fmt::Display| Failure::file(format_args!("cannot write {}: {error}", to.display()));
    let captures =
        Captures::open(given).map_err(|error| Failure::file(format_args!("cannot read: {error}")))?;
    while !captures.state().is_read {
        tokio::time::sleep(PAUSE).await;
    }
    if let Some(problem) = captures.state().problems.first() {
        return Err(Failure::new(Exit::Connect, problem));
    }
    let rows = match filter.is_empty() {
        true => (0..captures.state().rows.index.len()).collect(),
        false => {
            let id = captures.state().filter(Wanted { filter, ..Wanted::default() }, None);
            // The lock is not held while others work.
            let found = || {
                let state = captures.state();
                let scan = state.scan(id).filter(|scan| !scan.is_behind(state.rows.listed.len()))?;
                Some(scan.records.from(0).collect())
            };
            loop {
                match found() {
                    Some(rows) => break rows,
                    None => tokio::time::sleep(PAUSE).await,
                }
            }
        }
    };
    // What is there stays as it is.
    let mut file = std::fs::File::create_new(to).map_err(|error| failed(&error))?;
    let mut export = Export::new(captures, rows, format, redactor);
    while let Some(chunk) = export.chunk() {
        file.write_all(&chunk).map_err(|error| failed(&error))?;
    }
    Ok(Exit::Ok)
}
