/** How well held-out images are recognised: which classes changed, which are mixed up, and the images of each pair. */

import { startJob } from "../acts.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { h, s } from "../dom.js";
import { classLink, imagesOf } from "../router.js";
import { currentJob, state } from "../store.js";
import { complain } from "../toast.js";
import { count, number, percent } from "../words.js";

/** @typedef {import("../types.d.ts").Measured} Measured */
/** @typedef {import("../types.d.ts").ConfusedPair} ConfusedPair */

const PAIRS = 10;
const CHANGES = 6;
/** The least change of a class that is shown. */
const TOLD = 0.01;
/** The sides of a cell, in pixels, that one can choose from. */
const SIZES = [4, 6, 9, 14, 20, 28];
const NAMED = 14;

/** "+3 points". @param {number} change */
const points = (change) => `${change > 0 ? "+" : "−"}${number(Math.round(1000 * Math.abs(change)) / 10)} points`;

/** @param {Measured} measured */
function changes({ classes }) {
  const changed = classes.flatMap(({ label, images, right, before }) =>
    before === null || Math.abs(right / images - before) < TOLD
      ? []
      : [{ label, now: right / images, change: right / images - before }],
  );
  /** @param {string} caption @param {number} sign @param {string} kind */
  const table = (caption, sign, kind) => {
    const some = changed
      .filter(({ change }) => sign * change > 0)
      .sort((a, b) => sign * (b.change - a.change))
      .slice(0, CHANGES);
    return (
      some.length > 0 &&
      h(
        "table",
        {},
        h("caption", {}, caption),
        h(
          "tbody",
          {},
          some.map(({ label, now, change }) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, classLink(label)),
              h("td", {}, percent(now)),
              h("td", { class: kind }, points(change)),
            ),
          ),
        ),
      )
    );
  };
  const tables = [table("Better than before", 1, "good"), table("Worse than before", -1, "bad")].filter(Boolean);
  return tables.length > 0 && h("div", { class: "tables" }, tables);
}

/** The classes with the lowest accuracy. @param {Measured} measured */
function weakest({ classes }) {
  const some = classes
    .filter(({ images, right }) => right < images)
    .sort((a, b) => a.right / a.images - b.right / b.images)
    .slice(0, CHANGES);
  return (
    some.length > 0 &&
    h(
      "table",
      {},
      h("caption", {}, "Hardest classes"),
      h(
        "tbody",
        {},
        some.map(({ label, images, right }) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, classLink(label)),
            h("td", {}, percent(right / images)),
            h("td", { class: "soft" }, `${number(right)} of ${number(images)}`),
          ),
        ),
      ),
    )
  );
}

/** @param {ConfusedPair[]} pairs @param {boolean} all @param {() => unknown} more @param {(pair: ConfusedPair) => unknown} open */
function pairList(pairs, all, more, open) {
  return h(
    "div",
    { class: "pairs" },
    h("h3", {}, "Mixed up"),
    h(
      "ul",
      {},
      (all ? pairs : pairs.slice(0, PAIRS)).map((pair) =>
        h(
          "li",
          {},
          h(
            "button",
            { type: "button", class: "quiet", title: "Show these images", on: { click: () => open(pair) } },
            h("span", {}, pair.label, h("span", { class: "soft" }, " taken for "), pair.predicted),
            h(
              "span",
              { class: "soft" },
              pair.before === null ? number(pair.images) : `${number(pair.images)} (before ${number(pair.before)})`,
            ),
          ),
        ),
      ),
    ),
    !all && pairs.length > PAIRS && button(`Show all ${number(pairs.length)} pairs`, more, { quiet: true }),
  );
}

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
  const margin = named ? 110 : 0;
  const side = order.length * size;
  /** @param {string} label @param {string} predicted @param {number} images @param {string} kind */
  const cell = (label, predicted, images, kind) => {
    const share = images / (total.get(label) ?? 1);
    return (
      images > 0 &&
      s(
        "rect",
        {
          class: kind,
          x: margin + (place.get(predicted) ?? 0) * size,
          y: (place.get(label) ?? 0) * size,
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
      )
    );
  };
  return s(
    "svg",
    {
      class: "confusion",
      width: margin + side,
      height: side,
      viewBox: `0 0 ${margin + side} ${side}`,
      role: "img",
      "aria-label": `Confusion matrix of ${count(order.length, "class", "classes")}. The list of pairs says the same in words.`,
    },
    s("rect", { class: "ground", x: margin, y: 0, width: side, height: side }),
    measured.classes.map(({ label, right }) => cell(label, label, right, "right")),
    measured.pairs.map(({ label, predicted, images }) => cell(label, predicted, images, "wrong")),
    named &&
      order.map((label, i) =>
        s(
          "text",
          {
            x: margin - 5,
            y: (i + 0.5) * size + 4,
            "text-anchor": "end",
            on: { click: () => (location.hash = imagesOf({ label })) },
          },
          label.length > 14 ? `${label.slice(0, 13)}…` : label,
          s("title", {}, `Show all images of ${label}`),
        ),
      ),
  );
}

