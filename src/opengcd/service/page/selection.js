/** Which images are selected, in the order of their selection. */
export class Selection {
  /** @type {Set<number>} */
  #ids = new Set();

  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
  }

  get ids() {
    return [...this.#ids];
  }

  get size() {
    return this.#ids.size;
  }

  /** @param {number} id */
  has(id) {
    return this.#ids.has(id);
  }

  /** @param {number} id */
  toggle(id) {
    if (!this.#ids.delete(id)) this.#ids.add(id);
    this.changed();
  }

  /** @param {Iterable<number>} ids */
  add(ids) {
    for (const id of ids) this.#ids.add(id);
    this.changed();
  }

  /** @param {Iterable<number>} ids */
  set(ids) {
    this.#ids = new Set(ids);
    this.changed();
  }

  clear() {
    this.set([]);
  }
}
