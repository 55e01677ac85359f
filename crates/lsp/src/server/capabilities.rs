//! What a server can do, as its handlers say.

use std::collections::BTreeSet;

use lsp_types::ClientCapabilities;
use serde_json::{Map, Value, json};

/// What a handler says of its server.
struct Provider {
    method: &'static str,
    /// The member of the capabilities.
    member: &'static str,
    /// What is said there.
    says: Says,
}

enum Says {
    Yes,
    /// An object, with a member that is true if there is a handler of another method.
    Options(&'static str, &'static str),
    /// The same to a client that says that it understands it, by a member that is there and not false; a yes to all
    /// others.
    OptionsIf(&'static str, &'static str, &'static str),
    /// An object with nothing in it.
    NoOptions,
}

use Says::{NoOptions, Options, OptionsIf, Yes};

const fn provider(method: &'static str, member: &'static str, says: Says) -> Provider {
    Provider { method, member, says }
}

/// What needs more than a yes, such as the legend of semantic tokens, is not in it.
const PROVIDERS: &[Provider] = &[
    provider("textDocument/hover", "hoverProvider", Yes),
    provider(
        "textDocument/completion",
        "completionProvider",
        Options("resolveProvider", "completionItem/resolve"),
    ),
    provider("textDocument/signatureHelp", "signatureHelpProvider", NoOptions),
    provider("textDocument/declaration", "declarationProvider", Yes),
    provider("textDocument/definition", "definitionProvider", Yes),
    provider("textDocument/typeDefinition", "typeDefinitionProvider", Yes),
    provider("textDocument/implementation", "implementationProvider", Yes),
    provider("textDocument/references", "referencesProvider", Yes),
    provider("textDocument/documentHighlight", "documentHighlightProvider", Yes),
    provider("textDocument/documentSymbol", "documentSymbolProvider", Yes),
    provider(
        "workspace/symbol",
        "workspaceSymbolProvider",
        Options("resolveProvider", "workspaceSymbol/resolve"),
    ),
    provider(
        "textDocument/codeAction",
        "codeActionProvider",
        OptionsIf(
            "/textDocument/codeAction/codeActionLiteralSupport",
            "resolveProvider",
            "codeAction/resolve",
        ),
    ),
    provider("textDocument/codeLens", "codeLensProvider", Options("resolveProvider", "codeLens/resolve")),
    provider(
        "textDocument/documentLink",
        "documentLinkProvider",
        Options("resolveProvider", "documentLink/resolve"),
    ),
    provider("textDocument/documentColor", "colorProvider", Yes),
    provider("textDocument/formatting", "documentFormattingProvider", Yes),
    provider("textDocument/rangeFormatting", "documentRangeFormattingProvider", Yes),
    provider(
        "textDocument/rename",
        "renameProvider",
        OptionsIf("/textDocument/rename/prepareSupport", "prepareProvider", "textDocument/prepareRename"),
    ),
    provider("textDocument/foldingRange", "foldingRangeProvider", Yes),
    provider("textDocument/selectionRange", "selectionRangeProvider", Yes),
    provider("textDocument/linkedEditingRange", "linkedEditingRangeProvider", Yes),
    provider("textDocument/prepareCallHierarchy", "callHierarchyProvider", Yes),
    provider("textDocument/prepareTypeHierarchy", "typeHierarchyProvider", Yes),
    provider("textDocument/moniker", "monikerProvider", Yes),
    provider("textDocument/inlineValue", "inlineValueProvider", Yes),
    provider("textDocument/inlayHint", "inlayHintProvider", Options("resolveProvider", "inlayHint/resolve")),
];

/// Adds what handlers were registered for and the server does not say itself, as this client understands it.
pub(super) fn complete(
    capabilities: &mut Map<String, Value>,
    methods: &BTreeSet<&'static str>,
    commands: &[String],
    client: &ClientCapabilities,
) {
    let client = json!(client);
    let understands =
        |member| client.pointer(member).is_some_and(|said| !matches!(said, Value::Null | Value::Bool(false)));
    let has = |method: &str| methods.contains(method);
    let mut add = |member: &str, value: Value| {
        capabilities.entry(member).or_insert(value);
    };
    for Provider { member, says, .. } in PROVIDERS.iter().filter(|provider| has(provider.method)) {
        match says {
            Yes => add(member, json!(true)),
            OptionsIf(support, ..) if !understands(support) => add(member, json!(true)),
            Options(option, method) | OptionsIf(_, option, method) => {
                add(member, json!({ *option: has(method) }))
            }
            NoOptions => add(member, json!({})),
        }
    }
    if has("textDocument/diagnostic") {
        let of_workspace = has("workspace/diagnostic");
        let options = json!({ "interFileDependencies": false, "workspaceDiagnostics": of_workspace });
        add("diagnosticProvider", options);
    }
    // The store wants all documents, and their changes.
    let incremental = 2;
    let synchronization = json!({
        "openClose": true,
        "change": incremental,
        "willSave": has("textDocument/willSave"),
        "willSaveWaitUntil": has("textDocument/willSaveWaitUntil"),
        "save": has("textDocument/didSave"),
    });
    add("textDocumentSync", synchronization);
    if has("workspace/didChangeWorkspaceFolders")
        && let Some(workspace) = options(capabilities, "workspace")
    {
        let folders = json!({ "supported": true, "changeNotifications": true });
        workspace.entry("workspaceFolders").or_insert(folders);
    }
    if (has("workspace/executeCommand") || !commands.is_empty())
        && let Some(provider) = options(capabilities, "executeCommandProvider")
        && let Some(named) = provider.entry("commands").or_insert_with(|| json!([])).as_array_mut()
    {
        let new = commands.iter().map(|command| json!(command));
        let new: Vec<Value> = new.filter(|command| !named.contains(command)).collect();
        named.extend(new);
    }
}

/// The options of a capability, with what the server says of it itself.
fn options<'c>(capabilities: &'c mut Map<String, Value>, member: &str) -> Option<&'c mut Map<String, Value>> {
    capabilities.entry(member).or_insert_with(|| json!({})).as_object_mut()
}
