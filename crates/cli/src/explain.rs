//! `sabir explain`: explains a rule.

use sabir_model::rules::{Rule, rule, rules};
use serde::Serialize;

use crate::exit::{Exit, Failure};
use crate::paint::Paint;
use crate::print::Printer;

pub(crate) fn run(id: Option<&str>, json: bool, printer: &Printer) -> Result<Exit, Failure> {
    let chosen: Vec<&Rule> = match id {
        Some(id) => vec![named(id)?],
        None => rules().collect(),
    };
    for rule in &chosen {
        if json {
            printer.data(&as_json(rule))?;
        } else if id.is_some() {
            printer.data(&whole(rule, printer))?;
        } else {
            printer.data(&format!("{}  {:7}  {}", padded(rule.id), rule.severity.to_string(), rule.title))?;
        }
    }
    Ok(Exit::Ok)
}

/// The rule with this id.
pub(crate) fn named(id: &str) -> Result<&'static Rule, Failure> {
    rule(id).ok_or_else(|| {
        Failure::usage(format_args!("`{id}` is not a rule")).hint("`sabir explain` lists the rules")
    })
}

fn padded(id: &str) -> String {
    format!("{id:7}")
}

fn whole(rule: &Rule, printer: &Printer) -> String {
    let mut out = String::new();
    printer.painter().paint(&mut out, Paint::Key, rule.id);
    out.push_str(&format!(" ({}, {}): {}\n\n", rule.severity, rule.scope, rule.title));
    out.push_str(&format!("why:    {}\nfix:    {}\nsource: {}", rule.why, rule.fix, rule.source));
    out
}

fn as_json(rule: &Rule) -> String {
    #[derive(Serialize)]
    struct JsonRule<'r> {
        rule: &'r str,
        severity: String,
        scope: String,
        title: &'r str,
        why: &'r str,
        fix: &'r str,
        source: &'r str,
    }
    let Rule { id, title, why, fix, source, .. } = *rule;
    let (severity, scope) = (rule.severity.to_string(), rule.scope.to_string());
    serde_json::to_string(&JsonRule { rule: id, severity, scope, title, why, fix, source })
        .unwrap_or_default()
}
