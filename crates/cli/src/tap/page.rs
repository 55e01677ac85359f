//! `--view`: a page that shows what is recorded, for as long as the tap runs.

use std::path::PathBuf;

use super::cannot;
use super::recorder::Recorder;
use crate::args::TapArgs;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::view::taps::{self, Noted, Tap};
use crate::view::{Page, Sender, beside_tap};

/// The file to record to, if there is one. A page needs one.
pub(super) fn record(args: &TapArgs) -> Result<Option<PathBuf>, Failure> {
    match &args.record {
        Some(path) => Ok(Some(path.clone())),
        None if args.view => taps::temporary_record(std::process::id()).map(Some).map_err(|error| {
            Failure::new(Exit::Connect, format_args!("cannot record for the page: {error}"))
                .hint("name a file to record to with --record")
        }),
        None => Ok(None),
    }
}

/// A page that is served, and what is taken away with it.
pub(super) struct Shown {
    page: Option<Page>,
    _noted: Option<Noted>,
    /// The record, if nobody asked for it.
    temporary: Option<PathBuf>,
}

/// Serves the page, if it is asked for, and says where.
pub(super) fn show(
    args: &TapArgs,
    recorder: &Recorder,
    send: Option<Sender>,
    printer: &Printer,
) -> Result<Option<Shown>, Failure> {
    let Some(file) = recorder.file.as_ref().filter(|_| args.view) else { return Ok(None) };
    let path = std::path::absolute(file.path()).map_err(|error| cannot(&error))?;
    let target = match &recorder.header.target {
        Some(target) => target.clone(),
        None => crate::platform::join(&recorder.header.cmd),
    };
    let temporary = args.record.is_none().then(|| path.clone());
    let page = beside_tap(&path, target.clone(), send)
        .map_err(|error| Failure::new(Exit::Connect, format_args!("cannot serve the page: {error}")))?;
    printer.note(&format!("view at {}", page.address));
    let pid = std::process::id();
    let noted = taps::note(&Tap { pid, url: page.address.clone(), record: path, target });
    if let Err(error) = &noted {
        printer.note(&format!("`sabir view` will not find this tap: {error}"));
    }
    Ok(Some(Shown { page: Some(page), _noted: noted.ok(), temporary }))
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some(page) = self.page.take() {
            page.finish();
        }
        if let Some(path) = &self.temporary {
            let _ = std::fs::remove_file(path);
        }
    }
}