/** The part of the view that shows what held-out images say. */
export function measuredPart() {
  const element = h("section", { class: "card measured", "aria-label": "Held-out accuracy", hidden: true });
  /** @type {Measured|null} */
  let measured = null;
  let all = false;
  let size = 0;
  const gallery = h("div", { class: "confused", tabindex: "-1", hidden: true });

  /** @param {Pick<ConfusedPair, "label"|"predicted">} pair */
  const open = async ({ label, predicted }) => {
    try {
      const { items } = await api.confused(label, predicted);
      gallery.hidden = false;
      gallery.replaceChildren(
        h(
          "div",
          { class: "head" },
          h(
            "h3",
            {},
            classLink(label),
            ...(label === predicted
              ? [`: ${count(items.length, "image")} recognised`]
              : [" taken for ", classLink(predicted), `: ${count(items.length, "image")}`]),
          ),
          button("Close", () => (gallery.hidden = true), { icon: "close", bare: true, quiet: true }),
        ),
        h(
          "ul",
          { class: "strip" },
          items
            .slice(0, 60)
            .map((id) =>
              h(
                "li",
                {},
                h(
                  "a",
                  { href: imagesOf({ label, item: id }), title: "Look at this image" },
                  h("img", { src: api.thumbnail(id), alt: `Image ${id}`, loading: "lazy" }),
                ),
              ),
            ),
        ),
      );
      gallery.focus({ preventScroll: true });
      gallery.scrollIntoView({ block: "nearest" });
    } catch (error) {
      complain(error);
    }
  };

  const paint = () => {
    element.hidden = !state.status.version;
    if (!measured) {
      element.replaceChildren(
        h("h2", {}, "Held-out accuracy"),
        h("p", { class: "soft" }, "This version was not measured on held-out images."),
        h(
          "div",
          { class: "row" },
          button("Measure now", () => startJob({ verb: "measure" }), { disabled: currentJob() !== null }),
        ),
      );
      return;
    }
    const { accuracy, accuracy_before: before, images, previous, trained, pairs, classes } = measured;
    const now = measured;
    const zoom = h("div", { class: "zoom" }, heatMap(now, SIZES[size], open));
    /** @param {number} by */
    const resize = (by) => {
      size = Math.max(0, Math.min(SIZES.length - 1, size + by));
      zoom.replaceChildren(heatMap(now, SIZES[size], open));
    };
    element.replaceChildren(
      ...[
        h(
          "div",
          { class: "head" },
          h("h2", {}, "Held-out accuracy"),
          h(
            "span",
            { class: "soft" },
            before === null ? "" : `${percent(before)} in version ${previous} · `,
            h("strong", {}, percent(accuracy)),
          ),
        ),
        h(
          "p",
          { class: "soft" },
          `${count(images, "exemplar")} of ${count(classes.length, "class", "classes")}, each judged by a classifier that was fitted without it (cross-validation in five parts). Nothing is rejected here.`,
          trained && " The network was trained on some of these images, so these numbers are too optimistic.",
        ),
        changes(now),
        h(
          "div",
          { class: "tables" },
          weakest(now),
          pairs.length
            ? pairList(pairs, all, () => ((all = true), paint()), open)
            : h("p", {}, "No two classes are mixed up."),
        ),
        gallery,
        h(
          "details",
          { open: classes.length <= 20 },
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
        ),
        h("p", {}, h("a", { href: "#/labels" }, "Check suspected labels")),
      ].filter((part) => part instanceof Node),
    );
  };

  return {
    element,
    async read() {
      const found = await api.heldOut();
      if (found.measured && measured?.version !== found.measured.version) {
        const n = found.measured.classes.length;
        size = Math.max(
          0,
          SIZES.findLastIndex((one) => one * n <= 640),
        );
        gallery.hidden = true;
        all = false;
      }
      measured = found.measured;
      paint();
    },
  };
}
