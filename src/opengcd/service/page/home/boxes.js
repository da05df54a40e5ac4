/** The boxes that a detector has found in the known images: whether they are cut out, and how sure they must be. */

import { h } from "../dom.js";
import { chooseFolder } from "../folders.js";

/**
 * @param {Object} given
 * @param {string[]} given.there JSON files among the images
 * @param {string|null} given.boxes the file that is chosen
 * @param {number} given.confidence
 * @param {string|null} given.folder where else one may be chosen; null if only those that are there
 * @param {boolean} given.labelled whether the boxes have the labels
 * @param {(boxes: string|null, confidence: number, labelled: boolean) => unknown} given.choose
 */
export function boxesPart({ there, boxes, confidence, folder, labelled, choose }) {
  if (!there.length && !boxes && folder === null) return [];
  const files = [...new Set([...(boxes ? [boxes] : []), ...there])];
  /** @type {HTMLSelectElement} */
  const select = h(
    "select",
    { on: { change: () => choose(select.value || null, confidence, labelled) } },
    h("option", { value: "" }, "No: each image is one item"),
    files.map((one) => h("option", { value: one, selected: one === boxes }, one)),
  );
  const sure = h("input", { type: "number", min: 0, max: 1, step: 0.05, required: true });
  sure.value = String(confidence);
  sure.addEventListener("change", () => sure.reportValidity() && choose(boxes, sure.valueAsNumber, labelled));
  const own = h("input", { type: "checkbox", checked: labelled });
  own.addEventListener("change", () => choose(boxes, confidence, own.checked));
  const other = async () => {
    const path = await chooseFolder({ title: "File of boxes", submit: "", kind: "boxes", start: folder });
    if (path !== null) choose(path, confidence, labelled);
  };
  return [
    h(
      "div",
      { class: "fields" },
      files.length > 0 && h("label", {}, h("span", {}, "Cut out the boxes of a detector"), select),
      boxes && h("label", {}, h("span", {}, "Lowest confidence of a box"), sure),
      folder !== null &&
        h("button", { type: "button", class: "quiet", on: { click: other } }, "Boxes of a detector (JSON) …"),
    ),
    boxes && h("p", { class: "soft" }, "Each box of MegaDetector, or in COCO's format, becomes an image of its own."),
    boxes &&
      h(
        "label",
        { class: "check" },
        own,
        "Each box has its own class: its category in COCO's format, or a classifier's",
      ),
  ];
}
