//! The rows that match a filter, found a part at a time.

use std::io::{self, Read, Seek};

use super::{Contents, Index};
use crate::filter::Filter;

/// Looks through an index. Whoever runs it says how far at a time, shows how far it is, and drops it to cancel; when
/// rows are added it goes on.
///
/// ```
/// # use sabir_model::capture::Reader;
/// use std::io::Cursor;
/// use sabir_model::index::{Contents, Index, Search};
///
/// # let text = "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}\n> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"b\"}\n";
/// # let mut reader = Reader::new(text.as_bytes())?;
/// # let mut index = Index::default();
/// # while let Some(record) = reader.next()? {
/// #     index.push(&record);
/// # }
/// let mut contents = Contents::new(Cursor::new(text), reader.format());
/// let mut search = Search::new("id:2".parse().unwrap());
/// while search.looked() < index.len() {
///     search.advance(&index, &mut contents, 1000)?;
/// }
/// assert_eq!(search.found(), [1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Search {
    filter: Filter,
    looked: u32,
    found: Vec<u32>,
}

impl Search {
    /// Nothing is looked at yet.
    pub fn new(filter: Filter) -> Self {
        Search { filter, looked: 0, found: Vec::new() }
    }

    /// Looks at this many more rows. Rows that change afterwards are not looked at again.
    pub fn advance<F: Read + Seek>(
        &mut self,
        index: &Index,
        contents: &mut Contents<F>,
        rows: u32,
    ) -> io::Result<()> {
        let end = index.len().min(self.looked.saturating_add(rows));
        for row in self.looked..end {
            let Some(entry) = index.entry(row) else { break };
            let matches = match self.filter.glance(&entry, index.names()) {
                Some(matches) => matches,
                None => self.filter.matches(&entry, index.names(), &contents.read(index, row)?),
            };
            self.looked = row + 1;
            if matches {
                self.found.push(row);
            }
        }
        Ok(())
    }

    /// How many rows were looked at.
    pub fn looked(&self) -> u32 {
        self.looked
    }

    /// The rows that match, in order.
    pub fn found(&self) -> &[u32] {
        &self.found
    }
}
