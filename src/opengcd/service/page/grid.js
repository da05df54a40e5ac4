/** Thumbnails of any number of images: only the rows in sight exist. Selects by click, Shift or hold, drag, keyboard. */

import { api } from "./api.js";
import { h, targetOf } from "./dom.js";

const GAP = 6;
const BEYOND = 3; // rows kept above and below those in sight
const DRAG = 6; // pixels before a press becomes a drag
const HOLD = 450; // milliseconds before a finger's press is a hold: what Shift is to a mouse

/** @typedef {import("./items.js").Shown} Shown */

/** @param {Shown} item */
const name = (item) => (item.copies > 1 ? `${item.name}, a stack of ${item.copies}` : item.name);

/** @template {Shown} T */
export class Grid {
  /**
   * @param {{list: import("./items.js").PagedList<T>, selection: import("./selection.js").Selection, label: string,
   *   side: number, look: (item: T) => void, moved: () => void, caption?: (item: T) => string,
   *   seen?: (items: T[]) => void}} options
   *   caption: what stands on an image, in lines; seen: called with the images in sight
   */
  constructor({ list, selection, label, side, look, moved, caption, seen }) {
    this.list = list;
    this.caption = caption;
    this.seen = seen;
    this.selection = selection;
    this.side = side;
    this.look = look;
    this.moved = moved;
    /** Pixels from one image to the next; 0 before the first layout. */
    this.cell = 0;
    this.frame = 0;
    this.cursor = 0;
    this.anchor = 0;
    this.columns = 1;
    /** @type {Map<number, HTMLElement>} */
    this.rows = new Map();
    this.space = h("div", { class: "space", role: "presentation" });
    this.element = h(
      "div",
      { class: "grid", role: "grid", tabindex: "0", "aria-label": label, "aria-multiselectable": "true" },
      this.space,
    );
    this.element.addEventListener("scroll", () => this.#soon(), { passive: true });
    this.element.addEventListener("pointerdown", (event) => this.#press(event));
    this.element.addEventListener("contextmenu", (event) => {
      if (event instanceof PointerEvent && event.pointerType === "touch") event.preventDefault(); // a hold selects
    });
    this.element.addEventListener("dblclick", (event) => {
      const item = this.list.at(this.#indexOf(event));
      if (item) this.look(item);
    });
    this.resize = new ResizeObserver(() => this.layout());
    this.resize.observe(this.element);
  }

  /** Fit the columns to the width. */
  layout() {
    const width = this.element.clientWidth - GAP;
    this.columns = Math.max(1, Math.floor(width / (this.side + GAP)));
    this.cell = width / this.columns;
    this.element.style.setProperty("--columns", String(this.columns));
    this.element.style.setProperty("--cell", `${this.cell}px`);
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.render();
  }

  #soon() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.render();
    });
  }

