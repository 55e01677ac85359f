//! `sabir tap wrap` and `unwrap`, and `--make-shim`: what stands in the files of other programs before, between and after.

// Paths and scripts as Unix has them.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

const SABIR: &str = env!("CARGO_BIN_EXE_sabir");

/// A home of its own for a test.
struct Home(PathBuf);

impl Home {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("wrap-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(folder.join("project")).unwrap();
        Home(fs::canonicalize(folder).unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// What the program prints, and how it ends.
    fn run(&self, words: &[&str]) -> (String, String, Option<i32>) {
        let mut command = Command::new(SABIR);
        command.args(words).current_dir(self.path("project")).stdin(Stdio::null());
        command.env("HOME", &self.0).env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr), output.status.code())
    }

    fn works(&self, words: &[&str]) -> String {
        let (out, err, code) = self.run(words);
        assert_eq!(code, Some(0), "{words:?}: {err}");
        format!("{out}{err}")
    }

    #[track_caller]
    fn fails(&self, words: &[&str], with: &str) {
        let (_, err, code) = self.run(words);
        assert!(err.contains(with) && code == Some(2), "{words:?} ({code:?}): {err}");
    }

    /// Files that a write may have left behind.
    fn leftovers(&self, folder: &str) -> usize {
        let names = fs::read_dir(self.path(folder)).unwrap();
        names.filter(|name| name.as_ref().unwrap().file_name().to_string_lossy().ends_with(".tmp")).count()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file of a program, its text, and what the entry `x` becomes in it; `SABIR` is the program, `TAP` the words of the tap.
const FILES: [(&str, &str, &str); 16] = [
    (
        ".config/Claude/claude_desktop_config.json",
        "{\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"npx\",\n      \"args\": [\n        \"-y\",\n        \"server\"\n      ],\n      \"env\": {\"A\": \"1.0\"}\n    }\n  }\n}\n",
        "{\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": SABIR,\n      \"args\": [\n        \"tap\",\n        \"--record\",\n        FILE,\n        \"--\",\n        \"npx\",\n        \"-y\",\n        \"server\"\n      ],\n      \"env\": {\"A\": \"1.0\"}\n    }\n  }\n}\n",
    ),
    (
        ".claude.json",
        "{\"n\":1.50,\"mcpServers\":{\"y\":{\"command\":\"b\"},\"x\":{\"type\":\"stdio\",\"command\":\"a\",\"args\":[]}}}",
        "{\"n\":1.50,\"mcpServers\":{\"y\":{\"command\":\"b\"},\"x\":{\"type\":\"stdio\",\"command\":SABIR,\"args\":[TAP, \"a\"]}}}",
    ),
    (
        "project/.mcp.json",
        "{\"mcpServers\": {\"x\": {\"args\": [\"${HOME}/a\", \"\\u0062\"], \"command\": \"\\u006eode\"}}}",
        "{\"mcpServers\": {\"x\": {\"args\": [TAP, \"\\u006eode\", \"${HOME}/a\", \"\\u0062\"], \"command\": SABIR}}}",
    ),
    (
        ".cursor/mcp.json",
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {\r\n\t\t\t\"command\": \"a\"\r\n\t\t}\r\n\t}\r\n}",
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {\r\n\t\t\t\"command\": SABIR,\r\n\t\t\t\"args\": [TAP, \"a\"]\r\n\t\t}\r\n\t}\r\n}",
    ),
    (
        "project/.vscode/mcp.json",
        "// mine\n{\n  \"servers\": {\n    /* the one */ \"x\": { \"type\": \"stdio\", \"command\": \"a\", \"args\": [ // none yet\n    ], },\n  },\n}\n",
        "// mine\n{\n  \"servers\": {\n    /* the one */ \"x\": { \"type\": \"stdio\", \"command\": SABIR, \"args\": [TAP, \"a\" // none yet\n    ], },\n  },\n}\n",
    ),
    (
        ".config/Code/User/mcp.json",
        "\u{feff}{\"servers\": {\"x\": {\"command\": \"é\", // why\n\"args\": [\"b\",],},},}",
        "\u{feff}{\"servers\": {\"x\": {\"command\": SABIR, // why\n\"args\": [TAP, \"é\", \"b\",],},},}",
    ),
    (
        ".config/zed/settings.json",
        "{\n  // servers\n  \"context_servers\": { \"x\": { \"command\": { \"path\": \"a\", \"args\": [\"b\"] }, \"settings\": {} } },\n}",
        "{\n  // servers\n  \"context_servers\": { \"x\": { \"command\": { \"path\": SABIR, \"args\": [TAP, \"a\", \"b\"] }, \"settings\": {} } },\n}",
    ),
    (
        ".config/zed/settings.json",
        "{\"context_servers\": {\"x\": {\"source\": \"custom\", \"command\": \"a\", \"args\": [\"b\"]}}}",
        "{\"context_servers\": {\"x\": {\"source\": \"custom\", \"command\": SABIR, \"args\": [TAP, \"a\", \"b\"]}}}",
    ),
    (
        "project/.zed/settings.json",
        "{\"lsp\": {\"x\": {\"binary\": {\"path\": \"a\"}, \"settings\": {\"path\": 1}}}}",
        "{\"lsp\": {\"x\": {\"binary\": {\"path\": SABIR, \"arguments\": [TAP, \"a\"]}, \"settings\": {\"path\": 1}}}}",
    ),
    (
        ".config/helix/languages.toml",
        "# mine\n[language-server.x]\ncommand = 'a' # why\nargs = [\n  \"b\", # one\n  'c',\n]\n\n[[language]]\nname = \"rust\"\n",
        "# mine\n[language-server.x]\ncommand = SABIR # why\nargs = [\n  \"tap\",\n  \"--record\",\n  FILE,\n  \"--\",\n  'a',\n  \"b\", # one\n  'c',\n]\n\n[[language]]\nname = \"rust\"\n",
    ),
    (
        "project/.helix/languages.toml",
        "language-server.x = { command = \"a\" } # why\n",
        "language-server.x = { command = SABIR, args = [TAP, \"a\"] } # why\n",
    ),
    (
        "project/.helix/languages.toml",
        "[language-server]\nx.command = \"a\" # why\r\ny.command = \"b\"",
        "[language-server]\nx.command = SABIR # why\r\nx.args = [TAP, \"a\"]\r\ny.command = \"b\"",
    ),
    (
        ".codex/config.toml",
        "model = \"o\"\n[mcp_servers.x]\n  command = \"a\"",
        "model = \"o\"\n[mcp_servers.x]\n  command = SABIR\n  args = [TAP, \"a\"]",
    ),
    (
        ".codex/config.toml",
        "[mcp_servers.x]\nargs = []\ncommand = \"\"\"a\"\"\"\n[mcp_servers.x.env]\nA = \"1\"\n",
        "[mcp_servers.x]\nargs = [TAP, \"\"\"a\"\"\"]\ncommand = SABIR\n[mcp_servers.x.env]\nA = \"1\"\n",
    ),
    (
        ".codex/config.toml",
        "mcp_servers = { x = { command = \"a\", args = [\"b\"] } }",
        "mcp_servers = { x = { command = SABIR, args = [TAP, \"a\", \"b\"] } }",
    ),
    (
        ".claude.json",
        "{\"projects\": {\"FOLDER\": {\"mcpServers\": {\"x\": {\"command\": \"a\"}}}}}",
        "{\"projects\": {\"FOLDER\": {\"mcpServers\": {\"x\": {\"command\": SABIR, \"args\": [TAP, \"a\"]}}}}}",
    ),
];

/// What is expected of a file, with all words filled in.
fn filled(home: &Home, text: &str) -> String {
    let file = format!("{:?}", home.path("x.jrl"));
    text.replace("TAP", "\"tap\", \"--record\", FILE, \"--\"")
        .replace("FILE", &file)
        .replace("SABIR", &format!("{:?}", fs::canonicalize(SABIR).unwrap()))
        .replace("FOLDER", home.path("project").to_str().unwrap())
}

#[test]
fn an_entry_is_changed_in_place_and_back() {
    for (name, before, after) in FILES {
        let home = Home::new();
        let record = home.path("x.jrl");
        let wrap = ["tap", "wrap", "x", "--record", record.to_str().unwrap()];
        let (before, after) =
            (before.replace("FOLDER", home.path("project").to_str().unwrap()), filled(&home, after));
        home.write(name, &before);
        fs::set_permissions(home.path(name), fs::Permissions::from_mode(0o640)).unwrap();

        let shown = home.works(&[&wrap[..], &["--dry-run"]].concat());
        assert!(shown.contains("@@") && home.read(name) == before, "{shown}");
        home.works(&wrap);
        assert_eq!(home.read(name), after, "{name}");
        home.fails(&wrap, "`x` is behind a tap already");
        home.works(&["tap", "unwrap", "x"]);
        assert_eq!(home.read(name), before, "{name}");
        home.fails(&["tap", "unwrap", "x"], "`x` is not behind a tap");
        assert_eq!(fs::metadata(home.path(name)).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(home.leftovers(Path::new(name).parent().unwrap().to_str().unwrap()), 0);
        assert_eq!(fs::read_dir(home.path(".local/state/sabir/wrapped")).unwrap().count(), 0);
    }
}

#[test]
fn only_the_entry_is_restored_if_the_file_has_changed() {
    for (name, before, after) in FILES {
        let home = Home::new();
        let record = home.path("x.jrl");
        let folder = home.path("project");
        let before = before.replace("FOLDER", folder.to_str().unwrap());
        home.write(name, &before);
        home.works(&["tap", "wrap", "x", "--record", record.to_str().unwrap()]);
        // A line before and one behind it, as comments where there can be some.
        let changed = |text: &str| match name.ends_with(".toml") {
            true => format!("# new\n{text}\n# new"),
            false => format!(" \n{text}\n\n"),
        };
        let bom = |text: &str| text.trim_start_matches('\u{feff}').to_owned();
        home.write(name, &changed(&bom(&filled(&home, after))));
        home.works(&["tap", "unwrap", "x"]);
        assert_eq!(home.read(name), changed(&bom(&before)), "{name}");
    }
}

#[test]
fn what_a_person_changes_in_a_wrapped_entry_stays() {
    for (name, before, find, put, after) in [
        (
            ".cursor/mcp.json",
            r#"{"mcpServers":{"x":{"command":"a","args":["b"]}}}"#,
            r#""b"]"#,
            r#""b", "new"]"#,
            r#"{"mcpServers":{"x":{"command":"a","args":["b", "new"]}}}"#,
        ),
        (
            ".cursor/mcp.json",
            r#"{"mcpServers":{"x":{"command":"a","args":["b"]}}}"#,
            r#""a", "b"]"#,
            r#""a" , ]"#,
            r#"{"mcpServers":{"x":{"command":"a","args":[ ]}}}"#,
        ),
        (
            ".codex/config.toml",
            "[mcp_servers.x]\ncommand = 'a'\n",
            "'a']",
            "'other', 'b']",
            "[mcp_servers.x]\ncommand = 'other'\nargs = ['b']\n",
        ),
    ] {
        let home = Home::new();
        home.write(name, before);
        home.works(&["tap", "wrap", "x"]);
        let wrapped = home.read(name);
        assert!(wrapped.contains(find), "{wrapped}");
        home.write(name, &wrapped.replace(find, put));
        home.works(&["tap", "unwrap", "x"]);
        assert_eq!(home.read(name), after);
    }
}

#[test]
fn two_entries_of_a_file_come_back_in_any_order() {
    let before = "{ // two\n  \"mcpServers\": {\n    \"x\": {\"command\": \"a\"},\n    \"y\": {\"command\": \"b\", \"args\": [\"c\"]}\n  }\n}\n";
    for order in [["x", "y"], ["y", "x"]] {
        let home = Home::new();
        home.write(".cursor/mcp.json", before);
        home.works(&["tap", "wrap", "x"]);
        home.works(&["tap", "wrap", "y"]);
        for name in order {
            home.works(&["tap", "unwrap", name]);
        }
        assert_eq!(home.read(".cursor/mcp.json"), before);
    }
}

#[test]
fn entries_that_are_wrapped_at_once_are_all_wrapped() {
    let home = Home::new();
    let names = ["a", "b", "c", "d"];
    let entries = names.map(|name| format!("\"{name}\": {{\"command\": \"run-{name}\"}}")).join(", ");
    let text = format!("{{\"mcpServers\": {{{entries}}}}}\n");
    home.write("project/x.json", &text);
    let at_once = |verb: &str| {
        std::thread::scope(|scope| {
            for name in names {
                scope.spawn(|| home.works(&["tap", verb, name, "--file", "x.json"]));
            }
        });
        home.read("project/x.json")
    };
    for _ in 0..5 {
        let wrapped = at_once("wrap");
        assert_eq!(wrapped.matches("\"tap\"").count(), names.len(), "{wrapped}");
        assert_eq!(at_once("unwrap"), text);
    }
}

#[test]
fn a_tap_put_there_by_hand_is_taken_away_too() {
    let home = Home::new();
    let text = r#"{"mcpServers":{"x":{"command":"sabir","args":["tap","--print","--","node","s.js"]}}}"#;
    home.write(".cursor/mcp.json", text);
    home.fails(&["tap", "wrap", "x"], "behind a tap already");
    home.works(&["tap", "unwrap", "x"]);
    assert_eq!(home.read(".cursor/mcp.json"), r#"{"mcpServers":{"x":{"command":"node","args":["s.js"]}}}"#);
}

#[test]
fn what_cannot_be_wrapped_is_refused() {
    let home = Home::new();
    let wrap = |name: &'static str| ["tap", "wrap", name];
    home.fails(&wrap("x"), "no file with servers was found");
    let cursor = r#"{"mcpServers":{"files":{"command":"a"},"web":{"url":"https://example.org/mcp"},"odd":{"command":"a","args":"b"},"none":{}}}"#;
    home.write(".cursor/mcp.json", cursor);
    home.fails(&wrap("file"), "no server is called `file`\nhint: did you mean files?");
    home.fails(&wrap("web"), "--listen http://127.0.0.1:9000 https://example.org/mcp");
    home.fails(&wrap("odd"), "cannot be changed in place");
    home.fails(&wrap("none"), "`none` in ~/.cursor/mcp.json has no command");
    home.fails(&["tap", "wrap", "files", "--file", "nowhere.json"], "there is no file nowhere.json");
    home.fails(&["tap", "wrap", "files", "--host", "zed"], "no file with servers was found");
    home.fails(&["tap", "unwrap", "files"], "`files` is not behind a tap");
    // Two programs.
    home.write(".claude.json", r#"{"mcpServers":{"files":{"command":"a"}}}"#);
    home.fails(&wrap("files"), "`files` is in ~/.claude.json and in ~/.cursor/mcp.json");
    home.works(&["tap", "wrap", "files", "--host", "claude"]);
    assert!(home.read(".claude.json").contains("\"tap\"") && home.read(".cursor/mcp.json") == cursor);
    // A file that others can write to.
    home.write("project/.mcp.json", r#"{"mcpServers":{"mine":{"command":"a"}}}"#);
    fs::set_permissions(home.path("project/.mcp.json"), fs::Permissions::from_mode(0o666)).unwrap();
    home.fails(&wrap("mine"), "is not used: others can write to it");
    // A file that is not JSON.
    home.write("broken.json", "{\"mcpServers\":\n{\"mine\" 1}}");
    home.fails(&["tap", "wrap", "mine", "--file", "../broken.json"], "broken.json:2: this is not JSON");
}

#[test]
fn a_link_stays_a_link_and_the_backup_is_private() {
    let home = Home::new();
    let before = r#"{"mcpServers":{"x":{"command":"a","env":{"TOKEN":"s3cret"}}}}"#;
    home.write("dotfiles/mcp.json", before);
    fs::create_dir_all(home.path(".cursor")).unwrap();
    std::os::unix::fs::symlink(home.path("dotfiles/mcp.json"), home.path(".cursor/mcp.json")).unwrap();
    home.works(&["tap", "wrap", "x"]);
    assert!(fs::symlink_metadata(home.path(".cursor/mcp.json")).unwrap().is_symlink());
    assert!(home.read("dotfiles/mcp.json").contains("\"--\", \"a\""));
    let kept = home.path(".local/state/sabir/wrapped");
    assert_eq!(fs::metadata(&kept).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(kept.join("x.json")).unwrap().permissions().mode() & 0o777, 0o600);
    home.works(&["tap", "unwrap", "x"]);
    assert_eq!(home.read("dotfiles/mcp.json"), before);
}

#[test]
fn a_wrapped_entry_runs_and_is_recorded() {
    let home = Home::new();
    home.write(".cursor/mcp.json", r#"{"mcpServers":{"x":{"command":"cat"}}}"#);
    home.works(&["tap", "wrap", "x"]);
    let entry: serde_json::Value = serde_json::from_str(&home.read(".cursor/mcp.json")).unwrap();
    let entry = &entry["mcpServers"]["x"];
    let args: Vec<&str> = entry["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    let mut command = Command::new(entry["command"].as_str().unwrap());
    let mut child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{}\n").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"{}\n");
    assert!(home.read(".local/state/sabir/records/x.jrl").contains("code 0"));
}

#[test]
fn a_shim_runs_its_command_and_passes_arguments_on() {
    let home = Home::new();
    let shim = home.path("bin/printf");
    fs::create_dir_all(home.path("bin")).unwrap();
    let path = shim.to_str().unwrap();
    // It has the name of the command, and must not run itself.
    home.works(&["tap", "--record", "it's.jrl", "--make-shim", path, "--", "printf", "%s|", "a b"]);
    assert_eq!(fs::metadata(&shim).unwrap().permissions().mode() & 0o777, 0o755);
    let mut command = Command::new(&shim);
    command.args(["c  d", "$e", "'f"]).current_dir("/").stdin(Stdio::null());
    let path_variable = format!("{}:{}", home.path("bin").display(), std::env::var("PATH").unwrap());
    let output = command.env("PATH", path_variable).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "a b|c  d|$e|'f|");
    assert!(home.read("project/it's.jrl").contains("code 0"));
    home.fails(&["tap", "--make-shim", path, "--", "cat"], "exists already");
    home.fails(&["tap", "--make-shim", path], "required");
    let (nowhere, _) = (home.path("no/such/folder"), ());
    let (_, err, code) = home.run(&["tap", "--make-shim", nowhere.to_str().unwrap(), "--", "cat"]);
    assert!(err.contains("cannot write") && code == Some(3), "{err}");
}
