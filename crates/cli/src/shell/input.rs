//! Lines that are typed, with an editor on a terminal, or that come through a pipe.

use std::collections::VecDeque;
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
use super::words::{add_line, statements};
use crate::exit::{Exit, Failure};
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

/// What becomes of the lines that were pasted together with the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pasted {
    Next,
    Dropped,
}

/// The thread that reads.
pub(super) struct Input {
    /// Asks for the next line.
    ask: std_mpsc::Sender<Pasted>,
    pasted: Pasted,
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
        Ok(Input { ask, pasted: Pasted::Next, typed, printer: printer.clone(), is_terminal: true })
    }

    /// Whatever is in the pipe.
    pub(super) fn pipe(printer: &Printer) -> Input {
        let (ask, asked) = std_mpsc::channel();
        let (send, typed) = mpsc::channel(1);
        std::thread::spawn(move || read(&asked, &send));
        Input { ask, pasted: Pasted::Next, typed, printer: printer.clone(), is_terminal: false }
    }

    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Lines that were pasted together with the last one are not wanted.
    pub(super) fn drop_pasted(&mut self) {
        self.pasted = Pasted::Dropped;
    }

    /// The next line. What is printed meanwhile does not disturb it.
    pub(super) async fn next(&mut self) -> Typed {
        self.printer.set_editing(self.is_terminal);
        let pasted = std::mem::replace(&mut self.pasted, Pasted::Next);
        let typed = match self.ask.send(pasted) {
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
    asked: &std_mpsc::Receiver<Pasted>,
    send: &mpsc::Sender<Typed>,
) {
    let history = history_file();
    if let Some(path) = &history {
        let _ = editor.load_history(path);
    }
    let mut pasted = VecDeque::new();
    while let Ok(what) = asked.recv() {
        if what == Pasted::Dropped {
            pasted.clear();
        }
        let line = match pasted.pop_front() {
            Some(line) => Ok(line),
            // A paste is shown whole, and entered by one key.
            None => editor.readline(prompt).map(|text| {
                pasted = statements(&text);
                pasted.pop_front().unwrap_or_default()
            }),
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

fn read(asked: &std_mpsc::Receiver<Pasted>, send: &mpsc::Sender<Typed>) {
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
                    if let Some(statement) = add_line(&mut text, line) {
                        break Typed::Line(statement);
                    }
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
