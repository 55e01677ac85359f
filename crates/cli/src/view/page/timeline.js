// The strip above the list: messages and errors over time. Dragging, or the arrow keys, chooses a range.

import { get } from "./api.js";
import { duration } from "./text.js";

/**
 * @typedef {object} Buckets
 * @property {number} from     nanoseconds
 * @property {number} to
 * @property {number[]} counts
 * @property {number[]} errors
 */

export class Timeline extends EventTarget {
  /** @type {Buckets | null} */
  #buckets = null;
  /** @type {[number, number] | null} parts of the whole */
  #range = null;
  #asked = 0;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    super();
    this.canvas = canvas;
    let from = -1;
    const part = (/** @type {PointerEvent} */ event) => Math.max(0, Math.min(1, (event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth));
    canvas.addEventListener("pointerdown", event => { from = part(event); canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointermove", event => { if (from >= 0) this.#choose(from, part(event), false); });
    canvas.addEventListener("pointerup", event => {
      const to = part(event);
      if (Math.abs(to - from) * canvas.clientWidth < 3) this.#clear();
      else this.#choose(from, to, true);
      from = -1;
    });
    canvas.addEventListener("keydown", event => {
      const step = event.key === "ArrowRight" ? 0.02 : event.key === "ArrowLeft" ? -0.02 : 0;
      if (event.key === "Escape" && this.#range) { event.stopPropagation(); this.#clear(); }
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      const [a, b] = this.#range ?? [0, 1];
      if (event.shiftKey) this.#choose(a, Math.max(a + 0.02, Math.min(1, b + step)), true);
      else this.#choose(Math.max(0, Math.min(b - 0.02, a + step)), b, true);
    });
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  #clear() {
    this.#range = null;
    this.draw();
    this.dispatchEvent(new CustomEvent("range", { detail: null }));
  }

  /** @param {number} a @param {number} b @param {boolean} done */
  #choose(a, b, done) {
    this.#range = [Math.min(a, b), Math.max(a, b)];
    this.draw();
    if (!done || !this.#buckets) return;
    const { from, to } = this.#buckets;
    const at = (/** @type {number} */ part) => Math.round(from + part * (to - from));
    this.dispatchEvent(new CustomEvent("range", { detail: { from: at(this.#range[0]), to: at(this.#range[1]) } }));
  }

  /** Asks anew, once a second at the most. */
  async refresh() {
    const now = performance.now();
    if (now - this.#asked < 1000) return;
    this.#asked = now;
    this.#buckets = await get("timeline?parts=240").catch(() => this.#buckets);
    this.draw();
  }

  draw() {
    const { canvas } = this;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    if (!pen) return;
    const style = getComputedStyle(canvas);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    if (this.#range) {
      pen.fillStyle = style.getPropertyValue("--chosen");
      pen.fillRect(this.#range[0] * width, 0, (this.#range[1] - this.#range[0]) * width, height);
    }
    const buckets = this.#buckets;
    if (!buckets || buckets.counts.length === 0) return;
    const most = Math.max(1, ...buckets.counts);
    const step = width / buckets.counts.length;
    buckets.counts.forEach((count, index) => {
      if (!count) return;
      const tall = Math.max(2, (count / most) * (height - 14));
      pen.fillStyle = style.getPropertyValue("--bar");
      pen.fillRect(index * step, height - tall, Math.max(1, step - 1), tall);
      const errors = buckets.errors[index];
      if (errors) {
        pen.fillStyle = style.getPropertyValue("--error");
        const part = Math.max(2, (errors / count) * tall);
        pen.fillRect(index * step, height - part, Math.max(1, step - 1), part);
      }
    });
    const span = (buckets.to - buckets.from) / 1e6;
    pen.fillStyle = style.color;
    pen.font = "11px system-ui, sans-serif";
    pen.fillText(`${duration(span)}, at most ${most} messages in ${duration(span / buckets.counts.length)}`, 4, 11);
    const errors = buckets.errors.reduce((sum, n) => sum + n, 0);
    canvas.setAttribute("aria-label", `Messages over time: ${buckets.counts.reduce((sum, n) => sum + n, 0)} in ${duration(span)}, ${errors} errors`);
  }
}
