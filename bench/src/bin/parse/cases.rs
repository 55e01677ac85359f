//! The texts to decode, made by code so that anybody gets the same bytes.

use std::fmt::Write as _;

/// Texts that are decoded one after the other; the figure is per text.
pub struct Case {
    pub name: &'static str,
    pub texts: Vec<Vec<u8>>,
    /// How many times faster than the baseline it must be, if there is a goal.
    pub goal: Option<f64>,
}

impl Case {
    fn new(name: &'static str, goal: impl Into<Option<f64>>, texts: &[&str]) -> Case {
        let texts = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        Case { name, texts, goal: goal.into() }
    }

    pub fn bytes(&self) -> usize {
        self.texts.iter().map(Vec::len).sum::<usize>() / self.texts.len()
    }
}

const TINY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#;

pub fn all() -> Vec<Case> {
    vec![
        Case::new("tiny request", 2.0, &[TINY]),
        Case::new("tiny mix", 2.0, &tiny_mix()),
        Case::new("tool call", 2.0, &[TOOL_CALL]),
        Case::new("LSP, nested", 1.5, &[&completion()]),
        Case::new("LSP, spaced", None, &[&spaced(&completion())]),
        Case::new("list, nested", 1.5, &[&tools_list()]),
        Case::new("base64 string", 3.0, &[&base64(1 << 20)]),
        Case::new("batch of 100", 2.0, &[&batch(100)]),
        Case::new("escapes", 2.0, &[&text_of(r#"line\n\t\"quoted\" C:\\dir \u00e9\u4e2d\ud83d\ude00\/"#)]),
        Case::new("non-ASCII", None, &[&text_of("Šüß čaj 中文字 привет 😀, ")]),
    ]
}

fn tiny_mix() -> [&'static str; 4] {
    [
        TINY,
        r#"{"jsonrpc":"2.0","method":"progress","params":{"done":17}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":3}"#,
        r#"{"jsonrpc":"2.0","id":"a7","error":{"code":-32601,"message":"Method not found"}}"#,
    ]
}

const TOOL_CALL: &str = concat!(
    r#"{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"search_files","arguments":{"#,
    r#""query":"fn container","path":"/home/user/project/src","include":["*.rs","*.toml"],"#,
    r#""max_results":50,"case_sensitive":false,"context":{"before":2,"after":2.5}},"#,
    r#""_meta":{"progressToken":"b7a1c0de-42","traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-01"}}}"#,
);

/// An answer with short strings, small numbers and three levels of objects, as editors get all day.
fn completion() -> String {
    let mut text = String::from(r#"{"jsonrpc":"2.0","id":311,"result":{"isIncomplete":true,"items":["#);
    for i in 0..47 {
        let separator = if i == 0 { "" } else { "," };
        let (line, from, to) = (100 + i, 4 + i % 9, 11 + i % 7);
        let _ = write!(
            text,
            r#"{separator}{{"label":"with_field_{i}","kind":{kind},"deprecated":false,"sortText":"{i:08x}","#,
            kind = 1 + i % 25,
        );
        let _ = write!(text, r#""textEdit":{{"range":{{"start":{{"line":{line},"character":{from}}},"#);
        let _ = write!(
            text,
            r#""end":{{"line":{line},"character":{to}}}}},"newText":"with_field_{i}()$0"}},"data":[{i},null]}}"#
        );
    }
    text.push_str("]}}");
    text
}

/// The same with a space after each comma and colon, as Python writes it. No string of it holds either.
fn spaced(text: &str) -> String {
    text.replace(',', ", ").replace(':', ": ")
}

/// An answer with longer strings: names, sentences and a schema for each tool.
fn tools_list() -> String {
    let mut text = String::from(r#"{"jsonrpc":"2.0","id":2,"result":{"tools":["#);
    for i in 0..45 {
        let separator = if i == 0 { "" } else { "," };
        let _ = write!(
            text,
            concat!(
                r#"{}{{"name":"tool_{}","title":"Tool number {}","description":"Searches the files of the "#,
                r#"project for a pattern and returns the lines that match, with their context.","#,
                r#""inputSchema":{{"type":"object","properties":{{"query":{{"type":"string","#,
                r#""description":"What to look for, as a regular expression"}},"limit":{{"type":"integer","#,
                r#""minimum":1,"maximum":{}}},"paths":{{"type":"array","items":{{"type":"string"}}}}}},"#,
                r#""required":["query"]}},"annotations":{{"readOnlyHint":true}}}}"#,
            ),
            separator,
            i,
            i,
            10 * i + 10,
        );
    }
    text.push_str("]}}");
    text
}

fn base64(len: usize) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = 1u32;
    let mut text = String::from(r#"{"jsonrpc":"2.0","id":9,"method":"upload","params":{"blob":""#);
    for _ in 0..len {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        text.push(DIGITS[(state >> 26) as usize] as char);
    }
    text.push_str(r#""}}"#);
    text
}

fn batch(len: usize) -> String {
    let entries: Vec<String> = (0..len)
        .map(|i| format!(r#"{{"jsonrpc":"2.0","id":{i},"method":"add","params":[{i},2]}}"#))
        .collect();
    format!("[{}]", entries.join(","))
}

/// A string of 10 KB in params, made of `piece` over and over.
fn text_of(piece: &str) -> String {
    let body = piece.repeat(10_240 / piece.len());
    format!(r#"{{"jsonrpc":"2.0","id":5,"method":"say","params":{{"text":"{body}"}}}}"#)
}
