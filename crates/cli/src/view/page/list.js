// The rows of the list: how a call is written in a line.

import { count, duration, element, inline, size } from "./text.js";

/** @typedef {import("./types.js").Row} Row */

export const COLUMNS = [["number", "#"], ["time", "Time"], ["way", ""], ["source", "Capture"], ["kind", "Kind"], ["id", "Id"], ["method", "Method"], ["status", "Status"], ["took", "Took"], ["size", "Size"], ["content", "Content"]];

/** What the times of rows are told by. */
export const times = {
  /** @type {string} before, start, clock or mark */ by: "before",
  /** When the capture started, in milliseconds. */ start: 0,
  /** @type {Row | null} */ mark: null,
  /** The time of day, in milliseconds, where the capture is being written. @type {number | null} */ now: null,
};

/** @param {Row} row @param {Row | undefined} before */
export function timeOf(row, before) {
  if (row.t === undefined) return "";
  const since = (/** @type {number} */ t) => `${/** @type {number} */ (row.t) < t ? "−" : "+"}${duration(Math.abs(/** @type {number} */ (row.t) - t) / 1e6)}`;
  switch (times.by) {
    case "start": return `${(row.t / 1e9).toFixed(6)}`;
    case "clock": return new Date(times.start + row.t / 1e6).toISOString().slice(11, 23);
    case "mark": return times.mark?.t === undefined ? "" : since(times.mark.t);
    default: return before?.t === undefined ? (before ? "" : "0") : since(before.t);
  }
}

/** Whether a session has not ended as it should. @param {string} how */
export const endedBadly = how => /\bcode (?!0$)|\bkilled\b/.test(how);

/** @param {Row} row */
export const isBad = row => row.status === "error" || row.status === "late" || ["err", "invalid", "gap", "damage"].includes(row.kind) || row.kind === "http" && (row.code ?? 0) >= 400 || row.kind === "exit" && endedBadly(row.preview);

/** How a call stands: a sign and a word, never a colour alone. @param {Row} row */
export function statusOf(row) {
  if (row.kind === "http") return `${isBad(row) ? "✗ " : ""}${row.code ?? ""}`;
  switch (row.status) {
    case "ok": return "✓ ok";
    case "error": return `✗ ${row.code ?? "error"}`;
    case "pending": return "… pending";
    case "cancel": return "⊘ cancelled";
    case "late": return "⊘ late";
    case "input": return "? asks";
    default: return row.code === undefined ? "" : `✗ ${row.code}`;
  }
}

/** How long a call has taken, or takes so far. @param {Row} row */
export function tookOf(row) {
  const took = row.total ?? row.ms;
  if (took !== undefined) return duration(took);
  const age = times.now === null || row.t === undefined || row.status !== "pending" ? row.age : Math.max(0, times.now - times.start - row.t / 1e6);
  return age === undefined ? "" : `${duration(age)} …`;
}

/** @param {Row} row */
export const titleOf = row => inline(row.tool ? `${row.method} ${row.tool}` : row.method ?? "");

const KINDS = { req: "call", note: "notify", res: "result", err: "error" };

/** @param {Row} row */
export const kindOf = row => /** @type {Record<string, string>} */ (KINDS)[row.kind] ?? row.kind;

/** @param {HTMLElement} box @param {Row | undefined} row @param {Row | undefined} before @param {boolean} marked @param {string} source which capture it is of, if there are several */
export function drawRow(box, row, before, marked, source) {
  if (!row) {
    box.className = "row loading";
    box.replaceChildren(element("span", { role: "gridcell" }, "…"));
    return;
  }
  const name = element("span", { role: "gridcell", class: "method", title: titleOf(row) || undefined }, row.method === undefined ? element("span", { class: "narrow" }, kindOf(row)) : inline(row.method));
  if (row.tool) name.append(" ", element("b", {}, inline(row.tool)));
  const content = element("span", { role: "gridcell", class: "content" });
  if (row.id?.startsWith('"sabir-send-')) content.append(element("span", { class: "finding", title: "It was sent from this page" }, "↻ sent"), " ");
  for (const finding of row.findings ?? []) {
    content.append(element("span", { class: `finding ${finding.level}`, title: `${finding.rule}: ${finding.text}` }, `${finding.level === "error" ? "✗" : "!"} ${finding.rule}`), " ");
  }
  content.append(inline(row.preview));
  if (row.result !== undefined) content.append(element("span", { class: "gives", "aria-label": "gives" }, " ⇒ "), element("span", { class: isBad(row) ? "bad" : "result" }, inline(row.result)));
  const cell = (/** @type {string} */ kind, /** @type {string} */ text) => element("span", { role: "gridcell", class: kind }, text);
  const way = row.d === ">" ? "→" : row.d === "<" ? "←" : "";
  box.className = `row ${row.kind}${isBad(row) ? " bad" : ""}${row.status === "pending" ? " pending" : ""}${marked ? " marked" : ""}${row.hit ? " hit" : ""}`;
  box.replaceChildren(
    cell("number", `${marked ? "★ " : ""}${count(row.row)}`), cell("time", timeOf(row, before)),
    element("span", { role: "gridcell", class: `way ${row.d === "<" ? "from" : "to"}`, "aria-label": row.d === ">" ? "to the server" : row.d === "<" ? "to the client" : undefined }, way),
    element("span", { role: "gridcell", class: "source", title: `connection ${row.c}` }, inline(source)), cell("kind", kindOf(row)), cell("id", row.id === undefined ? "" : inline(row.id)), name,
    cell("status", statusOf(row)), cell("took", tookOf(row)),
    cell("size", ["open", "close", "exit", "start", "mark", "gap"].includes(row.kind) ? "" : size(row.bytes)), content);
}
