//! Questions to a graph, in SPARQL 1.1: our own by name, or anybody's.

use std::fmt;

use oxrdf::{Literal, Term as Rdf};
use spareval::{CancellationToken, QueryEvaluationError, QueryEvaluator, QueryResults};
use spargebra::SparqlParser;

use crate::files::{QUERIES, Query};
use crate::graph::quads::Facts;
use crate::graph::sparql_text::Survey;
use crate::graph::store::Graph;
use crate::graph::terms::Prefix;

/// Cells of a table, or lines, that an answer may have: they are kept in memory.
const MOST_CELLS: usize = 2_000_000;

/// Bytes of all texts in an answer, for the same reason.
const MOST_TEXT: usize = 256 << 20;

/// Bytes of the stack that a query may use. They are only taken as it grows.
const STACK: usize = 512 << 20;

const MORE_PREFIXES: [(&str, &str); 2] =
    [("rdfs", "http://www.w3.org/2000/01/rdf-schema#"), ("owl", "http://www.w3.org/2002/07/owl#")];

/// Of the names of the capture.
const OWN_PREFIX: &str = "c";

/// What a query came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Of `SELECT`.
    Table(Table),
    /// Of `ASK`.
    Truth(bool),
    /// Of `CONSTRUCT` and `DESCRIBE`: the lines of N-Triples.
    Triples(Vec<String>),
}

/// Rows of cells. A cell may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Option<Cell>>>,
    /// There are more rows than can be kept: of two million cells, or 256 MiB of text.
    pub is_cut: bool,
}

/// What stands in a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// A name.
    Iri(String),
    /// A number, as it is written in JSON.
    Number(String),
    /// Yes or no.
    Truth(bool),
    /// JSON, from params or a result.
    Json(String),
    /// Anything else.
    Text(String),
}

/// Why a query has no answer.
#[derive(Debug)]
#[non_exhaustive]
pub enum QueryError {
    /// It is not SPARQL.
    Syntax(String),
    /// It asks for what no query may: another place than the graph, or too much of the parser.
    Refused(String),
    /// It cannot be executed.
    Evaluation(String),
    /// It was stopped before it was done.
    Stopped,
    /// A single row of the answer, or all lines of a graph, are more than can be kept.
    TooLarge,
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueryError::Syntax(why) => write!(f, "the query is not SPARQL: {why}"),
            QueryError::Refused(why) => write!(f, "the query is refused: {why}"),
            QueryError::Evaluation(why) => write!(f, "the query cannot be executed: {why}"),
            QueryError::Stopped => f.write_str("the query was stopped"),
            QueryError::TooLarge => {
                write!(f, "the answer has more than {MOST_CELLS} lines or {} MiB", MOST_TEXT >> 20)
            }
        }
    }
}

impl std::error::Error for QueryError {}

/// Stops a query, from another thread: nobody can tell beforehand how long one takes.
///
/// ```
/// use sabir_model::graph::{GraphBuilder, QueryError, Stop};
///
/// let graph = GraphBuilder::new("urn:x#").build();
/// let stop = Stop::default();
/// stop.stop();
/// assert!(matches!(graph.query("SELECT * { ?a ?b ?c }", &stop), Err(QueryError::Stopped)));
/// ```
#[derive(Clone, Default)]
pub struct Stop(CancellationToken);

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.0.is_cancelled()).finish()
    }
}

impl Stop {
    /// Ends every query that runs with this within moments, and later ones at once.
    pub fn stop(&self) {
        self.0.cancel();
    }

    /// Fails once it was stopped.
    pub(crate) fn check(&self) -> Result<(), QueryError> {
        if self.0.is_cancelled() { Err(QueryError::Stopped) } else { Ok(()) }
    }
}

/// The query of ours that has this name.
pub fn named_query(name: &str) -> Option<&'static Query> {
    QUERIES.iter().find(|query| query.name == name)
}

