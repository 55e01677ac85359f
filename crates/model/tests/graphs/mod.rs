//! What tests of graphs share: captures made into text, and into graphs.

#![allow(dead_code, clippy::unwrap_used, reason = "each test uses a part of it")]

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};

use sabir_model::capture::Reader;
use sabir_model::files::QUERIES;
use sabir_model::graph::{Answer, Cell, Graph, GraphBuilder, GraphMapper, Stop, Syntax, Writer};

pub(crate) const BASE: &str = "urn:example:session#";

pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("files/examples")
}

pub(crate) fn written(capture: &[u8], syntax: Syntax) -> String {
    let mut reader = Reader::new(capture).unwrap();
    let (mut mapper, mut writer) = (GraphMapper::new(), Writer::new(Vec::new(), syntax, BASE));
    while let Some(record) = reader.next().unwrap() {
        mapper.handle(&record, |node| writer.write(node)).unwrap();
    }
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

pub(crate) fn graph(capture: &[u8]) -> Graph {
    let mut reader = Reader::new(capture).unwrap();
    let (mut mapper, mut builder) = (GraphMapper::new(), GraphBuilder::new(BASE));
    while let Some(record) = reader.next().unwrap() {
        mapper
            .handle(&record, |node| {
                builder.add(node);
                Ok::<(), Infallible>(())
            })
            .unwrap();
    }
    builder.build()
}

pub(crate) fn check_golden(path: &Path, came: &str) {
    if std::env::var_os("UPDATE").is_some() {
        fs::write(path, came).unwrap();
    } else {
        let want = fs::read_to_string(path).unwrap();
        assert_eq!(came, want, "{}: the left side came", path.display());
    }
}

pub(crate) fn shown(cell: Option<&Cell>) -> String {
    match cell {
        None => "-".to_owned(),
        Some(Cell::Iri(text) | Cell::Number(text) | Cell::Json(text) | Cell::Text(text)) => {
            text.strip_prefix(BASE).unwrap_or(text).to_owned()
        }
        Some(Cell::Truth(truth)) => truth.to_string(),
    }
}

/// Each shipped query over captures that have something for it, and over one that has nothing.
pub(crate) fn table(capture: &str, query: &str) -> Vec<String> {
    let text = QUERIES.iter().find(|known| known.name == query).map_or(query, |known| known.text);
    let Answer::Table(table) = graph(capture.as_bytes()).query(text, &Stop::default()).unwrap() else {
        panic!("{query} selects")
    };
    let row =
        |row: &Vec<Option<Cell>>| row.iter().map(|cell| shown(cell.as_ref())).collect::<Vec<_>>().join(" ");
    table.rows.iter().map(row).collect()
}
