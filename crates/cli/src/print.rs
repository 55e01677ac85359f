//! The only place that prints. Data goes to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sabir::{ErrorObject, RawJson};
use sabir_proto::Line;

use crate::exit::Failure;
use crate::json::{abridged, compact, escape_controls, escape_lines, pretty};
use crate::layout::{Layout, fitting};
use crate::pager;
use crate::paint::{Paint, Painter};
use crate::platform::enable_colour;

/// Progress is shown only after this time.
const BEFORE_PROGRESS: Duration = Duration::from_millis(500);

/// One after the other, while something is awaited.
const SPINNER: [char; 4] = ['|', '/', '-', '\\'];

/// How long each is shown.
const TURN: Duration = Duration::from_millis(100);

/// Characters of the bar.
const BAR: usize = 30;

/// Columns of what is said beside it.
const MESSAGE: usize = 40;

/// Prints to standard output and standard error, each in its own style.
#[derive(Debug, Clone)]
pub(crate) struct Printer {
    out: Stream,
    err: Stream,
    bar: Arc<Mutex<Bar>>,
    /// Standard error is a transcript.
    commented: Arc<AtomicBool>,
    /// Whether what is longer than the terminal is shown page by page.
    pages: bool,
    editor: Arc<LineEditor>,
}

/// An editor of lines, which has the terminal while a line is typed.
#[derive(Default)]
struct LineEditor {
    editing: AtomicBool,
    outlet: Mutex<Option<Outlet>>,
}

/// Prints lines beside the one that is typed.
type Outlet = Box<dyn FnMut(&str) + Send>;

impl std::fmt::Debug for LineEditor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineEditor").field("editing", &self.editing).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy)]
struct Stream {
    terminal: bool,
    painter: Painter,
}

#[derive(Debug)]
struct Bar {
    start: Instant,
    drawn: bool,
    /// A person is asked something: nothing is drawn over the question.
    paused: bool,
    /// Progress is shown: it says more than that something is awaited.
    progresses: bool,
}

