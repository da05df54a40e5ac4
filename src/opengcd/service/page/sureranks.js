/** The deepest sure ranks of the images in sight: only theirs are asked for, and only if there is a taxonomy. */

import { api } from "./api.js";

/** @typedef {import("./types.d.ts").Taxon} Taxon */

const MOST = 500; // images of a request
const SETTLES = 150; // milliseconds in which a list that is scrolled asks only once
const AGAIN = 3000; // milliseconds until thresholds are asked for again that are being calibrated

export class SureRanks {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    /** The images in sight. @type {number[]} */
    this.sight = [];
    /** @type {number|undefined} */
    this.waiting = undefined;
    this.round = 0;
    this.forget();
  }

  /** Ask again for everything, since something has changed. */
  forget() {
    this.round++;
    /** What is sure of each image that was asked for. @type {Map<number, Taxon|null>} */
    this.found = new Map();
    this.none = false;
    if (this.sight.length) this.#soon(SETTLES);
  }

  /** @param {number} id */
  of(id) {
    return this.found.get(id) ?? null;
  }

  /** Ask for the images in sight. @param {number[]} ids */
  look(ids) {
    this.sight = ids;
    if (this.waiting === undefined) this.#soon(SETTLES);
  }

  /** @param {number} pause */
  #soon(pause) {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.#ask(), pause);
  }

  async #ask() {
    this.waiting = undefined;
    const { round } = this;
    const ids = this.sight.filter((id) => !this.found.has(id)).slice(0, MOST);
    if (this.none || !ids.length) return;
    // A list without ranks can still be used, and the next look asks again.
    const told = await api.taxa(ids).catch(() => null);
    if (!told || round !== this.round) return;
    this.none = told.state === "none";
    if (told.state === "ready") for (const id of ids) this.found.set(id, null);
    for (const { id, taxon } of told.taxa) this.found.set(id, taxon);
    this.changed();
    if (told.state === "calibrating") this.#soon(AGAIN);
  }

  end() {
    this.round++;
    this.sight = [];
    clearTimeout(this.waiting);
  }
}
