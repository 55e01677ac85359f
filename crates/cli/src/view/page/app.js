// Puts the parts of the page together: what is shown, what is chosen, and the keys.

import { Refused, follow, get, gone, post } from "./api.js";
import { Detail } from "./detail.js";
import { quoted, setupFilter } from "./filter.js";
import { Find } from "./find.js";
import { Grid } from "./grid.js";
import { dialogIsOpen, showExport, showHelp } from "./keys.js";
import { COLUMNS, drawRow, endedBadly, times } from "./list.js";
import { drawStep, setLifelines } from "./sequence.js";
import { Stats } from "./stats.js";
import { chosen, Store } from "./store.js";
import { byId, count, element, tell, visible } from "./text.js";
import { Timeline } from "./timeline.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {import("./types.js").News} News */

const VIEWS = ["list", "sequence", "stats"];
const MARKS = "sabir-view-marks";

const detail = new Detail(byId("detail"));
const stats = new Stats(byId("tables"));
const timeline = new Timeline(/** @type {HTMLCanvasElement} */ (byId("timeline")));
const timeChoice = /** @type {HTMLSelectElement} */ (byId("time"));
const find = new Find();

let view = "list";
let following = false;
/** How much there was when it was paused; null if it is not. @type {{rows: number, records: number} | null} */
let paused = null;
let errorsOnly = false;
/** @type {[number, number] | null} nanoseconds */
let range = null;
/** @type {News | null} */
let news = null;
/** @type {Set<number>} */
const marks = new Set(JSON.parse(sessionStorage.getItem(MARKS) ?? "[]"));

/** @param {string} id @param {number} rowHeight @param {Store} store @param {(place: number, box: HTMLElement) => void} draw */
function makeGrid(id, rowHeight, store, draw) {
  const box = byId(id);
  const grid = new Grid(box, /** @type {HTMLElement} */ (box.querySelector(".pane")), { rowHeight, length: () => store.length, draw });
  grid.addEventListener("moved", () => { setFollowing(grid.atEnd); });
  grid.addEventListener("end", () => setFollowing(true));
  grid.addEventListener("selected", async event => {
    const { place, open, known } = detailOf(event);
    // Whoever reads a row does not want it to move.
    setFollowing(false);
    jumps += 1;
    const row = known ?? (await store.load(place))?.row;
    if (row === undefined || grid.focus !== place) return;
    if (open || detail.isOpen) await detail.open(row);
    remember(row);
  });
  store.addEventListener("rows", () => { if (grid === current()?.grid) grid.draw(); });
  return { grid, store, seen: 0 };
}
const calls = new Store("calls");
const records = new Store("records");
const list = makeGrid("grid", 24, calls, (place, box) => {
  const row = calls.at(place);
  times.now = row && news?.sources[row.source]?.phase === "live" ? Date.now() : null;
  drawRow(box, row, place ? calls.at(place - 1) : undefined, row !== undefined && marks.has(row.row), news && row && news.sources.length > 1 ? news.sources[row.source]?.label ?? "" : "");
});
const diagram = makeGrid("diagram", 36, records, (place, box) => {
  const row = records.at(place);
  drawStep(box, row, place ? records.at(place - 1) : undefined, row !== undefined && marks.has(row.row));
});
/** @param {Event} event */
const detailOf = event => /** @type {CustomEvent} */ (event).detail;
const current = () => (view === "sequence" ? diagram : view === "list" ? list : null);
const focusRow = async () => { const shown = current(); return shown ? shown.store.load(shown.grid.focus) : undefined; };

function draw() {
  if (view === "stats") stats.refresh(chosen.filter, paused !== null).catch(tell);
  else current()?.grid.draw();
}

/** @param {boolean} to */
function setFollowing(to) {
  following = to;
  tellState();
}

