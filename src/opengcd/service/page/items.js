/** Lists of images, read in parts as they are needed. */

import { api } from "./api.js";
import { complain } from "./toast.js";

const PART = 500;

/** @typedef {import("./types.d.ts").Item} Item */
/** @typedef {import("./types.d.ts").Image} Image */
/** @typedef {{id: number, name: string, copies: number}} Shown what a grid shows of an image */
/** @typedef {import("./api.js").Filters} Filters */

/** The parts that hold some places. @param {number} from @param {number} to */
const parts = (from, to) => {
  const first = Math.floor(from / PART);
  return Array.from({ length: Math.floor(to / PART) - first + 1 }, (_, i) => first + i);
};

/**
 * A list of any length.
 * @template {Shown} T
 */
export class PagedList {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    this.total = 0;
    /** The oldest edit that any part shows: what an act on these images is based on. */
    this.edit = 0;
    /** @type {Map<number, T[]>} */
    this.parts = new Map();
    /** @type {Map<number, Promise<void>>} */
    this.coming = new Map();
    this.reading = 0;
  }

  /** @param {number} i @returns {T|undefined} */
  at(i) {
    return this.parts.get(Math.floor(i / PART))?.[i % PART];
  }

  /** Read what is missing between two places. @param {number} from @param {number} to */
  async ensure(from, to) {
    const missing = parts(from, to).filter((part) => !this.parts.has(part));
    for (const part of missing) if (!this.coming.has(part)) this.coming.set(part, this.#add(part));
    await Promise.all(missing.map((part) => this.coming.get(part)));
  }

  /** @param {number} part */
  async #add(part) {
    const reading = this.reading;
    const found = await this.read(part);
    if (reading !== this.reading) return; // everything was reloaded meanwhile
    this.total = found.total;
    this.edit = this.parts.size ? Math.min(this.edit, found.edit) : found.edit;
    this.parts.set(part, found.items);
    this.coming.delete(part);
    this.changed();
  }

  /**
   * Ask for a part.
   * @param {number} part
   * @returns {Promise<{total: number, edit: number, items: T[]}>}
   */
  read(part) {
    throw new Error(`Part ${part} cannot be read: a list says how`);
  }

  /** Reload the images between two places; until they are there, the old ones stay visible. */
  async reload(from = 0, to = 0) {
    const reading = ++this.reading;
    this.coming.clear();
    const wanted = parts(from, to);
    const found = await Promise.all(wanted.map((part) => this.read(part)));
    if (reading !== this.reading) return;
    this.coming.clear();
    this.parts = new Map(wanted.map((part, i) => [part, found[i].items]));
    this.total = found[0].total;
    this.edit = Math.min(...found.map((one) => one.edit));
    this.changed();
  }

  /** Whether any image that was read is such. @param {(item: T) => boolean} test */
  some(test) {
    return [...this.parts.values()].some((items) => items.some(test));
  }

  /** Every image. */
  async all() {
    await this.ensure(0, Math.max(0, this.total - 1));
    return Array.from({ length: this.total }, (_, i) => this.at(i)).filter((item) => item !== undefined);
  }
}

/**
 * The images of a group.
 * @extends {PagedList<Item>}
 */
export class ItemList extends PagedList {
  /** @param {number} group @param {"typical"|"odd"} order @param {() => void} changed */
  constructor(group, order, changed) {
    super(changed);
    this.group = group;
    this.order = order;
  }

  /** @override @param {number} part */
  read(part) {
    return api.items(this.group, part * PART, PART, this.order);
  }
}

/**
 * All images that some filters let pass. The first part is shown before the images are counted.
 * @extends {PagedList<Image>}
 */
export class ImageList extends PagedList {
  /** @param {Filters} filters @param {() => void} changed */
  constructor(filters, changed) {
    super(changed);
    this.filters = filters;
    /** @type {Promise<import("./types.d.ts").ImageStarts>|null} */
    this.starts = null;
    this.counted = false;
  }

  /** @override @param {number} part */
  async read(part) {
    if (part === 0) {
      const { edit, images, next } = await api.images({ ...this.filters, limit: PART });
      if (next === null) this.counted = true;
      else this.#count();
      const atLeast = this.counted ? this.total : images.length + 1;
      return { total: next === null ? images.length : atLeast, edit, items: images };
    }
    if (!this.starts) this.#count();
    const { total, edit, cursors } = /** @type {import("./types.d.ts").ImageStarts} */ (await this.starts);
    const after = cursors[part - 1];
    if (after === undefined) return { total, edit, items: [] };
    const page = await api.images({ ...this.filters, limit: PART, after });
    return { total, edit: page.edit, items: page.images };
  }

  /** Show other images, from the first one. @param {Filters} filters */
  async filter(filters) {
    this.filters = filters;
    this.counted = false;
    await this.reload();
  }

  /** @override */
  async reload(from = 0, to = 0) {
    this.starts = null;
    await super.reload(from, to);
  }

  /** Count the images, and find where each part begins. */
  #count() {
    const counting = (this.starts = api.starts({ ...this.filters, every: PART }));
    counting
      .then(({ total }) => {
        if (this.starts !== counting) return;
        this.total = total;
        this.counted = true;
        this.changed();
      })
      .catch(complain);
  }
}
