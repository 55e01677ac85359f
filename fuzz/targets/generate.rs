//! Clients for hostile documents. Text of a document can change comments and nothing else, names are strings or
//! identifiers, and nothing is in a client that cannot be seen.

use sabir_cli::{Language, client};
use serde_json::Value;

pub(crate) fn run(data: &[u8]) {
    if let Ok(document) = serde_json::from_slice::<Value>(data) {
        check(&document);
    }
}

pub(crate) fn check(document: &Value) {
    let mut tame = document.clone();
    tamed(&mut tame);
    for lang in [Language::Rust, Language::Typescript, Language::Python] {
        let made = |document: &Value| client(&document.to_string(), lang, Some("Client"));
        let (Ok(hostile), Ok(tame)) = (made(document), made(&tame)) else { return };
        let odd = hostile.chars().find(|&c| c != '\n' && (c.is_control() || is_invisible(c)));
        assert_eq!(odd, None, "a {lang:?} client has what cannot be seen:\n{hostile}");
        let (hostile_code, tame_code) = (code(&hostile, lang), code(&tame, lang));
        assert_eq!(hostile_code, tame_code, "text of the document is code in {lang:?}:\n{hostile}");
        if lang == Language::Rust {
            parsed(&hostile, document);
        }
    }
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
}

/// Puts harmless text in the place of all that is only to be read.
fn tamed(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if ["title", "summary", "description"].contains(&name.as_str()) => {
                        *text = "x".to_owned();
                    }
                    value => tamed(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(tamed),
        _ => {}
    }
}

/// What is left without comments, as the language itself finds their ends.
fn code(text: &str, lang: Language) -> String {
    let mut out = String::new();
    let mut rest = text;
    let mut inside = None;
    while let Some(c) = rest.chars().next() {
        let (part, end) = (&rest[..c.len_utf8()], inside);
        let mut len = part.len();
        match (end, lang) {
            (Some(end), _) if rest.starts_with(end) => {
                inside = None;
                len = end.len();
                out.push_str(end);
            }
            (Some("\"" | "'"), _) if c == '\\' => {
                len += rest[1..].chars().next().map_or(0, char::len_utf8);
                out.push_str(&rest[..len]);
            }
            (Some("\"\"\""), _) if c == '\\' => len += rest[1..].chars().next().map_or(0, char::len_utf8),
            (Some("\"" | "'"), _) => {
                assert!(c != '\n', "a string goes over the end of its line:\n{text}");
                out.push(c);
            }
            // What ends a line ends a comment; in TypeScript there are four of them.
            (Some("\n"), Language::Typescript) if "\r\u{2028}\u{2029}".contains(c) => inside = None,
            (Some(_), _) => {}
            (None, Language::Rust | Language::Typescript) if rest.starts_with("//") => inside = Some("\n"),
            (None, Language::Rust | Language::Typescript) if rest.starts_with("/*") => inside = Some("*/"),
            (None, Language::Python) if rest.starts_with("\"\"\"") => {
                inside = Some("\"\"\"");
                len = 3;
            }
            (None, Language::Python) if c == '#' => inside = Some("\n"),
            (None, _) => {
                match c {
                    '"' => inside = Some("\""),
                    // In Rust it is the end of nothing: lifetimes have it.
                    '\'' if !matches!(lang, Language::Rust) => inside = Some("'"),
                    _ => {}
                }
                out.push(c);
            }
        }
        rest = &rest[len..];
    }
    assert_eq!(inside, None, "something never ends:\n{text}");
    let lines =
        out.lines().map(|line| line.trim_end_matches(['"', '*', '/', ' '])).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// Reads it as the compiler does: only what the generator writes is in it, and the names are those of the document.
fn parsed(text: &str, document: &Value) {
    let file = syn::parse_file(text).unwrap_or_else(|error| panic!("not Rust: {error}\n{text}"));
    let mut called = Vec::new();
    for item in &file.items {
        match item {
            syn::Item::Struct(item) => {
                allowed(&item.attrs);
                item.fields.iter().for_each(|field| allowed(&field.attrs));
            }
            syn::Item::Enum(item) => {
                allowed(&item.attrs);
                item.variants.iter().for_each(|variant| allowed(&variant.attrs));
            }
            syn::Item::Type(item) => allowed(&item.attrs),
            syn::Item::Fn(item) => assert_eq!(item.sig.ident, "positions"),
            syn::Item::Impl(item) => {
                allowed(&item.attrs);
                for item in &item.items {
                    let syn::ImplItem::Fn(item) = item else { panic!("not a method:\n{text}") };
                    allowed(&item.attrs);
                    called.extend(method(&item.block));
                }
            }
            _ => panic!("an item that nobody asked for:\n{text}"),
        }
    }
    let methods = document.get("methods").and_then(Value::as_array).into_iter().flatten();
    let wanted: Vec<_> = methods.filter_map(|method| method.get("name")?.as_str()).collect();
    assert_eq!(called, wanted, "{text}");
}

/// Attributes that the generator writes. Documentation has no code that would be run as a test, nor markup.
fn allowed(attributes: &[syn::Attribute]) {
    for attribute in attributes {
        let path = attribute.path().get_ident().map(ToString::to_string).unwrap_or_default();
        assert!(["allow", "deprecated", "derive", "doc", "serde"].contains(&path.as_str()), "#[{path}]");
        if let (syn::Meta::NameValue(pair), "doc") = (&attribute.meta, path.as_str())
            && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(doc), .. }) = &pair.value
        {
            let doc = doc.value();
            let unescaped = doc.replace("\\\\", "").replace("\\<", "").replace("\\[", "");
            let is_code = doc.contains("```") || doc.contains("~~~") || doc.starts_with("     ");
            assert!(!is_code && !unescaped.contains(['<', '[']), "{doc}");
        }
    }
}

/// The name on the wire: the first argument of the last call in a method.
fn method(block: &syn::Block) -> Option<String> {
    let Some(syn::Stmt::Expr(expression, _)) = block.stmts.last() else { return None };
    let expression = match expression {
        syn::Expr::Await(waited) => &*waited.base,
        other => other,
    };
    let syn::Expr::MethodCall(call) = expression else { return None };
    match call.args.first()? {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(name), .. }) => Some(name.value()),
        _ => None,
    }
}