impl Printer {
    /// `pages` is whether long output may be shown page by page.
    pub(crate) fn new(pages: bool) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let plain_terminal = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let plain = set("NO_COLOR") || plain_terminal;
        let stream = |terminal| Stream {
            terminal,
            painter: Painter { colour: terminal && !plain && enable_colour() },
        };
        Printer {
            out: stream(io::stdout().is_terminal()),
            err: stream(io::stderr().is_terminal()),
            bar: Arc::new(Mutex::new(Bar {
                start: Instant::now(),
                drawn: false,
                paused: false,
                progresses: false,
            })),
            commented: Arc::default(),
            pages: pages && !plain_terminal,
            editor: Arc::default(),
        }
    }

    /// A value: pretty on a terminal, one line in a pipe.
    pub(crate) fn value(&self, value: &RawJson<'_>) -> io::Result<()> {
        if self.out.terminal {
            self.page(&pretty(&abridged(value.as_str()), self.out.painter))
        } else {
            self.json(value.as_str())
        }
    }

    /// JSON on one line. Control characters are escaped in a pipe, too: what comes next may be a terminal.
    pub(crate) fn json(&self, text: &str) -> io::Result<()> {
        self.data(&compact(text))
    }

    /// From now on, messages on standard error are comments in a transcript.
    pub(crate) fn say_in_comments(&self) {
        self.commented.store(true, Ordering::Relaxed);
    }

    /// Paints for standard output, for data that is laid out elsewhere.
    pub(crate) fn painter(&self) -> Painter {
        self.out.painter
    }

    /// Paints for standard error, and how wide that is if it is a terminal.
    pub(crate) fn error_style(&self) -> (Painter, Option<usize>) {
        let size = self.err.terminal.then(|| terminal_size::terminal_size_of(io::stderr())).flatten();
        (self.err.painter, size.map(|(columns, _)| columns.0.into()))
    }

    /// How data is laid out that is for people.
    pub(crate) fn layout(&self) -> Layout {
        let columns = self.out.terminal.then(terminal_size::terminal_size).flatten();
        Layout { painter: self.out.painter, columns: columns.map(|(columns, _)| columns.0.into()) }
    }

    /// Data that may be long: on a terminal it is shown page by page if it does not fit.
    pub(crate) fn page(&self, text: &str) -> io::Result<()> {
        let size = terminal_size::terminal_size().filter(|_| self.out.terminal && self.pages);
        if let Some((columns, rows)) = size
            && pager::is_longer(text, columns.0.into(), rows.0.into())
        {
            self.clear_bar();
            if pager::show(text) {
                return Ok(());
            }
        }
        self.data(text)
    }

    /// One line, or more, of data as they are.
    pub(crate) fn data(&self, text: &str) -> io::Result<()> {
        self.clear_bar();
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        if !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        out.flush()
    }

    /// For data that is too much for one string.
    pub(crate) fn stream(&self) -> io::BufWriter<io::StdoutLock<'static>> {
        self.clear_bar();
        io::BufWriter::with_capacity(1 << 16, io::stdout().lock())
    }

    /// Whether data goes to a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.out.terminal
    }

    /// Text for standard output, in its colour.
    #[cfg(feature = "graph")]
    pub(crate) fn painted(&self, paint: Paint, text: &str) -> String {
        let mut out = String::new();
        self.out.painter.paint(&mut out, paint, text);
        out
    }

    /// A line of a transcript that is the data itself.
    pub(crate) fn transcript(&self, line: &Line<'_>) -> io::Result<()> {
        self.data(&painted(line, self.out.painter))
    }

    /// A line of a transcript beside the data.
    pub(crate) fn trace(&self, line: &Line<'_>) {
        let text = painted(line, self.err.painter);
        if !self.beside(&text) {
            self.clear_bar();
            let _ = writeln!(io::stderr().lock(), "{text}");
        }
    }

    /// From now on, what is told while a line is edited goes there.
    pub(crate) fn set_outlet(&self, outlet: impl FnMut(&str) + Send + 'static) {
        *self.editor.outlet.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(outlet));
    }

    /// A line is being edited, or not any more.
    pub(crate) fn set_editing(&self, editing: bool) {
        self.editor.editing.store(editing, Ordering::SeqCst);
    }

    pub(crate) fn is_editing(&self) -> bool {
        self.editor.editing.load(Ordering::SeqCst)
    }

    /// Prints beside the line that is being edited. `false` if there is none.
    fn beside(&self, text: &str) -> bool {
        if !self.is_editing() {
            return false;
        }
        let mut outlet = self.editor.outlet.lock().unwrap_or_else(PoisonError::into_inner);
        outlet.as_mut().map(|outlet| outlet(text)).is_some()
    }

    /// The peer's error. `whose` is the id of the call in a batch; the hint says what to try.
    pub(crate) fn rpc_error(&self, whose: Option<&str>, error: &ErrorObject, hint: Option<&str>) {
        let mut text = String::new();
        self.err.painter.paint(&mut text, Paint::Error, "error:");
        if let Some(whose) = whose {
            text.push_str(&format!(" call {}:", escape_controls(whose)));
        }
        text.push_str(&format!(" {} {}", error.code, escape_controls(&error.message)));
        if let Some(data) = &error.data {
            text.push('\n');
            text.push_str(&pretty(data.as_str(), self.err.painter));
        }
        self.add_hint(&mut text, hint);
        self.tell(&text);
    }

    fn add_hint(&self, text: &mut String, hint: Option<&str>) {
        if let Some(hint) = hint {
            text.push('\n');
            self.err.painter.paint(text, Paint::Hint, "hint:");
            text.push_str(&format!(" {}", escape_controls(hint)));
        }
    }

    pub(crate) fn hint(&self, hint: &str) {
        let mut text = String::new();
        self.err.painter.paint(&mut text, Paint::Hint, "hint:");
        self.tell(&format!("{text} {}", escape_controls(hint)));
    }

    pub(crate) fn failure(&self, failure: &Failure) {
        if failure.what.is_empty() {
            return;
        }
        let mut text = String::new();
        self.err.painter.paint(&mut text, Paint::Error, "error:");
        // Lines of its own are indented: none can be taken for another message.
        text.push_str(&format!(" {}", escape_lines(&failure.what).replace('\n', "\n  ")));
        self.add_hint(&mut text, failure.hint.as_deref());
        self.tell(&text);
    }

    /// Whether there is a person to ask.
    pub(crate) fn can_ask(&self) -> bool {
        self.err.terminal && io::stdin().is_terminal()
    }

    /// Asks the person at the terminal. `None` at the end of the input.
    pub(crate) async fn ask(&self, question: &str) -> Option<String> {
        self.set_paused(true);
        self.clear_bar();
        let mut text = String::new();
        self.err.painter.paint(&mut text, Paint::Hint, &escape_controls(question));
        let _ = write!(io::stderr().lock(), "{text}");
        // A thread of its own: a read of a terminal cannot be ended.
        let read = tokio::task::spawn_blocking(|| {
            let mut line = String::new();
            let read = io::stdin().read_line(&mut line);
            read.ok().filter(|count| *count > 0).map(|_| line)
        });
        let line = read.await.ok().flatten();
        self.set_paused(false);
        line
    }

    fn set_paused(&self, paused: bool) {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner).paused = paused;
    }

    /// Whether progress is shown.
    pub(crate) fn draws_progress(&self) -> bool {
        self.err.terminal
    }

    /// Information beside the result.
    pub(crate) fn note(&self, text: &str) {
        let mut painted = String::new();
        self.err.painter.paint(&mut painted, Paint::Why, &escape_controls(text));
        self.tell(&painted);
    }

    /// Information that only a person needs: it is not shown in a pipe.
    pub(crate) fn remark(&self, text: &str) {
        if self.err.terminal {
            self.note(text);
        }
    }

    /// Shows that something is awaited, on a terminal and if it takes long, until it is dropped.
    pub(crate) fn waiting(&self, what: impl Into<String>) -> Waiting {
        let (bar, what) = (self.bar.clone(), what.into());
        let task = self.err.terminal.then(|| {
            tokio::spawn(async move {
                tokio::time::sleep(BEFORE_PROGRESS).await;
                for turn in SPINNER.iter().cycle() {
                    let columns =
                        terminal_size::terminal_size().map_or(80, |(columns, _)| usize::from(columns.0));
                    let what = fitting(&escape_controls(&what), columns.saturating_sub(3));
                    bar.lock().unwrap_or_else(PoisonError::into_inner).turn(&format!("{turn} {what}"));
                    tokio::time::sleep(TURN).await;
                }
            })
        });
        Waiting { task, bar: self.bar.clone() }
    }

    /// A progress bar, on a terminal and if the call takes long. `total` may be unknown.
    pub(crate) fn progress(&self, done: f64, total: Option<f64>, message: &str) {
        let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.err.terminal || bar.start.elapsed() < BEFORE_PROGRESS {
            return;
        }
        let text = match total.filter(|total| *total > 0.0) {
            Some(total) => {
                let part = (done / total).clamp(0.0, 1.0);
                let full = (part * BAR as f64) as usize;
                format!("[{}{}] {:3.0} %", "#".repeat(full), "-".repeat(BAR - full), part * 100.0)
            }
            // Others have hundreds of digits.
            None if done.abs() < 1e15 => format!("{done}"),
            None => format!("{done:e}"),
        };
        let columns =
            terminal_size::terminal_size_of(io::stderr()).map_or(80, |(columns, _)| columns.0.into());
        let text = format!("{text} {}", fitting(&escape_controls(message), MESSAGE));
        bar.progresses = true;
        bar.draw(&fitting(&text, usize::saturating_sub(columns, 1)));
    }

    /// One line on a terminal that replaces the last one, for what changes all the time.
    pub(crate) fn status(&self, text: &str) {
        if self.err.terminal {
            let columns =
                terminal_size::terminal_size_of(io::stderr()).map_or(80, |(columns, _)| columns.0.into());
            let text = fitting(&escape_controls(text), usize::saturating_sub(columns, 1));
            self.bar.lock().unwrap_or_else(PoisonError::into_inner).draw(&text);
        }
    }

    /// Takes that line away.
    pub(crate) fn end_status(&self) {
        self.clear_bar();
    }

    fn clear_bar(&self) {
        self.bar.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Errors are ignored: there is nowhere else to report them.
    fn tell(&self, text: &str) {
        if self.beside(text) {
            return;
        }
        self.clear_bar();
        let mut err = io::stderr().lock();
        match self.commented.load(Ordering::Relaxed) {
            true => text.lines().for_each(|line| {
                let _ = writeln!(err, "# {line}");
            }),
            false => {
                let _ = writeln!(err, "{text}");
            }
        }
    }
}

