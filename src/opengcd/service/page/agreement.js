/** How often two people gave the same images the same name. */

import { api } from "./api.js";
import { h } from "./dom.js";
import { complain } from "./toast.js";
import { count, listed, percent } from "./words.js";

/** A part of a view that shows it; hidden while no two people have named the same images. */
export function agreement() {
  const rows = h("ul", { class: "agreement" });
  const element = h(
    "details",
    { hidden: true },
    h("summary", {}, "Agreement of reviewers"),
    h(
      "p",
      { class: "soft" },
      "Of the images that both have named or confirmed, how many have the same name. Cohen's kappa is 1 if two people always " +
        "agree, and 0 if they agree as often as by chance. They see each other's names, so it may be too high.",
    ),
    rows,
  );
  const read = async () => {
    const found = await api.agreement();
    element.hidden = found.length === 0;
    rows.replaceChildren(
      ...found.map(({ people, images, share, kappa }) =>
        h(
          "li",
          {},
          h("strong", {}, listed(people)),
          `: ${count(images, "image")}, ${percent(share)} the same`,
          kappa !== null && `, kappa ${kappa.toFixed(2)}`,
        ),
      ),
    );
  };
  read().catch(complain);
  return element;
}
