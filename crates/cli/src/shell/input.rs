//! Lines that are typed, with an editor on a terminal, or that come through a pipe.

use std::io::BufRead;
use std::path::PathBuf;
use std::sync::mpsc as std_mpsc;

use rustyline::completion::FilenameCompleter;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor, ExternalPrinter};
use tokio::sync::mpsc;

use super::helper::ShellHelper;
use super::known::Known;
use super::words::words;
use crate::exit::{Exit, Failure};
use crate::json::is_terminal_control;
use crate::platform;
use crate::print::Printer;

/// Lines that are remembered.
const HISTORY: usize = 10_000;

/// Bytes of a history that is read.
const LARGEST_HISTORY: u64 = 16 << 20;

/// Notes that wait to be printed while a line is edited. Others are lost: nobody reads so fast.
const WAITING: usize = 1000;

/// What was typed.
#[derive(Debug)]
pub(super) enum Typed {
    Line(String),
    /// Ctrl-C in a line.
    Interrupted,
    /// A line that is not UTF-8.
    NotText,
    End,
}

/// The thread that reads.
pub(super) struct Input {
    /// Asks for the next line.
    ask: std_mpsc::Sender<()>,
    typed: mpsc::Receiver<Typed>,
    printer: Printer,
    is_terminal: bool,
}

impl Input {
    /// An editor with completion and a history.
    pub(super) fn terminal(prompt: String, known: Known, printer: &Printer) -> Result<Input, Failure> {
        let failed = |error: ReadlineError| {
            Failure::new(Exit::Error, format_args!("cannot read from the terminal: {error}"))
        };
        let config = Config::builder()
            .max_history_size(HISTORY)
            .map_err(failed)?
            .completion_type(CompletionType::List)
            // As most shells do: a line that begins with a space is not remembered.
            .history_ignore_space(true)
            .build();
        let history = FileHistory::with_config(&config);
        let mut editor = Editor::<ShellHelper, FileHistory>::with_history(config, history).map_err(failed)?;
        let (painter, files) = (printer.painter(), FilenameCompleter::new());
        editor.set_helper(Some(ShellHelper { known, painter, files }));
        let mut outlet = editor.create_external_printer().map_err(failed)?;
        // In a thread of its own: what is printed may have to wait for the next line.
        let (notes, waiting) = std_mpsc::sync_channel::<String>(WAITING);
        std::thread::spawn(move || {
            while let Ok(note) = waiting.recv() {
                if outlet.print(note).is_err() {
                    return;
                }
            }
        });
        printer.set_outlet(move |text| {
            let _ = notes.try_send(format!("{text}\n"));
        });
        let (ask, asked) = std_mpsc::channel();
        let (send, typed) = mpsc::channel(1);
        std::thread::spawn(move || edit(editor, &prompt, &asked, &send));
        Ok(Input { ask, typed, printer: printer.clone(), is_terminal: true })
    }

    /// Whatever is in the pipe.
    pub(super) fn pipe(printer: &Printer) -> Input {
        let (ask, asked) = std_mpsc::channel();
        let (send, typed) = mpsc::channel(1);
        std::thread::spawn(move || read(&asked, &send));
        Input { ask, typed, printer: printer.clone(), is_terminal: false }
    }

    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The next line. What is printed meanwhile does not disturb it.
    pub(super) async fn next(&mut self) -> Typed {
        self.printer.set_editing(self.is_terminal);
        let typed = match self.ask.send(()) {
            Ok(()) => self.typed.recv().await.unwrap_or(Typed::End),
            Err(_) => Typed::End,
        };
        self.printer.set_editing(false);
        typed
    }
}

fn edit(
    mut editor: Editor<ShellHelper, FileHistory>,
    prompt: &str,
    asked: &std_mpsc::Receiver<()>,
    send: &mpsc::Sender<Typed>,
) {
    let history = history_file();
    if let Some(path) = &history {
        let _ = editor.load_history(path);
    }
    let mut ahead = String::new();
    while asked.recv().is_ok() {
        // The editor would show the first character alone until the next key is pressed.
        ahead = edited(&(ahead + &platform::typed_ahead().unwrap_or_default()));
        let (first, is_whole) = next_line(&mut ahead);
        let line = match words(&first) {
            Ok(words) if is_whole && !words.is_empty() => Ok(first),
            _ => editor.readline_with_initial(prompt, (&first, "")),
        };
        let typed = match line {
            Ok(line) => {
                let is_new = editor.add_history_entry(line.as_str()).unwrap_or(false);
                // At once: the program may be ended in any way.
                if let (true, Some(path)) = (is_new, &history) {
                    let _ = editor.append_history(path);
                }
                Typed::Line(line)
            }
            Err(ReadlineError::Interrupted) => Typed::Interrupted,
            Err(_) => Typed::End,
        };
        if send.blocking_send(typed).is_err() {
            return;
        }
    }
}

