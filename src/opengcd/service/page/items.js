/** The images of a group, read in parts as they are needed. */

import { api } from "./api.js";

const PART = 500;

/** @typedef {import("./types.d.ts").Item} Item */

/** The parts that hold some places. @param {number} from @param {number} to */
const parts = (from, to) => {
  const first = Math.floor(from / PART);
  return Array.from({ length: Math.floor(to / PART) - first + 1 }, (_, i) => first + i);
};

export class ItemList {
  /** @param {number} group @param {"typical"|"odd"} order @param {() => void} changed */
  constructor(group, order, changed) {
    this.group = group;
    this.order = order;
    this.changed = changed;
    this.total = 0;
    /** The oldest edit that any part shows: what an act on these images is based on. */
    this.edit = 0;
    /** @type {Map<number, Item[]>} */
    this.parts = new Map();
    /** @type {Map<number, Promise<void>>} */
    this.coming = new Map();
    this.reading = 0;
  }

  /** @param {number} i @returns {Item|undefined} */
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
    const found = await this.#read(part);
    if (reading !== this.reading) return; // everything was reloaded meanwhile
    this.total = found.total;
    this.edit = this.parts.size ? Math.min(this.edit, found.edit) : found.edit;
    this.parts.set(part, found.items);
    this.coming.delete(part);
    this.changed();
  }

  /** @param {number} part */
  #read(part) {
    return api.items(this.group, part * PART, PART, this.order);
  }

  /** Reload the images between two places; until they are there, the old ones stay visible. */
  async reload(from = 0, to = 0) {
    const reading = ++this.reading;
    this.coming.clear();
    const wanted = parts(from, to);
    const found = await Promise.all(wanted.map((part) => this.#read(part)));
    if (reading !== this.reading) return;
    this.coming.clear();
    this.parts = new Map(wanted.map((part, i) => [part, found[i].items]));
    this.total = found[0].total;
    this.edit = Math.min(...found.map((one) => one.edit));
    this.changed();
  }

  /** Whether any image that was read is such. @param {(item: Item) => boolean} test */
  some(test) {
    return [...this.parts.values()].some((items) => items.some(test));
  }

  /** Every image. */
  async all() {
    await this.ensure(0, Math.max(0, this.total - 1));
    return Array.from({ length: this.total }, (_, i) => this.at(i)).filter((item) => item !== undefined);
  }
}
