// What each method has cost: how often, how many errors, how long, how much.

import { get } from "./api.js";
import { count, duration, element, size, visible } from "./text.js";

/**
 * @typedef {object} MethodStats
 * @property {string} method
 * @property {string=} tool
 * @property {number} count
 * @property {number} errors
 * @property {number} pending
 * @property {number=} p50   milliseconds
 * @property {number=} p95
 * @property {number=} p99
 * @property {number} bytes
 * @property {number[]} times  how many took less than 1 µs, 2 µs, 4 µs, … (powers of two)
 */

const COLUMNS = /** @type {const} */ ([
  ["method", "Method"], ["count", "Calls"], ["errors", "Errors"], ["pending", "Pending"], ["p50", "p50"], ["p95", "p95"], ["p99", "p99"], ["bytes", "Bytes"], ["times", "Times"],
]);

export class Stats extends EventTarget {
  /** @type {string} */
  #by = "count";
  #down = true;
  /** @type {MethodStats[]} */
  #rows = [];

  /** @param {HTMLElement} box */
  constructor(box) {
    super();
    this.box = box;
  }

  async refresh() {
    this.#rows = await get("stats");
    this.draw();
  }

  draw() {
    const head = element("tr");
    for (const [key, label] of COLUMNS) {
      const sorted = key === this.#by ? (this.#down ? "descending" : "ascending") : undefined;
      if (key === "times") { head.append(element("th", { scope: "col" }, label)); continue; }
      const button = element("button", { type: "button" }, label, sorted ? (this.#down ? " ↓" : " ↑") : "");
      button.addEventListener("click", () => {
        this.#down = key === this.#by ? !this.#down : key !== "method";
        this.#by = key;
        this.draw();
      });
      head.append(element("th", { scope: "col", "aria-sort": sorted }, button));
    }
    const value = (/** @type {MethodStats} */ row) => /** @type {string | number} */ (/** @type {any} */ (row)[this.#by] ?? -1);
    const rows = [...this.#rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return (x < y ? -1 : x > y ? 1 : 0) * (this.#down ? -1 : 1);
    });
    const body = element("tbody");
    for (const row of rows) {
      const name = element("button", { type: "button", class: "link", title: "Show its calls" }, visible(row.tool ? `${row.method} ${row.tool}` : row.method));
      name.addEventListener("click", () => this.dispatchEvent(new CustomEvent("method", { detail: row })));
      body.append(element("tr", {},
        element("th", { scope: "row" }, name),
        element("td", {}, count(row.count)),
        element("td", { class: row.errors ? "error" : "" }, row.errors ? `✗ ${count(row.errors)}` : "0"),
        element("td", {}, count(row.pending)),
        ...[row.p50, row.p95, row.p99].map(time => element("td", {}, time === undefined ? "–" : duration(time))),
        element("td", {}, size(row.bytes)),
        element("td", {}, bars(row.times))));
    }
    const empty = rows.length ? null : element("p", {}, "No calls yet.");
    this.box.replaceChildren(element("table", {}, element("caption", {}, "Calls by method"), element("thead", {}, head), body), ...(empty ? [empty] : []));
  }
}

/** A histogram of times. @param {number[]} times */
function bars(times) {
  const most = Math.max(1, ...times);
  const first = times.findIndex(Boolean);
  const last = times.findLastIndex(Boolean);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const label = first < 0 ? "no times" : `from ${duration(2 ** first / 2000)} to ${duration(2 ** last / 1000)}`;
  svg.setAttribute("viewBox", `0 0 ${times.length * 4} 18`);
  svg.setAttribute("width", String(times.length * 4));
  svg.setAttribute("height", "18");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
  title.textContent = label;
  svg.append(title);
  times.forEach((n, index) => {
    if (!n) return;
    const tall = Math.max(1, (n / most) * 18);
    const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    bar.setAttribute("x", String(index * 4));
    bar.setAttribute("y", String(18 - tall));
    bar.setAttribute("width", "3");
    bar.setAttribute("height", String(tall));
    svg.append(bar);
  });
  return svg;
}
