//! Values that a peer makes up and that later messages repeat: ids of subscriptions, tokens, cursors, ids of downloads. In a
//! replay they are others, and what was recorded stands for what comes now.

use std::collections::{HashMap, HashSet};

use sabir_model::capture::Direction;
use sabir_proto::{Cursor, JsonKind};

use super::rewrite::tokens;
use super::{PartKind, Recording};

/// Values that are known at the same time.
const MOST: usize = 65_536;

/// Members that hold a token or the id of a subscription, which may be a number.
pub(super) const TOKENS: [&str; 7] = [
    "subscription",
    "token",
    "progressToken",
    "requestId",
    "workDoneToken",
    "partialResultToken",
    "subscriptionId",
];

/// Which recorded value stands for which of now. Both are JSON texts of strings and numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handles {
    now: HashMap<String, String>,
    /// Strings of messages that are still to be sent: only they need to be known.
    used: HashSet<String>,
}

impl Handles {
    /// For a replay of what one side has sent.
    pub(crate) fn of(recording: &Recording, own: Direction) -> Self {
        let mut used = HashSet::new();
        for place in recording.places().filter(|place| recording.sent(*place).direction == own) {
            if recording.part(place).kind != PartKind::Invalid {
                tokens(recording.text(place), |value| {
                    if is_opaque(value.text) && used.len() < MOST {
                        used.insert(value.text.to_owned());
                    }
                });
            }
        }
        Handles { now: HashMap::new(), used }
    }

    /// Whether a value of now is what a recorded one stands for.
    pub(crate) fn stands_for(&self, was: &str, now: &str) -> bool {
        self.now.get(was).is_some_and(|known| known == now)
    }

    pub(super) fn get(&self, was: &str) -> Option<&str> {
        self.now.get(was).map(String::as_str)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.now.is_empty()
    }

    /// Learns from a message and the one that was recorded in its place. `method` is what it answers or says.
    pub(crate) fn learn(&mut self, method: &str, was: &str, now: &str) {
        let result = |text| Cursor::trusted(text).member("result");
        if let (Some(was), Some(now)) = (result(was), result(now))
            && is_subscription(method)
            && is_scalar(was)
            && is_scalar(now)
        {
            self.insert(was, now);
        }
        for member in ["params", "result"] {
            let value = |text| Cursor::trusted(text).member(member);
            if let (Some(was), Some(now)) = (value(was), value(now)) {
                self.walk("", was, now);
            }
        }
    }

    /// The depth of JSON has a limit, and so has the recursion.
    fn walk(&mut self, name: &str, was: &str, now: &str) {
        match (JsonKind::of(was), JsonKind::of(now)) {
            (JsonKind::Object, JsonKind::Object) => {
                let new: HashMap<&str, &str> =
                    Cursor::trusted(now).members().map(|(name, value)| (name.inner(), value)).collect();
                for (name, value) in Cursor::trusted(was).members() {
                    if let Some(other) = new.get(name.inner()) {
                        self.walk(name.inner(), value, other);
                    }
                }
            }
            (JsonKind::Array, JsonKind::Array) => {
                let new = Cursor::trusted(now).elements();
                Cursor::trusted(was).elements().zip(new).for_each(|(was, now)| self.walk("", was, now));
            }
            _ if was == now || !is_scalar(was) || !is_scalar(now) => {}
            _ if TOKENS.contains(&name) || self.used.contains(was) => self.insert(was, now),
            _ => {}
        }
    }

    fn insert(&mut self, was: &str, now: &str) {
        if self.now.len() < MOST || self.now.contains_key(was) {
            self.now.insert(was.to_owned(), now.to_owned());
        }
    }
}

fn is_scalar(text: &str) -> bool {
    matches!(JsonKind::of(text), JsonKind::String | JsonKind::Number)
}

/// Whether a string looks made up by a program: long, in one piece, and with a digit. A word that is repeated by chance must
/// not hide a difference.
fn is_opaque(text: &str) -> bool {
    text.len() >= 8
        && text.starts_with('"')
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && !text.bytes().any(|byte| byte.is_ascii_whitespace() || byte == b'\\')
}

/// Whether the result of a method is the id of a subscription.
fn is_subscription(method: &str) -> bool {
    ["subscribe", "Subscribe", "_follow", "_submitAndWatch"].iter().any(|part| method.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::rewrite::rewritten;

    #[test]
    fn made_up_values_are_followed() {
        let mut handles =
            Handles { used: HashSet::from(["\"2089b05ecca3d829\"".to_owned()]), ..Handles::default() };
        handles.learn("eth_subscribe", r#"{"id":1,"result":"0x1"}"#, r#"{"id":1,"result":"0x2"}"#);
        handles.learn("logs_subscribe", r#"{"id":1,"result":7}"#, r#"{"id":1,"result":8}"#);
        handles.learn("aria2.addUri", r#"{"result":"2089b05ecca3d829"}"#, r#"{"result":"aaaa000000000000"}"#);
        handles.learn("x", r#"{"result":"hello"}"#, r#"{"result":"world"}"#);
        handles.learn(
            "y",
            r#"{"params":{"_meta":{"progressToken":3}}}"#,
            r#"{"params":{"_meta":{"progressToken":"t"}}}"#,
        );
        for (text, want) in [
            (
                r#"{"method":"eth_unsubscribe","params":["0x1"]}"#,
                r#"{"method":"eth_unsubscribe","params":["0x2"]}"#,
            ),
            (r#"{"method":"a","params":[7,{"n":7}]}"#, r#"{"method":"a","params":[8,{"n":7}]}"#),
            (r#"{"params":["2089b05ecca3d829"]}"#, r#"{"params":["aaaa000000000000"]}"#),
            (r#"{"params":["hello"]}"#, r#"{"params":["hello"]}"#),
            (r#"{"params":{"progressToken":3,"x":3}}"#, r#"{"params":{"progressToken":"t","x":3}}"#),
            (r#"{"id":7,"0x1":1,"params":{"0x1":1}}"#, r#"{"id":7,"0x1":1,"params":{"0x1":1}}"#),
        ] {
            assert_eq!(rewritten(text, &handles), want);
        }
        assert!(handles.stands_for("7", "8") && !handles.stands_for("7", "9"));
    }
}
