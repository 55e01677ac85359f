//! One message per line.

use super::Cut;
use crate::json::find::line_feed;

#[derive(Debug, Default)]
pub(super) struct Lines {
    /// Bytes at the front that are known to hold no line break.
    seen: usize,
    /// Inside a line that was refused: dropping until its line break.
    skipping: bool,
}

impl Lines {
    #[inline(always)]
    pub(super) fn cut<'a>(&mut self, unread: &'a [u8], limit: usize) -> Cut<'a> {
        // A plain line that is all there.
        if self.seen == 0
            && !self.skipping
            && let Some(end) = line_feed(unread, 0)
            && let [b'!'..=b'~', .., b'!'..=b'~'] = &unread[..end]
            && end <= limit
        {
            return Cut::Message { body: &unread[..end], used: end + 1 };
        }
        self.cut_any(unread, limit)
    }

    #[inline(never)]
    fn cut_any<'a>(&mut self, unread: &'a [u8], limit: usize) -> Cut<'a> {
        let mut start = 0;
        while let Some(end) = line_feed(unread, start + self.seen) {
            let line = &unread[start..end];
            let used = end + 1;
            self.seen = 0;
            if std::mem::take(&mut self.skipping) {
                start = used;
                continue;
            }
            let body = line.strip_suffix(b"\r").unwrap_or(line);
            if body.len() > limit {
                return Cut::too_large(limit, body, used);
            }
            if is_blank(body) {
                start = used;
                continue;
            }
            return Cut::Message { body, used };
        }
        let rest = unread.len() - start;
        if self.skipping {
            self.seen = 0;
            return Cut::More { used: unread.len(), missing: 1 };
        }
        // One byte of grace: it may be the `\r` before the line break.
        if rest > limit.saturating_add(1) {
            self.skipping = true;
            self.seen = 0;
            return Cut::too_large(limit, &unread[start..], unread.len());
        }
        self.seen = rest;
        Cut::More { used: start, missing: 1 }
    }

    /// A last line without its line break counts as a line.
    pub(super) fn finish<'a>(&mut self, unread: &'a [u8], limit: usize) -> Cut<'a> {
        match self.cut(unread, limit) {
            Cut::More { used, .. } if used < unread.len() => {
                let line = &unread[used..];
                let body = line.strip_suffix(b"\r").unwrap_or(line);
                self.seen = 0;
                if is_blank(body) {
                    Cut::More { used: unread.len(), missing: 0 }
                } else if body.len() > limit {
                    Cut::too_large(limit, body, unread.len())
                } else {
                    Cut::Message { body, used: unread.len() }
                }
            }
            other => other,
        }
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|c| matches!(c, b' ' | b'\t' | b'\r'))
}