function tellState() {
  if (!news) return;
  const phases = news.sources.map(source => source.phase);
  const broken = news.sources.find(source => source.phase === "unreadable");
  const ends = news.sources.filter(source => source.phase === "ended").map(source => source.end ?? "");
  const problem = news.problems[0] ?? broken?.end;
  const state = paused ? "paused" : problem ? "bad" : phases.includes("live") ? "live" : ends.length && ends.length === phases.length ? "ended" : phases.length ? "file" : "waiting";
  const word = state === "bad" ? problem : state === "ended" ? `ended: ${ends.join(", ")}` : state === "waiting" ? "waiting for traffic" : state;
  const box = byId("state");
  const text = visible(`${word}${state === "file" && !news.read ? ": reading" : ""}`);
  box.className = `state ${state === "ended" && ends.some(endedBadly) ? "bad" : state}`;
  if (box.textContent !== text) { box.textContent = text; box.title = text; }
  byId("grid").classList.toggle("several", news.sources.length > 1);
  const scan = news.scans.find(scan => scan.id === chosen.filter);
  const scanning = chosen.filter !== null && (!scan || scan.looked < scan.of);
  const bar = /** @type {HTMLProgressElement} */ (byId("scan"));
  bar.hidden = !scanning;
  if (scan) bar.value = scan.of ? scan.looked / scan.of : 1;
  for (const id of ["grid", "diagram"]) byId(id).setAttribute("aria-busy", String(scanning));
  const all = paused?.rows ?? news.rows;
  const matches = chosen.filter === null ? `${count(all)} rows` : `${count(paused ? calls.length : scan?.matched ?? 0)} of ${count(all)}`;
  if (byId("matches").textContent !== matches) byId("matches").textContent = matches;
  const shown = current();
  const added = !shown ? 0 : paused ? news.rows - paused.rows : shown.store.length - shown.seen;
  const more = byId("more");
  more.hidden = following && !paused || fresh || added <= 0 || !paused && shown?.grid.atEnd === true;
  more.textContent = `↓ ${count(added)} new`;
  const empty = byId("empty");
  empty.hidden = calls.length > 0;
  empty.textContent = chosen.filter === null ? "Nothing was said so far." : scanning ? "Searching…" : "No row matches.";
}

/** What the page says above all else. @param {string} text */
function notice(text) {
  const box = byId("notice");
  box.hidden = !text;
  if (box.textContent !== text) box.textContent = text;
}

/** Where the record is that a tap was told to write. @type {string | null} */
let record = null;

/** Nothing comes any more. @param {string | null} refused @param {number} tries */
function lost(refused, tries) {
  isLost = true;
  // Another process goes on with the page of a tap that has ended: it takes a moment.
  if (!refused && tries < 3) return;
  gone.text = "sabir no longer serves this page";
  // How the session has ended says more, if that is known.
  if (!/^ended/.test(byId("state").textContent ?? "")) byId("state").textContent = refused ? "no token" : "ended";
  byId("state").className = "state bad";
  notice(refused ?? `The program that served this page has ended, and rows that are not on it cannot be had from here. ${record ? `They are in the record: sabir view ${record}` : "To look at traffic later, record it: sabir tap --view --record FILE …, then sabir view FILE."}`);
}
let isLost = false;

/** Another process goes on with the page. It knows no filters yet, and the same rows. */
function again() {
  const shown = current();
  const row = detail.row || shown && shown.store.at(shown.grid.focus)?.row || 0;
  chosen.filter = null;
  old = [];
  find.again();
  learn().catch(tell);
  applyFilter(false, row);
  if (detail.isOpen) detail.open(detail.row);
}

/** @param {News} heard */
function hear(heard) {
  const first = news === null;
  if (isLost) {
    isLost = false;
    gone.text = "";
    notice("");
    if (!first) again();
  }
  news = heard;
  const changed = new Set(heard.changed ?? []);
  const shifted = [list, diagram].filter(({ store }) => store.hear(heard, changed));
  const shown = current();
  find.hear(heard);
  const scan = heard.scans.find(scan => scan.id === chosen.filter);
  // What is new is what came since the reader was at the end, or since all was there.
  const whole = heard.read && (chosen.filter === null || !fresh || scan !== undefined && scan.looked === scan.of);
  for (const each of [list, diagram]) if (each !== shown || following || each.grid.atEnd || fresh || !heard.read) each.seen = each.store.length;
  if (whole) fresh = false;
  if (shown && following && !paused) shown.grid.end();
  else if (shown && shifted.includes(shown)) anchor(shown).catch(() => {});
  tellState();
  draw();
  timeline.refresh();
  if (first || lifelinesAge !== heard.sources.length) learn().catch(tell);
  if (detail.isOpen && changed.has(detail.row)) detail.open(detail.row);
  for (const done of awaiting.splice(0)) done(undefined);
}

