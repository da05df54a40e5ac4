/** How readily an image is called unknown, in the reviewer's words, with the effect on what was seen. */

import { limitRejection } from "../acts.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { h, heading } from "../dom.js";
import { useKeys } from "../keys.js";
import { state, subscribe } from "../store.js";
import { complain } from "../toast.js";
import { count, number, percent } from "../words.js";

/** @typedef {import("../types.d.ts").Rejection} Rejection */

/** @param {number|null} share */
const value = (share) => (share === null ? "auto" : String(share));

/** @type {import("../router.js").View} */
export function rejection(root) {
  const body = h("div", {});
  root.append(
    heading(
      "Rejection",
      "An image whose score is above a threshold is rejected as unknown, and sent to review. A lower limit sends fewer known images to review, and misses more new ones.",
    ),
    body,
  );
  let apply = () => {};
  /** @type {string|null} what the reviewer has chosen and not applied yet: it stays when the view is read again */
  let picked = null;

  /** @param {Rejection} found @param {number} shown the edit on display */
  const paint = (found, shown) => {
    const current = value(found.max_known_rejected);
    if (!found.choices.length) {
      apply = () => {};
      body.replaceChildren(
        h(
          "div",
          { class: "empty card" },
          h("h2", {}, "Nothing to choose"),
          h("p", {}, "This recogniser uses the rejection rule of the paper, which has no threshold to set."),
        ),
      );
      return;
    }
    /** @param {Rejection["choices"][number]} one */
    const option = (one) => {
      const share = one.max_known_rejected;
      const known = one.rejected_known !== undefined && one.rejected_known !== null;
      return h(
        "label",
        { class: "choice card" },
        h("input", {
          type: "radio",
          name: "limit",
          value: value(share),
          checked: value(share) === (picked ?? current),
        }),
        h(
          "span",
          { class: "words" },
          h(
            "strong",
            {},
            share === null
              ? "Choose the limit automatically"
              : `Send at most ${percent(share)} of known images to review`,
          ),
          h(
            "span",
            { class: "soft" },
            one.rejected_stream === undefined || one.rejected_stream === null
              ? share === null
                ? "It follows the images that are added."
                : ""
              : `This would have rejected ${number(one.rejected_stream)} of ${count(found.seen, "image")} seen so far${known ? `, and ${percent(one.rejected_known)} of known images` : ""}.`,
          ),
        ),
        one.share !== undefined &&
          one.share !== null &&
          h(
            "span",
            { class: "track", "aria-hidden": "true" },
            h("span", { class: "fill", css: { "--share": String(one.share) } }),
          ),
        h("span", { class: "value" }, one.share === undefined || one.share === null ? "" : percent(one.share)),
        value(share) === current && h("span", { class: "badge good" }, "in use"),
      );
    };
    const form = h("fieldset", { class: "choices" }, h("legend", {}, "Limit"), found.choices.map(option));
    const go = button("Apply", () => apply(), { primary: true, key: ["work", "go"] });
    const chosen = () => {
      /** @type {HTMLInputElement|null} */
      const checked = form.querySelector("input:checked");
      return checked?.value ?? current;
    };
    const update = () => (go.disabled = chosen() === current);
    form.addEventListener("change", () => {
      picked = chosen();
      update();
    });
    apply = () => {
      picked = null;
      if (chosen() !== current) limitRejection(chosen() === "auto" ? null : Number(chosen()), shown);
    };
    body.replaceChildren(
      h(
        "p",
        { class: "soft" },
        found.seen
          ? `The effect of each limit is measured on ${count(found.seen, "image")} seen so far, and on known images that were held out.`
          : "The effect of each limit appears once images have been added.",
      ),
      form,
      h("div", { class: "row" }, go),
    );
    update();
  };
  const read = async () => {
    const shown = state.edit;
    paint(await api.rejection(), shown);
  };
  read().catch(complain);
  const ends = [useKeys("work", { go: () => apply() }), subscribe((topic) => topic === "review" && read())];
  return () => ends.forEach((end) => end());
}
