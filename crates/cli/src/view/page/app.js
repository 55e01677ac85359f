// Puts the parts of the page together: what is shown, what is chosen, and the keys.

import { follow, get, save } from "./api.js";
import { Detail, title } from "./detail.js";
import { Grid } from "./grid.js";
import { arrow } from "./sequence.js";
import { Stats } from "./stats.js";
import { Store } from "./store.js";
import { byId, count, duration, element, size, visible } from "./text.js";
import { Timeline } from "./timeline.js";

/** @typedef {import("./api.js").Row} Row */

const COLUMNS = ["#", "time", "", "kind", "id", "method", "status", "ms", "bytes", "preview"];
const WORDS = ["method:", "tool:", "id:", "dir:c2s", "dir:s2c", "kind:req", "kind:note", "kind:noise", "kind:stderr", "status:ok", "status:error", "status:pending", "status:late", "status:cancel", "ms>250", "bytes>1k", "code:-32601"];
const KEYS = [
  ["j, k, arrows, PgUp, PgDn, Home, End", "move"], ["Enter", "show the message"], ["Esc", "close it"], ["/", "filter"], ["n, N", "next, previous error"],
  ["e", "next error"], ["E", "errors only"], ["p", "pause"], ["[ and ]", "request, answer"], ["m", "mark the row"], ["y", "copy as sabir call"], ["r", "edit and send"],
  ["1, 2, 3", "list, sequence, statistics"], ["?", "this help"],
];
const FILTERS = [
  ["text", "in the method, the tool, the id or the message"], ["method:tools/call", "also tool:, id:, task:"], ["dir:c2s, dir:s2c", "from the client, from the server"],
  ["kind:req", "req, resp, notify, stderr, invalid"], ["status:error", "ok, error, pending, late, cancel, 401"], ["ms>250, bytes>1k", "longer, larger"],
  ["code:-32601", "the code of an error"], ["/re/", "a regular expression"], ["$.params.name=x", "a value in the message"], ["-word", "not"],
];

const store = new Store();
const detail = new Detail(byId("detail"));
const stats = new Stats(byId("tables"));
const timeline = new Timeline(/** @type {HTMLCanvasElement} */ (byId("timeline")));
const filter = /** @type {HTMLInputElement} */ (byId("filter"));
const timeChoice = /** @type {HTMLSelectElement} */ (byId("time"));
const exportChoice = /** @type {HTMLSelectElement} */ (byId("export"));
const more = byId("more");

let view = "list";
let following = true;
let paused = false;
let errorsOnly = false;
let fresh = 0;
/** @type {{from: number, to: number} | null} */
let range = null;
/** @type {Row | null} */
let marked = null;
let started = 0;

const list = new Grid(byId("grid"), { length: () => store.length, draw: drawRow });
const diagram = new Grid(byId("diagram"), { length: () => store.length, draw: (place, box) => arrow(box, store.at(place), place ? store.at(place - 1) : undefined) });
const grid = () => (view === "sequence" ? diagram : list);

/** @param {Row} row @param {Row | undefined} before */
function timeOf(row, before) {
  switch (timeChoice.value) {
    case "start": return duration(row.t / 1e6);
    case "clock": return new Date(started + row.t / 1e6).toISOString().slice(11, 23);
    case "mark": return marked ? `${row.t < marked.t ? "−" : "+"}${duration(Math.abs(row.t - marked.t) / 1e6)}` : "";
    default: return before ? `+${duration(Math.max(0, row.t - before.t) / 1e6)}` : "0";
  }
}

/** @param {number} place @param {HTMLElement} box */
function drawRow(place, box) {
  const row = store.at(place);
  if (!row) {
    box.className = "row loading";
    box.replaceChildren(element("span", { role: "gridcell" }, "…"));
    return;
  }
  const before = place ? store.at(place - 1) : undefined;
  const bad = row.status === "error" || row.kind === "err";
  const status = row.code !== undefined ? `✗ ${row.code}` : row.status === "ok" ? "✓" : row.status === "error" ? "✗ error" : row.status === "pending" ? "… pending" : row.status ?? "";
  const worst = row.findings?.find(finding => finding.level === "error") ?? row.findings?.[0];
  const cells = [
    `${marked?.row === row.row ? "★" : ""}${row.row + 1}`, timeOf(row, before), row.d === ">" ? "→" : row.d === "<" ? "←" : "", row.kind, row.id ?? "", title(row), status,
    row.ms === undefined ? "" : duration(row.ms), size(row.bytes), row.preview,
  ];
  box.className = `row ${row.kind}${bad ? " bad" : ""}${row.status === "pending" ? " pending" : ""}${marked?.row === row.row ? " marked" : ""}`;
  box.replaceChildren(...cells.map((text, index) => element("span", { role: "gridcell", class: `c${index}` }, visible(text))));
  if (worst) box.lastElementChild?.prepend(element("span", { class: `finding ${worst.level}`, title: worst.text }, `${worst.level === "error" ? "✗" : "!"} ${worst.rule} `));
}

