/** A picture that can be zoomed and moved: by wheel, drag, pinch, double click, and by keys of its view. */

import { h } from "./dom.js";

const MOST = 24;
const SWIPE = 60; // pixels

export class Zoom {
  /** @param {(by: number) => void} swipe what a swipe over the whole picture does: 1 for the next, -1 for the previous */
  constructor(swipe) {
    this.swipe = swipe;
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    /** @type {Map<number, {x: number, y: number}>} fingers or the mouse, where they are */
    this.pointers = new Map();
    this.moved = { x: 0, y: 0 };
    this.element = h("div", { class: "stage" });
    this.element.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 400), event);
      },
      { passive: false },
    );
    this.element.addEventListener("dblclick", (event) => (this.scale > 1 ? this.whole() : this.zoom(3, event)));
    this.element.addEventListener("pointerdown", (event) => this.#down(event));
    this.element.addEventListener("pointermove", (event) => this.#move(event));
    for (const type of /** @type {const} */ (["pointerup", "pointercancel"]))
      this.element.addEventListener(type, (event) => this.#up(event));
  }

  /** Show a picture, the whole of it. @param {HTMLElement} picture */
  show(picture) {
    this.element.replaceChildren(picture);
    this.whole();
  }

  whole() {
    [this.scale, this.x, this.y] = [1, 0, 0];
    this.#paint();
  }

  /**
   * Zoom, and keep the point under the pointer where it is; without one, the middle.
   * @param {number} factor @param {{clientX: number, clientY: number}} [at]
   */
  zoom(factor, at) {
    const { left, top, width, height } = this.element.getBoundingClientRect();
    const x = at ? at.clientX - left - width / 2 : 0;
    const y = at ? at.clientY - top - height / 2 : 0;
    const scale = Math.max(1, Math.min(MOST, this.scale * factor));
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.#paint();
  }

  /** Move the picture by parts of the stage. @param {number} x @param {number} y */
  pan(x, y) {
    this.x += x * this.element.clientWidth;
    this.y += y * this.element.clientHeight;
    this.#paint();
  }

  #paint() {
    const { clientWidth, clientHeight } = this.element;
    const [right, bottom] = [((this.scale - 1) * clientWidth) / 2, ((this.scale - 1) * clientHeight) / 2];
    this.x = Math.max(-right, Math.min(right, this.x));
    this.y = Math.max(-bottom, Math.min(bottom, this.y));
    this.element.style.setProperty("--zoom", `translate(${this.x}px, ${this.y}px) scale(${this.scale})`);
    this.element.dataset.scale = this.scale.toFixed(2);
  }

  /** @param {PointerEvent} event */
  #down(event) {
    if (event.button !== 0) return;
    event.preventDefault(); // the browser would drag the picture away
    this.element.setPointerCapture(event.pointerId);
    if (!this.pointers.size) this.moved = { x: 0, y: 0 };
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const now = { x: event.clientX, y: event.clientY };
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, now);
    if (other) {
      const spread = Math.hypot(now.x - other.x, now.y - other.y) / Math.hypot(before.x - other.x, before.y - other.y);
      this.zoom(spread || 1, { clientX: (now.x + other.x) / 2, clientY: (now.y + other.y) / 2 });
      this.moved.x = NaN; // a pinch is no swipe
      return;
    }
    this.moved.x += now.x - before.x;
    this.moved.y += now.y - before.y;
    this.x += now.x - before.x;
    this.y += now.y - before.y;
    this.#paint();
  }

  /** @param {PointerEvent} event */
  #up(event) {
    const touched = this.pointers.delete(event.pointerId) && event.pointerType === "touch";
    if (!touched || this.pointers.size || this.scale > 1 || event.type === "pointercancel") return;
    const { x, y } = this.moved;
    if (Math.abs(x) > SWIPE && Math.abs(x) > 2 * Math.abs(y)) this.swipe(x < 0 ? 1 : -1);
  }
}
