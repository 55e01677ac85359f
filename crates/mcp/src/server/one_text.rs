//! What most tools return, one text, written without serde, which takes several times as long.

use crate::types::{Content, ToolResult};

/// The result as JSON, if it is one text and says nothing else. In the modern era every result says who the server is.
pub(crate) fn write(result: &ToolResult, server: Option<&str>) -> Option<String> {
    let ToolResult { content, structured_content: None, is_error, meta: None } = result else { return None };
    let [Content::Text { text, annotations: None, meta: None }] = content.as_slice() else { return None };
    let mut out = String::with_capacity(ROOM + text.len() + server.map_or(0, str::len));
    out.push_str(if server.is_some() {
        "{\"resultType\":\"complete\",\"content\":"
    } else {
        "{\"content\":"
    });
    out.push_str("[{\"type\":\"text\",\"text\":");
    push_string(&mut out, text);
    out.push_str("}]");
    if *is_error {
        out.push_str(",\"isError\":true");
    }
    if let Some(server) = server {
        out.push_str(",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":");
        out.push_str(server);
        out.push('}');
    }
    out.push('}');
    Some(out)
}

/// More than all that stands around a text.
const ROOM: usize = 160;

fn push_string(out: &mut String, text: &str) {
    // Not `any`, which stops at the first and so looks at them one by one.
    let escapes =
        text.bytes().fold(false, |found, byte| found | (byte < b' ') | (byte == b'"') | (byte == b'\\'));
    if escapes {
        // A text can always be written.
        return out.push_str(&serde_json::to_string(text).unwrap_or_default());
    }
    out.push('"');
    out.push_str(text);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Annotations;

    #[test]
    fn a_text_is_written_as_serde_writes_it() {
        let all: String = (0..0x180).filter_map(char::from_u32).collect();
        for text in ["", "31", "a \"quote\"", "c:\\path", "two\nlines", "\u{7f}é\u{2028}😀", &all] {
            for is_error in [false, true] {
                let result =
                    ToolResult { content: vec![text.to_owned().into()], is_error, ..ToolResult::default() };
                assert_eq!(write(&result, None), serde_json::to_string(&result).ok(), "{text:?}");
            }
        }
    }

    #[test]
    fn whatever_says_more_is_left_to_serde() {
        let text = || Content::text("31");
        let annotated = Content::Text {
            text: "31".into(),
            annotations: Some(Box::new(Annotations::default())),
            meta: None,
        };
        let named = Content::Text { text: "31".into(), annotations: None, meta: Some(Box::default()) };
        for content in [
            vec![],
            vec![text(), text()],
            vec![annotated],
            vec![named],
            vec![Content::image([1], "image/png")],
        ] {
            assert_eq!(write(&ToolResult { content, ..ToolResult::default() }, None), None);
        }
        let structured = Some(sabir::RawJson::NULL);
        let result =
            ToolResult { content: vec![text()], structured_content: structured, ..ToolResult::default() };
        assert_eq!(write(&result, None), None);
        let result =
            ToolResult { content: vec![text()], meta: Some(Default::default()), ..ToolResult::default() };
        assert_eq!(write(&result, Some("{}")), None);
    }
}
