/** How well held-out images are recognised: which classes changed, which are mixed up, and the images of each pair. */

import { startJob } from "../acts.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { h } from "../dom.js";
import { classLink, imagesOf } from "../router.js";
import { currentJob, state } from "../store.js";
import { complain } from "../toast.js";
import { count, number, percent } from "../words.js";
import { confusionMatrix } from "./confusion.js";

/** @typedef {import("../types.d.ts").Measured} Measured */
/** @typedef {import("../types.d.ts").ConfusedPair} ConfusedPair */

const PAIRS = 10;
const CHANGES = 6;
/** The least change of a class that is shown. */
const TOLD = 0.01;
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

/** The part of the view that shows what held-out images say of a version, at first of the one in use. */
export function measuredPart() {
  /** @type {Measured|null} */
  let measured = null;
  let all = false;
  let latest = 0;
  /** @type {HTMLSelectElement} */
  const picker = h("select", { "aria-label": "Version", on: { change: () => load().catch(complain) } });
  const figure = h("span", { class: "soft" });
  const body = h("div", { class: "stack" });
  const element = h(
    "section",
    { class: "card measured", "aria-label": "Held-out accuracy", hidden: true },
    h("div", { class: "head" }, h("h2", {}, "Held-out accuracy"), picker, figure),
    body,
  );
  const inUse = () => Number(picker.value) === state.status.version?.id;
  const gallery = h("div", { class: "confused", tabindex: "-1", hidden: true });

  /** @param {Pick<ConfusedPair, "label"|"predicted">} pair */
  const open = async ({ label, predicted }) => {
    try {
      const { items } = await api.confused(label, predicted, Number(picker.value));
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

  const matrix = confusionMatrix(open);

  const paint = () => {
    element.hidden = !state.status.version;
    figure.replaceChildren();
    if (!measured) {
      const start = button("Measure now", () => startJob({ verb: "measure" }), { disabled: currentJob() !== null });
      body.replaceChildren(
        h("p", { class: "soft" }, "This version was not measured on held-out images."),
        inUse() ? h("div", { class: "row" }, start) : "",
      );
      return;
    }
    const { accuracy, accuracy_before: before, images, previous, trained, pairs, classes } = measured;
    matrix.show(measured);
    figure.replaceChildren(
      before === null ? "" : `${percent(before)} in version ${previous} · `,
      h("strong", {}, percent(accuracy)),
    );
    body.replaceChildren(
      ...[
        h(
          "p",
          { class: "soft" },
          `${count(images, "exemplar")} of ${count(classes.length, "class", "classes")}, each judged by a classifier that was fitted without it (cross-validation in five parts). Nothing is rejected here.`,
          trained && " The network was trained on some of these images, so these numbers are too optimistic.",
        ),
        changes(measured),
        h(
          "div",
          { class: "tables" },
          weakest(measured),
          pairs.length
            ? pairList(pairs, all, () => ((all = true), paint()), open)
            : h("p", {}, "No two classes are mixed up."),
        ),
        gallery,
        matrix.element,
        h("p", {}, h("a", { href: "#/labels" }, "Check suspected labels")),
      ].filter((part) => part instanceof Node),
    );
  };

  async function load() {
    const version = Number(picker.value);
    const found = await api.heldOut(version);
    if (version !== Number(picker.value)) return; // another one was chosen meanwhile
    if (found.measured && measured?.version !== found.measured.version) {
      gallery.hidden = true;
      all = false;
    }
    measured = found.measured;
    paint();
  }

  return {
    element,
    /** @param {import("../types.d.ts").Version[]} versions */
    async read(versions) {
      const current = state.status.version?.id;
      if (!current) return;
      if (latest !== current || picker.options.length !== versions.length) {
        const name = (/** @type {number} */ id) => `Version ${id}${id === current ? ", in use" : ""}`;
        picker.replaceChildren(...versions.toReversed().map(({ id }) => h("option", { value: id }, name(id))));
        picker.value = String(current);
        picker.hidden = versions.length < 2;
        latest = current;
      }
      await load();
    },
    refresh: () => latest && load().catch(complain),
  };
}
