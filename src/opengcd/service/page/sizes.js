/** How large pictures are shown: a choice that the browser keeps. */

import { h } from "./dom.js";
import { capital } from "./words.js";

/**
 * @template T
 * @param {string} key under which the choice is kept
 * @param {{small: T, medium: T, large: T}} sizes
 */
export function sizesKept(key, sizes) {
  const chosen = () => {
    const name = localStorage.getItem(key) ?? "";
    return /** @type {keyof typeof sizes} */ (name in sizes ? name : "medium");
  };
  return {
    /** The name of the size. */
    chosen,
    /** What it means. */
    value: () => sizes[chosen()],
    /**
     * A field to choose it.
     * @param {string} label
     * @param {string} noun behind the name of each size
     * @param {() => void} changed
     */
    field: (label, noun, changed) => {
      const field = h(
        "select",
        {
          "aria-label": label,
          on: {
            change: () => {
              localStorage.setItem(key, field.value);
              changed();
            },
          },
        },
        Object.keys(sizes).map((name) =>
          h("option", { value: name, selected: name === chosen() }, `${capital(name)} ${noun}`.trim()),
        ),
      );
      return field;
    },
  };
}

/** The sizes of the cells of a grid, in pixels. */
export const cellSizes = sizesKept("opengcd.size", { small: 84, medium: 124, large: 184 });
