// A list of any length, of which only the visible rows exist. Browsers limit the height of an element (16.7 million pixels
// in some), so a long list is drawn in a shorter space: the number of the first visible row is what counts, the wheel and
// the keys move it by rows, and only dragging the scroll bar derives it from the position.

const TALLEST = 8_000_000;

/** `draw` fills the element of a row. @typedef {{rowHeight: number, length: () => number, draw: (place: number, element: HTMLElement) => void}} Source */

export class Grid extends EventTarget {
  #top = 0;
  #focus = -1;
  #drawing = false;
  /** A position that was set here, from which nothing is to be derived; near to none if there is none. */
  #set = NaN;
  /** Rows that were visible when it was drawn last. */
  #seen = 0;

  /** @param {HTMLElement} box the grid @param {HTMLElement} pane the part that scrolls @param {Source} source */
  constructor(box, pane, source) {
    super();
    this.box = box;
    this.pane = pane;
    this.source = source;
    this.space = document.createElement("div");
    this.space.className = "space";
    this.body = document.createElement("div");
    this.body.className = "body";
    this.body.setAttribute("role", "rowgroup");
    pane.append(this.space, this.body);
    pane.addEventListener("scroll", () => this.#scrolled());
    pane.addEventListener("wheel", event => this.#wheel(event), { passive: false });
    pane.addEventListener("click", event => this.#clicked(event));
    new ResizeObserver(() => this.#resized()).observe(pane);
  }

  /** A row that was selected and visible stays visible, though there is less room now. */
  #resized() {
    const { visible } = this;
    const below = this.#focus - this.#top;
    if (below >= visible && below < this.#seen) this.#top = this.#focus - visible + 1;
    this.draw();
  }

  get visible() {
    return Math.max(1, Math.floor(this.pane.clientHeight / this.source.rowHeight));
  }

  get top() { return this.#top; }
  get focus() { return this.#focus; }
  get atEnd() { return this.#top >= this.#last(); }

  #last() {
    return Math.max(0, this.source.length() - this.visible);
  }

  #height() {
    return Math.min(this.source.length() * this.source.rowHeight, TALLEST);
  }

  /** Whether every row has its own pixels. */
  #exact() {
    return this.source.length() * this.source.rowHeight <= TALLEST;
  }

  #scrolled() {
    const at = this.pane.scrollTop;
    if (Math.abs(at - this.#set) < 2) return;
    this.#set = NaN;
    const room = Math.max(1, this.#height() - this.pane.clientHeight);
    this.#top = this.#exact() ? Math.min(this.#last(), Math.round(at / this.source.rowHeight)) : Math.round((at / room) * this.#last());
    this.draw(false);
    this.dispatchEvent(new Event("moved"));
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    if (event.ctrlKey || event.shiftKey || this.#exact()) return;
    event.preventDefault();
    const lines = event.deltaMode === 1 ? event.deltaY : event.deltaMode === 2 ? event.deltaY * this.visible : event.deltaY / this.source.rowHeight;
    this.show(this.#top + (Math.round(lines) || Math.sign(event.deltaY)));
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const row = /** @type {HTMLElement} */ (event.target).closest("[data-place]");
    if (row instanceof HTMLElement) this.select(Number(row.dataset.place), true);
  }

  /** Moves the first visible row. @param {number} top */
  show(top) {
    this.#top = Math.max(0, Math.min(top, this.#last()));
    this.draw();
    this.dispatchEvent(new Event("moved"));
  }

  end() {
    this.#top = this.#last();
    this.draw();
  }

  /** The same rows are at other places now. @param {number} top @param {number} focus */
  shift(top, focus) {
    this.#top = top;
    this.#focus = focus;
    this.draw();
  }

  /** Selects a row, and shows it. @param {number} place @param {boolean} open @param {boolean} middle @param {number=} known the row's number, if it is known */
  select(place, open = false, middle = false, known = undefined) {
    const length = this.source.length();
    if (length === 0) return;
    this.#focus = Math.max(0, Math.min(place, length - 1));
    const hidden = this.#focus < this.#top || this.#focus >= this.#top + this.visible;
    if (hidden && middle) this.#top = Math.max(0, this.#focus - Math.floor(this.visible / 2));
    if (this.#focus < this.#top) this.#top = this.#focus;
    if (this.#focus >= this.#top + this.visible) this.#top = this.#focus - this.visible + 1;
    this.draw();
    this.dispatchEvent(new CustomEvent("selected", { detail: { place: this.#focus, open, known } }));
  }

  forget() {
    this.#focus = -1;
    this.#top = 0;
  }

  /** Draws what is visible, at most once a frame. */
  draw(place = true) {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      if (this.pane.clientHeight > 0) this.#draw(place);
    });
  }

  /** @param {boolean} place whether the scroll bar is to be moved as well */
  #draw(place) {
    const length = this.source.length();
    this.#top = Math.max(0, Math.min(this.#top, this.#last()));
    this.space.style.height = `${this.#height()}px`;
    this.box.setAttribute("aria-rowcount", String(length + 1));
    if (place) {
      const room = Math.max(1, this.#height() - this.pane.clientHeight);
      const at = this.#exact() ? this.#top * this.source.rowHeight : Math.round((this.#top / Math.max(1, this.#last())) * room);
      if (Math.abs(this.pane.scrollTop - at) >= 1) {
        this.pane.scrollTop = at;
        this.#set = this.pane.scrollTop;
      }
    }
    this.#seen = this.visible;
    // At the end, the last row is whole; elsewhere the first is.
    const rest = this.pane.clientHeight - this.visible * this.source.rowHeight;
    const shift = this.#top > 0 && this.atEnd ? rest - this.source.rowHeight : 0;
    const first = shift < 0 ? this.#top - 1 : this.#top;
    this.body.style.transform = `translateY(${this.pane.scrollTop + shift}px)`;
    const count = Math.max(0, Math.min(this.visible + 1, length - first));
    while (this.body.childElementCount > count) this.body.lastElementChild?.remove();
    while (this.body.childElementCount < count) {
      const row = document.createElement("div");
      row.setAttribute("role", "row");
      this.body.append(row);
    }
    let index = first;
    for (const row of this.body.children) {
      const element = /** @type {HTMLElement} */ (row);
      element.dataset.place = String(index);
      element.id = `${this.box.id}-${index}`;
      element.setAttribute("aria-rowindex", String(index + 2));
      element.setAttribute("aria-selected", String(index === this.#focus));
      this.source.draw(index, element);
      index += 1;
    }
    const focused = this.#focus >= first && this.#focus < first + count;
    if (focused) this.box.setAttribute("aria-activedescendant", `${this.box.id}-${this.#focus}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  /** Keys that move. Whether the key was one of them. @param {string} key */
  key(key) {
    const from = this.#focus < 0 ? this.#top - 1 : this.#focus;
    const page = Math.max(1, this.visible - 1);
    switch (key) {
      case "ArrowDown": case "j": this.select(from + 1); return true;
      case "ArrowUp": case "k": this.select(Math.max(0, from - 1)); return true;
      case "PageDown": this.select(Math.max(0, from) + page); return true;
      case "PageUp": this.select(from - page); return true;
      case "Home": case "g": this.select(0); return true;
      case "End": case "G": this.select(this.source.length() - 1); this.dispatchEvent(new Event("end")); return true;
      default: return false;
    }
  }
}
