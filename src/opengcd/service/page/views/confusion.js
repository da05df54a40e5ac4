/** The confusion matrix: a table of colours, with names and numbers where there is room. */

import { button } from "../buttons.js";
import { h, s } from "../dom.js";
import { imagesOf } from "../router.js";
import { count, number } from "../words.js";

/** @typedef {import("../types.d.ts").Measured} Measured */
/** @typedef {import("../types.d.ts").ConfusedPair} ConfusedPair */

/** The sides of a cell, in pixels, that one can choose from. */
const SIZES = [4, 6, 9, 14, 20, 28, 40];
const NAMED = 14;
/** From this side on, a cell has its number. */
const NUMBERED = 20;
/** From this share on, the colour of a cell is so strong that its number stands out against it. */
const DARK = 0.2;
/** The matrix is not made wider than this at first. */
const WIDTH = 640;
/** The share of the window that the matrix may have, as its style says. */
const HEIGHT = 0.7;
/** With more classes than this, one has to ask for the matrix. */
const OPEN = 20;
/** The room for the names of rows and columns. */
const [LEFT, TOP] = [110, 110];

/** Classes in an order in which those that are mixed up are neighbours. @param {Measured} measured */
function inOrder({ classes, pairs }) {
  /** @type {Map<string, Map<string, number>>} */
  const near = new Map(classes.map(({ label }) => [label, new Map()]));
  for (const { label, predicted, images } of pairs)
    for (const [one, other] of [
      [label, predicted],
      [predicted, label],
    ])
      near.get(one)?.set(other, (near.get(one)?.get(other) ?? 0) + images);
  const left = new Set(classes.map(({ label }) => label));
  /** @type {string[]} */
  const order = [];
  const start = [...pairs.map(({ label }) => label), ...left];
  for (const first of start) {
    for (let next = left.has(first) ? first : undefined; next !== undefined;) {
      order.push(next);
      left.delete(next);
      const candidates = [...(near.get(next) ?? [])].filter(([label]) => left.has(label));
      next = candidates.sort((a, b) => b[1] - a[1])[0]?.[0];
    }
  }
  return order;
}

/**
 * The confusion matrix as a heat map: one row per class, one column per class that its images are taken for.
 * @param {Measured} measured @param {number} size of a cell
 * @param {(pair: Pick<ConfusedPair, "label"|"predicted">) => unknown} open
 */
function heatMap(measured, size, open) {
  const order = inOrder(measured);
  const place = new Map(order.map((label, i) => [label, i]));
  const total = new Map(measured.classes.map(({ label, images }) => [label, images]));
  const named = size >= NAMED;
  const [left, top] = named ? [LEFT, TOP] : [0, 0];
  const side = order.length * size;
  /** @param {string} label @param {string} predicted @param {number} images @param {string} kind */
  const cell = (label, predicted, images, kind) => {
    const share = images / (total.get(label) ?? 1);
    const [x, y] = [left + (place.get(predicted) ?? 0) * size, top + (place.get(label) ?? 0) * size];
    return (
      images > 0 && [
        s(
          "rect",
          {
            class: kind,
            x,
            y,
            width: size,
            height: size,
            "fill-opacity": (0.15 + 0.85 * Math.sqrt(share)).toFixed(2),
            on: { click: () => open({ label, predicted }) },
          },
          s(
            "title",
            {},
            label === predicted
              ? `${label}: ${images} of ${total.get(label)} recognised`
              : `${label}: ${images} of ${total.get(label)} taken for ${predicted}`,
          ),
        ),
        size >= NUMBERED &&
          s(
            "text",
            { class: share > DARK ? "number dark" : "number", x: x + size / 2, y: y + size / 2 + 4 },
            number(images),
          ),
      ]
    );
  };
  /** The name of a class at the edge of the matrix. @param {string} label @param {Record<string, string|number>} where */
  const name = (label, where) =>
    s(
      "text",
      { ...where, on: { click: () => (location.hash = imagesOf({ label })) } },
      label.length > 14 ? `${label.slice(0, 13)}…` : label,
      s("title", {}, `Show all images of ${label}`),
    );
  return s(
    "svg",
    {
      class: "confusion",
      width: left + side,
      height: top + side,
      viewBox: `0 0 ${left + side} ${top + side}`,
      role: "img",
      "aria-label": `Confusion matrix of ${count(order.length, "class", "classes")}. The list of pairs says the same in words.`,
    },
    s("rect", { class: "ground", x: left, y: top, width: side, height: side }),
    measured.classes.map(({ label, right }) => cell(label, label, right, "right")),
    measured.pairs.map(({ label, predicted, images }) => cell(label, predicted, images, "wrong")),
    named &&
      order.map((label, i) => {
        const middle = (i + 0.5) * size + 4;
        return [
          name(label, { x: left - 5, y: top + middle, "text-anchor": "end" }),
          name(label, { transform: `translate(${left + middle} ${top - 5}) rotate(-90)` }),
        ];
      }),
  );
}

/**
 * The matrix with its zoom, which stays as it was chosen while the version is the same.
 * @param {(pair: Pick<ConfusedPair, "label"|"predicted">) => unknown} open what a click on a cell does
 */
export function confusionMatrix(open) {
  /** @type {Measured|null} */
  let measured = null;
  let size = 0;
  const zoom = h("div", { class: "zoom" });
  const paint = () => measured && zoom.replaceChildren(heatMap(measured, SIZES[size], open));
  /** @param {number} by */
  const resize = (by) => {
    size = Math.max(0, Math.min(SIZES.length - 1, size + by));
    paint();
  };
  const element = h(
    "details",
    {},
    h("summary", {}, "Confusion matrix"),
    h(
      "p",
      { class: "soft" },
      "One row per class, one column per class that its images are taken for. Classes that are mixed up are neighbours. Click a cell to see its images.",
    ),
    h(
      "div",
      { class: "row" },
      button("Zoom out", () => resize(-1), { icon: "minus", quiet: true }),
      button("Zoom in", () => resize(1), { icon: "plus", quiet: true }),
    ),
    zoom,
  );
  return {
    element,
    /** @param {Measured} found */
    show(found) {
      const room = Math.min(WIDTH, innerWidth - LEFT - 80, HEIGHT * innerHeight - TOP);
      if (measured?.version !== found.version) {
        const fitting = SIZES.findLastIndex((one) => one * found.classes.length <= room);
        size = Math.max(0, fitting);
        element.open = found.classes.length <= OPEN;
      }
      measured = found;
      paint();
    },
  };
}
