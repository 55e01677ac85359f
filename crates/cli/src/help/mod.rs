//! `sabir help`: the help of a command, or a topic; and `sabir man`: the same as manual pages.

use std::path::Path;

use clap::{Command, CommandFactory};

use crate::args::{Args, ManArgs};
use crate::exit::{Exit, Failure};
use crate::layout;
use crate::platform::word;
use crate::print::Printer;
use crate::suggest;

/// What is explained besides commands.
const TOPICS: [(&str, &str); 3] = [
    ("targets", include_str!("targets.txt")),
    ("values", include_str!("values.txt")),
    ("filters", include_str!("filters.txt")),
];

/// Lines of the help are not longer, however wide the terminal is.
const WIDEST: usize = 120;

/// The commands, laid out for this terminal; text that goes elsewhere keeps its lines.
pub(crate) fn commands(columns: Option<usize>) -> Command {
    match columns.map(|columns| columns.min(WIDEST)) {
        Some(columns) => {
            let mut command = Args::command().term_width(columns);
            // Before that, commands do not have their texts.
            command.build();
            laid_out(command, columns)
        }
        None => Args::command().term_width(0),
    }
}

/// With what is below the options as wide as the terminal is.
fn laid_out(command: Command, columns: usize) -> Command {
    let command = match command.get_after_help().map(ToString::to_string) {
        Some(text) => command.after_help(layout::help(&text, columns)),
        None => command,
    };
    command.mut_subcommands(|command| laid_out(command, columns))
}

pub(crate) fn run(topic: &[String], printer: &Printer) -> Result<Exit, Failure> {
    let mut command = commands(printer.layout().columns);
    command.build();
    let mut found = &mut command;
    for name in topic {
        if let [name] = topic
            && let Some((_, text)) = TOPICS.iter().find(|(topic, _)| topic == name)
        {
            let columns = printer.layout().columns.map(|columns| columns.min(WIDEST));
            printer
                .page(&columns.map_or_else(|| (*text).to_owned(), |columns| layout::help(text, columns)))?;
            return Ok(Exit::Ok);
        }
        let names: Vec<String> =
            found.get_subcommands().map(|command| command.get_name().to_owned()).collect();
        match found.find_subcommand_mut(name) {
            Some(command) => found = command,
            None => return Err(unknown(name, &names)),
        }
    }
    let help = found.render_long_help();
    let text = match printer.painter().colour {
        true => help.ansi().to_string(),
        false => help.to_string(),
    };
    printer.page(&text)?;
    Ok(Exit::Ok)
}

fn unknown(name: &str, commands: &[String]) -> Failure {
    let names = commands.iter().map(String::as_str).chain(TOPICS.iter().map(|(topic, _)| *topic));
    let failure = Failure::usage(format_args!("there is no help for `{name}`"));
    match suggest::nearest(name, names) {
        Some(near) => failure.hint(format_args!("did you mean {near}?")),
        None => failure.hint("`sabir --help` lists the commands; the topics are targets, values and filters"),
    }
}

/// Prints the page of the program, or writes those of all commands into a folder.
pub(crate) fn man(args: &ManArgs, printer: &Printer) -> Result<Exit, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(Exit::Error, error);
    let command = Args::command();
    match &args.folder {
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page).map_err(|error| failed(&error))?;
            printer.data(&String::from_utf8_lossy(&page))?;
        }
        Some(folder) => {
            std::fs::create_dir_all(folder)
                .and_then(|()| clap_mangen::generate_to(command, folder))
                .map_err(|error| unwritable(folder, &error))?;
            printer.remark(&format!(
                "read them with: man -l {}",
                word(&folder.join("sabir.1").to_string_lossy())
            ));
        }
    }
    Ok(Exit::Ok)
}

fn unwritable(folder: &Path, error: &std::io::Error) -> Failure {
    Failure::file(format_args!("cannot write to `{}`: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_a_group() {
        let mut command = commands(None);
        command.build();
        let help = command.render_help().to_string();
        for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let line =
                help.lines().find(|line| line.trim_start().starts_with(&format!("{} ", command.get_name())));
            assert!(
                line.is_some_and(|line| line.ends_with(&about)),
                "`{}`, `{about}` is not in the groups of args/mod.rs",
                command.get_name()
            );
        }
    }
}
