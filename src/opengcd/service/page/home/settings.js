/** Settings of a new project that have good defaults, folded away. */

import { h } from "../dom.js";

/** @typedef {import("./types.d.ts").ProjectSettings} Settings */

/** @type {[NonNullable<Settings["preset"]>, string][]} */
const PRESETS = [
  ["best", "best (recommended)"],
  ["paper", "paper: the methods of the paper"],
  ["robust", "robust: the same, with a better search for the number of classes"],
  ["authors", "authors: the methods of the paper's published code"],
];
/** @type {[string, string][]} */
const CLASSIFIERS = [
  ["", "the one that belongs to the methods"],
  ["logistic", "logistic regression"],
  ["svm", "support vector machine"],
  ["mlp", "neural network (mlp)"],
  ["xgb", "boosted trees (xgb)"],
];
/** @type {[string, string][]} */
const PRECISIONS = [
  ["auto", "16 bits on GPUs only"],
  ["half", "16 bits on all devices"],
  ["full", "32 bits"],
];
/** @type {[string, string][]} */
const POOLINGS = [
  ["", "automatic: the first of these that the network has"],
  ["cls", "its class token (cls)"],
  ["mean", "the mean over all patches (mean)"],
  ["pooled", "what it returns for a whole image (pooled)"],
];

/**
 * @param {Settings} settings changed in place
 * @param {() => unknown} save
 * @param {() => unknown} check looks whether the network can be used in this way
 */
export function settingsPart(settings, save, check) {
  /**
   * @param {string} label @param {string} about
   * @param {HTMLInputElement|HTMLSelectElement} control
   * @param {(value: string) => unknown} set
   */
  const field = (label, about, control, set) => {
    control.addEventListener("change", () => control.reportValidity() && (set(control.value), save()));
    return h("label", {}, h("span", {}, label), control, h("small", { class: "soft" }, about));
  };
  /** @param {[string, string][]} options @param {string} value */
  const select = (options, value) =>
    h(
      "select",
      {},
      options.map(([one, label]) => h("option", { value: one, selected: one === value }, label)),
    );
  /** @param {number|null|undefined} value @param {Record<string, any>} limits */
  const input = (value, limits) => {
    const made = h("input", { type: "number", ...limits });
    made.value = value === null || value === undefined ? "" : String(value);
    return made;
  };
  /** @param {string} text */
  const orNull = (text) => (text === "" ? null : Number(text));
  const percent = settings.max_known_rejected ?? null;
  return h(
    "details",
    {},
    h("summary", {}, "More settings"),
    h(
      "div",
      { class: "fields" },
      field(
        "Largest number of exemplars",
        "Exemplars are the labelled images that are kept, and learnt from again in every phase. Leave this empty for 20,000, or for all known images if there are more.",
        input(settings.memory, { min: 1, max: 10_000_000, step: 1, placeholder: "20,000" }),
        (value) => (settings.memory = orNull(value)),
      ),
      field(
        "Largest share of known images rejected, in %",
        "Leave this empty to let the threshold follow the images that arrive. You can change it later.",
        input(percent === null ? null : 100 * percent, { min: 0, max: 100, step: "any", placeholder: "automatic" }),
        (value) => (settings.max_known_rejected = value === "" ? null : Number(value) / 100),
      ),
      field(
        "Methods",
        "How images are recognised, rejected and grouped.",
        select(PRESETS, settings.preset ?? "best"),
        (value) => (settings.preset = /** @type {Settings["preset"]} */ (value)),
      ),
      field(
        "Classifier",
        "What tells the known classes apart.",
        select(CLASSIFIERS, settings.classifier ?? ""),
        (value) => (settings.classifier = /** @type {Settings["classifier"]} */ (value || null)),
      ),
      field(
        "Output of the network",
        "Which of its outputs is the vector of an image.",
        select(POOLINGS, settings.pooling ?? ""),
        (value) => {
          settings.pooling = /** @type {Settings["pooling"]} */ (value || null);
          check();
        },
      ),
      field(
        "Arithmetic of the network",
        "16 bits are faster on most GPUs.",
        select(PRECISIONS, settings.precision ?? "auto"),
        (value) => (settings.precision = /** @type {Settings["precision"]} */ (value)),
      ),
      field(
        "Seed",
        "The same seed gives the same results.",
        input(settings.seed ?? 0, { min: 0, max: 2 ** 32 - 1, step: 1, required: true }),
        (value) => (settings.seed = Number(value)),
      ),
    ),
  );
}
