// The field of the filter, with the words that can come next. The program reads filters; this only offers words.

import { byId, element, visible } from "./text.js";

const WORDS = ["method:", "tool:", "id:", "task:", "conn:", "dir:c2s", "dir:s2c", "kind:req", "kind:note", "kind:err", "kind:noise", "kind:stderr", "kind:http", "status:ok", "status:error", "status:pending", "status:late", "status:cancel", "status:input", "status:401", "ms>250", "bytes>1k", "code:-32601", "$.params."];

export const FILTERS = [
  ["text, \"two words\"", "in the message, the method or the tool"], ["method:tools/*", "the method; also tool:, id:, task:, conn:"], ["dir:c2s, dir:s2c", "from the client, from the server"],
  ["kind:req", "req, res, err, note, noise, stderr, http, exit …"], ["status:error", "ok, pending, cancel, late, 401 …"], ["ms>250, bytes>1k", "longer, larger"],
  ["code:-32601", "the code of an error"], ["/re/i", "a regular expression"], ["$.params.name=x", "a value"], ["-word", "what must not apply"],
];

/** @param {string} text */
export const quoted = text => (/[\s",*]/.test(text) ? JSON.stringify(text) : text);

/** @param {(now: boolean) => void} apply */
export function setupFilter(apply) {
  const input = /** @type {HTMLInputElement} */ (byId("filter"));
  const box = byId("words");
  /** @type {string[]} */
  let names = [];
  let chosen = -1;
  const close = () => { box.hidden = true; chosen = -1; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); };
  const word = () => {
    const end = input.selectionStart ?? input.value.length;
    const start = input.value.lastIndexOf(" ", end - 1) + 1;
    return { start, end, text: input.value.slice(start, end) };
  };
  const take = (/** @type {string} */ offered) => {
    const { start, end, text } = word();
    const made = (text.startsWith("-") ? "-" : "") + offered;
    input.setRangeText(made, start, end, "end");
    close();
    if (!made.endsWith(":") && !made.endsWith(".")) apply(false);
    else open();
  };
  const open = () => {
    const text = word().text.replace(/^-/, "").toLowerCase();
    const found = text ? [...WORDS, ...names].filter(offered => offered.toLowerCase().startsWith(text) && offered.toLowerCase() !== text || text.includes(":") === false && offered.includes(":") && offered.split(":")[1].toLowerCase().startsWith(text) && text.length > 1) : [];
    box.replaceChildren(...found.slice(0, 12).map((offered, index) => {
      const item = element("li", { role: "option", id: `word-${index}`, "aria-selected": "false" }, visible(offered));
      item.addEventListener("pointerdown", event => { event.preventDefault(); take(offered); });
      item.dataset.word = offered;
      return item;
    }));
    chosen = -1;
    box.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(!box.hidden));
  };
  input.addEventListener("input", () => { open(); apply(false); });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", event => {
    if (box.hidden) return;
    const items = /** @type {HTMLElement[]} */ ([...box.children]);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      chosen = (chosen + (event.key === "ArrowDown" ? 1 : -1) + items.length + (chosen < 0 && event.key === "ArrowUp" ? 1 : 0)) % items.length;
      items.forEach((item, index) => item.setAttribute("aria-selected", String(index === chosen)));
      items[chosen].scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", items[chosen].id);
    } else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) {
      event.preventDefault();
      take(items[chosen].dataset.word ?? "");
    } else if (event.key === "Escape") {
      event.stopPropagation();
      event.preventDefault();
      close();
    }
  });
  byId("search").addEventListener("submit", event => { event.preventDefault(); close(); apply(true); });
  return {
    input,
    /** @param {string[]} methods @param {string[]} tools */
    learn(methods, tools) { names = [...methods.map(name => `method:${quoted(name)}`), ...tools.map(name => `tool:${quoted(name)}`)]; },
  };
}
