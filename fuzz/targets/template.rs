//! URI templates: the value of a variable cannot step out of its segment. The input is a template and a URI, a line each.

use sabir_mcp::fuzzing::match_template;

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some((template, uri)) = text.split_once('\n') else { return };
    let Ok(Some(variables)) = match_template(template, uri) else { return };
    for (name, value) in &variables {
        let wide = template.contains(&format!("{{+{name}}}"));
        let shown = format!("{value:?} in {name} of {template:?} by {uri:?}");
        assert!(!value.is_empty(), "{shown}");
        assert!(wide || !value.contains(['/', '\\']), "{shown}");
        assert!(!value.split(['/', '\\']).any(|segment| segment == "." || segment == ".."), "{shown}");
        assert!(!value.contains(char::is_control), "{shown}");
    }
    // Written out again with every byte escaped, it is the same URI to the template.
    let mut again = template.to_owned();
    for (name, value) in &variables {
        let escaped: String = value.bytes().map(|byte| format!("%{byte:02x}")).collect();
        again = again.replace(&format!("{{{name}}}"), &escaped).replace(&format!("{{+{name}}}"), &escaped);
    }
    let texts: String =
        template.split('{').map(|part| part.split_once('}').map_or(part, |(_, text)| text)).collect();
    // Unless a text between variables may look like an escaped value.
    let is_clear = !texts.contains(|c: char| c == '%' || c.is_ascii_hexdigit());
    if is_clear && !template.contains("}{") && template.matches('{').count() == variables.len() {
        assert_eq!(match_template(template, &again), Ok(Some(variables)), "{again:?} by {template:?}");
    }
}
