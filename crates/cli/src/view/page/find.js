// Finds rows without leaving out the others.

import { post } from "./api.js";
import { chosen } from "./store.js";
import { byId, count, tell, visible } from "./text.js";

export class Find extends EventTarget {
  #box = byId("find");
  #input = /** @type {HTMLInputElement} */ (byId("finding"));
  #timer = 0;
  #text = "";
  /** The text is being looked for. @type {Promise<void>} */
  #looking = Promise.resolve();
  /** What was found so far. */
  #found = "";
  /** All rows were looked at. */
  isDone = true;
  /** @type {import("./types.js").News | null} */
  #news = null;

  constructor() {
    super();
    this.#input.addEventListener("input", () => { clearTimeout(this.#timer); this.#timer = setTimeout(() => this.#look(), 200); });
    this.#box.addEventListener("submit", event => { event.preventDefault(); this.#go(1); });
    this.#input.addEventListener("keydown", event => { if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); this.#go(-1); } });
    byId("find-before").addEventListener("click", () => this.#go(-1));
    byId("find-close").addEventListener("click", () => this.close());
  }

  get isOpen() { return !this.#box.hidden; }

  open() {
    this.#box.hidden = false;
    this.#input.focus();
    this.#input.select();
  }

  close() {
    this.#box.hidden = true;
    this.#input.value = "";
    this.#look();
    this.dispatchEvent(new Event("closed"));
  }

  /** @param {number} step */
  async #go(step) {
    clearTimeout(this.#timer);
    await this.#look();
    this.dispatchEvent(new CustomEvent("go", { detail: step }));
  }

  /** The program that searches is another one. */
  again() {
    chosen.find = null;
    this.#text = "";
    this.#look();
  }

  #look() {
    const text = this.#input.value.trim();
    if (text !== this.#text) this.#looking = this.#search(text);
    return this.#looking;
  }

  /** @param {string} text */
  async #search(text) {
    this.#text = text;
    try {
      const scan = await post("filter", { filter: text, instead: chosen.find === null ? [] : [chosen.find], page: this.#news?.page });
      if (scan?.problem) throw new Error(scan.problem);
      chosen.find = scan?.id ?? null;
      this.isDone = !scan || scan.looked >= scan.of;
      byId("hits").textContent = scan && !this.isDone ? "searching…" : "";
      // What it has found may have been told already.
      if (this.#news) this.hear(this.#news);
    } catch (error) {
      chosen.find = null;
      byId("hits").textContent = visible(error instanceof Error ? error.message : String(error));
    }
    this.dispatchEvent(new Event("changed"));
  }

  /** @param {import("./types.js").News} news */
  hear(news) {
    this.#news = news;
    const scan = news.scans.find(scan => scan.id === chosen.find);
    if (scan) this.isDone = scan.looked >= scan.of;
    // Rows that are here may have come before they were found.
    const found = scan ? `${scan.id} ${scan.matched} ${scan.moved}` : "";
    if (found !== this.#found) {
      this.#found = found;
      this.dispatchEvent(new Event("changed"));
    }
    if (scan && !/ of /.test(byId("hits").textContent ?? "")) byId("hits").textContent = `${count(scan.matched)} found${this.isDone ? "" : ", searching…"}`;
  }

  /** @param {{place: number | null, nth: number | null, of: number | null}} found */
  told(found) {
    const hits = byId("hits");
    if (found.place === null) tell(found.of ? "no more of them" : "nothing found");
    else if (found.nth !== null) hits.textContent = `${count(found.nth)} of ${count(found.of ?? 0)}`;
  }
}
