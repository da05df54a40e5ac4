/** Questions about images before they are added: on boxes of a detector, on times, and on the frames of videos. */

import { ask } from "./dialogs.js";
import { h } from "./dom.js";

/** @typedef {{boxes?: string, min_confidence?: number, times?: string, fps?: number}} Asked */

const VIDEO = /\.(mp4|m4v|mov|avi|mkv|webm|mts|m2ts|mpg|mpeg|wmv|3gp)$/i;

/**
 * Ask what the files raise.
 * @param {string[]} names files that come together
 * @param {boolean} videos whether there are videos beside them
 * @returns {Promise<Asked|null>} null if a question was dismissed
 */
export async function askBefore(names, videos = false) {
  /** @type {Asked} */
  const asked = {};
  const rate = () => askForRate(videos || names.some((name) => VIDEO.test(name)));
  for (const question of [askForBoxes, askForTimes, rate]) {
    const answer = await question(names);
    if (!answer) return null;
    Object.assign(asked, answer);
  }
  return asked;
}

/** A JSON file may hold boxes, which are then cut out. @param {string[]} names @returns {Promise<Asked|null>} */
async function askForBoxes(names) {
  const files = names.filter((name) => /\.json$/i.test(name));
  if (!files.length) return {};
  return ask("Cut out the boxes of a detector?", (/** @type {(value: Asked|null) => void} */ answer) => {
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

/** A CSV file may say when images were taken. @param {string[]} names @returns {Promise<Asked|null>} */
async function askForTimes(names) {
  const files = names.filter((name) => /\.(csv|tsv)$/i.test(name));
  if (!files.length) return {};
  return ask("Read the times at which the images were taken?", (/** @type {(value: Asked|null) => void} */ answer) => {
    const select = h(
      "select",
      { autofocus: true },
      files.map((name) => h("option", { value: name }, name)),
    );
    return [
      h(
        "form",
        { on: { submit: (event) => (event.preventDefault(), answer({ times: select.value })) } },
        h(
          "p",
          { class: "soft" },
          "A table with the columns file and time, as in 2024-05-01T06:30:12. Images that follow each other within seconds and look alike are reviewed together.",
        ),
        h("label", { class: "field" }, h("span", {}, "Table of times"), select),
        h(
          "footer",
          {},
          h("button", { type: "button", on: { click: () => answer({}) } }, "Add without the table"),
          h("button", { type: "submit", class: "primary" }, "Read the times"),
        ),
      ),
    ];
  });
}

/**
 * Frames of videos are taken at some rate.
 * @param {boolean} videos whether there may be any
 * @param {string} submit what the button says
 * @returns {Promise<Asked|null>}
 */
export async function askForRate(videos, submit = "Add the images") {
  if (!videos) return {};
  return ask("Take frames of the videos", (/** @type {(value: Asked|null) => void} */ answer) => {
    const rate = h("input", { type: "number", min: 0.001, max: 1000, step: "any", required: true, autofocus: true });
    rate.value = "1";
    return [
      h(
        "form",
        { on: { submit: (event) => (event.preventDefault(), answer({ fps: rate.valueAsNumber })) } },
        h(
          "p",
          { class: "soft" },
          "Each frame becomes an image. Frames less than a second apart are mostly near copies.",
        ),
        h("label", { class: "field" }, h("span", {}, "Frames per second"), rate),
        h("footer", {}, h("button", { type: "submit", class: "primary" }, submit)),
      ),
    ];
  });
}
