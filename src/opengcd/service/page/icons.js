/** Small line drawings, 16 by 16. */

import { s } from "./dom.js";

const PATHS = {
  person: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.4-3 2.6-4.5 5.5-4.5s5.1 1.5 5.5 4.5",
  comment: "M2.5 3h11v8h-6L4.5 13.5V11h-2z",
  check: "M3 8.5 6.5 12 13 4.5",
  undo: "M6 3 2.5 6.5 6 10M3 6.5h6.5a4 4 0 0 1 0 8H7",
  redo: "M10 3l3.5 3.5L10 10M13 6.5H6.5a4 4 0 0 0 0 8H9",
  move: "M2 8h10M8.5 4.5 12 8l-3.5 3.5M14.5 3v10",
  known: "M3 2.5h10v11l-5-3-5 3z",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  bin: "M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9M6.8 7v4.5M9.2 7v4.5",
  merge: "M3 3l5 5 5-5M8 8v6M5.5 11.5 8 14l2.5-2.5",
  split: "M8 14V8M8 8 3 3M8 8l5-5M3 6.5V3h3.5M13 6.5V3H9.5",
  stack: "M2.5 6.5h8v7h-8zM5 6.5V4h8v7h-2.5M7.5 4V1.5h7v7H13",
  pen: "M3 13l.7-3L11 2.7l2.3 2.3L6 12.3zM9.5 4.2l2.3 2.3",
  like: "M5 5.5a2 2 0 1 0 .01 0M11 3.5a1.5 1.5 0 1 0 .01 0M11.5 9a2.5 2.5 0 1 0 .01 0M5 11.5a1.5 1.5 0 1 0 .01 0",
  look: "M1.5 8C4 3.8 12 3.8 14.5 8 12 12.2 4 12.2 1.5 8zM8 6a2 2 0 1 0 .01 0",
  odd: "M3 3h3v3H3zM10 3h3v3h-3zM3 10h3v3H3zM11.5 9.5a2 2 0 1 0 .01 0",
  close: "M4 4l8 8M12 4l-8 8",
  theme: "M8 2a6 6 0 1 0 6 6 4.5 4.5 0 0 1-6-6z",
  help: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.6 8 9.2 8 10M8 12.8v.2",
  lasso: "M8 2.5c3.5 0 6 1.7 6 4s-2.5 4-6 4-6-1.7-6-4 2.5-4 6-4zM5 10.2c-1.5.8-1 2.3.5 2.3s1.5 1.5.5 2",
  out: "M10 3h3v10h-3M7 5 4 8l3 3M4 8h6",
  next: "M6 3l5 5-5 5",
  previous: "M10 3 5 8l5 5",
  enlarge: "M9.5 2.5h4v4M13.5 2.5 9 7M6.5 13.5h-4v-4M2.5 13.5 7 9",
  whole: "M2.5 5.5v-3h3M10.5 2.5h3v3M13.5 10.5v3h-3M5.5 13.5h-3v-3",
  filter: "M2 3.5h12M4.5 8h7M6.5 12.5h3",
  drop: "M8 2v8M4.5 6.5 8 10l3.5-3.5M2.5 13.5h11",
};

/** @typedef {keyof typeof PATHS} Icon */

/** @param {Icon} name */
export const icon = (name) =>
  s(
    "svg",
    { class: "glyph", viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
    s("path", { d: PATHS[name] }),
  );
