//! Any stream: cut in one piece or in many, it gives the same messages and the same faults.

use sabir_proto::{Cut, Deframer, FrameFault, Framing};

const FRAMINGS: [Option<Framing>; 3] = [None, Some(Framing::Lines), Some(Framing::Headers)];
const LIMITS: [usize; 5] = [0, 3, 64, 1024, 1 << 20];

/// A header line is kept until it ends, up to this length.
const HEADER_LIMIT: usize = 8 * 1024;

/// The first byte chooses the framing and the limit, the second says how many bytes of chunk sizes follow;
/// the rest is the stream.
pub(crate) fn run(data: &[u8]) {
    let Some((&[setup, count], rest)) = data.split_first_chunk() else { return };
    let framing = FRAMINGS[setup as usize % FRAMINGS.len()];
    let limit = LIMITS[setup as usize / FRAMINGS.len() % LIMITS.len()];
    let (sizes, stream) = rest.split_at(rest.len().min(count as usize));
    check(framing, limit, stream, sizes);
}

/// `sizes` are the lengths of the chunks, over and over; without any, each byte comes alone.
pub(crate) fn check(framing: Option<Framing>, limit: usize, stream: &[u8], sizes: &[u8]) {
    let whole = Outcome::of(framing, limit, [stream]);
    let pieces = Outcome::of(framing, limit, chunks(stream, sizes));
    assert_eq!(pieces, whole, "in pieces (left) and whole (right): {}", stream.escape_ascii());
    let late = Outcome::with_end(framing, limit, [], stream);
    assert_eq!(late, whole, "first looked at when it had ended: {}", stream.escape_ascii());
}

/// What comes out of a stream.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) framing: Option<Framing>,
    pub(crate) items: Vec<Result<Vec<u8>, Skipped>>,
}

/// Why something was skipped, and how it begins if it was a message.
#[derive(Debug, PartialEq)]
pub(crate) struct Skipped {
    pub(crate) fault: FrameFault,
    pub(crate) start: Vec<u8>,
}

impl Outcome {
    pub(crate) fn of<'a>(
        framing: Option<Framing>,
        limit: usize,
        chunks: impl IntoIterator<Item = &'a [u8]>,
    ) -> Self {
        Outcome::with_end(framing, limit, chunks, &[])
    }

    /// The bytes of `end` come together with the end of the stream.
    fn with_end<'a>(
        framing: Option<Framing>,
        limit: usize,
        chunks: impl IntoIterator<Item = &'a [u8]>,
        end: &[u8],
    ) -> Self {
        let mut reader = Reader {
            deframer: Deframer::new(framing, limit),
            limit,
            unread: Vec::new(),
            missing: 0,
            items: Vec::new(),
        };
        for chunk in chunks {
            reader.unread.extend_from_slice(chunk);
            let may_have_more = chunk.len() >= reader.missing;
            let before = reader.items.len();
            reader.drain(Deframer::cut);
            assert!(may_have_more || reader.items.len() == before, "more than `missing` was missing");
            assert!(reader.unread.len() <= reader.most_kept(), "{} bytes are kept", reader.unread.len());
        }
        reader.unread.extend_from_slice(end);
        reader.drain(Deframer::finish);
        assert!(reader.unread.is_empty(), "{} bytes are left at the end", reader.unread.len());
        let again = reader.deframer.finish(&[]);
        assert!(matches!(again, Cut::More { used: 0, .. }), "{again:?} after the end");
        Outcome { framing: reader.deframer.framing(), items: reader.items }
    }
}

struct Reader {
    deframer: Deframer,
    limit: usize,
    unread: Vec<u8>,
    /// What the deframer last said that it lacks, at least.
    missing: usize,
    items: Vec<Result<Vec<u8>, Skipped>>,
}

impl Reader {
    fn drain(&mut self, step: for<'a> fn(&mut Deframer, &'a [u8]) -> Cut<'a>) {
        loop {
            let before = self.unread.len();
            let (item, used) = match step(&mut self.deframer, &self.unread) {
                Cut::Message { body, used } => (Ok(body.to_vec()), used),
                Cut::Fault { fault, start, used } => {
                    assert!(start.len() <= self.limit, "{} bytes are shown", start.len());
                    (Err(Skipped { fault, start: start.to_vec() }), used)
                }
                Cut::More { used, missing } => {
                    self.unread.drain(..used);
                    self.missing = missing;
                    return;
                }
            };
            // What was cut off may have been used up to the last byte already.
            let cut_off = matches!(
                &item,
                Err(Skipped { fault: FrameFault::Truncated | FrameFault::TooLarge { .. }, .. })
            );
            let moved_on = used > 0 || cut_off;
            assert!(moved_on && used <= before, "{used} of {before} bytes used: {item:?}");
            self.unread.drain(..used);
            self.items.push(item);
        }
    }

    /// One byte more than the limit may be the `\r` of a line, and two bytes half a byte order mark.
    fn most_kept(&self) -> usize {
        match self.deframer.framing() {
            Some(Framing::Lines) => self.limit.saturating_add(1).max(2),
            _ => self.limit.max(HEADER_LIMIT),
        }
    }
}

pub(crate) fn chunks<'a>(stream: &'a [u8], sizes: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
    let mut rest = stream;
    // A stream of empty reads alone would never end.
    let sizes = if sizes.iter().all(|size| *size == 0) { &[1] } else { sizes };
    let mut sizes = sizes.iter().cycle();
    std::iter::from_fn(move || {
        let size = *sizes.next()? as usize;
        let (chunk, left) = rest.split_at(size.min(rest.len()));
        let was_empty = std::mem::replace(&mut rest, left).is_empty();
        (!was_empty).then_some(chunk)
    })
}
