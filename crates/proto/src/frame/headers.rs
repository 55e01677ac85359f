//! A block of headers before each message.
//!
//! After damage (a wrong length, stray output) the stream is searched for the next `Content-Length:` and
//! goes on from there.

use super::{Cut, FrameFault, start_len};

/// A line longer than this is not a header.
const HEADER_LIMIT: usize = 8 * 1024;
const LENGTH: &[u8] = b"content-length";

#[derive(Debug, Default)]
pub(super) struct Headers {
    at: At,
    /// `Content-Length` of the block that is being read.
    length: Option<usize>,
    /// Whether the block has any header yet: blank lines before the first one are not a block.
    block: bool,
    /// Bytes at the front that were searched without success.
    seen: usize,
}

#[derive(Debug, Default, Clone, Copy)]
enum At {
    #[default]
    Header,
    Body(usize),
    /// At a body of this length, which is too large. Its start is waited for.
    Large(usize),
    /// This many bytes of a message that was refused are still to come.
    Skip(usize),
    /// Damaged: dropping until the next `Content-Length:`.
    Lost,
}

impl Headers {
    pub(super) fn cut<'a>(&mut self, unread: &'a [u8], limit: usize) -> Cut<'a> {
        let mut used = 0;
        loop {
            let rest = &unread[used..];
            match self.at {
                At::Body(length) if rest.len() < length => {
                    return Cut::More { used, missing: length - rest.len() };
                }
                At::Body(length) => {
                    self.at = At::Header;
                    return Cut::Message { body: &rest[..length], used: used + length };
                }
                At::Large(length) => {
                    let shown = start_len(limit);
                    if rest.len() < shown {
                        return Cut::More { used, missing: shown - rest.len() };
                    }
                    self.at = At::Skip(length - shown);
                    return Cut::too_large(limit, rest, used + shown);
                }
                At::Skip(length) if rest.len() < length => {
                    self.at = At::Skip(length - rest.len());
                    return Cut::More { used: unread.len(), missing: 1 };
                }
                At::Skip(length) => {
                    self.at = At::Header;
                    used += length;
                }
                At::Lost => match find_length(rest, self.seen) {
                    Some(found) => {
                        self.forget_block();
                        used += found;
                    }
                    None => {
                        // The name may have begun in the last bytes.
                        let keep = rest.len().min(LENGTH.len());
                        self.seen = 0;
                        return Cut::More { used: unread.len() - keep, missing: 1 };
                    }
                },
                At::Header => {
                    if !self.block
                        && let Some((length, past)) = usual_block(rest)
                        && length <= limit
                    {
                        (self.at, self.seen) = (At::Body(length), 0);
                        used += past;
                        continue;
                    }
                    let Some(found) = memchr::memchr(b'\n', &rest[self.seen..]) else {
                        if rest.len() > HEADER_LIMIT {
                            return self.lost(FrameFault::HeaderTooLong, used + 1);
                        }
                        self.seen = rest.len();
                        return Cut::More { used, missing: 1 };
                    };
                    let end = self.seen + found;
                    if end > HEADER_LIMIT {
                        return self.lost(FrameFault::HeaderTooLong, used + 1);
                    }
                    self.seen = 0;
                    let line = &rest[..end];
                    let line = line.strip_suffix(b"\r").unwrap_or(line);
                    match self.header(line, limit) {
                        Ok(()) => used += end + 1,
                        Err(fault @ (FrameFault::NotAHeader | FrameFault::BadLength)) => {
                            // Perhaps the rest of a damaged body, with the next header right behind it.
                            if let Some(next) = find_length(line, 1) {
                                self.forget_block();
                                return Cut::fault(fault, used + next);
                            }
                            return self.lost(fault, used + end + 1);
                        }
                        Err(fault) => return Cut::fault(fault, used + end + 1),
                    }
                }
            }
        }
    }

    pub(super) fn finish<'a>(&mut self, unread: &'a [u8], limit: usize) -> Cut<'a> {
        match self.cut(unread, limit) {
            Cut::More { used, .. }
                if matches!(self.at, At::Lost | At::Skip(_)) || self.is_blank(unread, used) =>
            {
                self.seen = 0;
                Cut::More { used: unread.len().max(used), missing: 0 }
            }
            Cut::More { used, .. } if matches!(self.at, At::Large(_)) => {
                self.forget_block();
                Cut::too_large(limit, &unread[used..], unread.len())
            }
            Cut::More { .. } => {
                self.forget_block();
                Cut::fault(FrameFault::Truncated, unread.len())
            }
            other => other,
        }
    }

    /// Between two messages, with nothing but white space left.
    fn is_blank(&self, unread: &[u8], used: usize) -> bool {
        matches!(self.at, At::Header) && !self.block && unread[used..].trim_ascii().is_empty()
    }

    /// Takes in one line of a header block.
    fn header(&mut self, line: &[u8], limit: usize) -> Result<(), FrameFault> {
        if line.is_empty() {
            return self.end_of_block(limit);
        }
        let colon = memchr::memchr(b':', line).ok_or(FrameFault::NotAHeader)?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.is_empty() || !name.iter().all(|&c| is_name_byte(c)) {
            return Err(FrameFault::NotAHeader);
        }
        self.block = true;
        if name.eq_ignore_ascii_case(LENGTH) {
            let length = decimal(value).ok_or(FrameFault::BadLength)?;
            if self.length.replace(length).is_some_and(|earlier| earlier != length) {
                return Err(FrameFault::BadLength);
            }
        }
        Ok(())
    }

    fn end_of_block(&mut self, limit: usize) -> Result<(), FrameFault> {
        let (block, length) = (self.block, self.length);
        self.forget_block();
        match length {
            Some(length) if length > limit => {
                self.at = At::Large(length);
                Ok(())
            }
            Some(length) => {
                self.at = At::Body(length);
                Ok(())
            }
            None if block => Err(FrameFault::NoLength),
            None => Ok(()),
        }
    }

    fn lost<'a>(&mut self, fault: FrameFault, used: usize) -> Cut<'a> {
        self.forget_block();
        self.at = At::Lost;
        Cut::fault(fault, used)
    }

    fn forget_block(&mut self) {
        *self = Headers::default();
    }
}

/// The length in a block of headers as nearly everybody writes it, and where the block ends.
#[inline]
fn usual_block(bytes: &[u8]) -> Option<(usize, usize)> {
    const NAME: &[u8] = b"Content-Length: ";
    let rest = bytes.strip_prefix(NAME)?;
    let mut length = 0;
    for (digits, &c) in rest.iter().enumerate() {
        // So few digits cannot overflow.
        if c.is_ascii_digit() && digits < 9 {
            length = length * 10 + usize::from(c - b'0');
        } else if digits > 0 && rest[digits..].starts_with(b"\r\n\r\n") {
            return Some((length, NAME.len() + digits + 4));
        } else {
            return None;
        }
    }
    None
}

fn is_name_byte(c: u8) -> bool {
    c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c)
}

/// Plain digits: no sign, nothing that `str::parse` would let pass.
fn decimal(value: &[u8]) -> Option<usize> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// Where the next `Content-Length:` starts, in any case, looking from `from`.
fn find_length(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from.min(bytes.len());
    while let Some(found) = memchr::memchr2(b'c', b'C', &bytes[at..]) {
        let start = at + found;
        let candidate = &bytes[start..];
        if candidate.len() > LENGTH.len()
            && candidate[..LENGTH.len()].eq_ignore_ascii_case(LENGTH)
            && candidate[LENGTH.len()] == b':'
        {
            return Some(start);
        }
        at = start + 1;
    }
    None
}
