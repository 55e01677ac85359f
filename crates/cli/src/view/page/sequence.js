// The same rows as arrows between lifelines: a client and a server for each connection. It is drawn row by row, so that a
// million rows cost no more than those that are visible.

import { duration, element, visible } from "./text.js";
import { title } from "./detail.js";

/** @typedef {import("./api.js").Row} Row */

/** Draws one row. The grid gives the element, which is used again for other rows.
 * @param {HTMLElement} box @param {Row | undefined} row @param {Row | undefined} before */
export function arrow(box, row, before) {
  if (!row) { box.replaceChildren(element("span", { role: "gridcell" }, "…")); return; }
  const gap = before ? (row.t - before.t) / 1e6 : 0;
  const sent = row.d === ">" || row.d === "<";
  const bad = row.status === "error" || row.kind === "err" || (row.code !== undefined && row.code !== 0);
  const label = `${title(row)}${row.id === undefined ? "" : ` #${row.id}`}${row.ms === undefined ? "" : ` · ${duration(row.ms)}`}`;
  // The pause before it, to scale: a pixel more for each doubling of the time.
  const pause = element("span", { class: "pause", role: "gridcell" }, gap >= 1 ? `+${duration(gap)}` : "");
  pause.style.setProperty("--length", `${Math.min(60, Math.round(Math.log2(1 + gap) * 5))}px`);
  const line = element("span", { class: `arrow ${row.d === "<" ? "left" : "right"} ${row.kind}${bad ? " bad" : ""}${sent ? "" : " event"}`, role: "gridcell" },
    element("span", { class: "label" }, `${bad ? "✗ " : ""}${visible(label)}`));
  box.replaceChildren(pause,
    element("span", { class: "life", role: "gridcell" }, `client ${row.c}`),
    line,
    element("span", { class: "life", role: "gridcell" }, `server ${row.c}`));
}