/** @type {((done: undefined) => void)[]} */
const awaiting = [];
const nextNews = () => new Promise(done => awaiting.push(done));

/** Rows among others came or went: those that are looked at stay where they are. @param {typeof list} shown */
async function anchor({ grid, store }) {
  const [top, focus] = [store.at(grid.top), grid.focus < 0 ? undefined : store.at(grid.focus)];
  if (!top) return;
  const before = grid.top;
  const [place, focused] = await Promise.all([store.place(top.row), focus ? store.place(focus.row) : { place: grid.focus }]);
  if (grid.top === before) grid.shift(place.place, focused.place);
}

/** The filter is new: all that it finds at first is nothing new. */
let fresh = true;
let lifelinesAge = -1;
async function learn() {
  lifelinesAge = news?.sources.length ?? 0;
  const about = await get("about");
  times.start = Date.parse(about.start ?? "") || 0;
  detail.canSend = about.send;
  record = about.record;
  const name = about.names.length > 1 ? `${about.names.length} captures` : about.names[0] ?? "sabir view";
  byId("name").textContent = visible(name.split("/").pop() || name);
  byId("name").title = visible(about.names.join("\n"));
  document.title = `${visible(name)} – sabir view`;
  filter.learn(about.methods, about.tools);
  setLifelines(byId("lifelines"), about.lifelines);
  diagram.grid.draw();
}

