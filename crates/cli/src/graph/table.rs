//! Prints the rows of a query: for people, as JSON or as CSV.

use std::io::{self, Write};

use sabir_model::graph::{Cell, Table};

use crate::json::escape_controls;
use crate::paint::Paint;
use crate::print::Printer;

/// Decimals of a number in a table for people.
const DECIMALS: usize = 3;

/// The widest that a column is made for its cells. A wider cell stands out of its column: if all were filled up to it, one
/// long argument would be multiplied by the number of rows.
const WIDEST: usize = 60;

/// Prefixes that are shown by their short names.
const PREFIXES: [(&str, &str); 7] = [
    ("http://json-rpc.org/ontology#", "jrpc:"),
    ("urn:sabir:ontology#", "rpcx:"),
    ("http://modelcontextprotocol.io/ontology#", "mcp:"),
    ("urn:sabir:ontology:mcp#", "mcpx:"),
    ("http://www.w3.org/ns/prov#", "prov:"),
    ("urn:sabir:ontology:lsp#", "lspx:"),
    ("urn:sabir:ontology:a2a#", "a2ax:"),
];

/// Leaves out a column that has nothing in it: which capture a line is of is told where there are several.
pub(super) fn drop_empty(table: &mut Table, column: &str) {
    let Some(at) = table.columns.iter().position(|name| name == column) else { return };
    if table.rows.iter().all(|row| row[at].is_none()) {
        table.columns.remove(at);
        table.rows.iter_mut().for_each(|row| drop(row.remove(at)));
    }
}

/// Columns side by side, with names of the capture as short as they can be.
pub(super) fn text(out: &mut impl Write, table: &Table, base: &str, printer: &Printer) -> io::Result<()> {
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(|cell| shown(cell.as_ref(), base)).collect()).collect();
    let widths: Vec<usize> = (0..table.columns.len())
        .map(|i| {
            let cells = rows.iter().map(|row| row[i].chars().count().min(WIDEST));
            cells.fold(table.columns[i].len(), usize::max)
        })
        .collect();
    let to_the_right: Vec<bool> = (0..widths.len())
        .map(|i| table.rows.iter().all(|row| matches!(row[i], None | Some(Cell::Number(_)))))
        .collect();
    let line = |cells: &[String]| {
        let mut line = String::new();
        for (i, cell) in cells.iter().enumerate() {
            let gap = " ".repeat(widths[i].saturating_sub(cell.chars().count()));
            let between = if i == 0 { "" } else { "  " };
            let (before, after) = if to_the_right[i] { (gap.as_str(), "") } else { ("", gap.as_str()) };
            line.extend([between, before, cell, after]);
        }
        line.truncate(line.trim_end().len());
        line
    };
    writeln!(out, "{}", printer.painted(Paint::Key, &line(&table.columns)))?;
    rows.iter().try_for_each(|row| writeln!(out, "{}", line(row)))
}

fn shown(cell: Option<&Cell>, base: &str) -> String {
    match cell {
        None => String::new(),
        Some(Cell::Iri(iri)) => {
            let own = iri.strip_prefix(base).map(str::to_owned);
            let known =
                || PREFIXES.iter().find_map(|(long, short)| Some([short, iri.strip_prefix(long)?].concat()));
            escape_controls(&own.or_else(known).unwrap_or_else(|| iri.clone())).into_owned()
        }
        Some(Cell::Number(number)) => rounded(number),
        Some(Cell::Truth(truth)) => truth.to_string(),
        Some(Cell::Json(text) | Cell::Text(text)) => escape_controls(text).into_owned(),
    }
}

fn rounded(number: &str) -> String {
    match (number.split_once('.'), number.parse::<f64>()) {
        (Some((_, fraction)), Ok(value)) if !fraction.contains(['e', 'E']) => {
            let text = format!("{value:.DECIMALS$}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => number.to_owned(),
    }
}

/// An object for each row, on a line of its own. An empty cell has no member.
pub(super) fn json(out: &mut impl Write, table: &Table) -> io::Result<()> {
    for row in &table.rows {
        let mut before = "{";
        for (column, cell) in table.columns.iter().zip(row) {
            let Some(cell) = cell else { continue };
            write!(out, "{before}{}:", serde_json::Value::from(column.as_str()))?;
            before = ",";
            match cell {
                Cell::Json(text) if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() => {
                    write!(out, "{}", escape_controls(&serde_json::Value::from(text.as_str()).to_string()))?
                }
                Cell::Number(text) | Cell::Json(text) => write!(out, "{}", escape_controls(text))?,
                Cell::Truth(truth) => write!(out, "{truth}")?,
                Cell::Iri(text) | Cell::Text(text) => {
                    write!(out, "{}", escape_controls(&serde_json::Value::from(text.as_str()).to_string()))?
                }
            }
        }
        writeln!(out, "{}", if before == "{" { "{}" } else { "}" })?;
    }
    Ok(())
}

/// As SPARQL's results are written in CSV: the bare values, quoted where they must be. A text that a spreadsheet would take
/// for a formula has an apostrophe before it: peers choose the texts. For a terminal, control characters are escaped.
pub(super) fn csv(out: &mut impl Write, table: &Table, printer: &Printer) -> io::Result<()> {
    let bare = |text: &str| match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    let quoted = |text: &str| match printer.is_terminal() {
        true => bare(&escape_controls(text)),
        false => bare(text),
    };
    let header: Vec<_> = table.columns.iter().map(|column| quoted(column)).collect();
    write!(out, "{}\r\n", header.join(","))?;
    for row in &table.rows {
        let cells: Vec<_> = row
            .iter()
            .map(|cell| match cell {
                None => String::new(),
                Some(Cell::Truth(truth)) => truth.to_string(),
                Some(Cell::Text(text)) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => {
                    quoted(&format!("'{text}"))
                }
                Some(Cell::Iri(text) | Cell::Number(text) | Cell::Json(text) | Cell::Text(text)) => {
                    quoted(text)
                }
            })
            .collect();
        write!(out, "{}\r\n", cells.join(","))?;
    }
    Ok(())
}