impl Graph {
    /// Answers a query. The prefixes `jrpc`, `rpcx`, `mcp`, `mcpx`, `prov`, `rdf`, `rdfs`, `owl` and `xsd`, and `c`
    /// for the names of the graph, need not be declared. It runs until it is done or stopped, on a thread of its own: parser and evaluator call themselves as
    /// deep as the query is long.
    pub fn query(&self, sparql: &str, stop: &Stop) -> Result<Answer, QueryError> {
        // The evaluator looks only where there is something to go through.
        if stop.0.is_cancelled() {
            return Err(QueryError::Stopped);
        }
        let survey = Survey::of(sparql);
        if let Some(why) = survey.refusal(sparql) {
            return Err(QueryError::Refused(why));
        }
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK);
            let answer = thread.spawn_scoped(scope, || self.answer(sparql, &survey, stop));
            let answer = answer.map_err(|error| QueryError::Evaluation(error.to_string()))?;
            answer.join().unwrap_or_else(|_| Err(QueryError::Evaluation("the engine has failed".to_owned())))
        })
    }

    fn answer(&self, sparql: &str, survey: &Survey<'_>, stop: &Stop) -> Result<Answer, QueryError> {
        let syntax = |error: &dyn fmt::Display| QueryError::Syntax(error.to_string());
        let evaluation = |error: QueryEvaluationError| match error {
            QueryEvaluationError::Cancelled => QueryError::Stopped,
            error => QueryError::Evaluation(error.to_string()),
        };
        let mut parser = SparqlParser::new();
        for prefix in Prefix::ALL {
            parser = parser.with_prefix(prefix.label(), prefix.iri()).map_err(|error| syntax(&error))?;
        }
        for (label, iri) in MORE_PREFIXES {
            parser = parser.with_prefix(label, iri).map_err(|error| syntax(&error))?;
        }
        // As in the Turtle of the graph. A base that is not an IRI has no short form there either.
        parser = parser.clone().with_prefix(OWN_PREFIX, self.terms.base()).unwrap_or(parser);
        let query = parser.parse_query(sparql).map_err(|error| {
            let known = Prefix::ALL.iter().map(|prefix| prefix.label());
            let known: Vec<_> =
                known.chain(MORE_PREFIXES.map(|(label, _)| label)).chain([OWN_PREFIX]).collect();
            QueryError::Syntax(match survey.undeclared(&known) {
                Some(prefix) => format!("the prefix `{prefix}` is not declared"),
                None => brief(&error.to_string()),
            })
        })?;
        if query.dataset().is_some() {
            return Err(QueryError::Refused(
                "FROM asks other graphs, and a query reaches only the captures that are given: leave it out"
                    .to_owned(),
            ));
        }
        let evaluator = QueryEvaluator::new().with_cancellation_token(stop.0.clone());
        Ok(match evaluator.prepare(&query).execute(Facts(self)).map_err(evaluation)? {
            QueryResults::Boolean(truth) => Answer::Truth(truth),
            QueryResults::Graph(triples) => {
                let (mut lines, mut room) = (Vec::new(), Room::default());
                for triple in triples {
                    let line = format!("{} .", triple.map_err(evaluation)?);
                    room.take(1, line.len())?;
                    lines.push(line);
                }
                Answer::Triples(lines)
            }
            QueryResults::Solutions(solutions) => {
                let columns: Vec<_> = solutions.variables().iter().map(|v| v.as_str().to_owned()).collect();
                let (mut rows, mut room, mut is_cut) = (Vec::new(), Room::default(), false);
                for row in solutions {
                    let row = row.map_err(evaluation)?;
                    let cells: Vec<_> = row.values().iter().map(|term| term.as_ref().map(cell)).collect();
                    let text = cells.iter().flatten().map(|cell| cell.text().map_or(0, str::len)).sum();
                    match room.take(columns.len().max(1), text) {
                        Ok(()) => rows.push(cells),
                        Err(error) if rows.is_empty() => return Err(error),
                        Err(_) => {
                            is_cut = true;
                            break;
                        }
                    }
                }
                Answer::Table(Table { columns, rows, is_cut })
            }
        })
    }
}

impl Cell {
    /// What is in it, but for yes and no.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Cell::Iri(text) | Cell::Number(text) | Cell::Json(text) | Cell::Text(text) => Some(text),
            Cell::Truth(_) => None,
        }
    }
}

/// What of the room for an answer is taken.
#[derive(Default)]
struct Room {
    cells: usize,
    text: usize,
}

impl Room {
    fn take(&mut self, cells: usize, text: usize) -> Result<(), QueryError> {
        self.cells += cells;
        self.text += text;
        if self.cells > MOST_CELLS || self.text > MOST_TEXT { Err(QueryError::TooLarge) } else { Ok(()) }
    }
}

/// Where the parser stopped, and its own words if it has any. It also lists all that might have stood there, to the
/// last character class; that helps nobody.
fn brief(error: &str) -> String {
    let Some((place, list)) = error.split_once(": expected ") else { return error.to_owned() };
    let words = list.split(", ").find(|item| item.contains(' ') && item.starts_with(char::is_alphabetic));
    match words.filter(|words| !words.starts_with("one of")) {
        Some(words) => format!("{place}: {words}"),
        None => format!("{place}: unexpected input"),
    }
}

fn cell(term: &Rdf) -> Cell {
    match term {
        Rdf::NamedNode(node) => Cell::Iri(node.as_str().to_owned()),
        Rdf::Literal(literal) => literal_cell(literal),
        other => Cell::Text(other.to_string()),
    }
}

fn literal_cell(literal: &Literal) -> Cell {
    let text = literal.value().to_owned();
    let datatype = literal.datatype();
    match datatype.as_str().rsplit_once('#').map(|(_, local)| local) {
        Some("integer" | "decimal" | "double" | "float") => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Cell::Number(json_number(&text)),
            _ => Cell::Text(text),
        },
        Some("boolean") if matches!(&*text, "true" | "1" | "false" | "0") => {
            Cell::Truth(matches!(&*text, "true" | "1"))
        }
        Some("JSON") => Cell::Json(text),
        _ => Cell::Text(text),
    }
}

/// SPARQL's numbers are JSON's, but for a plus sign and for digits that may be missing beside the point.
fn json_number(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = digits.split_at(digits.find(['e', 'E']).unwrap_or(digits.len()));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    [sign, whole, point, fraction, exponent].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spelt_as_in_json() {
        for (text, want) in [
            ("+1", "1"),
            ("-007", "-7"),
            (".5", "0.5"),
            ("5.", "5"),
            ("1.50E3", "1.50E3"),
            ("0", "0"),
            ("-0.0", "-0.0"),
        ] {
            assert_eq!(json_number(text), want);
        }
    }
}
