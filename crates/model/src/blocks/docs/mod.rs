//! The model for people to read: every block with its classes, properties, shapes and examples, and the queries.

mod html;
mod markdown;
mod session;
mod svg;
mod vocabulary;

use crate::blocks::Blocks;
use crate::blocks::block::{Block, text};
use crate::blocks::json::pretty;
use crate::blocks::uplift::{things, turtle};
use crate::files::QUERIES;
use session::{Step, steps};
use vocabulary::{Link, Vocabulary};

/// What the documentation is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocsFormat {
    /// One page that needs nothing else.
    Html,
    /// Markdown, with diagrams in Mermaid.
    Markdown,
}

/// The documentation of all blocks.
pub fn docs(format: DocsFormat) -> String {
    let parts = parts(&Blocks::new().blocks);
    match format {
        DocsFormat::Html => html::page(&parts),
        DocsFormat::Markdown => markdown::page(&parts),
    }
}

/// A part of the documentation. Text has `code` between backticks, and nothing else.
enum Part {
    Heading(usize, String),
    Paragraph(String),
    Code(&'static str, String),
    Table(Vec<&'static str>, Vec<Vec<String>>),
    /// Classes, each with the one above it.
    Tree(Vec<(String, Option<String>)>),
    /// Properties that lead from class to class.
    Links(Vec<Link>),
    Session(Vec<Step>),
}

/// A session of MCP that the documentation shows.
const SESSION: &str = include_str!("../../../files/examples/mcp-session.jrl");

fn parts(blocks: &[Block]) -> Vec<Part> {
    let mut parts = vec![
        Part::Heading(1, "JSON-RPC and protocols on it: the formal model".to_owned()),
        Part::Paragraph(
            "A building block for each protocol: schemas, contexts, ontologies, shapes, examples, and queries on recorded sessions."
                .to_owned(),
        ),
    ];
    for block in blocks {
        let registered = block.registered();
        parts.push(Part::Heading(2, text(&registered, "title").to_owned()));
        parts.extend(described(block.description));
        let vocabulary = Vocabulary::read(&block.ontology, &block.prefixes);
        parts.push(Part::Heading(3, "Classes".to_owned()));
        parts.push(Part::Tree(vocabulary.tree()));
        parts.push(Part::Table(vec!["class", "is a", "meaning"], vocabulary.classes()));
        let properties = vocabulary.properties();
        if !properties.is_empty() {
            parts.push(Part::Heading(3, "Properties".to_owned()));
            parts.push(Part::Table(vec!["property", "of", "value", "meaning"], properties));
        }
        let links = vocabulary.links();
        if !links.is_empty() {
            parts.push(Part::Heading(3, "Properties between classes".to_owned()));
            parts.push(Part::Links(links));
        }
        let individuals = vocabulary.individuals();
        if !individuals.is_empty() {
            parts.push(Part::Heading(3, "Individuals".to_owned()));
            parts.push(Part::Table(vec!["name", "is a", "meaning"], individuals));
        }
        if let Some(shapes) = block.shapes {
            parts.push(Part::Heading(3, "Shapes".to_owned()));
            parts.push(Part::Table(vec!["shape", "must hold"], vocabulary::shapes(shapes)));
        }
        if block.name == "mcp" {
            parts.push(Part::Heading(3, "A session".to_owned()));
            parts.push(Part::Session(steps(SESSION)));
        }
        parts.push(Part::Heading(3, "Examples".to_owned()));
        for example in block.examples() {
            let verdict = if example.fails { "must fail by" } else { "valid by" };
            parts.push(Part::Paragraph(format!("{}: {verdict} `{}`", example.title, example.schema)));
            parts.push(Part::Code("json", pretty(&example.message)));
            if !example.fails {
                let things = things(&example.message, &block.context, &block.classes);
                parts.push(Part::Code("turtle", turtle(&things, &block.prefixes)));
            }
        }
    }
    parts.push(Part::Heading(2, "Queries".to_owned()));
    for query in QUERIES {
        parts.push(Part::Heading(3, query.name.to_owned()));
        parts.push(Part::Code("sparql", query.text.to_owned()));
    }
    parts
}

/// A description in the little Markdown that ours have. Its first heading is the block's title.
fn described(markdown: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lines = markdown.lines();
    let mut paragraph = String::new();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let code: Vec<_> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            let language = if language == "json" { "json" } else { "text" };
            parts.push(Part::Code(language, code.join("\n") + "\n"));
        } else if line.is_empty() {
            if !paragraph.is_empty() {
                parts.push(Part::Paragraph(std::mem::take(&mut paragraph)));
            }
        } else if !line.starts_with('#') {
            paragraph.push_str(if paragraph.is_empty() { "" } else { " " });
            paragraph.push_str(line);
        }
    }
    parts.extend((!paragraph.is_empty()).then_some(Part::Paragraph(paragraph)));
    parts
}
