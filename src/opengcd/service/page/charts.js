/** Small drawings of numbers. Each has a name for those who do not see it, and says its numbers in words. */

import { h, s } from "./dom.js";
import { number, percent } from "./words.js";

/** Numbers that divide a range into a few round steps. @param {number} low @param {number} high */
function ticks(low, high, about = 4) {
  const raw = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= raw) ?? 10);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++)
    found.push(Number((i * step).toPrecision(12)));
  return found;
}

/**
 * Lines over phases, from 0 to 100 %.
 * @param {{label: string, lines: {name: string, points: [number, number|null][], dashed?: boolean}[]}} options
 */
export function phaseChart({ label, lines }) {
  const [width, height, left, right, top, bottom] = [360, 150, 40, 14, 10, 24];
  const phases = lines.flatMap((line) => line.points.map(([phase]) => phase));
  const [first, last] = [Math.min(...phases), Math.max(...phases)];
  /** @param {number} phase */
  const x = (phase) =>
    first === last ? (left + width - right) / 2 : left + ((phase - first) / (last - first)) * (width - left - right);
  /** @param {number} share */
  const y = (share) => top + (1 - share) * (height - top - bottom);
  const every = Math.ceil((last - first + 1) / 8);
  const told = lines.map(
    (line) =>
      `${line.name}: ${line.points
        .filter(([, v]) => v !== null)
        .map(([p, v]) => `phase ${p} ${percent(v)}`)
        .join(", ")}`,
  );
  return s(
    "svg",
    { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${label}. ${told.join("; ")}` },
    [0, 0.5, 1].map((share) => [
      s("line", { class: "rule", x1: left, x2: width - right, y1: y(share), y2: y(share) }),
      s("text", { x: left - 8, y: y(share) + 4, "text-anchor": "end" }, `${100 * share} %`),
    ]),
    [...new Set(phases)]
      .filter((phase) => (phase - first) % every === 0)
      .map((phase) => s("text", { x: x(phase), y: height - 6, "text-anchor": "middle" }, number(phase))),
    lines.map((line, i) => {
      const points = line.points.flatMap(([phase, value]) => (value === null ? [] : [{ phase, value }]));
      return s(
        "g",
        { class: `line line-${i}` },
        s("polyline", {
          points: points.map(({ phase, value }) => `${x(phase)},${y(value)}`).join(" "),
          "stroke-dasharray": line.dashed && "4 4",
        }),
        points.map(({ phase, value }) =>
          s("circle", { cx: x(phase), cy: y(value), r: 3.5 }, s("title", {}, `Phase ${phase}: ${percent(value)}`)),
        ),
      );
    }),
  );
}

/**
 * The score of each number of classes, with the estimate and its interval.
 * @param {{curve: [number, number][], k: number, interval: [number, number]|null, known: number, chosen: number,
 *   range: [number, number]}} options
 */
export function scoreChart({ curve, k, interval, known, chosen, range }) {
  const [width, height, left, right, top, bottom] = [880, 236, 56, 20, 26, 26];
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
  const told = `Score against the number of classes. The estimate is ${k}${interval ? `, between ${interval[0]} and ${interval[1]}` : ""}.`;
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
    ticks(range[0], range[1], 10)
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

/** Shares as horizontal bars. @param {{label: string, value: number, kind?: string}[]} entries */
export function bars(entries) {
  return h(
    "ul",
    { class: "bars" },
    entries.map(({ label, value, kind }) =>
      h(
        "li",
        { class: kind },
        h("span", { class: "label" }, label),
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
