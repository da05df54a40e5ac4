/** The rejected images as points on a plane: pan, zoom, and a lasso to select. */

import { api } from "./api.js";
import { h } from "./dom.js";
import { enclosed } from "./lasso.js";
import { count } from "./words.js";

const MARGIN = 24;
const NEAR = 14; // pixels within which the pointer means a point
const STEP = 60; // pixels that an arrow moves
const REACH = 44; // pixels around the middle that the keyboard selects: arrows lead to every point
const ZOOMS = [1, 40];

/** @typedef {[number, number]} Point */

export class PlaneMap {
  /**
   * @param {{selection: import("./selection.js").Selection, colours: () => Map<number, string>,
   *   name: (group: number) => string, open: (group: number, item: number) => void, lassoed: (on: boolean) => void}} options
   */
  constructor({ selection, colours, name, open, lassoed }) {
    this.selection = selection;
    this.colours = colours;
    this.name = name;
    this.open = open;
    this.lassoed = lassoed;
    /** @type {import("./types.d.ts").Map} */
    this.points = { items: [], x: [], y: [], group: [], drawn: false };
    /** @type {Point} */
    this.centre = [0.5, 0.5];
    this.zoom = 1;
    this.lassoing = false;
    /** @type {Point[]} the lasso that is being drawn, in pixels */
    this.line = [];
    this.frame = 0;
    this.canvas = h("canvas", { role: "img", "aria-label": "Map of the images under review", tabindex: "0" });
    this.tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.element = h("div", { class: "plane" }, this.canvas, this.tip);
    this.canvas.addEventListener("pointerdown", (event) => this.#press(event));
    this.canvas.addEventListener("pointermove", (event) => this.#hover(event));
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.canvas.addEventListener("dblclick", (event) => {
      const i = this.#nearest(...this.#at(event), NEAR);
      if (i >= 0) this.open(this.points.group[i], this.points.items[i]);
    });
    this.canvas.addEventListener("focus", () => this.draw());
    this.canvas.addEventListener("blur", () => this.draw());
    this.resize = new ResizeObserver(() => this.draw());
    this.resize.observe(this.element);
  }

  /** @param {import("./types.d.ts").Map} points */
  show(points) {
    this.points = points;
    this.canvas.setAttribute("aria-label", `Map of ${count(points.items.length, "image")} under review`);
    this.element.dataset.drawn = String(points.drawn);
    this.draw();
  }

  // Between the plane, where all is in [0, 1], and pixels.

  #scale() {
    return this.zoom * (Math.min(this.canvas.clientWidth, this.canvas.clientHeight) - 2 * MARGIN);
  }

  /** @param {number} x @param {number} y @returns {Point} */
  #pixel(x, y) {
    const scale = this.#scale();
    return [
      this.canvas.clientWidth / 2 + (x - this.centre[0]) * scale * this.#stretch(),
      this.canvas.clientHeight / 2 + (y - this.centre[1]) * scale,
    ];
  }

  /** @param {number} px @param {number} py @returns {Point} */
  #place(px, py) {
    const scale = this.#scale();
    return [
      this.centre[0] + (px - this.canvas.clientWidth / 2) / (scale * this.#stretch()),
      this.centre[1] + (py - this.canvas.clientHeight / 2) / scale,
    ];
  }