function draw() {
  if (view === "stats") stats.refresh().catch(tell);
  else grid().draw();
}

/** @param {unknown} text */
function tell(text) {
  byId("told").textContent = text instanceof Error ? text.message : String(text);
  byId("matches").title = byId("told").textContent ?? "";
}

function tellState() {
  const news = store.news;
  if (!news) return;
  const box = byId("state");
  const state = paused ? "paused" : news.state;
  const text = news.end ? `${state}: ${news.end}` : state;
  box.className = `state ${news.end && !/\b0$/.test(news.end) ? "bad" : state}`;
  if (box.textContent !== text) box.textContent = visible(text);
  const scan = store.scan;
  const scanning = Boolean(scan && scan.scanned < scan.of);
  const bar = /** @type {HTMLProgressElement} */ (byId("scan"));
  bar.hidden = !scanning;
  if (scan) bar.value = scan.of ? scan.scanned / scan.of : 1;
  byId("grid").setAttribute("aria-busy", String(scanning));
  byId("matches").textContent = scan ? `${count(scan.matched)} of ${count(store.all)}${scanning ? "…" : ""}` : `${count(store.all)} rows`;
  more.hidden = following && !paused || fresh === 0;
  more.textContent = `↓ ${count(fresh)} new`;
}

store.addEventListener("news", event => {
  const { before } = /** @type {CustomEvent} */ (event).detail;
  if (following && !paused) grid().end();
  else fresh += Math.max(0, store.length - before);
  tellState();
  draw();
  timeline.refresh();
  const open = detail.row;
  if (open >= 0 && /** @type {CustomEvent} */ (event).detail.changed.has(open)) detail.open(open);
});
store.addEventListener("rows", draw);

for (const moved of [list, diagram]) {
  moved.addEventListener("moved", () => {
    following = moved.atEnd;
    if (following) fresh = 0;
    tellState();
  });
  moved.addEventListener("selected", async event => {
    const { place, open } = /** @type {CustomEvent} */ (event).detail;
    following = false;
    const row = await store.load(place);
    if (!row || grid().focus !== place) return;
    remember();
    if (open || detail.isOpen) detail.open(row.row);
  });
}
more.addEventListener("click", () => { fresh = 0; following = true; grid().end(); tellState(); });

// What is shown, in the address: so that a link shows the same.
function remember() {
  const state = new URLSearchParams();
  if (filter.value) state.set("filter", filter.value);
  if (view !== "list") state.set("view", view);
  if (detail.row >= 0) state.set("row", String(detail.row));
  const text = state.toString();
  history.replaceState(null, "", `${location.pathname}${text ? `#${text}` : ""}`);
}

function wanted() {
  const words = [filter.value.trim()];
  if (errorsOnly) words.push("status:error");
  if (range) words.push(`t>${range.from}ns`, `t<${range.to}ns`);
  return words.filter(Boolean).join(" ");
}

let typing = 0;
async function applyFilter() {
  const problem = byId("problem");
  try {
    await store.setFilter(wanted());
    problem.textContent = "";
    list.forget();
    diagram.forget();
    fresh = 0;
    if (following) grid().end();
  } catch (error) {
    problem.textContent = error instanceof Error ? visible(error.message) : String(error);
  }
  remember();
  tellState();
  draw();
}
filter.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(applyFilter, 200); });
byId("search").addEventListener("submit", event => { event.preventDefault(); clearTimeout(typing); applyFilter(); byId("grid").focus(); });
timeline.addEventListener("range", event => { range = /** @type {CustomEvent} */ (event).detail; applyFilter(); });

/** @param {string} id @param {boolean} on */
const press = (id, on) => byId(id).setAttribute("aria-pressed", String(on));
function toggleErrors() { errorsOnly = !errorsOnly; press("errors", errorsOnly); applyFilter(); }
function togglePause() { paused = !paused; press("pause", paused); if (!paused && following) grid().end(); tellState(); }
byId("errors").addEventListener("click", toggleErrors);
byId("pause").addEventListener("click", togglePause);
timeChoice.addEventListener("change", draw);
exportChoice.addEventListener("change", () => {
  const format = exportChoice.value;
  exportChoice.value = "";
  if (!format) return;
  const scan = store.scan ? `&filter=${store.scan.id}` : "";
  const name = { jrl: "capture.jrl", transcript: "session.rpc", har: "capture.har" }[format] ?? "capture";
  save(`export?format=${format}${scan}`, name).then(() => tell(`saved ${name}`), tell);
});

