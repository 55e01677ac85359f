// The rows that the page has, of those that the program has. Only pages around what is visible are kept.

import { get, post } from "./api.js";

/** @typedef {import("./api.js").Row} Row */

const PAGE = 128;
const KEPT = 48;

export class Store extends EventTarget {
  /** @type {Map<number, {rows: Row[], stale: boolean}>} in the order of their last use */
  #pages = new Map();
  /** @type {Map<number, Promise<void>>} */
  #asked = new Map();
  #life = 0;
  all = 0;
  filter = "";
  /** @type {import("./api.js").Scan | null} */
  scan = null;
  /** @type {import("./api.js").News | null} */
  news = null;

  /** How many rows the list shows. */
  get length() {
    return this.filter ? (this.scan?.matched ?? 0) : this.all;
  }

  /** @param {import("./api.js").News} news */
  hear(news) {
    this.news = news;
    const before = this.length;
    this.all = news.rows;
    if (news.filter && this.scan && news.filter.id === this.scan.id) this.scan = news.filter;
    if (news.reset) this.#forget();
    const changed = new Set(news.changed ?? []);
    for (const [number, page] of this.#pages) {
      const short = page.rows.length < PAGE && number * PAGE + page.rows.length < this.length;
      if (short || page.rows.some(row => changed.has(row.row))) page.stale = true;
    }
    this.dispatchEvent(new CustomEvent("news", { detail: { before, changed } }));
  }

  /** @param {string} filter */
  async setFilter(filter) {
    const life = ++this.#life;
    if (!filter) {
      this.filter = "";
      this.scan = null;
      await post("filter", { filter: "" });
    } else {
      const scan = await post("filter", { filter });
      if (life !== this.#life) return;
      this.filter = filter;
      this.scan = scan;
    }
    this.#forget();
    this.dispatchEvent(new CustomEvent("news", { detail: { before: 0, changed: new Set() } }));
  }

  #forget() {
    this.#pages.clear();
    this.#asked.clear();
  }

  /** The row at a place of the list, if it is here. Asks for it otherwise. @param {number} place @returns {Row | undefined} */
  at(place) {
    const number = Math.floor(place / PAGE);
    const page = this.#pages.get(number);
    if (!page || page.stale) this.#ask(number);
    else {
      this.#pages.delete(number);
      this.#pages.set(number, page);
    }
    return page?.rows[place % PAGE];
  }

  /** The same, once it is here. @param {number} place @returns {Promise<Row | undefined>} */
  async load(place) {
    if (place < 0 || place >= this.length) return undefined;
    const number = Math.floor(place / PAGE);
    if (!this.at(place)) await this.#asked.get(number);
    return this.#pages.get(number)?.rows[place % PAGE];
  }

  /** @param {number} number */
  #ask(number) {
    if (this.#asked.has(number)) return;
    const life = this.#life;
    const scan = this.scan ? `&filter=${this.scan.id}` : "";
    const asked = get(`rows?from=${number * PAGE}&count=${PAGE}${scan}`).then(rows => {
      if (life !== this.#life) return;
      this.#pages.delete(number);
      this.#pages.set(number, { rows, stale: false });
      while (this.#pages.size > KEPT) this.#pages.delete(/** @type {number} */ (this.#pages.keys().next().value));
    }, () => {}).finally(() => {
      if (this.#asked.get(number) === asked) this.#asked.delete(number);
      if (life === this.#life) this.dispatchEvent(new Event("rows"));
    });
    this.#asked.set(number, asked);
  }
}
