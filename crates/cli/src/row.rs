//! A record as a line of text: number, time, direction, kind, method, id, how its call stands, and what it says.

use std::fmt::Write;
use std::time::Duration;

use sabir_model::calls::{Entry, Kind, Names, Status};
use sabir_model::capture::Direction;
use sabir_proto::{ByteSize, RawJson, push_escaped};

use crate::paint::{Paint, Painter};

/// Characters of a content that are shown where nothing limits a line.
const PREVIEW: usize = 200;

/// Characters of a content that are always shown, and of a name at most.
const SHORTEST: usize = 20;
const NAME: usize = 100;

#[derive(Debug, Clone, Copy)]
pub(crate) struct RowFormat {
    pub(crate) painter: Painter,
    /// How wide a line may be.
    pub(crate) columns: Option<usize>,
    /// Requests are shown before their answers are there: that they have none says nothing.
    pub(crate) is_live: bool,
    /// When it is, since the start: calls without an answer have taken until then.
    pub(crate) now: Option<Duration>,
}

impl RowFormat {
    /// The line for a record, without a line break.
    pub(crate) fn row(&self, entry: &Entry, names: &Names, content: &[u8]) -> String {
        let mut line = Line { text: String::new(), width: 0, painter: self.painter };
        let time = entry.time.map_or(String::new(), |time| format!("{:.6}", time.as_secs_f64()));
        line.put(Paint::Why, &format!("{:>6} {time:>11} ", entry.number));
        let (sign, paint) = match entry.direction {
            Some(Direction::ToServer) => (">", Paint::Sent),
            Some(Direction::ToClient) => ("<", Paint::Came),
            None => (" ", Paint::Word),
        };
        let paint = match entry.kind {
            Kind::Result if entry.status == Some(Status::Error) => Paint::Error,
            Kind::Error | Kind::Invalid | Kind::Gap | Kind::Damage => Paint::Error,
            Kind::Noise | Kind::Stderr => Paint::Word,
            _ => paint,
        };
        line.put(paint, &format!("{sign} {:<6}", entry.kind));
        if entry.connection != 1 {
            line.put(Paint::Why, &format!("  c{}", entry.connection));
        }
        let json = entry.kind.is_message().then(|| RawJson::from_bytes(content).ok()).flatten();
        if let Some(method) = names.method(entry.name) {
            let tool = names.tool(entry.name).map(|tool| format!(" {tool}")).unwrap_or_default();
            line.put(paint, &format!("  {}", shown(format!("{method}{tool}").as_bytes(), NAME)));
        }
        if let Some(id) = json.as_ref().and_then(|json| json.get("id")) {
            line.put(Paint::Why, &format!("  id {}", shown(id.as_str().as_bytes(), NAME)));
        }
        if let Some(code) = entry.code {
            line.put(Paint::Error, &format!("  {code}"));
        }
        // A tool that failed has no code.
        let failed = entry.status == Some(Status::Error) && entry.code.is_none();
        if let Some(status) = entry.status.filter(|status| failed || self.says(*status)) {
            line.put(Paint::Warning, &format!("  {status}"));
        }
        if let Some(took) = entry.took {
            line.put(Paint::Number, &format!("  {}", Took(took)));
        }
        if let Some(age) = self.now.and_then(|now| entry.age(now)).filter(|age| !age.is_zero()) {
            line.put(Paint::Number, &format!(" for {}", Took(age)));
        }
        if let Some(total) = entry.total {
            line.put(Paint::Number, &format!(" of {}", Took(total)));
        }
        if entry.kind.is_message() {
            line.put(Paint::Why, &format!("  {}", ByteSize(entry.bytes as usize)));
        }
        let part = json.as_ref().and_then(|json| {
            let part = json.get("params").or_else(|| json.get("result")).or_else(|| json.get("error"))?;
            let message = part.get("message").filter(|_| entry.kind == Kind::Error);
            Some(message.as_ref().unwrap_or(&part).as_str().to_owned())
        });
        // A message with neither has nothing more to say.
        let is_call = matches!(entry.kind, Kind::Request | Kind::Notification);
        let content = match &part {
            Some(part) => part.as_bytes(),
            None if is_call => b"",
            None => content,
        };
        let room =
            self.columns.map_or(PREVIEW, |columns| columns.saturating_sub(line.width + 2).max(SHORTEST));
        let preview = shown(content, room);
        if !preview.is_empty() {
            line.text.push_str("  ");
            line.text.push_str(&preview);
        }
        line.text
    }

