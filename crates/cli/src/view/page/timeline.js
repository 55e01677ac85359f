// The strip above the list: messages and errors over time. Dragging, or the arrow keys, chooses a range.

import { get } from "./api.js";
import { count, duration } from "./text.js";

export class Timeline extends EventTarget {
  /** @type {{to: number, counts: number[], errors: number[]} | null} */
  #buckets = null;
  /** @type {[number, number] | null} parts of the whole */
  #range = null;
  #asked = -1000;
  #timer = 0;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    super();
    this.canvas = canvas;
    let from = -1;
    const part = (/** @type {PointerEvent} */ event) => Math.max(0, Math.min(1, (event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth));
    canvas.addEventListener("pointerdown", event => { from = part(event); canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointermove", event => { if (from >= 0) this.#choose(from, part(event), false); });
    canvas.addEventListener("pointerup", event => {
      if (from < 0) return;
      const to = part(event);
      if (Math.abs(to - from) * canvas.clientWidth < 3) this.clear();
      else this.#choose(from, to, true);
      from = -1;
    });
    canvas.addEventListener("keydown", event => {
      const step = event.key === "ArrowRight" ? 0.02 : event.key === "ArrowLeft" ? -0.02 : 0;
      if (event.key === "Escape" && this.#range) { event.stopPropagation(); this.clear(); }
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

  clear() {
    this.#range = null;
    this.draw();
    this.dispatchEvent(new CustomEvent("range", { detail: null }));
  }

  /** @param {number} a @param {number} b @param {boolean} done */
  #choose(a, b, done) {
    this.#range = [Math.min(a, b), Math.max(a, b)];
    this.draw();
    if (!done || !this.#buckets) return;
    const at = (/** @type {number} */ part) => Math.round(part * /** @type {any} */ (this.#buckets).to);
    this.dispatchEvent(new CustomEvent("range", { detail: this.#range.map(at) }));
  }

  /** Asks anew, once a second at the most. */
  async refresh() {
    const now = performance.now();
    const wait = this.#asked + 1000 - now;
    if (wait > 0) { this.#timer ||= setTimeout(() => { this.#timer = 0; this.refresh(); }, wait); return; }
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
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    if (this.#range) {
      pen.fillStyle = colour("--chosen");
      pen.fillRect(this.#range[0] * width, 0, (this.#range[1] - this.#range[0]) * width, height);
    }
    const buckets = this.#buckets;
    if (!buckets || buckets.counts.length === 0) return;
    const most = Math.max(1, ...buckets.counts);
    const step = width / buckets.counts.length;
    buckets.counts.forEach((n, index) => {
      const errors = buckets.errors[index];
      if (!n && !errors) return;
      const tall = Math.max(2, (n / most) * (height - 16));
      const wide = Math.max(1, step > 3 ? step - 1 : step);
      pen.fillStyle = colour("--bar");
      pen.fillRect(index * step, height - tall, wide, tall);
      if (!errors) return;
      pen.fillStyle = colour("--error");
      const part = Math.max(3, Math.min(1, errors / Math.max(1, n)) * tall);
      pen.fillRect(index * step, height - part, wide, part);
    });
    const span = buckets.to / 1e6;
    const all = buckets.counts.reduce((sum, n) => sum + n, 0);
    const errors = buckets.errors.reduce((sum, n) => sum + n, 0);
    pen.fillStyle = style.color;
    pen.font = "11px system-ui, sans-serif";
    pen.fillText(`${duration(span)} · at most ${count(most)} in ${duration(span / buckets.counts.length)}`, 10, 12);
    const range = this.#range ? `, ${duration(this.#range[0] * span)} to ${duration(this.#range[1] * span)} shown` : "";
    canvas.setAttribute("aria-label", `Messages over time: ${count(all)} in ${duration(span)}, ${count(errors)} errors. Arrow keys choose a range.`);
    canvas.setAttribute("aria-valuenow", String(Math.round((this.#range?.[0] ?? 0) * 100)));
    canvas.setAttribute("aria-valuetext", this.#range ? range.slice(2) : "all shown");
  }
}
