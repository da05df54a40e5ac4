/** What labelled images hold, before anything is done with them. */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { count, number } from "./words.js";

const CLASSES = 12;

/** @typedef {"image"|"vector"|"box"} Noun */

/**
 * @param {import("./types.d.ts").KnownPreview} seen
 * @param {Noun} noun what has the labels
 * @returns {HTMLElement[]}
 */
export const told = (seen, noun) =>
  seen.problem
    ? [h("p", { class: "warning", role: "alert" }, seen.problem)]
    : [
        h(
          "p",
          { class: "good" },
          icon("check"),
          `${count(seen.files, noun, noun === "box" ? "boxes" : `${noun}s`)} of ${count(seen.classes.length, "class", "classes")}`,
        ),
        h(
          "ul",
          { class: "tags" },
          seen.classes
            .slice(0, CLASSES)
            .map((one) => h("li", {}, one.label, h("span", { class: "soft" }, number(one.files)))),
          seen.classes.length > CLASSES &&
            h("li", { class: "soft" }, `and ${number(seen.classes.length - CLASSES)} more`),
        ),
        ...seen.notes.map((note) => h("p", { class: "soft" }, note)),
      ];
