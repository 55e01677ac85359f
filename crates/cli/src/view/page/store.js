// The rows that the page has, of those that the program has. Only pages around what is visible are kept.

import { get } from "./api.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {import("./types.js").News} News */

const PAGE = 128;
const KEPT = 32;

/** What is shown, shared by the list and the sequence. */
export const chosen = {
  /** @type {number | null} the filter in use */ filter: null,
  /** @type {number | null} what is searched for */ find: null,
};

export class Store extends EventTarget {
  /** @type {Map<number, {rows: Row[], stale: boolean}>} in the order of their last use */
  #pages = new Map();
  /** @type {Map<number, Promise<void>>} */
  #asked = new Map();
  /** Pages that were asked for before something changed: what comes may be older. @type {Set<number>} */
  #old = new Set();
  #life = 0;
  /** @type {News | null} */
  #news = null;
  /** @type {number | null} while it is paused */
  #held = null;
  #moved = 0;

  /** @param {"calls" | "records"} view */
  constructor(view) {
    super();
    this.view = view;
  }

  #real() {
    const news = this.#news;
    if (!news) return 0;
    if (chosen.filter === null) return this.view === "calls" ? news.rows : news.records;
    const scan = news.scans.find(scan => scan.id === chosen.filter);
    return scan ? (this.view === "calls" ? scan.matched : scan.records) : 0;
  }

  /** How many rows are shown. */
  get length() {
    return this.#held === null ? this.#real() : Math.min(this.#held, this.#real());
  }

  /** Shows so many at the most; `null` shows all. @param {number | null} most */
  hold(most) {
    this.#held = most;
  }

  /** What the addresses of all questions end with. */
  get query() {
    return `view=${this.view}${chosen.filter === null ? "" : `&filter=${chosen.filter}`}${chosen.find === null ? "" : `&find=${chosen.find}`}`;
  }

  /** @param {News} news @param {Set<number>} changed */
  hear(news, changed) {
    this.#news = news;
    if (news.reset) this.forget();
    const moved = news.scans.find(scan => scan.id === chosen.filter)?.moved ?? 0;
    const shifted = moved !== this.#moved;
    this.#moved = moved;
    if (shifted || changed.size) this.#doubt();
    for (const [number, page] of this.#pages) {
      if (shifted || this.#isShort(number, page.rows) || page.rows.some(row => changed.has(row.row))) page.stale = true;
    }
    return shifted;
  }

  /** Whether there are more rows by now than when a page was asked for. @param {number} number @param {Row[]} rows */
  #isShort(number, rows) {
    return rows.length < PAGE && number * PAGE + rows.length < this.#real();
  }

  /** Everything is asked for anew. */
  forget() {
    this.#life += 1;
    this.#pages.clear();
    this.#asked.clear();
    this.#old.clear();
  }

  #doubt() {
    for (const number of this.#asked.keys()) this.#old.add(number);
  }

  /** What is here stays until it is here anew. */
  stale() {
    for (const page of this.#pages.values()) page.stale = true;
    this.#doubt();
  }

  /** The row at a place, if it is here. Asks for it otherwise. @param {number} place @returns {Row | undefined} */
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
    while (place >= 0 && place < this.length) {
      const life = this.#life;
      const number = Math.floor(place / PAGE);
      if (!this.at(place)) await this.#asked.get(number);
      const row = this.#pages.get(number)?.rows[place % PAGE];
      // What was asked for before all was forgotten has not come.
      if (row || life === this.#life) return row;
    }
    return undefined;
  }

  /** @param {number} number */
  #ask(number) {
    if (this.#asked.has(number)) return;
    const life = this.#life;
    const asked = get(`rows?from=${number * PAGE}&count=${PAGE}&${this.query}`).then(rows => {
      if (life !== this.#life) return;
      this.#pages.delete(number);
      this.#pages.set(number, { rows, stale: this.#old.delete(number) || this.#isShort(number, rows) });
      while (this.#pages.size > KEPT) this.#pages.delete(/** @type {number} */ (this.#pages.keys().next().value));
    }, () => {}).finally(() => {
      if (this.#asked.get(number) === asked) this.#asked.delete(number);
      if (life === this.#life) this.dispatchEvent(new Event("rows"));
    });
    this.#asked.set(number, asked);
  }

  /** Where a row is; `sure` once that does not depend on what is yet to be read or filtered. @param {number} row @returns {Promise<{place: number, there: boolean, sure: boolean}>} */
  place(row) {
    return get(`place/${row}?${this.query}`);
  }

  /** The next row that went wrong or, if `find`, that is searched for. @param {number} from @param {number} step @param {boolean} find */
  next(from, step, find) {
    const query = find ? this.query : this.query.replace(/&find=\d+/, "");
    return get(`next?from=${from}&step=${step}&${query}`);
  }
}
