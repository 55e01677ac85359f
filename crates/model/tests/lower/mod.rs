//! JSON Schema 2020-12 as draft-07 says the same: as far as our own schemas go, that is a matter of names.

/// Line by line, so that the twin looks like the original.
pub(crate) fn to_draft_07(schema: &str) -> String {
    let mut out = String::new();
    for line in schema.lines() {
        let line = line
            .replace(
                "https://json-schema.org/draft/2020-12/schema",
                "http://json-schema.org/draft-07/schema#",
            )
            .replace("\"$defs\"", "\"definitions\"")
            .replace("\"$anchor\": \"", "\"$id\": \"#")
            .replace("urn:sabir:schema:json-rpc", "urn:sabir:schema:json-rpc:draft-07")
            .replace("urn:sabir:schema:mcp-envelope", "urn:sabir:schema:mcp-envelope:draft-07")
            .replace("\"deprecated\": true, ", "");
        out.push_str(&line);
        out.push('\n');
    }
    out
}
