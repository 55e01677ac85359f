// What is asked in a dialog: the keys, and what to export.

import { save } from "./api.js";
import { FILTERS } from "./filter.js";
import { button, byId, count, element, tell } from "./text.js";

const KEYS = [
  ["j k ↓ ↑", "next, previous row"], ["PgDn PgUp", "a page on, back"], ["g G Home End", "first, last; the last follows"], ["Enter", "show the message"], ["Esc", "close, clear"],
  ["/", "filter"], ["f", "find"], ["n N", "next, previous that was found"], ["e E", "next error, errors only"], ["[ ]", "request, answer"], ["m M", "mark the row, go to the next mark"],
  ["p", "pause: add and change nothing"], ["y", "copy as sabir call"], ["r", "edit and send"], ["x", "export"], ["t", "what times are told by"], ["1 2 3", "list, sequence, statistics"], ["Tab", "to the other parts"], ["?", "this help"],
];

const dialog = () => /** @type {HTMLDialogElement} */ (byId("dialog"));

export const dialogIsOpen = () => dialog().open;

/** @param {string} title @param {(Node | string)[]} content */
function show(title, ...content) {
  dialog().replaceChildren(element("h2", { id: "dialog-title" }, title), ...content);
  dialog().showModal();
  // What has the focus may be at its end.
  dialog().scrollTop = 0;
}

export function showHelp() {
  const table = (/** @type {string[][]} */ rows) => element("table", {}, element("tbody", {}, ...rows.map(([a, b]) => element("tr", {}, element("th", { scope: "row" }, element("kbd", {}, a)), element("td", {}, b)))));
  show("Keys and filters", element("div", { class: "columns" }, table(KEYS), element("div", {}, table(FILTERS), element("p", { class: "hint" }, "All words must apply. `sabir help filters` has the whole list."))),
    element("div", { class: "buttons" }, button("Close", () => dialog().close(), { autofocus: true })));
}

/** @param {{all: number, matching: number | null, filter: number | null, marked: number[], selected: number}} rows */
export function showExport({ all, matching, filter, marked, selected }) {
  /** @type {[string, string, boolean, object][]} */
  const choices = [
    ["matching", `what matches the filter (${count(matching ?? 0)} rows)`, matching !== null, { filter }],
    ["all", `everything (${count(all)} rows)`, true, {}],
    ["marked", `the marked rows (${count(marked.length)})`, marked.length > 0, { rows: marked }],
    ["selected", "the selected row", selected > 0, { rows: [selected] }],
  ];
  const possible = choices.filter(([, , can]) => can);
  const radios = possible.map(([name, label], index) => element("label", {}, element("input", { type: "radio", name: "rows", value: name, checked: index === 0 }), ` ${label}`));
  const redact = /** @type {HTMLInputElement} */ (element("input", { id: "redact", autocomplete: "off", spellcheck: "false", placeholder: "token|password $.params.key" }));
  const as = (/** @type {string} */ format, /** @type {string} */ name) => () => {
    const picked = /** @type {HTMLInputElement | null} */ (dialog().querySelector("input:checked"))?.value;
    const body = { format, redact: redact.value.split(/\s+/).filter(Boolean), ...possible.find(([name]) => name === picked)?.[3] };
    dialog().close();
    save("export", body, name).then(() => tell(`saved ${name}`), tell);
  };
  show("Export", element("fieldset", {}, element("legend", { class: "hint" }, "Which rows"), ...radios), element("label", { class: "redact" }, "Replace values of these names, or at these paths ", redact), element("div", { class: "buttons" },
    button("Capture (.jrl)", as("jrl", "capture.jrl"), { autofocus: true }), button("Transcript (.rpc)", as("transcript", "session.rpc")), button("HAR", as("har", "capture.har")), button("Cancel", () => dialog().close())));
}
