// How values are written. Everything that a peer sent is hostile: it becomes text, never markup, and what cannot be seen
// is shown by its number.

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb]|(?<![\u2000-\u32ff\udc00-\udfff#*0-9])\ufe0f|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udfff]/g;

/** The text with every character that hides or reorders others shown by number. @param {string} text */
export function visible(text) {
  return text.replace(HIDDEN, found => [...found].flatMap(c => c.split("")).map(c => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""));
}

/** The same on one line. @param {string} text */
export function inline(text) {
  return visible(text.replace(/\s*[\r\n]+\s*/g, " ⏎ "));
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let unit = -1;
  do { bytes /= 1000; unit += 1; } while (bytes >= 999.5 && unit < units.length - 1);
  return `${bytes < 9.95 ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
}

/** @param {number} ms */
export function duration(ms) {
  if (ms < 0.9995) return `${(ms * 1000).toFixed(0)} µs`;
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${ms.toFixed(0)} ms`;
  if (ms < 59_995) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
}

/** @param {number} count */
export const count = count => count.toLocaleString("en");

/**
 * Makes an element. Children that are strings become text.
 * @param {string} name
 * @param {Record<string, string | number | boolean | undefined>} attributes
 * @param {(Node | string | null | undefined | false)[]} children
 * @returns {HTMLElement}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  set(made, attributes);
  for (const child of children) if (child != null && child !== false) made.append(child);
  return made;
}

/** @param {string} name @param {Record<string, string | number>} attributes @param {Element[]} children */
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  set(made, attributes);
  made.append(...children);
  return made;
}

/** @param {Element} made @param {Record<string, string | number | boolean | undefined>} attributes */
function set(made, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : String(value));
  }
}

/** @param {string} label @param {() => unknown} act @param {Record<string, string | number | boolean | undefined>} attributes */
export function button(label, act, attributes = {}) {
  const made = element("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", act);
  return made;
}

/** @template {HTMLElement} T @param {string} id @returns {T} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return /** @type {T} */ (found);
}

/** Tells whoever listens to the page instead of looking at it, and shows it for a while. @param {unknown} what */
export function tell(what) {
  const box = byId("told");
  box.textContent = visible(what instanceof Error ? what.message : String(what));
  box.classList.add("shown");
  clearTimeout(Number(box.dataset.timer));
  box.dataset.timer = String(setTimeout(() => box.classList.remove("shown"), 4000));
}
