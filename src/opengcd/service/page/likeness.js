/** "Select similar": how many of the images that are like one are selected, by a slider and two buttons. */

import { button } from "./buttons.js";
import { h } from "./dom.js";

/** The slider goes to so many times as many images as are taken at first. */
const REACH = 4;
const LEAST_REACH = 20;

/** @typedef {{ids: number[], taken: number}} Like images in their order of likeness, and how many are selected */

/**
 * @param {(ids: number[]) => void} select
 */
export function likeness(select) {
  /** @type {Like|null} */
  let like = null;
  /** @type {HTMLInputElement} */
  const slider = h("input", {
    type: "range",
    min: 1,
    "aria-label": "How many similar images are selected",
    on: { input: () => like && take(like.ids, slider.valueAsNumber) },
  });
  /** @param {number} by */
  const widen = (by) => () => like && take(like.ids, like.taken + by);
  const element = h(
    "div",
    { class: "likeness", hidden: true },
    button("Select fewer", widen(-1), { key: ["images", "fewer"], icon: "minus", quiet: true }),
    slider,
    button("Select more", widen(1), { key: ["images", "more"], icon: "plus", quiet: true }),
  );

  /** @param {number[]} ids @param {number} n */
  function take(ids, n) {
    const fresh = like?.ids !== ids;
    const taken = Math.max(1, Math.min(ids.length, n));
    like = { ids, taken };
    const reach = fresh ? Math.max(LEAST_REACH, REACH * taken) : Math.max(Number(slider.max), taken);
    slider.max = String(Math.min(ids.length, reach));
    slider.value = String(taken);
    select(ids.slice(0, taken));
  }

  return {
    element,
    take,
    more: widen(1),
    fewer: widen(-1),
    /** Show it while there is something to change. @param {boolean} any whether images are selected */
    show: (any) => {
      if (!any) like = null;
      element.hidden = !like;
    },
  };
}
