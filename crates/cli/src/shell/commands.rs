//! What begins with a dot.

/// The commands, what follows them, and what they do.
pub(super) const COMMANDS: [(&str, &str, &str); 4] = [
    (".help", "[NAME]", "this, or what a method, a tool or a prompt takes"),
    (".list", "[TEXT]", "what the peer offers, or what of it has this text in its name"),
    (".notify", "METHOD [ARG]…", "send a notification"),
    (".exit", "", "end; so does Ctrl-D"),
];

/// How lines are typed.
pub(super) const LINES: &str = "\
METHOD [ARG]…    call it: add 2 3, echo text=\"a b\" list:=[1, 2], hover main.c:4:10; `sabir help values` says more
{…}              a message as it is: {\"id\": 1, \"method\": \"add\", \"params\": [2, 3]}; without an id, a notification
Tab              completes names and params; a line that ends inside of JSON or a quote goes on
Ctrl-C           cancels a call, or clears the line
";

/// A line, as what is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Command {
    Nothing,
    Help(Option<String>),
    List(Option<String>),
    Call { method: String, args: Vec<String> },
    Notify { method: String, args: Vec<String> },
    Message(String),
    Exit,
}

pub(super) fn parse(line: &str) -> Result<Command, String> {
    let line = line.trim();
    if line.starts_with(['{', '[']) {
        return Ok(Command::Message(line.to_owned()));
    }
    let words =
        super::words::words(line).map_err(|_| "the line ends inside of JSON or a quote".to_owned())?;
    let mut words = words.into_iter();
    let Some(first) = words.next() else { return Ok(Command::Nothing) };
    let mut one = |command: fn(Option<String>) -> Command| {
        let word = words.next();
        match words.next() {
            None => Ok(command(word)),
            Some(word) => Err(format!("unexpected `{word}` after {first}")),
        }
    };
    match first.as_str() {
        ".help" => one(Command::Help),
        ".list" => one(Command::List),
        ".exit" | ".quit" => Ok(Command::Exit),
        ".notify" => match words.next() {
            Some(method) => Ok(Command::Notify { method, args: words.collect() }),
            None => Err("no method is given: write it as .notify METHOD [ARG]…".to_owned()),
        },
        other if other.starts_with('.') => {
            let near = crate::suggest::nearest(other, COMMANDS.iter().map(|(name, ..)| *name));
            Err(match near {
                Some(near) => format!("there is no command `{other}`: did you mean `{near}`?"),
                None => format!("there is no command `{other}`: .help lists them"),
            })
        }
        _ => Ok(Command::Call { method: first, args: words.collect() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_commands() {
        let call = |method: &str, args: &[&str]| Command::Call {
            method: method.to_owned(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
        };
        for (line, want) in [
            ("", Ok(Command::Nothing)),
            (".help", Ok(Command::Help(None))),
            (".help add", Ok(Command::Help(Some("add".to_owned())))),
            (".list a b", Err("unexpected `b` after .list")),
            ("add 2 3", Ok(call("add", &["2", "3"]))),
            (".notify", Err("no method is given: write it as .notify METHOD [ARG]…")),
            (" {\"id\":1} ", Ok(Command::Message("{\"id\":1}".to_owned()))),
            (".halp", Err("there is no command `.halp`: did you mean `.help`?")),
            (".frobnicate", Err("there is no command `.frobnicate`: .help lists them")),
            (".quit", Ok(Command::Exit)),
        ] {
            assert_eq!(parse(line), want.map_err(str::to_owned), "{line}");
        }
    }
}
