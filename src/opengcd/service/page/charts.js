/** Small drawings of numbers. Each has a name for those who do not see it, and says its numbers in words. */

import { h, s } from "./dom.js";
import { capital, number, percent } from "./words.js";

/** A round number that divides a range into a few steps. @param {number} low @param {number} high @param {number} about */
function roundStep(low, high, about) {
  const raw = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((factor) => factor * power >= raw) ?? 10);
}

/** Numbers that divide a range into a few round steps. @param {number} low @param {number} high */
function ticks(low, high, about = 4) {
  const step = roundStep(low, high, about);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++)
    found.push(Number((i * step).toPrecision(12)));
  return found;
}

/**
 * A range between round numbers that holds all values.
 * @param {number[]} values
 * @returns {[number, number]}
 */
function roundRange(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const step = roundStep(low, high, 3);
  const last = Math.floor(low / step) === Math.ceil(high / step) ? 1 : 0; // a single round number is no range
  return [Math.floor(low / step) * step, (Math.ceil(high / step) + last) * step];
}

/** @typedef {{name: string, points: [number, number|null][], dashed?: boolean}} Line */

/** More points than this are told by the first and the last one only. */
const TOLD = 20;

/**
 * Lines over whole numbers, such as phases.
 * @param {Object} options
 * @param {string} options.label
 * @param {string} options.unit what the whole numbers count
 * @param {Line[]} options.lines
 * @param {[number, number]|null} [options.range] of the values; null takes a round one that holds all points
 * @param {(value: number|null) => string} [options.format]
 * @param {[string, string]} [options.axes] the names of both axes
 */
