//! Reads captures as nodes of a graph. Several are read side by side, in the order of their times.

use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, SystemTime};

use sabir_model::capture::{Damage, ReadError, Reader, Record, What};
use sabir_model::graph::{GraphMapper, Node};

use crate::args::GraphArgs;
use crate::exit::Failure;
use crate::print::Printer;
use crate::rotated::Rotated;

/// A capture, read as far as its next record.
struct Input<'a> {
    file: &'a str,
    reader: Reader<Box<dyn Read>>,
    next: Option<Record<'static>>,
    /// When its session began, and how far it is.
    start: Option<SystemTime>,
    time: Duration,
    damaged: Option<(u64, Damage)>,
    damages: u64,
}

impl<'a> Input<'a> {
    fn open(file: &'a str) -> Result<Self, Failure> {
        let input: Box<dyn Read> = match file {
            "-" => Box::new(io::stdin().lock()),
            path => {
                let files = Rotated::open(Path::new(path));
                Box::new(files.map_err(|error| unreadable(file, &error.into()))?)
            }
        };
        let reader = Reader::new(input).map_err(|error| unreadable(file, &error))?;
        let time = Duration::ZERO;
        Ok(Input { file, reader, next: None, start: None, time, damaged: None, damages: 0 })
    }

    /// When its next record was written.
    fn due(&self) -> Option<SystemTime> {
        self.start?.checked_add(self.time)
    }

    /// Goes on to the next record.
    fn advance(&mut self) -> Result<(), Failure> {
        let next = self.reader.next().map_err(|error| unreadable(self.file, &error))?;
        self.next = next.map(Record::into_owned);
        if let Some(record) = &self.next {
            if let What::Start(header) = &record.what {
                self.start = header.started();
                self.time = Duration::ZERO;
            }
            self.time = record.time.unwrap_or(self.time);
        }
        Ok(())
    }

    fn note(damaged: &mut Option<(u64, Damage)>, damages: &mut u64, record: &Record<'_>) {
        if let What::Damage(damage) = &record.what {
            *damages += 1;
            damaged.get_or_insert_with(|| (record.line, damage.clone()));
        }
    }

    /// Reports what could not be read.
    fn report(&self, printer: &Printer, is_alone: bool) {
        let whose = if is_alone { String::new() } else { format!("{}: ", self.file) };
        if let Some((line, damage)) = &self.damaged {
            let others = match self.damages {
                1 => String::new(),
                2 => " and one more".to_owned(),
                _ => format!(" and {} more", self.damages - 1),
            };
            printer.note(&format!("{whose}skipped line {line}{others}: {damage}"));
        }
        if self.reader.torn() {
            printer.note(&format!("{whose}skipped the last line: it is incomplete"));
        }
    }
}

/// Reads the captures to their ends, and reports what could not be read.
pub(super) fn read<E>(
    args: &GraphArgs,
    printer: &Printer,
    mut sink: impl FnMut(&Node<'_>) -> Result<(), E>,
) -> Result<(), Failure>
where
    Failure: From<E>,
{
    if args.files.iter().filter(|file| *file == "-").count() > 1 {
        return Err(Failure::usage("standard input (-) can be given once"));
    }
    if let [file] = args.files.as_slice() {
        let mut input = Input::open(file)?;
        let mut mapper = GraphMapper::new();
        while let Some(record) = input.reader.next().map_err(|error| unreadable(file, &error))? {
            Input::note(&mut input.damaged, &mut input.damages, &record);
            mapper.handle(&record, &mut sink)?;
        }
        input.report(printer, true);
        return Ok(());
    }
    let mut inputs = args.files.iter().map(|file| Input::open(file)).collect::<Result<Vec<_>, _>>()?;
    let name = |file: &String| {
        Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or(file.as_str()).to_owned()
    };
    let mut mapper = GraphMapper::of_captures(args.files.iter().map(name));
    for input in &mut inputs {
        input.advance()?;
    }
    // A capture without a date comes before the others, whole.
    let earliest = |inputs: &[Input<'_>]| {
        let waiting = inputs.iter().enumerate().filter(|(_, input)| input.next.is_some());
        waiting.min_by_key(|(number, input)| (input.due(), *number)).map(|(number, _)| number)
    };
    while let Some(number) = earliest(&inputs) {
        let input = &mut inputs[number];
        if let Some(record) = input.next.take() {
            Input::note(&mut input.damaged, &mut input.damages, &record);
            mapper.handle_of(number, &record, &mut sink)?;
        }
        input.advance()?;
    }
    inputs.iter().for_each(|input| input.report(printer, false));
    Ok(())
}

fn unreadable(file: &str, error: &ReadError) -> Failure {
    let file = match file {
        "-" => "standard input".to_owned(),
        path => format!("`{path}`"),
    };
    Failure::file(format_args!("cannot read {file}: {error}"))
}