/** @param {string} name */
function show(name) {
  view = name;
  for (const each of ["list", "sequence", "stats"]) {
    byId(each).hidden = each !== name;
    const tab = byId(`tab-${each}`);
    tab.setAttribute("aria-selected", String(each === name));
    tab.tabIndex = each === name ? 0 : -1;
  }
  if (name !== "stats" && following) grid().end();
  remember();
  draw();
}
for (const name of ["list", "sequence", "stats"]) {
  byId(`tab-${name}`).addEventListener("click", () => show(name));
  byId(`tab-${name}`).addEventListener("keydown", event => {
    const names = ["list", "sequence", "stats"];
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.stopPropagation();
    const next = names[(names.indexOf(name) + step + 3) % 3];
    show(next);
    byId(`tab-${next}`).focus();
  });
}
stats.addEventListener("method", event => {
  const { method, tool } = /** @type {CustomEvent} */ (event).detail;
  filter.value = tool ? `tool:${quoted(tool)}` : `method:${quoted(method)}`;
  show("list");
  applyFilter();
});

/** @param {string} text */
const quoted = text => (/[\s"]/.test(text) ? JSON.stringify(text) : text);

detail.addEventListener("closed", () => { remember(); byId("grid").focus(); });
detail.addEventListener("told", event => tell(/** @type {CustomEvent} */ (event).detail));
detail.addEventListener("jump", event => jump(/** @type {CustomEvent} */ (event).detail));

/** Shows a row by its number, wherever it is in the list. @param {number} row */
async function jump(row) {
  const scan = store.scan ? `?filter=${store.scan.id}` : "";
  const { place } = await get(`place/${row}${scan}`);
  if (place === null) detail.open(row);
  else grid().select(place, true);
}

/** @param {number} step */
async function error(step) {
  const from = grid().focus;
  const scan = store.scan ? `&filter=${store.scan.id}` : "";
  const { place } = await get(`error?from=${from}&step=${step}${scan}`);
  if (place === null) tell("no more errors");
  else grid().select(place, detail.isOpen);
}

async function other() {
  const row = await store.load(grid().focus);
  if (row?.answer !== undefined) jump(row.answer);
}

function help() {
  const dialog = /** @type {HTMLDialogElement} */ (byId("keys"));
  /** @param {string[][]} rows */
  const table = rows => element("table", {}, element("tbody", {}, ...rows.map(([a, b]) => element("tr", {}, element("th", { scope: "row" }, element("kbd", {}, a)), element("td", {}, b)))));
  const close = element("button", { type: "button", autofocus: true }, "Close");
  close.addEventListener("click", () => dialog.close());
  dialog.replaceChildren(element("h2", { id: "keys-title" }, "Keys"), table(KEYS), element("h2", {}, "Filters"), table(FILTERS), close);
  dialog.showModal();
}
byId("help").addEventListener("click", help);

document.addEventListener("keydown", async event => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || /** @type {HTMLDialogElement} */ (byId("keys")).open) return;
  if (event.key === "Escape") {
    if (target === filter && filter.value) { filter.value = ""; applyFilter(); }
    else if (detail.isOpen) { detail.close(); remember(); }
    grid().box.focus();
    return;
  }
  if (target.matches("input, textarea, select")) return;
  const inside = target === document.body || target === grid().box;
  if (view !== "stats" && (inside || /^[jkgG]$/.test(event.key)) && grid().key(event.key)) { event.preventDefault(); return; }
  switch (event.key) {
    case "Enter": {
      if (!inside) return;
      const row = await store.load(grid().focus);
      if (row) { await detail.open(row.row); remember(); }
      break;
    }
    case "/": filter.focus(); filter.select(); break;
    case "n": case "e": error(1).catch(tell); break;
    case "N": error(-1).catch(tell); break;
    case "E": toggleErrors(); break;
    case "p": togglePause(); break;
    case "m": { const row = await store.load(grid().focus); marked = row && marked?.row !== row.row ? row : null; draw(); break; }
    case "y": detail.row >= 0 ? detail.copy("call").catch(tell) : tell("open a message first"); break;
    case "r": detail.edit(); break;
    case "[": case "]": other().catch(tell); break;
    case "1": show("list"); break;
    case "2": show("sequence"); break;
    case "3": show("stats"); break;
    case "?": help(); break;
    default: return;
  }
  event.preventDefault();
});

byId("head").append(...COLUMNS.map((name, index) => element("span", { class: `c${index}` }, name)));
byId("words").append(...WORDS.map(word => element("option", { value: word })));

async function start() {
  const about = await get("about");
  started = Date.parse(about.at) || 0;
  document.title = `${visible(about.name)} – sabir view`;
  byId("words").append(...about.methods.map((/** @type {string} */ name) => element("option", { value: `method:${quoted(name)}` })));
  const state = new URLSearchParams(location.hash.slice(1));
  following = about.live;
  filter.value = state.get("filter") ?? "";
  show(["sequence", "stats"].includes(state.get("view") ?? "") ? /** @type {string} */ (state.get("view")) : "list");
  follow(news => store.hear(news), problem => { byId("state").textContent = problem; byId("state").className = "state bad"; });
  if (filter.value) await applyFilter();
  const row = state.get("row");
  if (row !== null && /^\d+$/.test(row)) await jump(Number(row));
  byId("grid").focus();
}
start().catch(problem => { byId("state").textContent = problem instanceof Error ? problem.message : String(problem); byId("state").className = "state bad"; });