    /// Whether a status is worth a word: what went well shows that by itself, and an error has its code.
    fn says(&self, status: Status) -> bool {
        match status {
            Status::Ok | Status::Error => false,
            Status::Pending => !self.is_live,
            _ => true,
        }
    }
}

struct Line {
    text: String,
    width: usize,
    painter: Painter,
}

impl Line {
    fn put(&mut self, paint: Paint, text: &str) {
        self.width += text.chars().count();
        self.painter.paint(&mut self.text, paint, text);
    }
}

/// Text of a peer's on one line, so long at most, with nothing in it that a terminal would obey.
fn shown(content: &[u8], room: usize) -> String {
    // No more than can be shown is looked at.
    let start = &content[..content.len().min(room * 4 + 4)];
    let text = String::from_utf8_lossy(start);
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut out = String::new();
    push_escaped(&mut out, &words.join(" "));
    if start.len() < content.len() || out.chars().count() > room {
        let end = out.char_indices().nth(room.saturating_sub(1)).map_or(out.len(), |(at, _)| at);
        out.truncate(end);
        out.push('…');
    }
    out
}

/// How long something took, in the unit that fits.
struct Took(Duration);

impl std::fmt::Display for Took {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = self.0.as_secs_f64() * 1e3;
        match ms {
            ..10.0 => write!(f, "{ms:.2} ms"),
            ..1000.0 => write!(f, "{ms:.1} ms"),
            _ => write!(f, "{:.2} s", ms / 1e3),
        }
    }
}

/// The line for something that was found in a record.
pub(crate) fn finding(finding: &sabir_model::rules::Finding, painter: Painter) -> String {
    let mut out = String::new();
    let _ = write!(out, "{:>6} {:>11} ", "", "");
    let paint = match finding.severity {
        sabir_model::rules::Severity::Error => Paint::Error,
        _ => Paint::Warning,
    };
    let mut what = String::new();
    push_escaped(&mut what, &finding.what);
    painter.paint(&mut out, paint, &format!("! {}[{}]", finding.severity, finding.rule.id));
    let _ = write!(out, ": {what}");
    out
}

#[cfg(test)]
mod tests {
    use sabir_model::calls::Tracker;

    use super::*;

    #[test]
    fn rows_are_one_line_and_as_wide_as_they_may_be() {
        let mut tracker = Tracker::default();
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":"a\nb","method":"x{}","params":["{}"]}}"#,
            "\\u001b[2J",
            "é".repeat(500)
        );
        let entry =
            tracker.message(Some(Duration::from_micros(1500)), Some(Direction::ToServer), 2, text.as_bytes());
        for columns in [None, Some(100), Some(10)] {
            let format = RowFormat { painter: Painter::PLAIN, columns, is_live: false, now: None };
            let row = format.row(&entry, tracker.names(), text.as_bytes());
            assert!(
                row.starts_with("     1    0.001500 > req     c2  x\\u001b[2J  id \"a\\nb\"  pending  "),
                "{row}"
            );
            assert!(row.ends_with("é…"), "{row}");
            let width = row.chars().count();
            assert!(columns.is_none_or(|columns| width == columns.max(width.min(100))), "{width}: {row}");
        }
    }

    #[test]
    fn colours_tell_what_a_row_is() {
        let mut tracker = Tracker::default();
        let mut row = |ms, direction, text: &str| {
            let time = Some(Duration::from_millis(ms));
            let entry = tracker.message(time, Some(direction), 1, text.as_bytes());
            let painter = Painter { colour: true };
            let now = Some(Duration::from_secs(2));
            let format = RowFormat { painter, columns: None, is_live: false, now };
            format.row(&entry, tracker.names(), text.as_bytes())
        };
        let asked = row(1, Direction::ToServer, r#"{"jsonrpc":"2.0","id":1,"method":"add"}"#);
        let pending = "\u{1b}[1;33m  pending\u{1b}[0m\u{1b}[36m for 2.00 s\u{1b}[0m";
        assert!(asked.contains("\u{1b}[36m> req   \u{1b}[0m") && asked.contains(pending), "{asked:?}");
        let answered = row(2, Direction::ToClient, r#"{"jsonrpc":"2.0","id":1,"result":"\u001b[31m"}"#);
        assert!(answered.contains("\u{1b}[32m< res   \u{1b}[0m"), "{answered:?}");
        assert!(answered.contains("\\u001b[31m"), "{answered:?}");
        let failed =
            row(3, Direction::ToClient, r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"x"}}"#);
        assert!(failed.contains("\u{1b}[1;31m< err   \u{1b}[0m"), "{failed:?}");
    }
}
