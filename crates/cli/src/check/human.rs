//! A finding as a compiler prints it.

use sabir_model::rules::{Finding, Severity};

use crate::json::escape_controls;
use crate::paint::{Paint, Painter};

/// `explain` adds why it matters and how to fix it.
pub(super) fn finding(finding: &Finding, file: &str, explain: bool, painter: Painter) -> String {
    let paint = match finding.severity {
        Severity::Error => Paint::Error,
        Severity::Warning => Paint::Warning,
        Severity::Note => Paint::Hint,
    };
    let mut out = String::new();
    painter.paint(&mut out, paint, &format!("{}[{}]", finding.severity, finding.rule.id));
    out.push_str(&format!(": {}\n", escape_controls(&finding.what)));

    let number = finding.line.to_string();
    let margin = " ".repeat(number.len());
    let gutter = |out: &mut String, sign: &str, text: &str| {
        painter.paint(out, Paint::Key, &format!("{margin} {sign}"));
        out.push_str(text);
        out.push('\n');
    };
    let direction = finding.direction.map_or(String::new(), |direction| format!(" ({})", direction.sign()));
    let place = format!(" {}:{}:{}{direction}", escape_controls(file), finding.line, finding.column);
    gutter(&mut out, "-->", &place);
    let excerpt = &finding.excerpt;
    if !excerpt.text.is_empty() {
        gutter(&mut out, "|", "");
        painter.paint(&mut out, Paint::Key, &format!("{number} | "));
        out.push_str(&format!("{}\n", excerpt.text));
        painter.paint(&mut out, Paint::Key, &format!("{margin} | "));
        out.push_str(&" ".repeat(excerpt.before));
        painter.paint(&mut out, paint, &"^".repeat(excerpt.width));
        out.push('\n');
    }
    let gutter = |out: &mut String, text: &str| {
        painter.paint(out, Paint::Key, &format!("{margin} = "));
        out.push_str(text);
        out.push('\n');
    };
    if let Some((line, what)) = &finding.related {
        gutter(&mut out, &format!("line {line}: {}", escape_controls(what)));
    }
    if explain {
        gutter(&mut out, &format!("why: {}", finding.rule.why));
        gutter(&mut out, &format!("fix: {}", finding.rule.fix));
    }
    out.push('\n');
    out
}
