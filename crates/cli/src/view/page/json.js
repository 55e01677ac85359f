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

/** The same as plain text. @param {string} text */
export function indented(text) {
  TOKEN.lastIndex = 0;
  let out = "", depth = 0, last = "";
  const line = () => `\n${"  ".repeat(Math.min(depth, 40))}`;
  for (let found; (found = TOKEN.exec(text)); last = found[0].trim()) {
    const token = found[0].trim();
    const opened = last === "{" || last === "[";
    if (token === "}" || token === "]") { depth = Math.max(0, depth - 1); out += opened ? token : line() + token; continue; }
    if (opened || last === ",") out += line();
    out += token === ":" ? ": " : token;
    if (token === "{" || token === "[") depth += 1;
  }
  return out;
}

const IMAGES = /^image\/(png|jpeg|gif|webp)$/;

/** The pictures in a message: of kinds that can do nothing but be looked at. @param {string} text @returns {HTMLElement[]} */
export function images(text) {
  /** @type {HTMLElement[]} */
  const found = [];
  const look = (/** @type {any} */ value, depth = 0) => {
    if (typeof value !== "object" || value === null || depth > 12 || found.length >= 8) return;
    const data = value.data ?? value.blob;
    if (IMAGES.test(value.mimeType) && typeof data === "string" && /^[A-Za-z0-9+/=]+$/.test(data)) found.push(element("img", { class: "picture", alt: `${value.mimeType} of the message`, src: `data:${value.mimeType};base64,${data}` }));
    for (const inner of Object.values(value)) look(inner, depth + 1);
  };
  if (/"image\/(png|jpeg|gif|webp)"/.test(text)) try { look(JSON.parse(text)); } catch { /* It was cut, or is not JSON. */ }
  return found;
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
