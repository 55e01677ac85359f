//! `sabir shell`: one session, and a line for each call.

mod commands;
mod helper;
mod input;
mod interrupted;
mod known;
mod words;

use std::sync::Arc;
use std::time::Duration;

use commands::{COMMANDS, Command, LINES};
use input::{Input, Typed};
use interrupted::Interrupted;
use known::Known;
use sabir::{CallError, RawJson, Report};
use tokio::time::Instant;

use crate::args::ShellArgs;
use crate::call::{Output, Progress, error_text, explain};
use crate::detect::Watch;
use crate::discovery;
use crate::exit::{Exit, Failure};
use crate::json::compact;
use crate::layout::{self, Table};
use crate::paint::Paint;
use crate::peer::{Chosen, PeerOptions};
use crate::print::Printer;
use crate::session::{Answers, CallFailure, Listener, OnProgress, Opening, Protocol, Session};
use crate::stop;
use crate::target::Target;
use crate::values::Arguments;
use crate::verbose;

/// How long the last messages may take to be sent.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// Characters of a prompt, and of a note.
const LONGEST_PROMPT: usize = 30;
const LONGEST_NOTE: usize = 2000;

pub(crate) async fn run(args: ShellArgs, printer: &Printer) -> Result<Exit, Failure> {
    let mut words = args.words.iter();
    let name = words.next();
    let chosen = match (name, args.command.is_empty()) {
        (None, false) => Target::program(args.command.clone())?.into(),
        (Some(target), true) => Chosen::of(target, printer)?,
        (Some(word), false) => return Err(Failure::usage(format_args!("unexpected argument `{word}`"))),
        (None, true) => {
            return Err(Failure::usage("no target is given")
                .hint("try `sabir shell demo:`; `sabir help targets` lists the targets"));
        }
    };
    if let Some(word) = words.next() {
        return Err(Failure::usage(format_args!("unexpected argument `{word}`"))
            .hint("`sabir call TARGET METHOD` makes one call"));
    }
    let explicit = args.session.protocol.or(chosen.protocol);
    let protocol = explicit.or_else(|| Protocol::guess(&chosen.target, ""));
    let mut peer = chosen.peer(&args.session.wire, protocol, Some(args.session.trace))?;
    if args.verbose {
        verbose::show(&mut peer, printer);
    }
    let known = Known::default();
    let is_terminal = printer.can_ask() && printer.is_terminal();
    let answers = Answers::new(&args.answer.answers, is_terminal.then_some(printer))?;
    let name = name.cloned().unwrap_or_else(|| peer.target.to_string());
    let mut shell = Shell::open(peer, protocol, explicit.is_some(), answers, printer).await?;
    let input = match is_terminal {
        true => Input::terminal(prompt(&name), known.clone(), printer),
        false => Ok(Input::pipe(printer)),
    };
    let done = match input {
        Ok(input) => shell.run(input, &known).await,
        Err(failure) => Err(failure),
    };
    shell.session.close(FLUSH_TIMEOUT).await;
    done
}

/// What is connected, as far as it is short.
fn prompt(name: &str) -> String {
    match name.char_indices().nth(LONGEST_PROMPT) {
        Some((end, _)) => format!("{}…> ", &name[..end]),
        None => format!("{name}> "),
    }
}

struct Shell {
    session: Session,
    peer: PeerOptions,
    answers: Answers,
    watch: Watch,
    output: Output,
    printer: Printer,
    interrupted: Interrupted,
}

/// How a line has ended.
enum Done {
    Well,
    /// It failed, and the next one may go on.
    Badly,
    Exit,
}

impl Shell {
    async fn open(
        peer: PeerOptions,
        protocol: Option<Protocol>,
        explicit: bool,
        answers: Answers,
        printer: &Printer,
    ) -> Result<Shell, Failure> {
        let watch = Watch::default();
        let interrupted = Interrupted::default();
        let listener =
            Notes { printer: printer.clone(), traces: peer.traces(), interrupted: interrupted.clone() };
        let opening = Opening {
            peer: &peer,
            protocol,
            explicit: explicit || peer.target == Target::Demo,
            dialect: None,
            answers: answers.clone(),
            listener: Arc::new(listener),
            watch: &watch,
            tap: Some(Box::new(interrupted.tap(peer.wire_framing(), peer.max_size))),
            printer,
        };
        let opened = async {
            let mut session = Session::connect(opening).await?;
            session.begin().await?;
            if protocol.is_none() {
                session.find_out().await;
            }
            Ok(session)
        };
        let session = in_time(&peer, &watch, &answers, opened).await?;
        let output = Output::new(crate::args::ResultArgs::default())?;
        Ok(Shell { session, peer, answers, watch, output, printer: printer.clone(), interrupted })
    }

