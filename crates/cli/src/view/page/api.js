// Requests to the program that serves this page. The token comes in the fragment of the first address, so that no log,
// history or Referer has it, and is then kept for this tab alone.

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

export const token = takeToken();

export class Refused extends Error {}

/** Why nothing comes any more. */
export const gone = { text: "" };

/** @param {string} path @param {{body?: unknown, signal?: AbortSignal}} options */
async function ask(path, { body, signal } = {}) {
  /** @type {Record<string, string>} */
  const headers = { Authorization: `Bearer ${token}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(`api/${path}`, { method: body === undefined ? "GET" : "POST", headers, signal, body: body === undefined ? undefined : JSON.stringify(body) }).catch(error => {
    throw signal?.aborted ? error : new Error(gone.text || "sabir does not answer");
  });
  if (answer.ok) return answer;
  const text = await answer.text();
  if (answer.status === 401) throw new Refused("This address lacks the token of the page. Open the one that sabir printed, to its last character; `sabir view` prints those of all taps that run.");
  throw new Refused(text || `${answer.status} ${answer.statusText}`);
}

/** @param {string} path @param {AbortSignal=} signal @returns {Promise<any>} */
export const get = async (path, signal) => (await ask(path, { signal })).json();

/** @param {string} path @param {unknown} body @returns {Promise<any>} */
export const post = async (path, body) => (await ask(path, { body })).json();

/** @param {string} path @returns {Promise<string>} */
export const text = async path => (await ask(path)).text();

/** Saves what is answered as a file. @param {string} path @param {unknown} body @param {string} name */
export async function save(path, body, name) {
  const url = URL.createObjectURL(await (await ask(path, { body })).blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** @typedef {import("./types.js").News} News */

/** Follows the news, and connects again when the connection is lost: another process may go on with the page. @param {(news: News) => void} hear @param {(problem: string | null, tries: number) => void} lost */
export async function follow(hear, lost) {
  for (let wait = 250, tries = 0; ; wait = Math.min(wait * 2, 4000), tries += 1) {
    try {
      const answer = await ask("feed");
      const reader = /** @type {any} */ (answer.body).pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line) hear(JSON.parse(line));
        wait = 250;
        tries = 0;
      }
      lost(null, tries);
    } catch (error) {
      lost(error instanceof Refused ? error.message : null, tries);
      if (error instanceof Refused) return;
    }
    await new Promise(done => setTimeout(done, wait));
  }
}
