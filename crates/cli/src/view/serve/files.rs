//! The files of the page. They are in the program, and need nothing else.

/// A file of the page.
pub(super) struct PageFile {
    pub(super) path: &'static str,
    pub(super) kind: &'static str,
    pub(super) content: &'static [u8],
}

macro_rules! page {
    ($($path:literal $kind:ident $name:literal),* $(,)?) => {
        &[$(PageFile { path: $path, kind: $kind, content: include_bytes!(concat!("../page/", $name)) }),*]
    };
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const ICON: &str = "image/svg+xml";

pub(super) const FILES: &[PageFile] = page![
    "/" HTML "index.html",
    "/style.css" CSS "style.css",
    "/icon.svg" ICON "icon.svg",
    "/api.js" SCRIPT "api.js",
    "/app.js" SCRIPT "app.js",
    "/detail.js" SCRIPT "detail.js",
    "/filter.js" SCRIPT "filter.js",
    "/find.js" SCRIPT "find.js",
    "/grid.js" SCRIPT "grid.js",
    "/json.js" SCRIPT "json.js",
    "/keys.js" SCRIPT "keys.js",
    "/list.js" SCRIPT "list.js",
    "/sequence.js" SCRIPT "sequence.js",
    "/stats.js" SCRIPT "stats.js",
    "/store.js" SCRIPT "store.js",
    "/text.js" SCRIPT "text.js",
    "/timeline.js" SCRIPT "timeline.js",
];

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_inert_and_asks_nobody_else() {
        let all: usize = FILES.iter().map(|file| file.content.len()).sum();
        assert!(all < 111 << 10, "{all} bytes");
        for PageFile { path, content, .. } in FILES {
            let text = std::str::from_utf8(content).unwrap();
            for bad in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"]
            {
                assert!(!text.contains(bad), "{path} has {bad}");
            }
            let others = text.replace("http://www.w3.org/2000/svg", "");
            assert!(
                !others.contains("http://") && !others.contains("https://"),
                "{path} asks another server"
            );
        }
    }
}
