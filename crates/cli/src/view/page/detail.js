// The selected row: request and answer beside each other, as they were sent, with what belongs to them.

import { get, post, text, token } from "./api.js";
import { images, indented, pretty } from "./json.js";
import { isBad, kindOf, statusOf, titleOf } from "./list.js";
import { button, count, duration, element, inline, size, tell, visible } from "./text.js";

/** @typedef {import("./types.js").Row} Row */
/** @typedef {import("./types.js").Part} Part */
/** @typedef {import("./types.js").Whole} Whole */

const TABS = ["Pretty", "Raw", "Headers", "Progress", "Related"];
export const COPIES = [["call", "sabir call"], ["curl", "curl"], ["transcript", "transcript"], ["json", "JSON"], ["link", "link"]];

export class Detail extends EventTarget {
  #tab = "Pretty";
  /** @type {Whole | null} */
  #whole = null;
  /** 0 is none. */
  #row = 0;
  #abort = new AbortController();
  canSend = false;

  /** @param {HTMLElement} box */
  constructor(box) {
    super();
    this.box = box;
  }

  get row() { return this.#row; }
  get isOpen() { return !this.box.hidden; }

  close() {
    this.#abort.abort();
    this.box.hidden = true;
    this.#row = 0;
    this.dispatchEvent(new Event("closed"));
  }

  /** @param {number} row @param {boolean} whole */
  async open(row, whole = false) {
    this.#abort.abort();
    const abort = this.#abort = new AbortController();
    const same = row === this.#row;
    this.#row = row;
    this.box.hidden = false;
    this.box.setAttribute("aria-busy", "true");
    try {
      this.#whole = await get(`row/${row}${whole ? "?whole=1" : ""}`, abort.signal);
      const sending = same ? this.box.querySelector(".send") : null;
      this.#draw();
      if (sending) this.#place(sending);
      if (!same) this.box.scrollTop = 0;
    } catch (error) {
      if (!abort.signal.aborted) this.box.replaceChildren(element("p", { class: "problem" }, String(error)));
    } finally {
      if (!abort.signal.aborted) this.box.removeAttribute("aria-busy");
    }
  }

  /** @param {string} as @param {number} row */
  async copy(as, row = this.#row) {
    if (!row) return tell("select a row first");
    const state = new URLSearchParams(location.hash.slice(1));
    state.set("row", String(row));
    const link = `${location.origin}${location.pathname}#t=${token}&${state}`;
    const made = as === "link" ? link : await text(`copy/${row}?as=${as}`);
    await navigator.clipboard.writeText(made);
    const how = `copied as ${COPIES.find(([name]) => name === as)?.[1]}`;
    const blank = made.match(/-Id: (SESSION)'|: (\[redacted\])'/)?.slice(1).find(Boolean);
    tell(as === "curl" && blank ? `${how}; put what is secret in place of ${blank}` : how);
  }

  /** Opens the box to change and send the request again. */
  edit() {
    const request = this.#whole?.request;
    if (!this.canSend) return tell("Nothing can be sent from here: sabir was started without --allow-send");
    if (!request || !this.#whole?.copies.includes("call")) return tell("select a call of the client first");
    const input = /** @type {HTMLTextAreaElement} */ (element("textarea", { rows: 4, "aria-label": "Message to send", spellcheck: "false" }));
    input.value = indented(request.text);
    const grow = () => { input.rows = Math.max(4, Math.min(14, input.value.split("\n").length)); };
    input.addEventListener("input", grow);
    grow();
    const out = element("div", { role: "status" });
    const send = async () => {
      out.replaceChildren(element("p", {}, "sending…"));
      try {
        const answer = await post("send", { row: this.#row, message: input.value });
        const took = element("p", {}, answer.text === null ? "Sent. A notification has no answer." : `Answered in ${duration(answer.ms)}.`);
        const original = this.#whole?.answer;
        const beside = answer.text === null ? "" : element("div", { class: "pair" },
          element("section", {}, element("h3", {}, "New answer"), pretty(answer.text)),
          element("section", {}, element("h3", {}, "Original answer"), original ? pretty(original.text) : element("p", { class: "hint" }, "None.")));
        out.replaceChildren(took, beside);
        out.scrollIntoView({ block: "nearest" });
      } catch (error) {
        out.replaceChildren(element("p", { class: "problem" }, visible(error instanceof Error ? error.message : String(error))));
      }
    };
    input.addEventListener("keydown", event => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send(); });
    this.box.querySelector(".send")?.remove();
    const box = element("section", { class: "send", "aria-label": "Send again" }, element("h3", {}, "Edit and send"), input, element("div", { class: "buttons" },
      button("Send", send, { id: "send" }), element("span", { class: "hint" }, "Ctrl+Enter. It gets an id of its own; the client does not see the answer.")), out);
    this.#place(box);
    this.box.scrollTop = 0;
    input.focus();
  }

  /** Above the message: its answer comes into sight. @param {Element} sending */
  #place(sending) { this.box.querySelector(".copies")?.after(sending); }

  /** What is being written stays. */
  #redraw() {
    const kept = this.box.querySelector(".send");
    const left = this.box.querySelector(".left-out") !== null;
    this.#draw();
    if (kept) this.#place(kept);
    this.leftOut(left);
  }

  /** Says whether the list has the row. @param {boolean} left */
  leftOut(left) {
    this.box.querySelector(".left-out")?.remove();
    if (left) this.box.querySelector(".top")?.after(element("p", { class: "left-out hint" }, "The filter leaves this row out of the list."));
  }

  #draw() {
    const whole = this.#whole;
    const main = whole?.request ?? whole?.answer;
    if (!whole || !main) return;
    const tabs = TABS.filter(tab => this.#has(tab));
    if (!tabs.includes(this.#tab)) this.#tab = tabs[0];
    const bar = element("div", { role: "tablist", class: "tabs", "aria-label": "Parts" });
    for (const tab of tabs) {
      const number = tab === "Progress" ? whole.progress.length : tab === "Related" ? whole.related.reduce((sum, { rows }) => sum + rows.length, 0) : 0;
      const made = button(number ? `${tab} ${number}` : tab, () => { this.#tab = tab; this.#redraw(); }, { role: "tab", id: `part-${tab}`, "aria-controls": "part", "aria-selected": String(tab === this.#tab), tabindex: tab === this.#tab ? 0 : -1 });
      made.addEventListener("keydown", event => {
        const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
        if (!step) return;
        event.stopPropagation();
        this.#tab = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
        this.#redraw();
        /** @type {HTMLElement | null} */ (this.box.querySelector("[role=tab][aria-selected=true]"))?.focus();
      });
      bar.append(made);
    }
    const copies = element("div", { class: "copies", role: "group", "aria-label": "Copy as" }, "Copy as");
    for (const [as, label] of COPIES) if (as === "link" || whole.copies.includes(as)) copies.append(button(label, () => this.copy(as).catch(tell), { "data-copy": as }));
    if (this.canSend && whole.copies.includes("call")) copies.append(button("Edit and send", () => this.edit(), { id: "resend", title: "r" }));
    const findings = [...(whole.request?.row.findings ?? []), ...(whole.answer?.row.findings ?? [])].map(finding =>
      element("details", { class: `rule ${finding.level}` },
        element("summary", {}, element("b", {}, `${finding.level} ${finding.rule}`), ` ${visible(finding.text)}`),
        element("p", { class: "why" }, finding.why), element("p", { class: "why" }, finding.fix), element("p", { class: "why" }, finding.source)));
    const facts = [`#${count(main.row.row)}`, main.row.d === ">" ? "to the server" : main.row.d === "<" ? "to the client" : "", main.row.c > 1 ? `connection ${main.row.c}` : "", statusOf(main.row), main.row.ms === undefined ? "" : duration(main.row.ms)];
    this.box.replaceChildren(
      element("div", { class: "top" },
        element("h2", {}, titleOf(main.row) || kindOf(main.row), element("div", { class: "hint" }, facts.filter(Boolean).join(" · "))),
        button("×", () => this.close(), { class: "close", "aria-label": "Close" })),
      ...findings, copies, bar, element("div", { role: "tabpanel", id: "part", "aria-labelledby": `part-${this.#tab}` }, this.#content(whole)));
  }

  /** @param {string} tab */
  #has(tab) {
    const whole = /** @type {Whole} */ (this.#whole);
    if (tab === "Headers") return whole.http.length > 0 || [whole.request, whole.answer].some(part => part?.head || part?.row.kind === "http");
    if (tab === "Progress") return whole.progress.length > 0;
    if (tab === "Related") return whole.related.length > 0;
    return true;
  }

  /** @param {Whole} whole */
  #content(whole) {
    const pair = element("div", { class: "pair" });
    switch (this.#tab) {
      case "Headers": {
        const heads = [whole.request, whole.answer].flatMap(part => part?.head ?? []);
        pair.append(...[...heads, ...[whole.request, ...whole.http].flatMap(part => part?.row.kind === "http" ? part.text : [])].map(text => {
          const [first, ...headers] = text.split("\n");
          const rows = headers.map(line => line.split(/:(.*)/s)).map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, visible(name)), element("td", {}, visible(value ?? "").trim())));
          return element("section", { class: "headers" }, element("h3", {}, `HTTP ${visible(first)}`), element("table", {}, element("tbody", {}, ...rows)));
        }));
        return pair;
      }
      case "Progress": return this.#rows(whole.progress);
      case "Related": return element("div", {}, ...whole.related.flatMap(({ why, rows }) => [element("h3", {}, why), this.#rows(rows)]));
      default:
        if (whole.request) pair.append(this.#part("Request", whole.request));
        if (whole.answer) pair.append(this.#part("Response", whole.answer));
        else if (whole.request?.row.status === "pending") pair.append(element("section", {}, element("h3", {}, "Response"), element("p", { class: "hint" }, "No answer so far.")));
        return pair;
    }
  }

  /** @param {string} heading @param {Part} part */
  #part(heading, part) {
    const { row } = part;
    const name = row.kind === "req" || row.kind === "batch" ? heading : row.kind === "res" || row.kind === "err" ? "Response" : row.kind === "note" ? "Notification" : kindOf(row);
    const body = this.#tab === "Pretty" && part.json ? pretty(part.text) : element("pre", { class: "raw" }, visible(part.text));
    const section = element("section", {}, element("h3", {}, name, element("small", {}, ` ${size(row.bytes)}${row.kind === "err" && row.code !== undefined ? ` · code ${row.code}` : ""}`)), body);
    if (this.#tab === "Pretty" && part.json) section.append(...images(part.text));
    if (part.cut) section.append(button("Show all of it", () => this.open(this.#row, true)));
    return section;
  }

  /** @param {Row[]} rows */
  #rows(rows) {
    return element("ol", { class: "rows" }, ...rows.map(row => element("li", {}, button(
      `#${count(row.row)} ${titleOf(row) || kindOf(row)}${isBad(row) ? " ✗" : ""} ${inline(row.preview)}`,
      () => this.dispatchEvent(new CustomEvent("jump", { detail: row.row })), { class: "link" }))));
  }
}
