//! `--view`: a page that shows what is recorded, for as long as the tap runs or somebody looks at it.
//!
//! A host that starts its server through a tap needs the server, not the page: where there can be no page, the tap says so
//! and goes on. `sabir view` in front of a target has nothing else to do, and ends.

use std::path::PathBuf;

use super::recorder::Recorder;
use crate::args::TapArgs;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::view::taps::{self, Noted, Tap};
use crate::view::{Page, Sender, beside_tap};

/// The file to record to, if there is one. A page needs one.
pub(super) fn record(args: &TapArgs, printer: &Printer) -> Result<Option<PathBuf>, Failure> {
    match &args.record {
        Some(path) => Ok(Some(path.clone())),
        None if args.view => match taps::temporary_record(std::process::id()) {
            Ok(path) => Ok(Some(path)),
            Err(error) => {
                without(args, format_args!("cannot record for it: {error}"), printer).map(|()| None)
            }
        },
        None => Ok(None),
    }
}

/// There can be no page.
pub(super) fn without(
    args: &TapArgs,
    why: std::fmt::Arguments<'_>,
    printer: &Printer,
) -> Result<(), Failure> {
    if args.needs_page {
        return Err(Failure::new(Exit::Connect, format_args!("cannot serve the page: {why}")));
    }
    printer.note(&format!("sabir tap: there is no page: {why}"));
    Ok(())
}

/// A page that is served, and what is taken away with it.
pub(super) struct Shown {
    page: Option<Page>,
    _noted: Option<Noted>,
    record: PathBuf,
    target: String,
    /// Nobody asked for the record.
    is_temporary: bool,
}

/// Serves the page, if it is asked for, and says where.
pub(super) fn show(
    args: &TapArgs,
    recorder: &Recorder,
    send: Option<Sender>,
    printer: &Printer,
) -> Result<Option<Shown>, Failure> {
    let Some(file) = recorder.file.as_ref().filter(|_| args.view) else { return Ok(None) };
    let path = match std::path::absolute(file.path()) {
        Ok(path) => path,
        Err(error) => return without(args, format_args!("{error}"), printer).map(|()| None),
    };
    let target = match &recorder.header.target {
        Some(target) => target.clone(),
        None => crate::platform::join(&recorder.header.cmd),
    };
    let is_temporary = args.record.is_none();
    let page = match beside_tap(&path, target.clone(), is_temporary, send) {
        Ok(page) => page,
        Err(error) => return without(args, format_args!("{error}"), printer).map(|()| None),
    };
    let address = page.address_for(args.filter.as_deref());
    printer.note(&format!("view at {address}"));
    let pid = std::process::id();
    let (url, record) = (address, path.clone());
    let noted = taps::note(&Tap { pid, url, record, target: target.clone() });
    if let Err(error) = &noted {
        printer.note(&format!("`sabir view` will not find this tap: {error}"));
    }
    let (page, _noted) = (Some(page), noted.ok());
    Ok(Some(Shown { page, _noted, record: path, target, is_temporary }))
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Some(page) = self.page.take() {
            page.leave(&self.record, std::mem::take(&mut self.target), self.is_temporary);
        }
    }
}
