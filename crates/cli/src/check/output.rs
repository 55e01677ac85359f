//! Prints the findings, in the format that was asked for.

use std::collections::HashMap;
use std::io;

use sabir_model::rules::{Finding, Profile, Severity};
use serde::Serialize;

use super::{count, human, junit, sarif};
use crate::args::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::json::escape_lines;
use crate::print::Printer;

/// Findings in a report that is printed as a whole: they are in memory.
const MOST_KEPT: usize = 100_000;

/// Takes findings as they come.
pub(super) struct Output<'a> {
    format: Format,
    /// The file or target.
    name: &'a str,
    profile: Profile,
    most: u64,
    printer: &'a Printer,
    /// How many of each rule.
    counts: HashMap<&'static str, u64>,
    errors: u64,
    warnings: u64,
    notes: u64,
    /// For formats that are printed as a whole.
    kept: Vec<Finding>,
    /// Findings that such a format has no room for.
    left_out: u64,
    /// What to try if the peer does not answer.
    hint: Option<String>,
    /// Standard output was closed. The rest is still checked, for the exit code.
    closed: bool,
}

enum Format {
    Human,
    Json,
    Sarif,
    Junit,
}

impl<'a> Output<'a> {
    pub(super) fn new(args: &CheckArgs, name: &'a str, profile: Profile, printer: &'a Printer) -> Self {
        let format = match args {
            CheckArgs { json: true, .. } => Format::Json,
            CheckArgs { sarif: true, .. } => Format::Sarif,
            CheckArgs { junit: true, .. } => Format::Junit,
            _ => Format::Human,
        };
        Output {
            format,
            name,
            profile,
            most: args.most,
            printer,
            counts: HashMap::new(),
            errors: 0,
            warnings: 0,
            notes: 0,
            kept: Vec::new(),
            left_out: 0,
            hint: None,
            closed: false,
        }
    }

    pub(super) fn finding(&mut self, finding: &Finding) -> Result<(), Failure> {
        match finding.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Note => self.notes += 1,
        }
        let count = self.counts.entry(finding.rule.id).or_default();
        *count += 1;
        if *count > self.most {
            return Ok(());
        }
        match self.format {
            Format::Human => {
                let text = human::finding(finding, self.name, *count == 1, self.printer.painter());
                self.print(|printer| printer.data(&text))?;
            }
            Format::Json => self.print(|printer| printer.json(&as_json(finding, self.name)))?,
            Format::Sarif | Format::Junit if self.kept.len() < MOST_KEPT => self.kept.push(finding.clone()),
            Format::Sarif | Format::Junit => self.left_out += 1,
        }
        Ok(())
    }

    /// The profile that was found out.
    pub(super) fn set_profile(&mut self, profile: Profile) {
        self.profile = profile;
    }

    /// What to try, once all is printed.
    pub(super) fn hint(&mut self, hint: Option<String>) {
        self.hint = hint;
    }

    /// Prints, unless the reader has closed standard output.
    fn print(&mut self, print: impl FnOnce(&Printer) -> io::Result<()>) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        match print(self.printer) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            printed => Ok(printed?),
        }
    }

    /// How often a rule was broken.
    pub(super) fn count(&self, rule: &str) -> u64 {
        self.counts.get(rule).copied().unwrap_or_default()
    }

    /// Everything is checked; `what` says how much.
    pub(super) fn end(mut self, what: &str) -> Result<Exit, Failure> {
        let whole = match self.format {
            Format::Human | Format::Json => None,
            Format::Sarif => Some(escape_lines(&sarif::log(&self.kept, self.name))),
            Format::Junit => Some(junit::report(&self.kept, self.name, self.profile)),
        };
        if let Some(text) = whole {
            self.print(|printer| printer.data(&text))?;
        }
        if self.left_out > 0 {
            self.printer
                .note(&format!("{} more are left out: a report has up to {MOST_KEPT}", self.left_out));
        }
        let mut hidden: Vec<(&str, u64)> =
            self.counts.iter().filter(|(_, n)| **n > self.most).map(|(id, n)| (*id, n - self.most)).collect();
        hidden.sort_unstable();
        for (id, more) in hidden {
            self.printer.note(&format!("{id}: {more} more, shown with --most {}", self.most + more));
        }
        let found = [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")];
        let found: Vec<String> = found.iter().filter(|(n, _)| *n > 0).map(|(n, of)| count(*n, of)).collect();
        let found = if found.is_empty() { "nothing found".to_owned() } else { found.join(", ") };
        self.printer.note(&format!("{found} in {what}, profile {}", self.profile));
        if let Some(hint) = &self.hint {
            self.printer.hint(hint);
        }
        Ok(if self.errors + self.warnings > 0 { Exit::Error } else { Exit::Ok })
    }
}

#[derive(Serialize)]
struct JsonFinding<'f> {
    rule: &'f str,
    severity: String,
    message: &'f str,
    file: &'f str,
    line: u64,
    column: u64,
    offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<char>,
    excerpt: &'f str,
    #[serde(skip_serializing_if = "Option::is_none")]
    related: Option<Related<'f>>,
    why: &'f str,
    fix: &'f str,
}

#[derive(Serialize)]
struct Related<'f> {
    line: u64,
    message: &'f str,
}

fn as_json(finding: &Finding, file: &str) -> String {
    let shown = JsonFinding {
        rule: finding.rule.id,
        severity: finding.severity.to_string(),
        message: &finding.what,
        file,
        line: finding.line,
        column: finding.column,
        offset: finding.offset,
        direction: finding.direction.map(|direction| direction.sign()),
        excerpt: &finding.excerpt.text,
        related: finding.related.as_ref().map(|(line, message)| Related { line: *line, message }),
        why: finding.rule.why,
        fix: finding.rule.fix,
    };
    serde_json::to_string(&shown).unwrap_or_default()
}