    async fn run(&mut self, mut input: Input, known: &Known) -> Result<Exit, Failure> {
        if input.is_terminal() {
            self.printer.remark(".help shows what can be typed, Ctrl-D ends");
            let (source, options, known) = (self.session.source(), self.peer.clone(), known.clone());
            tokio::spawn(async move { known.set(discovery::in_session(&source, &options).await) });
        }
        let mut exit = Exit::Ok;
        loop {
            stop::never();
            self.answers.set_busy(true);
            let typed = self.next(&mut input).await?;
            self.answers.set_busy(false);
            let line = match typed {
                Typed::Line(line) => line,
                Typed::Interrupted => continue,
                Typed::NotText => {
                    self.printer.failure(&Failure::usage("a line of the input is not UTF-8: it was skipped"));
                    exit = Exit::Error;
                    continue;
                }
                Typed::End => return Ok(exit),
            };
            let start = Instant::now();
            self.interrupted.next_line();
            match self.line(&line, known).await {
                Ok(Done::Exit) => return Ok(exit),
                Ok(Done::Well) => {}
                // People have seen it; a script is told at its end.
                Ok(Done::Badly) if !input.is_terminal() => exit = Exit::Error,
                Ok(Done::Badly) => {}
                Err(failure) if self.session.peer().cause().is_some() => return Err(failure),
                Err(failure) => {
                    if failure.exit == Exit::Interrupted {
                        if !input.is_terminal() {
                            return Err(failure);
                        }
                        stop::resume();
                        input.drop_pasted();
                        self.interrupted.give_up();
                    }
                    self.printer.failure(&failure);
                    if !input.is_terminal() {
                        exit = Exit::Error;
                    }
                }
            }
            if !line.trim_start().starts_with('.') && !line.trim().is_empty() {
                let time = start.elapsed().as_secs_f64() * 1e3;
                self.printer.remark(&format!("{time:.1} ms"));
            }
        }
    }

    /// The next line. A connection that ends meanwhile is told.
    async fn next(&mut self, input: &mut Input) -> Result<Typed, Failure> {
        let peer = self.session.peer().clone();
        let is_terminal = input.is_terminal();
        let mut typed = std::pin::pin!(input.next());
        tokio::select! {
            biased;
            // An editor cannot be left: the terminal would stay as the editor needs it.
            cause = peer.closed() => {
                let failure = self.peer.closed(&cause.to_string(), &self.watch);
                if is_terminal {
                    self.printer.failure(&failure);
                    self.printer.note("Enter ends");
                    typed.await;
                    return Err(Failure { what: String::new(), hint: None, ..failure });
                }
                match typed.await {
                    Typed::End => Ok(Typed::End),
                    _ => Err(failure),
                }
            }
            typed = &mut typed => Ok(typed),
        }
    }

    async fn line(&mut self, line: &str, known: &Known) -> Result<Done, Failure> {
        match commands::parse(line).map_err(Failure::usage)? {
            Command::Nothing => Ok(Done::Well),
            Command::Exit => Ok(Done::Exit),
            Command::Help(None) => self.help(),
            Command::Help(Some(name)) => {
                self.learn(known).await;
                let page = known.with(|found| crate::describe::text(found, &name, self.printer.layout()));
                self.page(page)
            }
            Command::List(part) => {
                self.learn(known).await;
                let part = part.unwrap_or_default();
                let list = known.with(|found| Ok(crate::list::text(found, &part, self.printer.layout())));
                self.page(list)
            }
            Command::Notify { method, args } => {
                let params = self.session.params(&method, &Arguments::parse(&args)?).await?;
                self.session.notify(&method, params).await?;
                Ok(Done::Well)
            }
            Command::Message(text) => self.message(&text).await,
            Command::Call { method, args } => self.call(&method, &Arguments::parse(&args)?).await,
        }
    }

    fn help(&self) -> Result<Done, Failure> {
        let mut table = Table::bare();
        for (name, args, what) in COMMANDS {
            let name = format!("{name} {args}");
            table.row([(Some(Paint::Key), name), (None, what.to_owned())]);
        }
        let layout = self.printer.layout();
        let lines =
            layout.columns.map_or_else(|| LINES.to_owned(), |columns| layout::help(LINES, columns) + "\n");
        self.printer.data(&format!("{lines}\n{}", table.text(layout)))?;
        Ok(Done::Well)
    }

    /// What the peer offers, if that was not asked yet.
    async fn learn(&self, known: &Known) {
        if known.with(|_| ()).is_none() {
            let source = self.session.source();
            let asked = tokio::time::timeout(self.peer.timeout, discovery::in_session(&source, &self.peer));
            known.set(asked.await.ok().flatten());
        }
    }

    fn page(&self, text: Option<Result<String, Failure>>) -> Result<Done, Failure> {
        let unknown = || Failure::new(Exit::Error, "the peer does not say what it offers");
        self.printer.page(&text.ok_or_else(unknown)??)?;
        Ok(Done::Well)
    }

