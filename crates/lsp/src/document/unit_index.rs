//! How many units stand before places of a text: for lines that are too long to be counted from their start for each
//! position.

use super::position::{BLOCK, PositionEncoding, floor};

/// The units before each block of a text, which takes four bytes for 1,024 of the text. A position is then found by
/// counting no more than a block or two.
#[derive(Debug, Clone)]
pub(crate) struct UnitIndex {
    before: Vec<u32>,
}

impl UnitIndex {
    pub(crate) fn new(text: &str, encoding: PositionEncoding) -> Self {
        let (mut at, mut units) = (0, 0);
        let before = (0..=text.len() / BLOCK).map(|block| {
            let start = floor(text, block * BLOCK);
            units += encoding.units(&text[at..start]) as u32;
            at = start;
            units
        });
        UnitIndex { before: before.collect() }
    }

    /// Bytes that one takes for a text of this length.
    pub(crate) fn bytes(length: usize) -> usize {
        (length / BLOCK + 1) * size_of::<u32>()
    }

    /// The units before an offset, which is where a character begins.
    pub(crate) fn units_before(&self, text: &str, encoding: PositionEncoding, offset: usize) -> usize {
        let block = offset / BLOCK;
        self.before[block] as usize + encoding.units(&text[floor(text, block * BLOCK)..offset])
    }

    /// The offset that has this many units before it, or `end` if that comes first.
    pub(crate) fn offset(&self, text: &str, encoding: PositionEncoding, units: usize, end: usize) -> usize {
        let block = self.before.partition_point(|before| *before as usize <= units) - 1;
        let start = floor(text, block * BLOCK);
        if start >= end {
            return end;
        }
        start + encoding.byte(&text[start..end], units - self.before[block] as usize)
    }
}