  /** A wide map is used up to its edges: the directions of the plane mean nothing by themselves. */
  #stretch() {
    const { clientWidth, clientHeight } = this.canvas;
    return Math.max(1, Math.min(2, (clientWidth - 2 * MARGIN) / Math.max(1, clientHeight - 2 * MARGIN)));
  }

  /** @param {MouseEvent} event @returns {Point} */
  #at(event) {
    const edge = this.canvas.getBoundingClientRect();
    return [event.clientX - edge.left, event.clientY - edge.top];
  }

  /** @param {number} px @param {number} py @param {number} reach */
  #nearest(px, py, reach) {
    let best = -1;
    let least = reach ** 2;
    for (let i = 0; i < this.points.items.length; i++) {
      const [x, y] = this.#pixel(this.points.x[i], this.points.y[i]);
      const distance = (x - px) ** 2 + (y - py) ** 2;
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }

  draw() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.#draw();
    });
  }

  #draw() {
    const { canvas, points } = this;
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const pen = canvas.getContext("2d");
    if (!pen) return;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const style = getComputedStyle(this.element);
    const colours = this.colours();
    const some = this.selection.size > 0;
    const size = Math.max(
      2,
      Math.min(6, (points.items.length > 3000 ? 2.2 : points.items.length > 600 ? 3 : 4) * this.zoom ** 0.3),
    );
    /** @type {Map<string, number[]>} */
    const byColour = new Map();
    points.group.forEach((group, i) => {
      const key = colours.get(group) ?? "grey";
      const places = byColour.get(key);
      if (places) places.push(i);
      else byColour.set(key, [i]);
    });
    for (const [key, places] of byColour) {
      for (const chosen of [false, true]) {
        pen.globalAlpha = chosen ? 1 : some ? 0.28 : 0.82;
        pen.fillStyle = key;
        pen.beginPath();
        for (const i of places) {
          if (this.selection.has(points.items[i]) !== chosen) continue;
          const [x, y] = this.#pixel(points.x[i], points.y[i]);
          if (x < -size || y < -size || x > width + size || y > height + size) continue;
          pen.moveTo(x + size, y);
          pen.arc(x, y, chosen ? size + 1 : size, 0, 2 * Math.PI);
        }
        pen.fill();
        if (chosen && some) {
          pen.strokeStyle = style.getPropertyValue("--ink");
          pen.lineWidth = 1.25;
          pen.stroke();
        }
      }
    }
    pen.globalAlpha = 1;
    if (points.items.length) this.element.dataset.points = String(points.items.length);
    if (this.line.length) this.#drawLine(pen, style);
    if (document.activeElement === canvas && canvas.matches(":focus-visible")) {
      pen.strokeStyle = style.getPropertyValue("--accent");
      pen.setLineDash([4, 4]);
      pen.beginPath();
      pen.arc(width / 2, height / 2, REACH, 0, 2 * Math.PI);
      pen.stroke();
      pen.setLineDash([]);
    }
  }

  /** @param {CanvasRenderingContext2D} pen @param {CSSStyleDeclaration} style */
  #drawLine(pen, style) {
    pen.beginPath();
    this.line.forEach(([px, py], i) => (i ? pen.lineTo(px, py) : pen.moveTo(px, py)));
    pen.closePath();
    pen.fillStyle = pen.strokeStyle = style.getPropertyValue("--accent");
    pen.globalAlpha = 0.12;
    pen.fill();
    pen.globalAlpha = 1;
    pen.lineWidth = 1.5;
    pen.stroke();
  }

  // Acts.

  /** @param {boolean} on */
  setLasso(on) {
    this.lassoing = on;
    this.element.classList.toggle("lassoing", on);
    this.lassoed(on);
  }

  /** @param {number} factor @param {Point} [at] the pixel that stays in its place */
  zoomBy(factor, at = [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2]) {
    const fixed = this.#place(...at);
    this.zoom = Math.max(ZOOMS[0], Math.min(ZOOMS[1], this.zoom * factor));
    const now = this.#place(...at);
    this.centre = [this.centre[0] + fixed[0] - now[0], this.centre[1] + fixed[1] - now[1]];
    this.draw();
  }

  /** @param {number} dx @param {number} dy */
  panBy(dx, dy) {
    const scale = this.#scale();
    this.centre = [this.centre[0] - dx / (scale * this.#stretch()), this.centre[1] - dy / scale];
    this.draw();
  }

  /** Obey an arrow. @param {string} key */
  walk(key) {
    /** @type {Record<string, Point>} */
    const steps = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };
    this.panBy(...steps[key]);
  }

  whole() {
    this.centre = [0.5, 0.5];
    this.zoom = 1;
    this.draw();
  }

  /** Select what is in the middle. */
  take() {
    const middle = [this.canvas.clientWidth / 2, this.canvas.clientHeight / 2];
    const found = this.points.items.filter((_, i) => {
      const [x, y] = this.#pixel(this.points.x[i], this.points.y[i]);
      return Math.hypot(x - middle[0], y - middle[1]) <= REACH;
    });
    this.selection.add(found);
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    // Without a key the wheel scrolls the page, as everywhere.
    if (!(event.ctrlKey || event.metaKey || document.activeElement === this.canvas)) return;
    event.preventDefault();
    this.zoomBy(Math.exp(-event.deltaY / 300), this.#at(event));
  }

  /** @param {PointerEvent} event */
  #press(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    const start = this.#at(event);
    let last = start;
    let moved = false;
    const drawing = this.lassoing || event.shiftKey;
    const adding = event.shiftKey && this.lassoing;
    if (drawing) this.line = [start];
    /** @param {PointerEvent} next */
    const move = (next) => {
      const point = this.#at(next);
      moved ||= Math.hypot(point[0] - start[0], point[1] - start[1]) > 4;
      if (drawing) this.line.push(point);
      else if (moved) this.panBy(point[0] - last[0], point[1] - last[1]);
      last = point;
      this.draw();
    };
    const end = () => {
      this.canvas.removeEventListener("pointermove", move);
      this.canvas.removeEventListener("pointerup", end);
      this.canvas.removeEventListener("pointercancel", end);
      if (drawing && moved) {
        const line = this.line.map((point) => this.#place(...point));
        const found = enclosed(this.points.x, this.points.y, line).map((i) => this.points.items[i]);
        if (adding) this.selection.add(found);
        else this.selection.set(found);
      } else if (!moved) {
        const i = this.#nearest(...start, NEAR);
        if (i >= 0) this.selection.toggle(this.points.items[i]);
      }
      this.line = [];
      this.draw();
    };
    this.canvas.addEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", end);
    this.canvas.addEventListener("pointercancel", end);
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const i = event.buttons ? -1 : this.#nearest(...this.#at(event), NEAR);
    this.tip.hidden = i < 0;
    if (i < 0) return;
    const item = this.points.items[i];
    if (this.tip.dataset.item !== String(item)) {
      this.tip.dataset.item = String(item);
      this.tip.replaceChildren(
        h("img", { src: api.thumbnail(item), alt: "" }),
        h("span", {}, this.name(this.points.group[i])),
      );
    }
    const [x, y] = this.#pixel(this.points.x[i], this.points.y[i]);
    this.tip.classList.toggle("left", x > this.canvas.clientWidth / 2);
    this.tip.style.setProperty("left", `${x}px`);
    this.tip.style.setProperty("top", `${Math.min(y, this.canvas.clientHeight - 130)}px`);
  }

  end() {
    this.resize.disconnect();
  }
}
