/** A question about images that come with a JSON file: whether it holds boxes of a detector, which are then cut out. */

import { ask } from "./dialogs.js";
import { h } from "./dom.js";

/** @typedef {{boxes?: string, min_confidence?: number}} Cutting */

/**
 * @param {string[]} names files that come together
 * @returns {Promise<Cutting|null>} what to cut out; null if the question was dismissed
 */
export async function askForBoxes(names) {
  const files = names.filter((name) => /\.json$/i.test(name));
  if (!files.length) return {};
  return ask("Cut out the boxes of a detector?", (/** @type {(value: Cutting|null) => void} */ answer) => {
    const select = h(
      "select",
      { autofocus: true },
      files.map((name) => h("option", { value: name }, name)),
    );
    const sure = h("input", { type: "number", min: 0, max: 1, step: "any", required: true });
    sure.value = "0.2";
    const cut = () => answer({ boxes: select.value, min_confidence: sure.valueAsNumber });
    return [
      h(
        "form",
        { on: { submit: (event) => (event.preventDefault(), cut()) } },
        h(
          "p",
          { class: "soft" },
          "Each box of MegaDetector, or in COCO's format, becomes an image of its own, which is shown in the whole image.",
        ),
        h("label", { class: "field" }, h("span", {}, "File of boxes"), select),
        h("label", { class: "field" }, h("span", {}, "Lowest confidence of a box"), sure),
        h(
          "footer",
          {},
          h("button", { type: "button", on: { click: () => answer({}) } }, "Add whole images"),
          h("button", { type: "submit", class: "primary" }, "Cut out the boxes"),
        ),
      ),
    ];
  });
}