// What is shown, in the address: so that a link shows the same.
/** @param {number=} row */
function remember(row = detail.row) {
  const state = new URLSearchParams();
  if (filter.input.value) state.set("filter", filter.input.value);
  if (errorsOnly) state.set("errors", "1");
  if (view !== "list") state.set("view", view);
  if (row > 0) state.set("row", String(row));
  const text = state.toString();
  history.replaceState(null, "", `${location.pathname}${text ? `#${text}` : ""}`);
}

let life = 0;
/** Half a word was typed, and nothing was said about it. */
let half = false;
/** The filter before, of which answers may still be under way, and those that came too late. @type {number[]} */
let old = [];
/** The selected row is looked for in the new list. @type {Promise<unknown>} */
let keeping = Promise.resolve();
/** While a filter is put in place: keys wait for its rows, 3 s at the most. @type {Promise<void> | null} */
let settling = null;
/** @param {boolean} typing whether more may be typed: half a word is not wrong yet @param {number | null} selected the row to keep, if it is known */
function applyFilter(typing = false, selected = null) {
  const applied = putFilter(typing, selected);
  const settled = () => { if (settling === mine) settling = null; };
  /** @type {Promise<void>} */
  const mine = settling = Promise.race([applied.then(firstRows), new Promise(done => setTimeout(done, 3000))]).then(settled, settled);
  return applied;
}
async function firstRows() {
  const mine = life;
  await keeping;
  while (mine === life && chosen.filter !== null && !calls.length && news?.scans.some(scan => scan.id === chosen.filter && scan.looked < scan.of)) await nextNews();
}

/** @param {boolean} typing @param {number | null} selected */
async function putFilter(typing, selected) {
  const problem = byId("problem");
  const mine = ++life;
  const shown = current();
  const kept = selected ?? (detail.row || (shown && !following ? (await focusRow())?.row : 0) || 0);
  try {
    const text = filter.input.value;
    const until = paused && (text.trim() || errorsOnly || range) ? paused.records : null;
    const scan = await post("filter", { filter: text, problems: errorsOnly, range, until, instead: old.splice(0), page: news?.page });
    if (mine !== life) return void (scan?.id && old.push(scan.id));
    half = scan?.problem && typing && scan.to >= new TextEncoder().encode(text.trimEnd()).length;
    if (half) return;
    if (scan?.problem) throw new Error(scan.problem);
    calls.hold(paused && until === null ? paused.rows : null);
    records.hold(paused && until === null ? paused.records : null);
    if (chosen.filter !== null) old.push(chosen.filter);
    chosen.filter = scan?.id ?? null;
    if (scan && news) news.scans.push(scan);
    problem.textContent = "";
    filter.input.removeAttribute("aria-invalid");
    for (const { store, grid } of [list, diagram]) { store.forget(); grid.forget(); }
    fresh = true;
    list.seen = diagram.seen = 0;
    if (following) shown?.grid.end();
    if (kept && !following) keeping = keep(kept).catch(tell);
  } catch (error) {
    if (mine !== life) return;
    problem.textContent = visible(error instanceof Error ? error.message : String(error));
    filter.input.setAttribute("aria-invalid", "true");
  }
  remember();
  tellState();
  draw();
}

/** Selects a row again if it is still there, and says so if it is not. @param {number} row */
async function keep(row) {
  const found = await jump(row, false);
  if (found !== undefined && detail.row === row) detail.leftOut(!found);
}

let typing = 0;
const filter = setupFilter(now => {
  clearTimeout(typing);
  if (now) { applyFilter(); current()?.grid.box.focus(); } else typing = setTimeout(() => applyFilter(true), 200);
});
filter.input.addEventListener("blur", () => { if (half) applyFilter(); });
timeline.addEventListener("range", event => { range = detailOf(event); applyFilter(); });

/** @param {string} id @param {boolean} on */
const press = (id, on) => byId(id).setAttribute("aria-pressed", String(on));
function toggleErrors() { errorsOnly = !errorsOnly; press("errors", errorsOnly); applyFilter(); }
function togglePause() {
  paused = paused || !news ? null : { rows: news.rows, records: news.records };
  press("pause", paused !== null);
  calls.hold(paused && calls.length);
  records.hold(paused && records.length);
  tell(paused ? "paused: no rows are added" : "goes on");
  // What was filtered while it was paused leaves out what came then.
  if (!paused && chosen.filter !== null) applyFilter();
  if (!paused && following) current()?.grid.end();
  tellState();
  draw();
}
function toEnd() {
  if (paused) togglePause();
  following = true;
  const shown = current();
  shown?.grid.end();
  if (shown) shown.seen = shown.store.length;
  tellState();
}
function exportRows() {
  const scan = news?.scans.find(scan => scan.id === chosen.filter);
  showExport({ all: news?.rows ?? 0, matching: scan ? scan.matched : null, filter: chosen.filter, marked: [...marks].sort((a, b) => a - b), selected: detail.row });
}
byId("errors").addEventListener("click", toggleErrors);
byId("pause").addEventListener("click", togglePause);
byId("export").addEventListener("click", exportRows);
byId("help").addEventListener("click", showHelp);
byId("more").addEventListener("click", () => { toEnd(); current()?.grid.box.focus(); });
timeChoice.addEventListener("change", () => { times.by = timeChoice.value; draw(); });

/** @param {string} name @param {boolean} keep whether to show the row that is selected */
async function show(name, keep = true) {
  const row = keep && view !== name && view !== "stats" ? await focusRow() : undefined;
  view = name;
  for (const each of VIEWS) {
    byId(each).hidden = each !== name;
    const tab = byId(`tab-${each}`);
    tab.setAttribute("aria-selected", String(each === name));
    tab.tabIndex = each === name ? 0 : -1;
  }
  if (name === "sequence") await learn();
  if (name === "stats") stats.forget();
  const now = current();
  if (now) now.seen = now.store.length;
  if (row && !following && name !== "stats") await jump(row.row, false);
  else if (following) current()?.grid.end();
  remember();
  tellState();
  draw();
}
for (const name of VIEWS) {
  byId(`tab-${name}`).addEventListener("click", () => show(name));
  byId(`tab-${name}`).addEventListener("keydown", event => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.stopPropagation();
    const next = VIEWS[(VIEWS.indexOf(name) + step + 3) % 3];
    show(next);
    byId(`tab-${next}`).focus();
  });
}
stats.addEventListener("method", async event => {
  const { method, tool } = detailOf(event);
  filter.input.value = tool ? `tool:${JSON.stringify(tool)}` : `method:${JSON.stringify(method)}`;
  await show("list", false);
  await applyFilter();
  byId("grid").focus();
});

