// How values are written. Everything that a peer sent is hostile: it becomes text, never markup, and what cannot be seen
// is shown by its number.

const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** @param {string} text @returns {string} the text with every character that hides or reorders others shown by number */
export function visible(text) {
  return text.replace(HIDDEN, found => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let unit = -1;
  do { bytes /= 1000; unit += 1; } while (bytes >= 999.5 && unit < units.length - 1);
  return `${bytes < 10 ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
}

/** @param {number} ms */
export function duration(ms) {
  if (ms < 1) return `${(ms * 1000).toFixed(0)} µs`;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${ms.toFixed(0)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(2)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

/** @param {number} count */
export function count(count) {
  return count.toLocaleString("en");
}

/**
 * Makes an element. Children that are strings become text.
 * @param {string} name
 * @param {Record<string, string | number | boolean | undefined>} attributes
 * @param {(Node | string | null | undefined)[]} children
 * @returns {HTMLElement}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (key === "class") made.className = String(value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) if (child != null) made.append(child);
  return made;
}

/** @template {HTMLElement} T @param {string} id @returns {T} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return /** @type {T} */ (found);
}