/// What was typed ahead as the editor would have it: keys that edit do so, and others that are not text are left out, such as
/// the arrows and the marks around what is pasted.
fn edited(keys: &str) -> String {
    const INTERRUPT: char = '\x03';
    const KILL: char = '\x15';
    const RUBOUT: [char; 2] = ['\x08', '\x7f'];
    let is_line_end = |c: char| matches!(c, '\r' | '\n');
    let mut out = String::new();
    let mut keys = keys.chars();
    while let Some(c) = keys.next() {
        match c {
            '\x1b' => match keys.next() {
                // A sequence ends with a letter or `~`.
                Some('[') => drop(keys.find(|c| matches!(c, '@'..='~'))),
                Some('O') => drop(keys.next()),
                _ => {}
            },
            INTERRUPT => out.clear(),
            KILL => out.truncate(out.rfind(is_line_end).map_or(0, |end| end + 1)),
            c if RUBOUT.contains(&c) && out.ends_with(is_line_end) => {}
            c if RUBOUT.contains(&c) => drop(out.pop()),
            '\t' => out.push(' '),
            c if is_line_end(c) || !is_terminal_control(c) => out.push(c),
            _ => {}
        }
    }
    out
}

/// Takes the first line of what was typed ahead. Whether Enter was pressed behind it.
fn next_line(ahead: &mut String) -> (String, bool) {
    let Some(end) = ahead.find(['\r', '\n']) else { return (std::mem::take(ahead), false) };
    let rest = ahead.split_off(end + 1);
    let mut line = std::mem::replace(ahead, rest);
    line.truncate(end);
    (line, true)
}

/// The editor lets nobody else read the file.
fn history_file() -> Option<PathBuf> {
    let folder = platform::state_folder()?.join("sabir");
    std::fs::create_dir_all(&folder).ok()?;
    let path = folder.join("shell_history");
    // A pipe would block, and the editor reads all that there is.
    match std::fs::metadata(&path) {
        Ok(about) => (about.is_file() && about.len() <= LARGEST_HISTORY).then_some(path),
        Err(_) => Some(path),
    }
}

fn read(asked: &std_mpsc::Receiver<()>, send: &mpsc::Sender<Typed>) {
    // Bytes: a line that is not UTF-8 must not end the input.
    let mut lines = std::io::stdin().lock().split(b'\n');
    while asked.recv().is_ok() {
        let mut text = String::new();
        let typed = loop {
            match lines.next() {
                Some(Ok(line)) => {
                    let Ok(line) = std::str::from_utf8(line.strip_suffix(b"\r").unwrap_or(&line)) else {
                        break Typed::NotText;
                    };
                    text.push_str(line);
                    if words(&text).is_ok() {
                        break Typed::Line(text);
                    }
                    text.push('\n');
                }
                // Its last line is told that it has no end.
                _ if !text.is_empty() => break Typed::Line(text),
                _ => break Typed::End,
            }
        };
        if send.blocking_send(typed).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_no_text_stay_out_of_the_line() {
        for (keys, want) in [
            ("add 2 3\r", "add 2 3\r"),
            ("\x1b[200~add\x1b[201~", "add"),
            ("adx\x7fd\x1b[A\x1bOP\x1bf 2", "add 2"),
            ("one\rtwo\x15three", "one\rthree"),
            ("\x7fone\r\x7f", "one\r"),
            ("one\rtwo\x03three\x04", "three"),
            ("a\tb\x1b", "a b"),
        ] {
            assert_eq!(edited(keys), want, "{keys:?}");
        }
        let mut ahead = "one\rtwo".to_owned();
        assert_eq!(next_line(&mut ahead), ("one".to_owned(), true));
        assert_eq!(next_line(&mut ahead), ("two".to_owned(), false));
    }
}
