//! Files of any kind as captures: the reader ends and tells places in order, and the rules of every profile survive what
//! it gives them.

use sabir_model::capture::Reader;
use sabir_model::rules::Checker;

const PROFILES: [&str; 6] = ["jsonrpc", "mcp", "mcp@2026-07-28", "lsp", "a2a", "eth"];

pub(crate) fn run(data: &[u8]) {
    for profile in PROFILES {
        let Ok(mut reader) = Reader::new(data) else { return };
        let mut checker = Checker::new(profile.parse().expect("a profile"));
        let (mut number, mut offset) = (0, 0);
        while let Some(record) = reader.next().expect("memory is always readable") {
            assert!(record.number > number, "record {} comes after {number}", record.number);
            assert!(record.offset >= offset, "offset {} comes after {offset}", record.offset);
            assert!(record.line > 0 && record.column > 0);
            assert!(record.offset <= data.len() as u64, "offset {} of {}", record.offset, data.len());
            (number, offset) = (record.number, record.offset);
            for finding in checker.check(&record) {
                assert!(finding.excerpt.text.len() < 4000);
            }
        }
        checker.finish().for_each(drop);
    }
}
