// The same rows as arrows between lifelines: clients, and the servers that they talk to. It is drawn row by row, so that a
// million rows cost no more than those that are visible.

import { isBad, kindOf, timeOf, titleOf } from "./list.js";
import { duration, element, inline } from "./text.js";

/** @typedef {import("./types.js").Row} Row */

/** Who is drawn, and between whom the messages of a connection are: connection, client, server.
 * @type {{names: string[], connections: [number, number, number][]}} */
let lines = { names: ["client", "server"], connections: [] };
/** @type {Map<number, [number, number]>} */
let ends = new Map();

/** @param {HTMLElement} head @param {typeof lines} news */
export function setLifelines(head, news) {
  lines = news;
  ends = new Map(news.connections.map(([connection, client, server]) => [connection, [client, server]]));
  const area = element("span", { role: "columnheader" });
  news.names.forEach((name, index) => {
    const actor = element("span", { class: "actor", title: inline(name) }, inline(name));
    actor.style.left = `${at(index)}%`;
    area.append(actor);
  });
  head.style.setProperty("--lines", String(news.names.length));
  head.replaceChildren(element("span", { role: "columnheader" }, element("span", { class: "when" })), area);
}

/** Where a lifeline is, in percent. @param {number} index */
const at = index => ((index + 0.5) / lines.names.length) * 100;

/** @param {HTMLElement} box @param {Row | undefined} row @param {Row | undefined} before @param {boolean} marked */
export function drawStep(box, row, before, marked) {
  box.className = "step";
  if (!row) { box.replaceChildren(element("span", { role: "gridcell", class: "when" }, "…")); return; }
  const when = element("span", { class: "when", role: "gridcell" }, `${marked ? "★ " : ""}${timeOf(row, before)}`);
  // The pause before it, to a scale of logarithms: a millisecond shows, and an hour fits.
  const pause = before?.t === undefined || row.t === undefined ? 0 : Math.max(0, row.t - before.t) / 1e6;
  const tall = Math.min(36, Math.log2(1 + pause) * 2.4);
  if (tall >= 1) { const bar = element("i"); bar.style.height = `${tall}px`; when.append(bar); }
  const area = element("span", { class: "area", role: "gridcell" });
  for (let index = 0; index < lines.names.length; index += 1) {
    const life = element("span", { class: "life" });
    life.style.left = `${at(index)}%`;
    area.append(life);
  }
  const [client, server] = ends.get(row.c) ?? [0, Math.min(1, lines.names.length - 1)];
  const bad = isBad(row);
  const sent = (row.d === ">" || row.d === "<") && !["stderr", "noise", "http"].includes(row.kind);
  if (!sent) {
    const place = row.d === "<" ? at(server) : (at(client) + at(server)) / 2;
    const event = element("span", { class: `event${bad ? " bad" : ""}` }, `${kindOf(row)} ${inline(row.preview)}`);
    event.style.left = `${Math.min(70, Math.max(30, place))}%`;
    area.append(event);
  } else {
    const [from, to] = row.d === ">" ? [client, server] : [server, client];
    const [left, width] = [Math.min(at(from), at(to)), Math.abs(at(to) - at(from))];
    const answer = row.kind === "res" || row.kind === "err";
    const arrow = element("span", { class: `arrow ${to < from ? "left" : "right"} ${row.d === "<" ? "from" : "to"}${answer || row.kind === "note" ? " dashed" : ""}${bad ? " bad" : ""}` });
    const name = titleOf(row) || kindOf(row);
    const label = element("span", { class: `label${bad ? " bad" : ""}` }, answer ? `${bad ? `✗ ${row.code ?? ""} ` : ""}${name}` : `${row.status === "pending" ? "… " : ""}${name}`,
      element("span", { class: "soft" }, answer ? `${row.ms === undefined ? "" : ` ${duration(row.ms)}`}` : row.id === undefined ? "" : ` id ${inline(row.id)}`));
    for (const made of [arrow, label]) { made.style.left = `${left}%`; made.style.width = `${width}%`; }
    area.append(label, arrow);
  }
  box.replaceChildren(when, area);
}
