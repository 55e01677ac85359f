//! Commands to try: how what is described is called, as a person would type it.

use sabir::RawJson;
use sabir::openrpc::Method;

use crate::discovery::words::{example, example_object};
use crate::discovery::{Discovered, DiscoverySource, Kind, Offer};
use crate::platform::word;
use crate::problem::tool_call;

/// The command for a method or a tool; none for what is only described in a file.
pub(super) fn of_method(method: &Method, found: &Discovered) -> Option<String> {
    let (target, name) = (word(&found.source), word(&method.name));
    let line = match found.via {
        DiscoverySource::File => return None,
        DiscoverySource::Mcp => {
            let arguments = RawJson::from_value(&example_object(method)).ok();
            return tool_call(&found.source, &method.name, arguments.as_ref());
        }
        // It would be read as an option.
        _ if method.name.starts_with('-') => return None,
        DiscoverySource::Lsp => match in_file(method) {
            Some(arguments) => return Some(format!("sabir call {target} {name} {arguments}")),
            None => format!("sabir call {target} {name} {}", example(method)),
        },
        _ => {
            let command = if is_subscription(&method.name) { "subscribe" } else { "call" };
            format!("sabir {command} {target} {name} {}", example(method))
        }
    };
    let notify = if method.result.is_none() { " --notify" } else { "" };
    Some(format!("{}{notify}", line.trim_end()))
}

/// The command for a prompt or a resource.
pub(super) fn of_offer(offer: &Offer, found: &Discovered) -> String {
    let mut line = format!("sabir call {}", word(&found.source));
    match offer.kind {
        Kind::Resource => line.push_str(&format!(" {}", word(offer.key()))),
        Kind::Template => line.push_str(&format!(" {}", word(&expanded(offer.key())))),
        Kind::Prompt => {
            line.push_str(&format!(" {}", word(&offer.name)));
            for argument in offer.arguments.iter().filter(|argument| argument.required) {
                line.push_str(&format!(" {}", word(&format!("{}=text", argument.name))));
            }
        }
    }
    line
}

/// The arguments of a method of a language server that is about a file: the file, its place, and what else is needed.
fn in_file(method: &Method) -> Option<String> {
    let has = |name: &str| method.params.iter().any(|param| param.name == name && param.required);
    if !method.name.starts_with("textDocument/") || !has("textDocument") || method.result.is_none() {
        return None;
    }
    let place = if has("position") { "FILE:LINE:COLUMN" } else { "FILE" };
    // `sabir call` fills in the others.
    let given = ["textDocument", "position", "context", "options"];
    let params = method.params.iter().filter(|param| !given.contains(&param.name.as_str())).cloned();
    let rest = example(&Method { params: params.collect(), ..method.clone() });
    Some(format!("{place} {rest}").trim_end().to_owned())
}

fn is_subscription(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.contains("subscribe") && !lower.contains("unsubscribe")
}

/// A URI template with something in the place of its variables.
fn expanded(template: &str) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((expression, after)) = after.split_once('}') else { break };
        out.push_str(before);
        match expression.chars().next() {
            // Parts that need not be there.
            Some('?' | '&' | '#' | ';') => {}
            Some('/') => out.push_str("/1"),
            Some('.') => out.push_str(".1"),
            _ => out.push('1'),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled() {
        for (template, want) in [
            ("demo://resource/{id}", "demo://resource/1"),
            ("a://{x}/b{?q,r}", "a://1/b"),
            ("a:/{/path*}", "a://1"),
            ("a://{x", "a://{x"),
            ("a://x", "a://x"),
        ] {
            assert_eq!(expanded(template), want);
        }
    }

    #[test]
    fn subscriptions_are_known_by_their_names() {
        for (name, want) in
            [("eth_subscribe", true), ("slotSubscribe", true), ("unsubscribe_ticks", false), ("add", false)]
        {
            assert_eq!(is_subscription(name), want, "{name}");
        }
    }
}