    /// A message as it is. Its id says whether it is answered; on the wire it has one of the session's.
    async fn message(&mut self, text: &str) -> Result<Done, Failure> {
        let message = RawJson::new(text)
            .map_err(|error| Failure::usage(format_args!("the message is not JSON: {error}")))?;
        let Some(method) = message.get("method").and_then(|method| method.parse::<String>().ok()) else {
            return Err(Failure::usage("the message has no `method`")
                .hint("`sabir call --raw` sends what is not a request, `sabir call --batch` a batch"));
        };
        let args = match message.get("params") {
            Some(params) => Arguments::from_data(params.as_str().as_ref())?,
            None => Arguments::default(),
        };
        match message.get("id") {
            Some(_) => self.call(&method, &args).await,
            None => self.session.notify(&method, args.params()?).await.map(|()| Done::Well),
        }
    }

    async fn call(&mut self, method: &str, args: &Arguments) -> Result<Done, Failure> {
        let draws = self.printer.draws_progress() && matches!(self.session.protocol(), Protocol::Mcp(_));
        let printer = self.printer.clone();
        let on_progress: Option<OnProgress> = draws.then(|| {
            Arc::new(move |value: &RawJson<'static>| Progress::draw_value(value, &printer)) as OnProgress
        });
        let calling = async { Ok(self.session.call(method, args, on_progress.as_ref()).await) };
        let waiting = self.printer.waiting(format!("waiting for {method}"));
        let outcome = in_time(&self.peer, &self.watch, &self.answers, calling).await;
        drop(waiting);
        let outcome = outcome?;
        stop::never();
        match outcome {
            Ok(answer) if answer.is_error() => {
                let hint = explain::tool(&self.session, method, args, &answer).await;
                Err(Failure::new(Exit::Error, error_text(&answer)).hints([hint]))
            }
            Ok(answer) => {
                self.output.put(&answer, &self.printer)?;
                Ok(Done::Well)
            }
            Err(CallFailure::Failed(failure)) => Err(failure),
            Err(CallFailure::Call(CallError::Error(error))) => {
                let hint = explain::hint(&self.session, &self.peer, method, args, &error).await;
                self.printer.rpc_error(None, &error, hint.as_deref());
                Ok(Done::Badly)
            }
            Err(CallFailure::Call(error)) => Err(self.peer.call_failed(&error, &self.watch)),
        }
    }
}

/// Ends the work when the time is up, when the user interrupts it, or when the peer speaks another protocol.
async fn in_time<T>(
    peer: &PeerOptions,
    watch: &Watch,
    answers: &Answers,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut work = std::pin::pin!(work);
    loop {
        let deadline = Instant::now() + peer.timeout;
        match answers.can_ask() {
            true => stop::never(),
            false => stop::at(deadline),
        }
        tokio::select! {
            biased;
            interrupted = stop::interrupted() => return Err(interrupted),
            protocol = watch.mismatch() => return Err(peer.speaks(protocol)),
            done = tokio::time::timeout_at(deadline, &mut work) => match done {
                Ok(done) => return done,
                // The timeout is paused while a person is asked.
                Err(_) if answers.is_asking() || answers.was_heard() => {}
                Err(_) => return Err(peer.timed_out(watch)),
            },
        }
    }
}

/// What the peer says by itself.
struct Notes {
    printer: Printer,
    traces: bool,
    interrupted: Interrupted,
}

impl Notes {
    fn note(&self, text: &str) {
        if !self.traces {
            let short: String = text.chars().take(LONGEST_NOTE).collect();
            let more = if short.len() < text.len() { "…" } else { "" };
            self.printer.note(&format!("{short}{more}"));
        }
    }
}

impl Listener for Notes {
    fn notification(&self, method: &str, params: Option<&RawJson<'static>>) {
        // That of a call goes elsewhere: this is the rest of one that was cancelled.
        if method == "notifications/progress" {
            return;
        }
        // MCP servers send those as they start.
        if method.ends_with("/list_changed") {
            return;
        }
        if self.printer.draws_progress()
            && !self.printer.is_editing()
            && Progress::draw_told(method, params, &self.printer)
        {
            return;
        }
        match params {
            Some(params) => self.note(&format!("notification: {method} {}", compact(params.as_str()))),
            None => self.note(&format!("notification: {method}")),
        }
    }

    fn refused(&self, method: &str) {
        self.note(&format!("the server called `{method}`, which was refused; answer it with --answer"));
    }

    fn report(&self, report: &Report<'_>) {
        if self.interrupted.takes(report) {
            return;
        }
        match report {
            Report::NotJson { text, .. } => {
                self.note(&format!("ignored, not JSON: {}", String::from_utf8_lossy(text)));
            }
            other => self.note(&format!("warning: {other}")),
        }
    }
}
