//! Findings as a JUnit report: one test for each rule, which fails with all violations of it.

use std::fmt::Write;

use sabir_model::rules::{Finding, Profile, Severity, rules};

use sabir_model::markup::xml;

pub(super) fn report(findings: &[Finding], file: &str, profile: Profile) -> String {
    let (mut cases, mut tests, mut failures) = (String::new(), 0, 0);
    let group = match profile {
        Profile::Mcp(_) => "MCP",
        Profile::Lsp => "LSP",
        Profile::A2a => "A2A",
        Profile::Eth => "ETH",
        _ => "RPC",
    };
    for rule in rules() {
        let broken: Vec<&Finding> = findings.iter().filter(|finding| finding.rule.id == rule.id).collect();
        if broken.is_empty() && !rule.id.starts_with("RPC") && !rule.id.starts_with(group) {
            continue;
        }
        tests += 1;
        let name = xml(&format!("{}: {}", rule.id, rule.title));
        let _ = write!(cases, "    <testcase classname=\"{}\" name=\"{name}\"", xml(file));
        if broken.is_empty() {
            cases.push_str("/>\n");
            continue;
        }
        let text: String = broken.iter().map(|finding| line(finding, file)).collect();
        // A note does not fail the test.
        match broken.iter().any(|finding| finding.severity > Severity::Note) {
            true => {
                failures += 1;
                let message = xml(&broken[0].what);
                let _ = writeln!(
                    cases,
                    ">\n      <failure type=\"{}\" message=\"{message}\">{}</failure>\n    </testcase>",
                    broken[0].severity,
                    xml(&text)
                );
            }
            false => {
                let _ = writeln!(cases, ">\n      <system-out>{}</system-out>\n    </testcase>", xml(&text));
            }
        }
    }
    let counts = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\"");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n  \
         <testsuite name=\"sabir check {}\" {counts}>\n{cases}  </testsuite>\n</testsuites>\n",
        xml(file)
    )
}

fn line(finding: &Finding, file: &str) -> String {
    let excerpt = &finding.excerpt.text;
    format!(
        "{file}:{}:{}: {}: {}\n  {excerpt}\n",
        finding.line, finding.column, finding.severity, finding.what
    )
}