detail.addEventListener("closed", () => { remember(0); current()?.grid.box.focus(); draw(); });
detail.addEventListener("jump", event => jump(detailOf(event)).catch(tell));

/** Counts what was selected, so that a row that comes late does not take the place of one that was selected since. */
let jumps = 0;

/** Shows a row by its number, wherever it is, once the program has read it and the page knows of it. Whether it is in the list; nothing if another was asked for meanwhile. @param {number} row @param {boolean} open @returns {Promise<boolean | undefined>} */
async function jump(row, open = true) {
  const mine = ++jumps;
  const shown = current() ?? (await show("list", false), list);
  for (;;) {
    const news = nextNews();
    const { place, there, sure } = await shown.store.place(row);
    if (mine !== jumps) return;
    if (there && place < shown.store.length) { shown.grid.select(place, open, true, row); return true; }
    if (sure && (!there || paused)) break;
    await news;
  }
  if (!open) return false;
  tell(paused ? "paused: this row is not in the list yet" : "the filter leaves this row out");
  await detail.open(row);
  remember(row);
  return false;
}

/** @param {number} step @param {boolean} found */
async function next(step, found) {
  const shown = current();
  if (!shown) return;
  if (found && chosen.find === null) return find.open();
  const [mine, sought] = [++jumps, chosen.find];
  const ask = () => shown.store.next(shown.grid.focus < 0 && step < 0 ? 2 ** 31 : shown.grid.focus, step, found);
  let answer = await ask();
  // In a large capture, the one that is sought may not have been looked at yet.
  while (found && !find.isDone && (answer.place === null || step < 0) && mine === jumps && sought === chosen.find) {
    await nextNews();
    answer = await ask();
  }
  if (mine !== jumps) return;
  if (found) find.told(answer);
  if (answer.place !== null) shown.grid.select(answer.place, detail.isOpen, true);
  else if (!found) tell(step > 0 ? "no more errors" : "no errors before this");
}
find.addEventListener("go", event => next(detailOf(event), true).catch(tell));
find.addEventListener("changed", () => { calls.stale(); records.stale(); draw(); });
find.addEventListener("closed", () => current()?.grid.box.focus());

/** From a request to its answer, or back. @param {boolean} back */
async function other(back) {
  const row = await focusRow();
  if (row?.other === undefined) return tell("there is no other half");
  if (view === "sequence") { if (back === row.other < row.row) await jump(row.other, detail.isOpen); }
  else await detail.open(row.row);
}

async function mark() {
  const row = await focusRow();
  if (!row) return tell("select a row first");
  if (marks.delete(row.row)) { if (times.mark?.row === row.row) times.mark = null; } else { marks.add(row.row); times.mark = row; }
  if (times.mark && times.by === "before") times.by = timeChoice.value = "mark";
  if (!times.mark && times.by === "mark") times.by = timeChoice.value = "before";
  sessionStorage.setItem(MARKS, JSON.stringify([...marks]));
  tell(marks.has(row.row) ? `marked ${row.row}: times are since this row` : `${row.row} is no longer marked`);
  draw();
}

async function nextMark() {
  const all = [...marks].sort((a, b) => a - b);
  const at = (await focusRow())?.row ?? 0;
  const to = all.find(row => row > at) ?? all[0];
  if (to === undefined) tell("no row is marked"); else await jump(to, detail.isOpen);
}

