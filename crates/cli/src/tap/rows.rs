//! What is printed beside the traffic. A thread of its own writes it to standard error: if nobody reads that, rows are
//! left out, and nothing waits.

use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

/// Lines that wait to be written.
const WAITING: usize = 4096;

pub(super) struct Rows {
    lines: SyncSender<String>,
    ended: Receiver<()>,
    omitted: u64,
}

impl Rows {
    pub(super) fn start() -> std::io::Result<Self> {
        let (lines, waiting) = sync_channel::<String>(WAITING);
        let (end, ended) = sync_channel(1);
        std::thread::Builder::new().name("rows".to_owned()).spawn(move || {
            let mut text = String::new();
            while let Ok(line) = waiting.recv() {
                text.clear();
                text.push_str(&line);
                text.push('\n');
                for line in waiting.try_iter().take(WAITING) {
                    text.push_str(&line);
                    text.push('\n');
                }
                // A reader that has gone does not stop the tap: its end is the traffic's business.
                let _ = std::io::stderr().write_all(text.as_bytes());
            }
            let _ = end.send(());
        })?;
        Ok(Rows { lines, ended, omitted: 0 })
    }

    pub(super) fn line(&mut self, line: String) {
        if self.omitted > 0 {
            let told = format!("… {} lines are not shown: nobody reads them fast enough", self.omitted);
            if self.lines.try_send(told).is_err() {
                self.omitted += 1;
                return;
            }
            self.omitted = 0;
        }
        if self.lines.try_send(line).is_err() {
            self.omitted += 1;
        }
    }

    /// Waits until all is written, but not for ever.
    pub(super) fn finish(self, longest: Duration) {
        let Rows { lines, ended, .. } = self;
        drop(lines);
        let _ = ended.recv_timeout(longest);
    }
}
