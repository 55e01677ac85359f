//! Nodes as text, in the syntaxes that RDF has. Everything is written as it comes: nothing is kept.

mod jsonld;
pub(crate) mod literal;
mod ntriples;
mod turtle;

use std::io::{self, Write};

use crate::graph::node::Node;

/// A syntax for graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Syntax {
    /// Turtle.
    Turtle,
    /// N-Triples: a line for each fact.
    NTriples,
    /// N-Quads: the same, with the session that each fact belongs to.
    NQuads,
    /// JSON-LD 1.1, with its context inside.
    JsonLd,
    /// TriG: Turtle, with a graph for each session.
    TriG,
}

/// Writes nodes in one of the syntaxes. [`finish`](Self::finish) writes what the syntax wants at the end.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    syntax: Syntax,
    /// The IRI that names are appended to.
    base: String,
    started: bool,
    /// The session whose graph is open, in TriG.
    open: Option<String>,
    /// For a node's text, so that each takes one write and no allocation.
    text: String,
}

impl<W: Write> Writer<W> {
    /// Names become IRIs behind `base`, which should end with `#` or `/`.
    pub fn new(out: W, syntax: Syntax, base: &str) -> Self {
        let base = base.to_owned();
        Writer { out, syntax, base, started: false, open: None, text: String::new() }
    }

    /// Writes all that is said of a node.
    pub fn write(&mut self, node: &Node<'_>) -> io::Result<()> {
        self.text.clear();
        let first = !std::mem::replace(&mut self.started, true);
        if first {
            self.start();
        }
        match self.syntax {
            Syntax::NTriples => ntriples::node(&mut self.text, &self.base, node, None),
            Syntax::NQuads => ntriples::node(&mut self.text, &self.base, node, Some(&node.session)),
            Syntax::Turtle => turtle::node(&mut self.text, "", node),
            Syntax::TriG => {
                if self.open.as_deref() != Some(&*node.session) {
                    self.text.push_str(if self.open.is_some() { "}\n" } else { "" });
                    turtle::open(&mut self.text, &node.session);
                    self.open = Some(node.session.to_string());
                }
                turtle::node(&mut self.text, "  ", node);
            }
            Syntax::JsonLd => {
                self.text.push_str(if first { "\n" } else { ",\n" });
                jsonld::node(&mut self.text, node);
            }
        }
        self.out.write_all(self.text.as_bytes())
    }

    /// The end, and what was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.text.clear();
        if !std::mem::replace(&mut self.started, true) {
            self.start();
        }
        match self.syntax {
            Syntax::TriG if self.open.is_some() => self.text.push_str("}\n"),
            Syntax::JsonLd => self.text.push_str("\n]}\n"),
            _ => {}
        }
        self.out.write_all(self.text.as_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn start(&mut self) {
        match self.syntax {
            Syntax::Turtle | Syntax::TriG => turtle::start(&mut self.text, &self.base),
            Syntax::JsonLd => jsonld::start(&mut self.text, &self.base),
            Syntax::NTriples | Syntax::NQuads => {}
        }
    }
}
