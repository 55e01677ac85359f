//! Findings as a SARIF 2.1.0 log, which code hosts and editors read.

use std::path::{MAIN_SEPARATOR, Path};

use sabir_model::rules::{Finding, Rule, Severity, rules};
use serde_json::{Value, json};

pub(super) fn log(findings: &[Finding], file: &str) -> String {
    let used: Vec<&Rule> =
        rules().filter(|rule| findings.iter().any(|finding| finding.rule.id == rule.id)).collect();
    let index = |rule: &Rule| used.iter().position(|used| used.id == rule.id).unwrap_or_default();
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
            "results": [],
        }],
    });
    // One result after the other: as a tree, they would take many times the memory of their text.
    let log = format!("{log:#}");
    let Some((before, after)) = log.rsplit_once("[]").filter(|_| !findings.is_empty()) else { return log };
    let mut out = format!("{before}[");
    for (i, finding) in findings.iter().enumerate() {
        out.push_str(if i == 0 { INDENT } else { COMMA });
        out.push_str(&format!("{:#}", result(finding, index(finding.rule), file)).replace('\n', INDENT));
    }
    out.push_str("\n      ]");
    out + after
}

/// What is before each line of a result, and between two results.
const INDENT: &str = "\n        ";
const COMMA: &str = ",\n        ";

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

/// A path as a URI reference. Targets have their own scheme.
fn uri(file: &str) -> String {
    let absolute = Path::new(file).is_absolute();
    let path = file.replace(MAIN_SEPARATOR, "/");
    let mut out = String::from(match absolute {
        false => "",
        // The name of a machine comes first.
        true if cfg!(windows) && path.starts_with("//") => "file:",
        true if path.starts_with('/') => "file://",
        // The letter of a drive does, and is part of the path.
        true => "file:///",
    });
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' => {
                out.push(byte as char);
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use sabir_model::capture::Reader;
    use sabir_model::rules::{Checker, Profile};

    use super::*;

    /// What SARIF 2.1.0 requires of the parts that we write.
    #[test]
    fn the_log_has_the_structure_that_the_format_requires() -> Result<(), Box<dyn std::error::Error>> {
        let text = "> {\"id\":1,\"method\":\"a\\u001b\"}\n< {\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":1e999}\n> x\n";
        let mut reader = Reader::new(text.as_bytes())?;
        let mut checker = Checker::new(Profile::JsonRpc);
        let mut found = Vec::new();
        while let Some(record) = reader.next()? {
            found.extend(checker.check(&record));
        }
        assert!(found.len() >= 4, "{found:?}");

        let log: Value = serde_json::from_str(&log(&found, "a folder/ö.rpc"))?;
        assert_eq!(log["version"], "2.1.0");
        let run = &log["runs"][0];
        let driver = &run["tool"]["driver"];
        assert!(driver["name"].is_string());
        let rules = driver["rules"].as_array().ok_or("no rules")?;
        let results = run["results"].as_array().ok_or("no results")?;
        assert_eq!(results.len(), found.len());
        for result in results {
            assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()));
            assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap_or_default()));
            let index = result["ruleIndex"].as_u64().ok_or("no index")? as usize;
            assert_eq!(rules[index]["id"], result["ruleId"]);
            let place = &result["locations"][0]["physicalLocation"];
            assert_eq!(place["artifactLocation"]["uri"], "a%20folder/%C3%B6.rpc");
            for name in ["startLine", "startColumn"] {
                assert!(place["region"][name].as_u64().is_some_and(|number| number >= 1), "{result}");
            }
            for related in result["relatedLocations"].as_array().into_iter().flatten() {
                assert!(related["message"]["text"].is_string());
                assert!(related["physicalLocation"]["region"]["startLine"].is_u64());
            }
        }
        for rule in rules {
            assert!(rule["id"].is_string() && rule["shortDescription"]["text"].is_string());
        }
        Ok(())
    }

    #[test]
    fn paths_are_references() {
        let absolute = match cfg!(windows) {
            true => [(r"C:\tmp\x#y", "file:///C:/tmp/x%23y"), (r"\\server\x\y", "file://server/x/y")],
            false => [("/tmp/x#y", "file:///tmp/x%23y"), ("/a\\b", "file:///a%5Cb")],
        };
        for (file, want) in absolute.into_iter().chain([
            ("a b.rpc", "a%20b.rpc"),
            ("tcp://host:1", "tcp://host:1"),
            ("-", "-"),
        ]) {
            assert_eq!(uri(file), want);
        }
    }
}