function escape(/** @type {HTMLElement} */ target) {
  if (find.isOpen) find.close();
  else if (target === filter.input && filter.input.value) { filter.input.value = ""; applyFilter(); }
  else if (detail.isOpen) detail.close();
  else if (range) timeline.clear();
  else if (filter.input.value || errorsOnly) { filter.input.value = ""; if (errorsOnly) toggleErrors(); else applyFilter(); }
  current()?.grid.box.focus();
}

/** @type {Record<string, () => unknown>} */
const ACTIONS = {
  "/": () => { filter.input.focus(); filter.input.select(); }, f: () => find.open(), n: () => next(1, true), N: () => next(-1, true), e: () => next(1, false), E: toggleErrors, p: togglePause,
  m: mark, M: nextMark, r: async () => { const row = await focusRow(); if (row && detail.row !== row.row) await detail.open(row.row); detail.edit(); }, x: exportRows, t: () => { timeChoice.selectedIndex = (timeChoice.selectedIndex + 1) % timeChoice.options.length; times.by = timeChoice.value; tell(timeChoice.selectedOptions[0].text); draw(); },
  y: async () => detail.copy("call", (await focusRow())?.row ?? detail.row),
  "[": () => other(true), "]": () => other(false), 1: () => show("list"), 2: () => show("sequence"), 3: () => show("stats"), "?": showHelp,
};

/** Keys that wait, in their order. @type {Promise<void> | null} */
let keys = null;
/** Does it now or, if a filter is being put in place, once its rows are there. @param {() => unknown} act */
function perform(act) {
  const run = () => { Promise.resolve(act()).catch(tell); };
  if (!settling && !keys) return run();
  /** @type {Promise<void>} */
  const mine = keys = Promise.resolve(keys).then(async () => {
    while (settling) await settling;
    if (keys === mine) keys = null;
    run();
  });
}

/** What a key does. @param {string} key @param {HTMLElement} target @returns {(() => unknown) | undefined} */
function command(key, target) {
  const shown = current();
  const inside = shown !== null && (target === document.body || target === shown.grid.box);
  if (shown && /^[jkgG]$/.test(key) || inside && /^(Arrow(Up|Down)|Page(Up|Down)|Home|End)$/.test(key)) return () => current()?.grid.key(key);
  if (key !== "Enter" || !inside) return ACTIONS[key];
  return async () => { const row = await focusRow(); if (row) { await detail.open(row.row); remember(row.row); detail.box.focus(); } };
}

document.addEventListener("keydown", event => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || dialogIsOpen() || event.defaultPrevented) return;
  if (event.key === "Escape") return escape(target);
  if (target.matches("input, textarea, select")) return;
  const act = command(event.key, target);
  if (!act) return;
  event.preventDefault();
  // What is typed behind these belongs to them.
  if (/^[/f?]$/.test(event.key)) act(); else perform(act);
});

// Calls without an answer take longer, whether something comes or not.
setInterval(() => { if (view === "list" && !document.hidden && news?.sources.some(source => source.phase === "live")) draw(); }, 1000);

byId("head").append(...COLUMNS.map(([kind, name]) => element("span", { role: "columnheader", class: kind }, name || element("span", { "aria-label": "direction" }))));

async function start() {
  const state = new URLSearchParams(location.hash.slice(1));
  filter.input.value = state.get("filter") ?? "";
  errorsOnly = state.has("errors");
  press("errors", errorsOnly);
  await learn();
  await new Promise(done => follow(now => { hear(now); done(undefined); }, (problem, tries) => { lost(problem, tries); done(undefined); }));
  const row = state.get("row");
  following = row === null && (news?.sources.some(source => source.phase === "live") === true || news?.rows === 0);
  const wanted = state.get("view") ?? "list";
  await show(VIEWS.includes(wanted) ? wanted : "list", false);
  if (filter.input.value || errorsOnly) await applyFilter();
  if (row !== null && /^\d+$/.test(row)) await jump(Number(row));
  current()?.grid.box.focus();
}
start().catch(problem => problem instanceof Refused ? lost(problem.message, 0) : lost(null, 9));
