// What each method has cost: how often, how many errors, how long, how much.

import { get } from "./api.js";
import { button, count, duration, element, inline, size, svg } from "./text.js";

/** @typedef {import("./types.js").MethodStats} MethodStats */

const COLUMNS = [["method", "Method"], ["count", "Count"], ["errors", "Errors"], ["pending", "Pending"], ["p50", "p50"], ["p95", "p95"], ["p99", "p99"], ["", "p50 – p99"], ["", "Times"], ["bytes", "Size"]];

export class Stats extends EventTarget {
  #by = "count";
  #down = true;
  /** @type {MethodStats[]} */
  #rows = [];
  /** @type {MethodStats | null} */
  #all = null;
  #asked = -1000;
  #timer = 0;
  /** @type {number | null} */
  #filter = null;

  /** @param {HTMLElement} box */
  constructor(box) {
    super();
    this.box = box;
  }

  /** What is shown is old. */
  forget() { this.#asked = -1000; }

  /** Asks anew, once a second at the most, and at once for another filter. @param {number | null} filter @param {boolean} paused */
  async refresh(filter, paused) {
    const now = performance.now();
    const other = filter !== this.#filter;
    const wait = this.#asked + 900 - now;
    if (!other && paused && this.#asked >= 0) return;
    clearTimeout(this.#timer);
    if (!other && wait > 0) { this.#timer = setTimeout(() => this.refresh(filter, paused), wait); return; }
    this.#asked = now;
    this.#filter = filter;
    const answer = await get(filter === null ? "stats" : `stats?filter=${filter}`).catch(() => null);
    if (!answer || filter !== this.#filter) return;
    ({ methods: this.#rows, all: this.#all } = answer);
    this.draw();
  }

  draw() {
    const focused = document.activeElement instanceof HTMLElement && this.box.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
    const head = element("tr");
    for (const [key, label] of COLUMNS) {
      if (!key) { head.append(element("th", { scope: "col", class: "chart" }, label)); continue; }
      const sorted = key === this.#by ? (this.#down ? "descending" : "ascending") : undefined;
      head.append(element("th", { scope: "col", "aria-sort": sorted }, button(`${label}${sorted ? (this.#down ? " ↓" : " ↑") : ""}`, () => {
        this.#down = key === this.#by ? !this.#down : key !== "method";
        this.#by = key;
        this.draw();
      }, { "data-key": key })));
    }
    const value = (/** @type {any} */ row) => row[this.#by] ?? -1;
    const rows = [...this.#rows].sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) * (this.#down ? -1 : 1));
    const most = Math.max(1, ...rows.map(row => row.count));
    const slots = rows.flatMap(row => row.times.flatMap((n, index) => (n ? [index] : [])));
    const [first, last] = [Math.min(...slots, 31), Math.max(...slots, 0)];
    const body = element("tbody", {}, ...rows.map(row => this.#row(row, most, first, last)));
    const all = this.#all;
    const tile = (/** @type {string} */ name, /** @type {string} */ text, bad = false) => element("div", { class: `tile${bad ? " bad" : ""}` }, element("dt", {}, name), element("dd", {}, text));
    const tiles = all ? element("dl", { class: "tiles" }, tile("Calls, notifications", count(all.count)), tile("Messages", count(all.messages)), tile("Errors", count(all.errors), all.errors > 0), tile("Pending", count(all.pending)),
      tile("p50", all.p50 === undefined ? "–" : duration(all.p50)), tile("p95", all.p95 === undefined ? "–" : duration(all.p95)), tile("p99", all.p99 === undefined ? "–" : duration(all.p99)), tile("Size", size(all.bytes))) : "";
    this.box.replaceChildren(tiles, rows.length ? element("table", {}, element("caption", {}, `By method${this.#filter === null ? "" : ", of what the filter and the range of time leave"}`), element("thead", {}, head), body) : element("p", {}, this.#filter === null ? "No calls so far." : "No call matches."),
      element("p", { class: "hint" }, `Count: calls and notifications; an answer is a part of its call. The charts have one scale of time for all methods, by powers of two${slots.length ? `, from ${duration(2 ** first / 1000)} to ${duration(2 ** (last + 1) / 1000)}` : ""}.${rows.some(row => row.rounded) ? " ≈: of more than 500 calls, right to 3 %." : ""}`));
    if (focused) /** @type {HTMLElement | null} */ (this.box.querySelector(`[data-key="${CSS.escape(focused)}"]`))?.focus();
  }

  /** @param {MethodStats} row @param {number} most @param {number} first @param {number} last */
  #row(row, most, first, last) {
    const share = element("span", { class: "share" });
    share.style.width = `${Math.max(1, (row.count / most) * 60)}px`;
    const name = row.tool ? `${row.method} ${row.tool}` : row.method;
    return element("tr", {},
      element("th", { scope: "row" }, button(inline(name), () => this.dispatchEvent(new CustomEvent("method", { detail: row })), { class: "link", title: "Show its calls", "data-key": `of ${name}` })),
      element("td", {}, share, count(row.count)),
      element("td", { class: row.errors ? "bad" : "" }, row.errors ? `✗ ${count(row.errors)}` : "0"),
      element("td", {}, count(row.pending)),
      ...[row.p50, row.p95, row.p99].map(time => element("td", {}, time === undefined ? "–" : `${row.rounded ? "≈ " : ""}${duration(time)}`)),
      element("td", { class: "chart" }, spread(row, first, last)), element("td", { class: "chart" }, bars(row.times, first, last)), element("td", {}, size(row.bytes)));
  }
}

/** From p50 to p99 on a scale of logarithms, the same for all rows. @param {MethodStats} row @param {number} first @param {number} last */
function spread(row, first, last) {
  if (row.p50 === undefined || row.p95 === undefined || row.p99 === undefined) return "–";
  const x = (/** @type {number} */ ms) => 6 + ((Math.log2(Math.max(1, ms * 1000)) - first) / Math.max(1, last + 1 - first)) * 128;
  const label = `p50 ${duration(row.p50)}, p95 ${duration(row.p95)}, p99 ${duration(row.p99)}`;
  return svg("svg", { width: 140, height: 18, role: "img", "aria-label": label }, titled(label),
    svg("line", { class: "axis", x1: 6, x2: 134, y1: 9, y2: 9 }), svg("line", { class: "range", x1: x(row.p50), x2: Math.max(x(row.p50) + 1, x(row.p99)), y1: 9, y2: 9 }),
    svg("circle", { class: "dot", cx: x(row.p50), cy: 9, r: 3 }), svg("circle", { class: "dot", cx: x(row.p95), cy: 9, r: 2 }));
}

/** A histogram of times. @param {number[]} times @param {number} first @param {number} last */
function bars(times, first, last) {
  const shown = times.slice(first, last + 1);
  const most = Math.max(1, ...shown);
  const total = shown.reduce((sum, n) => sum + n, 0);
  if (!total) return "–";
  const width = Math.min(10, Math.max(4, Math.floor(120 / shown.length)));
  const span = (/** @type {number} */ slot, end = slot) => `${duration(2 ** slot / 1000)} to ${duration(2 ** (end + 1) / 1000)}`;
  return svg("svg", { width: shown.length * width, height: 18, role: "img", "aria-label": `${total} calls took ${span(first, last)}` },
    svg("line", { class: "axis", x1: 0, x2: shown.length * width, y1: 17.5, y2: 17.5 }),
    ...shown.flatMap((n, index) => {
      const tall = Math.max(1.5, (n / most) * 17);
      return n ? [svg("rect", { class: "fill", x: index * width, y: 17 - tall, width: width - 1, height: tall }, titled(`${count(n)} took ${span(first + index)}`))] : [];
    }));
}

/** A tooltip. @param {string} text */
function titled(text) {
  const made = svg("title");
  made.textContent = text;
  return made;
}
