//! Findings as a SARIF 2.1.0 log, which code hosts and editors read.

use std::path::Path;

use sabir_model::rules::{Finding, Rule, Severity, rules};
use serde_json::{Value, json};

pub(super) fn log(findings: &[Finding], file: &str) -> String {
    let used: Vec<&Rule> =
        rules().filter(|rule| findings.iter().any(|finding| finding.rule.id == rule.id)).collect();
    let index = |rule: &Rule| used.iter().position(|used| used.id == rule.id).unwrap_or_default();
    let results: Vec<Value> =
        findings.iter().map(|finding| result(finding, index(finding.rule), file)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "sabir",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": used.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    format!("{log:#}")
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "shortDescription": { "text": rule.title },
        "fullDescription": { "text": rule.why },
        "help": { "text": format!("{} ({})", rule.fix, rule.source) },
        "defaultConfiguration": { "level": level(rule.severity) },
    })
}

fn result(finding: &Finding, index: usize, file: &str) -> Value {
    let place = |line: u64, region: Value| {
        let mut region = region;
        region["startLine"] = json!(line);
        json!({ "physicalLocation": { "artifactLocation": { "uri": uri(file) }, "region": region } })
    };
    let region = json!({
        "startColumn": finding.column,
        "byteOffset": finding.offset,
        "snippet": { "text": finding.excerpt.text },
    });
    let mut result = json!({
        "ruleId": finding.rule.id,
        "ruleIndex": index,
        "level": level(finding.severity),
        "message": { "text": finding.what },
        "locations": [place(finding.line, region)],
    });
    if let Some((line, what)) = &finding.related {
        let mut related = place(*line, json!({}));
        related["message"] = json!({ "text": what });
        result["relatedLocations"] = json!([related]);
    }
    result
}

/// A path as the reference that the format wants. Targets have their own scheme.
fn uri(file: &str) -> String {
    let absolute = Path::new(file).is_absolute();
    let mut out = String::from(if absolute { "file://" } else { "" });
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' => {
                out.push(byte as char);
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