  /** Rows in sight, first and last; none before the first layout. */
  #sight() {
    if (!this.cell) return [0, -1];
    const top = this.element.scrollTop;
    const rows = Math.ceil(this.list.total / this.columns);
    const first = Math.max(0, Math.floor(top / this.cell) - BEYOND);
    return [first, Math.min(rows - 1, Math.floor((top + this.element.clientHeight) / this.cell) + BEYOND)];
  }

  /** Places in sight, first and last. @returns {[number, number]} */
  sight() {
    const [first, last] = this.#sight();
    return [first * this.columns, Math.max(0, Math.min(this.list.total - 1, (last + 1) * this.columns - 1))];
  }

  render() {
    if (!this.cell) return;
    const count = Math.ceil(this.list.total / this.columns);
    this.cursor = Math.max(0, Math.min(this.cursor, this.list.total - 1));
    this.space.style.setProperty("height", `${count * this.cell + GAP}px`);
    this.element.setAttribute("aria-rowcount", String(count));
    this.element.setAttribute("aria-colcount", String(this.columns));
    const [first, last] = this.#sight();
    for (const [row, element] of this.rows) {
      if (row >= first && row <= last) continue;
      element.remove();
      this.rows.delete(row);
    }
    for (let row = first; row <= last; row++) this.#row(row);
    this.paint();
    if (!this.list.total || last < first) return;
    this.list.ensure(...this.sight()).catch(() => {});
    this.seen?.(this.#between(...this.sight()));
  }

  /** @param {number} row */
  #row(row) {
    const start = row * this.columns;
    const items = Array.from({ length: Math.min(this.columns, this.list.total - start) }, (_, i) =>
      this.list.at(start + i),
    );
    const captions = items.map((item) => (item && this.caption ? this.caption(item) : ""));
    const key = items.map((item, i) => (item ? `${item.id}×${item.copies}×${captions[i]}` : "")).join();
    const old = this.rows.get(row);
    if (old?.dataset.key === key) return;
    const element = h(
      "div",
      {
        role: "row",
        class: "row",
        "aria-rowindex": row + 1,
        "data-key": key,
        css: { transform: `translateY(${row * this.cell + GAP}px)` },
      },
      items.map((item, column) =>
        h(
          "div",
          {
            role: "gridcell",
            class: item ? (item.copies > 1 ? "cell stack" : "cell") : "cell empty",
            id: item && `image-${item.id}`,
            "data-index": start + column,
            "data-item": item?.id,
            "aria-colindex": column + 1,
            "aria-selected": "false",
            "aria-label": item ? [name(item), ...captions[column].split("\n")].filter(Boolean).join(", ") : "loading",
          },
          item && h("img", { src: api.thumbnail(item.id), alt: "", draggable: "false", decoding: "async" }),
          item && item.copies > 1 && h("span", { class: "copies", "aria-hidden": "true" }, String(item.copies)),
          captions[column] && h("span", { class: "caption", "aria-hidden": "true" }, captions[column]),
        ),
      ),
    );
    if (old) old.replaceWith(element);
    else this.space.append(element);
    this.rows.set(row, element);
  }

  /** Show selection and cursor. */
  paint() {
    const current = this.list.at(this.cursor);
    for (const row of this.rows.values()) {
      for (const cell of /** @type {Iterable<HTMLElement>} */ (row.children)) {
        cell.setAttribute("aria-selected", String(this.selection.has(Number(cell.dataset.item))));
        cell.classList.toggle("cursor", Number(cell.dataset.index) === this.cursor);
      }
    }
    if (current && document.getElementById(`image-${current.id}`)) {
      this.element.setAttribute("aria-activedescendant", `image-${current.id}`);
    } else this.element.removeAttribute("aria-activedescendant");
  }

  current() {
    return this.list.at(this.cursor);
  }

  /** Bring the cursor to a place. @param {number} index */
  goTo(index) {
    this.cursor = Math.max(0, Math.min(index, this.list.total - 1));
    const top = Math.floor(this.cursor / this.columns) * this.cell;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + this.cell + GAP > scrollTop + clientHeight)
      this.element.scrollTop = top + this.cell + GAP - clientHeight;
    this.render();
    this.moved();
  }

  /** Obey an arrow, Home, End, Page up or Page down; Shift selects on the way. @param {KeyboardEvent} event */
  async walk({ key, shiftKey }) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.cell)) * this.columns;
    /** @type {Record<string, number>} */
    const steps = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -this.columns,
      ArrowDown: this.columns,
      PageUp: -page,
      PageDown: page,
      Home: -this.list.total,
      End: this.list.total,
    };
    const from = this.cursor;
    this.goTo(from + steps[key]);
    if (shiftKey) await this.#addRange(from, this.cursor);
    this.anchor = this.cursor;
  }

  toggle() {
    const item = this.current();
    if (item) this.selection.toggle(item.id);
    this.anchor = this.cursor;
  }

  /** @param {number} from @param {number} to */
  async #addRange(from, to) {
    const [first, last] = from < to ? [from, to] : [to, from];
    await this.list.ensure(first, last);
    this.selection.add(this.#between(first, last).map((item) => item.id));
  }

  /** The images between two places, as far as they have been read. @param {number} first @param {number} last */
  #between(first, last) {
    const items = Array.from({ length: last - first + 1 }, (_, i) => this.list.at(first + i));
    return items.filter((item) => item !== undefined);
  }

  /** @param {Event} event */
  #indexOf(event) {
    /** @type {HTMLElement|null|undefined} */
    const cell = targetOf(event)?.closest(".cell");
    return Number(cell?.dataset.index ?? -1);
  }

  /** @param {PointerEvent} event */
  #press(event) {
    if (event.button !== 0) return;
    const index = this.#indexOf(event);
    const start = this.#point(event);
    if (start.x > this.element.clientWidth) return; // the scroll bar
    /** @type {HTMLElement|null} */
    let box = null;
    const before = this.selection.ids;
    let held = false;
    const hold = () => {
      held = true;
      choose(true);
    };
    const holding = event.pointerType === "touch" && index >= 0 ? setTimeout(hold, HOLD) : undefined;
    /** @param {boolean} range */
    const choose = (range) => {
      this.cursor = index;
      if (range) this.#addRange(this.anchor, index);
      else this.toggle();
      this.anchor = index;
      this.moved();
    };

    /** @param {PointerEvent} next */
    const move = (next) => {
      const end = this.#point(next);
      if (!box) {
        // A finger's drag scrolls.
        if (next.pointerType === "touch" || Math.hypot(end.x - start.x, end.y - start.y) < DRAG) return;
        box = h("div", { class: "band", role: "presentation" });
        this.space.append(box);
        this.element.setPointerCapture(next.pointerId);
      }
      const edge = this.element.getBoundingClientRect();
      if (next.clientY > edge.bottom - 24) this.element.scrollTop += 12;
      if (next.clientY < edge.top + 24) this.element.scrollTop -= 12;
      const left = Math.min(start.x, end.x),
        top = Math.min(start.y, end.y);
      const width = Math.abs(end.x - start.x),
        height = Math.abs(end.y - start.y);
      for (const [name, value] of Object.entries({ left, top, width, height }))
        box.style.setProperty(name, `${value}px`);
      this.selection.set([...before, ...this.#inside(left, top, left + width, top + height)]);
    };
    /** @param {PointerEvent} last */
    const end = (last) => {
      clearTimeout(holding);
      this.element.removeEventListener("pointermove", move);
      this.element.removeEventListener("pointerup", end);
      this.element.removeEventListener("pointercancel", end);
      if (box) box.remove();
      else if (!held && last.type !== "pointercancel" && index >= 0) choose(last.shiftKey);
    };
    this.element.addEventListener("pointermove", move);
    this.element.addEventListener("pointerup", end);
    this.element.addEventListener("pointercancel", end);
  }

  /** Where the pointer is on the whole sheet of images. @param {PointerEvent} event */
  #point(event) {
    const edge = this.element.getBoundingClientRect();
    return { x: event.clientX - edge.left, y: event.clientY - edge.top + this.element.scrollTop };
  }

  /**
   * Images that a box touches, as far as they have been read.
   * @param {number} left @param {number} top @param {number} right @param {number} bottom
   */
  #inside(left, top, right, bottom) {
    const ids = [];
    /** @param {number} x */
    const column = (x) => Math.max(0, Math.min(this.columns - 1, Math.floor((x - GAP) / this.cell)));
    for (
      let row = Math.max(0, Math.floor((top - GAP) / this.cell));
      row <= Math.floor((bottom - GAP) / this.cell);
      row++
    ) {
      for (let c = column(left); c <= column(right); c++) {
        const item = this.list.at(row * this.columns + c);
        if (item) ids.push(item.id);
      }
    }
    return ids;
  }

  end() {
    this.resize.disconnect();
  }
}