/// Something is awaited.
#[derive(Debug)]
pub(crate) struct Waiting {
    task: Option<tokio::task::JoinHandle<()>>,
    bar: Arc<Mutex<Bar>>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
            let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
            bar.clear();
            bar.progresses = false;
        }
    }
}

impl Bar {
    /// Shows that something is awaited, unless its progress is shown.
    fn turn(&mut self, text: &str) {
        if !self.progresses {
            self.draw(text);
        }
    }

    fn draw(&mut self, text: &str) {
        if self.paused {
            return;
        }
        self.drawn = true;
        let _ = write!(io::stderr().lock(), "\r\x1b[K{text}");
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.drawn) {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// The terminal is left as it was, whichever way the program ends.
impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

fn painted(line: &Line<'_>, painter: Painter) -> String {
    let paint = match line {
        Line::ToServer(_) | Line::BytesToServer(_) => Paint::Sent,
        Line::ToClient(_) | Line::BytesToClient(_) => Paint::Came,
        Line::Time(_) | Line::Event(_) => Paint::Word,
        Line::Comment(_) | Line::Blank => Paint::Why,
    };
    let text = line.to_string();
    let mut out = String::new();
    if !text.is_empty() {
        painter.paint(&mut out, paint, &escape_controls(&text));
    }
    out
}
