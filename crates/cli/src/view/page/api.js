// Requests to the program that serves this page. The token comes in the fragment of the first URL, so that no log, history
// or Referer has it, and is then kept for this tab alone.

/**
 * A row of the list: a call, a notification, or something else that happened.
 * @typedef {object} Row
 * @property {number} row          its number, from 0
 * @property {number} t            nanoseconds since the start
 * @property {number} c            the connection
 * @property {string} d            ">" from the client, "<" from the server, "" neither
 * @property {string} kind         req, note, res, err, batch, noise, stderr, open, close, exit, gap, mark, http
 * @property {string=} status      pending, ok, error, cancelled, late
 * @property {string=} id          as JSON
 * @property {string=} method
 * @property {string=} tool
 * @property {number=} code
 * @property {number=} ms
 * @property {number} bytes
 * @property {number=} answer      the row of the answer, or of the request
 * @property {string} preview
 * @property {Finding[]=} findings
 */

/**
 * @typedef {object} Finding
 * @property {string} rule
 * @property {string} level        error, warning, note
 * @property {string} text
 */

/**
 * What the feed tells, ten times a second at the most.
 * @typedef {object} News
 * @property {number} rows         how many rows the list has without a filter
 * @property {number[]=} changed   rows that have changed since the last news
 * @property {boolean=} reset      everything may have changed
 * @property {string} state        live, ended, file
 * @property {string=} end         how it ended
 * @property {Scan=} filter
 */

/**
 * @typedef {object} Scan
 * @property {number} id
 * @property {number} scanned
 * @property {number} of
 * @property {number} matched
 */

const KEY = "sabir-view-token";

function takeToken() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const token = fragment.get("t");
  if (token) {
    sessionStorage.setItem(KEY, token);
    fragment.delete("t");
    const rest = fragment.toString();
    history.replaceState(null, "", location.pathname + (rest ? `#${rest}` : ""));
  }
  return sessionStorage.getItem(KEY) ?? "";
}

const token = takeToken();

export class Refused extends Error {}

/**
 * @param {string} path
 * @param {{method?: string, body?: unknown, signal?: AbortSignal}} options
 */
async function ask(path, { method = "GET", body, signal } = {}) {
  /** @type {Record<string, string>} */
  const headers = { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(`api/${path}`, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  if (answer.ok) return answer;
  const text = await answer.text();
  if (answer.status === 401) throw new Refused("Open the address that sabir printed: it has the token of this page.");
  throw new Refused(text || `${answer.status} ${answer.statusText}`);
}

/** @param {string} path @param {AbortSignal=} signal @returns {Promise<any>} */
export async function get(path, signal) {
  return (await ask(path, { signal })).json();
}

/** @param {string} path @param {unknown} body @returns {Promise<any>} */
export async function post(path, body) {
  return (await ask(path, { method: "POST", body })).json();
}

/** @param {string} path @returns {Promise<string>} */
export async function text(path) {
  return (await ask(path)).text();
}

/** Saves what an address gives as a file. @param {string} path @param {string} name */
export async function save(path, name) {
  const url = URL.createObjectURL(await (await ask(path)).blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/**
 * Follows the news until the page is closed, and connects again when the connection is lost.
 * @param {(news: News) => void} hear
 * @param {(problem: string) => void} lost
 */
export async function follow(hear, lost) {
  for (let wait = 250; ; wait = Math.min(wait * 2, 8000)) {
    try {
      const answer = await ask("feed");
      const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line) hear(JSON.parse(line));
        wait = 250;
      }
      lost("The connection to sabir has ended.");
    } catch (error) {
      lost(error instanceof Refused ? error.message : "sabir does not answer.");
      if (error instanceof Refused) return;
    }
    await new Promise(done => setTimeout(done, wait));
  }
}
