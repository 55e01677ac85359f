//! The messages of an example session, as far as a diagram shows them.

use std::collections::HashMap;

use serde_json::Value;

/// A message of a session.
pub(super) struct Step {
    pub(super) to_server: bool,
    pub(super) is_answer: bool,
    /// Its method, and what that is about; of an answer, how it ended.
    pub(super) text: String,
}

/// The messages of a capture, in order.
pub(super) fn steps(capture: &str) -> Vec<Step> {
    let mut asked: HashMap<(bool, String), String> = HashMap::new();
    let mut steps = Vec::new();
    for line in capture.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let message = &line["msg"];
        if !message.is_object() {
            continue;
        }
        let to_server = line["d"] == ">";
        let id = message["id"].to_string();
        let step = match message["method"].as_str() {
            Some(method) => {
                let params = &message["params"];
                let about = ["name", "uri"].iter().find_map(|member| params[member].as_str());
                let text = about.map_or_else(|| method.to_owned(), |about| format!("{method} {about}"));
                asked.insert((to_server, id), method.to_owned());
                Step { to_server, is_answer: false, text }
            }
            None => {
                let method = asked.remove(&(!to_server, id)).unwrap_or_default();
                let how = match (message["error"]["code"].as_i64(), message["result"]["isError"] == true) {
                    (Some(code), _) => format!("error {code}"),
                    (None, true) => "failed".to_owned(),
                    (None, false) => "result".to_owned(),
                };
                Step { to_server, is_answer: true, text: format!("{how}: {method}") }
            }
        };
        steps.push(step);
    }
    steps
}
