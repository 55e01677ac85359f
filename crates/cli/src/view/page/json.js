// JSON as a person reads it: indented, coloured by kind, with long texts and lists folded. Numbers are shown as they were
// sent: the text is tokenised, never parsed into values that would round them.

import { element, visible } from "./text.js";

const TOKEN = /\s*(?:([{}\[\],:])|("(?:[^"\\]|\\.)*")|([^\s{}\[\],:"]+))/gy;
const LINES = 5000;
const LONG = 2000;

/**
 * @param {string} text
 * @returns {HTMLElement}
 */
export function pretty(text) {
  const box = element("pre", { class: "json" });
  TOKEN.lastIndex = 0;
  let depth = 0, lines = 0, fresh = false, key = false;
  /** @type {string[]} */
  const open = [];
  const line = () => { box.append(`\n${"  ".repeat(Math.min(depth, 40))}`); lines += 1; };
  for (let found; lines < LINES && (found = TOKEN.exec(text));) {
    const [, mark, string, plain] = found;
    if (mark === "{" || mark === "[") {
      if (fresh) line();
      box.append(mark);
      open.push(mark);
      depth += 1;
      fresh = true;
      key = mark === "{";
    } else if (mark === "}" || mark === "]") {
      depth = Math.max(0, depth - 1);
      open.pop();
      if (!fresh) line();
      box.append(mark);
      fresh = false;
    } else if (mark === ",") {
      box.append(",");
      line();
      key = open.at(-1) === "{";
      fresh = false;
    } else if (mark === ":") {
      box.append(": ");
      key = false;
    } else {
      if (fresh) line();
      fresh = false;
      if (string !== undefined) box.append(stringOf(string, key));
      else box.append(element("span", { class: plain === "null" ? "null" : /^[tf]/.test(plain) ? "bool" : "number-value" }, visible(plain)));
    }
  }
  if (lines >= LINES) box.append(element("p", { class: "cut" }, `… cut after ${LINES} lines: the tab Raw and the copies have all of it`));
  return box;
}

/** @param {string} quoted @param {boolean} isKey */
function stringOf(quoted, isKey) {
  const name = isKey ? "key" : "string";
  if (quoted.length <= LONG) return element("span", { class: name }, visible(quoted));
  const rest = element("span", { class: name, hidden: true }, visible(quoted.slice(LONG)));
  const more = element("button", { type: "button", class: "fold" }, `… ${quoted.length - LONG} more characters`);
  more.addEventListener("click", () => { rest.hidden = false; more.remove(); });
  const whole = element("span", {}, element("span", { class: name }, visible(quoted.slice(0, LONG))), more, rest);
  return whole;
}
