//! `sabir graph`: a capture as RDF, or the results of a query on it.

mod limit;
mod read;
mod table;

use std::convert::Infallible;
use std::io::Write;

use sabir_model::files::QUERIES;
use sabir_model::graph::{Answer, Graph, GraphBuilder, Writer, named_query, picture};

use crate::args::GraphArgs;
use crate::exit::{Exit, Failure};
use crate::json::escape_controls;
use crate::print::Printer;
use limit::limited;
use read::read;

/// The longest name of a capture in its IRI.
const LONGEST_NAME: usize = 64;

pub(crate) fn run(args: &GraphArgs, printer: &Printer) -> Result<Exit, Failure> {
    let base = match &args.base {
        Some(base) => base.clone(),
        None => base_of(&args.files[0]),
    };
    if let Some(what) = args.svg {
        let graph = load(args, printer, &base)?;
        let drawn = limited(args.timeout, move |stop| picture(&graph, what.into(), stop))?;
        printer.data(&drawn)?;
        return Ok(Exit::Ok);
    }
    match &args.query {
        None => {
            let mut writer = Writer::new(printer.stream(), args.format.into(), &base);
            read(args, printer, |node| writer.write(node))?;
            writer.finish()?;
        }
        Some(query) => {
            let query = sparql(query)?;
            let graph = load(args, printer, &base)?;
            let mut answer = limited(args.timeout, move |stop| graph.query(&query, stop))?;
            if let Answer::Table(table) = &mut answer {
                table::drop_empty(table, "capture");
            }
            let cut = match &answer {
                Answer::Table(table) if table.is_cut => Some(table.rows.len()),
                _ => None,
            };
            let mut out = printer.stream();
            match answer {
                Answer::Truth(truth) => writeln!(out, "{truth}")?,
                Answer::Triples(lines) => {
                    lines.iter().try_for_each(|line| writeln!(out, "{}", escape_controls(line)))?;
                }
                Answer::Table(table) if args.json => table::json(&mut out, &table)?,
                Answer::Table(table) if args.csv => table::csv(&mut out, &table, printer)?,
                Answer::Table(table) if table.rows.is_empty() => printer.note("nothing found"),
                Answer::Table(table) => table::text(&mut out, &table, &base, printer)?,
            }
            out.flush()?;
            if let Some(rows) = cut {
                printer.note(&format!(
                    "only the first {rows} rows are shown, since an answer has up to two million cells and 256 MiB of text: \
                     ask for less, or for the rest with OFFSET in SPARQL"
                ));
            }
        }
    }
    Ok(Exit::Ok)
}

/// All captures as one graph.
fn load(args: &GraphArgs, printer: &Printer, base: &str) -> Result<Graph, Failure> {
    let mut builder = GraphBuilder::new(base);
    read(args, printer, |node| {
        builder.add(node);
        Ok::<(), Infallible>(())
    })?;
    Ok(builder.build())
}

/// For a sink that cannot fail.
impl From<Infallible> for Failure {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// The value of `--query`: a name, a file or the query itself.
fn sparql(typed: &str) -> Result<String, Failure> {
    if let Some(path) = typed.strip_prefix('@') {
        return crate::files::document(std::path::Path::new(path))
            .map_err(|error| Failure::file(format_args!("cannot read `{path}`: {error}")));
    }
    if let Some(query) = named_query(typed) {
        return Ok(query.text.to_owned());
    }
    if typed.contains(|c: char| c.is_whitespace() || c == '{') {
        return Ok(typed.to_owned());
    }
    let names: Vec<_> = QUERIES.iter().map(|query| query.name).collect();
    Err(Failure::usage(format_args!("there is no query `{typed}`"))
        .hint(format_args!("use one of {}; or @FILE; or SPARQL", names.join(", "))))
}

/// An IRI for what is in a file, from the file's name.
fn base_of(file: &str) -> String {
    let name = match file {
        "-" => "stdin",
        path => std::path::Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or("capture"),
    };
    let mut base = "urn:sabir:capture:".to_owned();
    for c in name.chars().take(LONGEST_NAME) {
        base.push(if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' });
    }
    base.push('#');
    base
}
