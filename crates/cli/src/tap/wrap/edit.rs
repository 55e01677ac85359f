//! Puts a tap before a command, and takes it away again, by changes to the text: all else stays as it is written.

use std::ops::Range;

use super::document::{Syntax, Value};
use super::entry::Entry;

/// A part of a text, and what is to be written there.
struct Edit {
    at: Range<usize>,
    text: String,
}

fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.at.start);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for edit in edits {
        out.push_str(&text[done..edit.at.start]);
        out.push_str(&edit.text);
        done = edit.at.end;
    }
    out.push_str(&text[done..]);
    out
}

/// The text with the words of a tap before the command of the entry. `None` if the arguments are not a list.
pub(super) fn wrap(text: &str, entry: &Entry<'_>, tap: &[String]) -> Option<String> {
    let (program, options) = tap.split_first()?;
    let quoted = |word: &String| entry.syntax.quoted(word);
    let command = entry.command.node.span.clone();
    // As it is written, whatever kind of string that is.
    let words: Vec<String> = options.iter().map(quoted).chain([text[command.clone()].to_owned()]).collect();
    let added = match entry.args.map(|args| &args.node) {
        None => missing(text, entry, &words),
        Some(node) => match (&node.value, entry.elements().first()) {
            (Value::List(_), None) => {
                Edit { at: node.span.start + 1..node.span.start + 1, text: words.join(", ") }
            }
            (Value::List(_), Some(first)) => {
                let at = first.span.start;
                let space = indent(&text[node.span.start + 1..at]).unwrap_or(" ");
                let text = words.iter().map(|word| format!("{word},{space}")).collect();
                Edit { at: at..at, text }
            }
            _ => return None,
        },
    };
    Some(apply(text, vec![Edit { at: command, text: quoted(program) }, added]))
}

/// The white space that a line begins with, with its line break, if a text ends with that.
fn indent(before: &str) -> Option<&str> {
    let space = &before[before.trim_end_matches([' ', '\t', '\r', '\n']).len()..];
    let line = space.rfind('\n')?;
    let line = if space[..line].ends_with('\r') { line - 1 } else { line };
    Some(&space[line..])
}

/// Arguments where there are none.
fn missing(text: &str, entry: &Entry<'_>, words: &[String]) -> Edit {
    let (key, value) = (&entry.command.key, &entry.command.node.span);
    let (name, words) = (entry.args_name, words.join(", "));
    let is_inline = entry.syntax == Syntax::Json || text[entry.table.span.clone()].starts_with('{');
    if is_inline {
        let space = indent(&text[..key.start]).unwrap_or(" ");
        let text = match entry.syntax {
            Syntax::Json => format!(",{space}\"{name}\": [{words}]"),
            Syntax::Toml => format!(", {name} = [{words}]"),
        };
        return Edit { at: value.end..value.end, text };
    }
    // Behind the line, which may end with a comment; a key may stand behind others, with points between.
    let before = &text[text[..key.start].rfind('\n').map_or(0, |at| at + 1)..key.start];
    let line = text[value.end..].find('\n').map_or(text.len(), |at| value.end + at);
    let (at, eol) = if text[..line].ends_with('\r') { (line - 1, "\r\n") } else { (line, "\n") };
    Edit { at: at..at, text: format!("{eol}{before}{name} = [{words}]") }
}

/// The text without the tap before the command of the entry. What a person has changed in it stays.
pub(super) fn unwrap(text: &str, entry: &Entry<'_>) -> Option<String> {
    let command = entry.tapped()?;
    let elements = entry.elements();
    let start = elements.first()?.span.start;
    let end = match elements.get(command + 1) {
        Some(next) => next.span.start,
        None => {
            let end = elements.get(command)?.span.end;
            // A comma needs something before it.
            let rest = text[end..].trim_start_matches([' ', '\t', '\r', '\n']);
            if rest.starts_with(',') { text.len() - rest.len() + 1 } else { end }
        }
    };
    let own = text[elements.get(command)?.span.clone()].to_owned();
    let edits = vec![
        Edit { at: entry.command.node.span.clone(), text: own },
        Edit { at: start..end, text: String::new() },
    ];
    Some(apply(text, edits))
}

/// The text with the entry as it was before a tap was put there, if the entry is still as that has left it: `before` and
/// `after` are the texts of then.
pub(super) fn restore(
    text: &str,
    before: &str,
    after: &str,
    path: &[String],
    syntax: Syntax,
) -> Option<String> {
    if text == after {
        return Some(before.to_owned());
    }
    let trees = [text, before, after].map(|text| syntax.parse(text).ok());
    let [Some(now), Some(was), Some(then)] = &trees else { return None };
    let [now, was, then] = [now, was, then].map(|tree| Entry::at(tree, syntax, path));
    let (now, was, then) = (now?, was?, then?);
    let command = |text: &'_ str, entry: &Entry<'_>| text[entry.command.node.span.clone()].to_owned();
    let (own, tap) = (command(before, &was), command(after, &then));
    let (args_now, args_then) = (now.args?.node.span.clone(), then.args?.node.span.clone());
    if command(text, &now) != tap || text[args_now.clone()] != after[args_then.clone()] {
        return None;
    }
    let args = match was.args {
        Some(args) => Edit { at: args_now, text: before[args.node.span.clone()].to_owned() },
        None => {
            // All that was added there.
            let added = (after.len() + own.len()).checked_sub(before.len() + tap.len())?;
            let added_now = args_now.end.checked_sub(added)?..args_now.end;
            let added_then = args_then.end.checked_sub(added)?..args_then.end;
            if text.get(added_now.clone())? != after.get(added_then)? {
                return None;
            }
            Edit { at: added_now, text: String::new() }
        }
    };
    Some(apply(text, vec![Edit { at: now.command.node.span.clone(), text: own }, args]))
}
