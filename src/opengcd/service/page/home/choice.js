/** One choice among some, with an explanation. */

import { h } from "../dom.js";

/**
 * @template {string} V
 * @param {string} group @param {V} value @param {string} current @param {string} label @param {import("../dom.js").Child} about
 * @param {(value: V) => unknown} choose
 */
export const choice = (group, value, current, label, about, choose) => {
  const input = h("input", { type: "radio", name: group, value, on: { change: () => choose(value) } });
  input.checked = value === current;
  return h(
    "label",
    { class: "choice" },
    input,
    h("span", {}, h("strong", {}, label), about && h("span", { class: "soft" }, about)),
  );
};
