// The selected row: request and answer beside each other, as they were sent, with what belongs to them.

import { get, post, text } from "./api.js";
import { pretty } from "./json.js";
import { count, duration, element, size, visible } from "./text.js";

/** @typedef {import("./api.js").Row} Row */

/**
 * @typedef {object} Part
 * @property {Row} row
 * @property {string} text      the bytes as text; cut at a megabyte unless asked for whole
 * @property {boolean=} cut
 * @property {boolean} json     whether they are JSON
 * @property {string=} head     the HTTP head
 */

/**
 * @typedef {object} Whole
 * @property {Part=} request
 * @property {Part=} answer
 * @property {Row[]} progress
 * @property {{why: string, rows: Row[]}[]} related
 * @property {boolean} send     whether it may be sent again
 */

const TABS = ["Pretty", "Raw", "Headers", "Progress", "Related"];
const COPIES = [["call", "sabir call"], ["curl", "curl"], ["transcript", "transcript"], ["json", "JSON"]];

export class Detail extends EventTarget {
  #tab = "Pretty";
  /** @type {Whole | null} */
  #whole = null;
  #row = -1;
  #abort = new AbortController();

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
    this.#row = -1;
  }

  /** @param {number} row @param {boolean} whole */
  async open(row, whole = false) {
    this.#abort.abort();
    const abort = this.#abort = new AbortController();
    this.#row = row;
    this.box.hidden = false;
    this.box.setAttribute("aria-busy", "true");
    try {
      this.#whole = await get(`row/${row}${whole ? "?whole=1" : ""}`, abort.signal);
      this.#draw();
    } catch (error) {
      if (!abort.signal.aborted) this.box.replaceChildren(element("p", { class: "problem" }, String(error)));
    } finally {
      if (!abort.signal.aborted) this.box.removeAttribute("aria-busy");
    }
  }

  /** @param {string} as */
  async copy(as) {
    if (this.#row < 0) return;
    const copied = as === "link" ? `${location.origin}${location.pathname}#row=${this.#row}` : await text(`copy/${this.#row}?as=${as}`);
    await navigator.clipboard.writeText(copied);
    this.dispatchEvent(new CustomEvent("told", { detail: `copied as ${as}` }));
  }

  /** Opens the box to change and send the request again. */
  edit() {
    const request = this.#whole?.request;
    if (!this.#whole?.send || !request) {
      this.dispatchEvent(new CustomEvent("told", { detail: "Nothing can be sent from here: sabir was started without --allow-send" }));
      return;
    }
    const input = /** @type {HTMLTextAreaElement} */ (element("textarea", { rows: 8, "aria-label": "Message to send", spellcheck: "false" }));
    input.value = request.text;
    const out = element("div", { role: "status" });
    const send = element("button", { type: "button" }, "Send");
    send.addEventListener("click", async () => {
      out.replaceChildren("sent");
      try {
        const answer = await post("send", { row: this.#row, message: input.value });
        out.replaceChildren(element("p", {}, answer.ms === undefined ? "sent" : `answered in ${duration(answer.ms)}`), pretty(answer.text ?? ""));
      } catch (error) {
        out.replaceChildren(element("p", { class: "problem" }, String(error)));
      }
    });
    const box = element("section", { class: "send", "aria-label": "Send again" }, input, send, out);
    this.box.querySelector(".send")?.remove();
    this.box.append(box);
    input.focus();
  }

  #draw() {
    const whole = this.#whole;
    if (!whole) return;
    const main = whole.request ?? whole.answer;
    const name = main ? title(main.row) : "";
    const tabs = TABS.filter(tab => this.#has(tab));
    if (!tabs.includes(this.#tab)) this.#tab = tabs[0];
    const bar = element("div", { role: "tablist", "aria-label": "Parts" });
    for (const tab of tabs) {
      const button = element("button", { role: "tab", type: "button", "aria-selected": String(tab === this.#tab), tabindex: tab === this.#tab ? 0 : -1 }, tab);
      button.addEventListener("click", () => { this.#tab = tab; this.#draw(); });
      button.addEventListener("keydown", event => {
        const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
        if (!step) return;
        event.stopPropagation();
        this.#tab = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
        this.#draw();
        /** @type {HTMLElement | null} */ (this.box.querySelector("[role=tab][aria-selected=true]"))?.focus();
      });
      bar.append(button);
    }
    const copies = element("div", { class: "copies", role: "group", "aria-label": "Copy as" }, "Copy as ");
    for (const [as, label] of [...COPIES, ["link", "link"]]) {
      const button = element("button", { type: "button", "data-copy": as }, label);
      button.addEventListener("click", () => this.copy(as).catch(error => this.dispatchEvent(new CustomEvent("told", { detail: String(error) }))));
      copies.append(button);
    }
    if (whole.send) {
      const again = element("button", { type: "button", id: "resend" }, "Edit and send");
      again.addEventListener("click", () => this.edit());
      copies.append(again);
    }
    const close = element("button", { type: "button", class: "close", "aria-label": "Close" }, "×");
    close.addEventListener("click", () => { this.close(); this.dispatchEvent(new Event("closed")); });
    const findings = [...(whole.request?.row.findings ?? []), ...(whole.answer?.row.findings ?? [])].map(finding =>
      element("p", { class: `finding ${finding.level}` }, element("b", {}, `${finding.level} ${finding.rule}`), ` ${visible(finding.text)}`));
    this.box.replaceChildren(element("h2", {}, visible(name), close), ...findings, bar, copies, this.#content(whole));
  }

  /** @param {string} tab */
  #has(tab) {
    const whole = /** @type {Whole} */ (this.#whole);
    if (tab === "Headers") return Boolean(whole.request?.head || whole.answer?.head);
    if (tab === "Progress") return whole.progress.length > 0;
    if (tab === "Related") return whole.related.length > 0;
    return true;
  }

  /** @param {Whole} whole */
  #content(whole) {
    switch (this.#tab) {
      case "Progress": return this.#rows(whole.progress);
      case "Related": return element("div", {}, ...whole.related.flatMap(({ why, rows }) => [element("h3", {}, visible(why)), this.#rows(rows)]));
      default: {
        const pair = element("div", { class: "pair" });
        if (whole.request) pair.append(this.#part("Request", whole.request));
        if (whole.answer) pair.append(this.#part("Response", whole.answer));
        else if (whole.request?.row.status === "pending") pair.append(element("section", {}, element("h3", {}, "Response"), element("p", {}, "No answer yet.")));
        return pair;
      }
    }
  }

  /** @param {string} heading @param {Part} part */
  #part(heading, part) {
    const { row } = part;
    const facts = [row.ms === undefined ? null : duration(row.ms), size(row.bytes), row.code === undefined ? null : `code ${row.code}`].filter(Boolean).join(" · ");
    const body = this.#tab === "Headers" ? element("pre", {}, visible(part.head ?? ""))
      : this.#tab === "Pretty" && part.json ? pretty(part.text) : element("pre", { class: "raw" }, visible(part.text));
    const section = element("section", {}, element("h3", {}, nameOf(heading, row), element("small", {}, ` ${facts}`)), body);
    if (part.cut) {
      const more = element("button", { type: "button" }, "Show all of it");
      more.addEventListener("click", () => this.open(this.#row, true));
      section.append(more);
    }
    return section;
  }

  /** @param {Row[]} rows */
  #rows(rows) {
    const list = element("ol", { class: "rows" });
    for (const row of rows) {
      const link = element("button", { type: "button" }, `#${count(row.row + 1)} ${visible(title(row))} ${visible(row.preview)}`);
      link.addEventListener("click", () => this.dispatchEvent(new CustomEvent("jump", { detail: row.row })));
      list.append(element("li", {}, link));
    }
    return list;
  }
}

/** @param {string} heading @param {Row} row */
function nameOf(heading, row) {
  if (row.kind === "note") return "Notification";
  return row.kind === "req" || row.kind === "res" || row.kind === "err" || row.kind === "batch" ? heading : row.kind;
}

/** @param {Row} row */
export function title(row) {
  const name = row.method ?? row.kind;
  return row.tool ? `${name} ${row.tool}` : name;
}