export function lineChart({ label, unit, lines, range = [0, 1], format = percent, axes }) {
  const [width, height, left, right] = [360, axes ? 180 : 150, 40, 14];
  const [top, bottom] = axes ? [26, 38] : [10, 24];
  const places = lines.flatMap((line) => line.points.map(([place]) => place));
  const values = lines.flatMap((line) => line.points.flatMap(([, value]) => (value === null ? [] : [value])));
  const [first, last] = [Math.min(...places), Math.max(...places)];
  const [low, high] = range ?? roundRange(values);
  /** @param {number} place */
  const x = (place) =>
    first === last ? (left + width - right) / 2 : left + ((place - first) / (last - first)) * (width - left - right);
  /** @param {number} value */
  const y = (value) => top + ((high - value) / (high - low)) * (height - top - bottom);
  const every = Math.ceil((last - first + 1) / 8);
  /** @param {[number, number][]} points */
  const tell = (points) => (points.length > TOLD ? [points[0], points[points.length - 1]] : points);
  const drawn = lines.map((line) => ({
    ...line,
    known: line.points.flatMap(([place, value]) =>
      value === null ? [] : [/** @type {[number, number]} */ ([place, value])],
    ),
  }));
  const told = drawn
    .filter(({ known }) => known.length)
    .map(
      ({ name, known }) =>
        `${name}: ${tell(known)
          .map(([place, value]) => `${unit} ${place} ${format(value)}`)
          .join(", ")}`,
    );
  return s(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${label}. ${told.join("; ")}` },
    (range ? [low, (low + high) / 2, high] : ticks(low, high, 3)).map((value) => [
      s("line", { class: "rule", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      s("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end" }, format(value)),
    ]),
    [...new Set(places)]
      .filter((place) => (place - first) % every === 0)
      .map((place) => s("text", { x: x(place), y: height - bottom + 18, "text-anchor": "middle" }, number(place))),
    axes && [
      s("text", { class: "axis", x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, axes[0]),
      s("text", { class: "axis", x: 0, y: 11 }, axes[1]),
    ],
    drawn.map(({ known, dashed }, i) =>
      s(
        "g",
        { class: `line line-${i}` },
        s("polyline", {
          points: known.map(([place, value]) => `${x(place)},${y(value)}`).join(" "),
          "stroke-dasharray": dashed && "4 4",
        }),
        known.length < 60 &&
          known.map(([place, value]) =>
            s(
              "circle",
              { cx: x(place), cy: y(value), r: 3.5 },
              s("title", {}, `${capital(unit)} ${place}: ${format(value)}`),
            ),
          ),
      ),
    ),
  );
}

/** The names of the lines of a chart that have points. @param {Line[]} lines */
export const legend = (lines) =>
  h(
    "ul",
    { class: "legend" },
    lines.map(({ name, points }, i) => points.length > 0 && h("li", { class: `line-${i}` }, name)),
  );

/**
 * The score of each number of classes, with the estimate and its interval.
 * @param {{curve: [number, number][], k: number, interval: [number, number]|null, known: number, chosen: number,
 *   range: [number, number]}} options
 */
export function scoreChart({ curve, k, interval, known, chosen, range }) {
  const narrow = matchMedia("(max-width: 600px)").matches; // the drawing is scaled, and its text should stay legible
  const [width, height, left, right, top, bottom] = [narrow ? 360 : 880, 236, 56, 20, 26, 26];
  const points = [...curve].filter(([, score]) => Number.isFinite(score)).sort((a, b) => a[0] - b[0]);
  const scores = points.map(([, score]) => score);
  const [low, high] = scores.length ? [Math.min(...scores), Math.max(...scores)] : [0, 1];
  /** @param {number} value */
  const x = (value) => left + ((value - range[0]) / Math.max(1, range[1] - range[0])) * (width - left - right);
  /** @param {number} score */
  const y = (score) => top + (1 - (score - low) / (high - low || 1)) * (height - top - bottom);
  /** @param {number} value @param {string} name @param {string} text */
  const mark = (value, name, text) =>
    s(
      "g",
      { class: name },
      s("line", { x1: x(value), x2: x(value), y1: top - 6, y2: height - bottom }),
      s("text", { x: x(value), y: top - 10, "text-anchor": "middle" }, text),
    );
  const told = `Score by number of classes. The estimate is ${k}${interval ? `, between ${interval[0]} and ${interval[1]}` : ""}.`;
  return s(
    "svg",
    { class: "chart score", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": told },
    interval &&
      s("rect", {
        class: "interval",
        x: x(interval[0]),
        width: Math.max(2, x(interval[1]) - x(interval[0])),
        y: top,
        height: height - top - bottom,
      }),
    ticks(low, high, 3).map((score) => [
      s("line", { class: "rule", x1: left, x2: width - right, y1: y(score), y2: y(score) }),
      s("text", { x: left - 8, y: y(score) + 4, "text-anchor": "end" }, String(Number(score.toPrecision(3)))),
    ]),
    ticks(range[0], range[1], narrow ? 4 : 10)
      .filter(Number.isInteger)
      .map((value) => s("text", { x: x(value), y: height - 8, "text-anchor": "middle" }, number(value))),
    s(
      "g",
      { class: "line line-0" },
      s("polyline", { points: points.map(([value, score]) => `${x(value)},${y(score)}`).join(" ") }),
      points.length < 60 && points.map(([value, score]) => s("circle", { cx: x(value), cy: y(score), r: 3 })),
    ),
    known >= range[0] && mark(known, "known", `${known} known`),
    mark(chosen, "chosen", chosen === k ? `estimate ${k}` : `k = ${chosen}`),
  );
}

/** Shares as horizontal bars; a label may be a link. @param {{label: string, value: number, kind?: string, href?: string}[]} entries */
export function bars(entries) {
  return h(
    "ul",
    { class: "bars" },
    entries.map(({ label, value, kind, href }) =>
      h(
        "li",
        { class: kind },
        h("span", { class: "label" }, href ? h("a", { href, title: `Show all images of ${label}` }, label) : label),
        h(
          "span",
          { class: "track", "aria-hidden": "true" },
          h("span", { class: "fill", css: { "--share": String(Math.max(0, Math.min(1, value))) } }),
        ),
        h("span", { class: "value" }, percent(value)),
      ),
    ),
  );
}

/**
 * A share before and after a change, as bars.
 * @param {string} label @param {number|null|undefined} before @param {number} after @param {string} [note]
 */
export const beforeAfter = (label, before, after, note) =>
  h(
    "div",
    {},
    h("h3", {}, label),
    note && h("p", { class: "soft" }, note),
    bars([
      ...(before === null || before === undefined ? [] : [{ label: "before", value: before, kind: "before" }]),
      { label: "after", value: after, kind: "after" },
    ]),
  );

/** How far something has come. @param {number|null} share null while nobody knows @param {string} label */
export function progress(share, label) {
  return h(
    "div",
    {
      class: share === null ? "progress unsure" : "progress",
      role: "progressbar",
      "aria-label": label,
      "aria-valuemin": "0",
      "aria-valuemax": "100",
      "aria-valuenow": share === null ? null : Math.round(100 * share),
    },
    h("span", { css: { "--share": String(share ?? 0.3) } }),
  );
}
