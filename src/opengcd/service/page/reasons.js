/** Why an image has its label, in words. */

import { count, percent } from "./words.js";

/** @typedef {import("./types.d.ts").ItemDetails} ItemDetails */
/** @typedef {import("./types.d.ts").Taxon} Taxon */
/** @typedef {import("./types.d.ts").Image["source"]} Source */

/** What each source of a label means, shortly. @type {Record<Source, string>} */
export const SOURCES = {
  learnt: "Learnt",
  reviewed: "Reviewed",
  returned: "Assigned to a known class",
  grouped: "Grouped",
  removed: "In the bin",
  recognized: "Recognised",
  rejected: "Rejected as unknown",
  waiting: "Not yet recognised",
};

/** A sentence about where the label comes from. @param {ItemDetails} one */
function origin({ source, label, who }) {
  const by = who ? ` by ${who}` : "";
  switch (source) {
    case "learnt":
      return `The recogniser has learnt this image as “${label}”${who ? `, as ${who} labelled it` : ""}.`;
    case "reviewed":
      return `Labelled “${label}”${by || " by a person"}. The next learning step takes it.`;
    case "returned":
      return `Recognised as another class at first; when the images were grouped, it was assigned to “${label}”.`;
    case "grouped":
      return `In the group “${label}”${who ? `, named by ${who}` : ""}, which nobody has confirmed yet.`;
    case "removed":
      return `Moved to the bin${by}.`;
    case "recognized":
      return `Recognised as “${label}”.`;
    case "rejected":
      return "Rejected as unknown.";
    default:
      return "The version in use has not recognised this image yet.";
  }
}

/** @param {number} value */
const short = (value) => (Math.abs(value) < 0.01 ? value.toPrecision(2) : value.toFixed(2));

/**
 * Whether a taxon is another one than the class that a label names, by its name or by a path.
 * @param {Taxon} taxon @param {string} label
 */
export const differs = ({ name, path }, label) => name !== label && path.join("/") !== label;

/** The deepest rank that is sure, shortly. @param {{name: string, rank: string}} taxon */
export const sureName = ({ name, rank }) => `${name} (${rank})`;

/** The deepest rank that is sure, in words. @param {Taxon} taxon */
export const sureWords = ({ path, rank, probability, error }) =>
  `What is sure: ${path.join(" › ")} (${rank}, ${percent(probability)}). At most ${percent(error)} of images get a wrong name.`;

/**
 * How many images of a group surely belong to its class, and to the ranks above it; nothing if all belong to the class.
 * @param {import("./types.d.ts").GroupTaxa} found
 */
export function sureOfGroup({ images, error, taxa }) {
  if (!taxa.length || taxa[taxa.length - 1].images === images) return "";
  const told = [...taxa].reverse().map((one) => `${sureName(one)} ${one.images}`);
  return `What is sure, of ${count(images, "image")}: ${told.join(", ")}. At most ${percent(error)} of images get a wrong name.`;
}

/**
 * Why an image was recognised or rejected, sentence by sentence.
 * @param {ItemDetails} one
 * @param {import("./types.d.ts").Reasons} reasons
 */
export function why(one, { score, threshold, rejected, nearest, taxon }) {
  const told = [origin(one)];
  if (taxon && differs(taxon, one.label ?? "")) told.push(sureWords(taxon));
  if (score !== null && threshold !== null && rejected !== null) {
    const above = score > threshold;
    const beside = `Its unknown score, ${short(score)}, is ${above ? "above" : "below"} the threshold, ${short(threshold)}`;
    if (above !== rejected)
      told.push(`${beside}. The threshold has moved since the image was ${rejected ? "rejected" : "recognised"}.`);
    else told.push(`${beside}, so ${rejected ? "it resembles no known class enough" : "it looks like a known class"}.`);
  }
  if (nearest.length) {
    /** @type {Map<string, number>} */
    const labels = new Map();
    for (const { label } of nearest) labels.set(label, (labels.get(label) ?? 0) + 1);
    const [[label, n]] = [...labels].sort((a, b) => b[1] - a[1]);
    told.push(
      n === 1 && nearest.length > 1
        ? `The ${nearest.length} nearest labelled images are all of different classes.`
        : n === nearest.length
          ? `The ${count(n, "nearest labelled image is", "nearest labelled images are all")} “${label}”.`
          : `Of the ${nearest.length} nearest labelled images, ${n} are “${label}”.`,
    );
  }
  return told;
}
