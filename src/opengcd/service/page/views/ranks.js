/** The ranks above the classes: shown, set from a CSV file, and removed; and how sure a rank must be. */

import { setRanks } from "../acts.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { h } from "../dom.js";
import { classLink } from "../router.js";
import { state } from "../store.js";
import { complain } from "../toast.js";
import { count, percent } from "../words.js";

/** @typedef {import("../types.d.ts").TaxonomyTable} Ranks */

/** @param {Ranks} found */
function told(found) {
  const classes = state.status.version?.classes ?? [];
  const without = classes.filter((name) => !found.lineages[name]?.some(Boolean));
  if (!found.ranks.length)
    return [
      h(
        "p",
        { class: "soft" },
        "With ranks, such as family and genus, an image whose class is in doubt is named by the deepest rank that is sure. To set them, choose a CSV file: its first line names the ranks, such as family,genus,species, and each class has a line.",
      ),
    ];
  return [
    h(
      "p",
      {},
      `${[...found.ranks, found.class_rank].join(" › ")}, for ${count(classes.length - without.length, "class", "classes")}.`,
    ),
    without.length > 0 &&
      h(
        "p",
        { class: "soft" },
        "Without a rank above them: ",
        without.slice(0, 20).map((name, i) => [i > 0 && ", ", classLink(name)]),
        without.length > 20 ? " …" : ".",
      ),
  ];
}

export function ranksCard() {
  const writes = state.session.scopes.includes("write");
  const body = h("div", { class: "stack", "aria-live": "polite" });
  const file = h("input", { type: "file", accept: ".csv,text/csv", hidden: true, "aria-label": "CSV file of ranks" });
  const element = h(
    "section",
    { class: "card teach", "aria-label": "Ranks" },
    h("h2", {}, "Ranks above the classes"),
    body,
    file,
  );
  let seen = 0;

  /** @param {Parameters<typeof setRanks>[0]} wanted */
  const change = (wanted) => setRanks(wanted, seen).then(read).catch(complain);
  file.addEventListener("change", async () => {
    const [chosen] = file.files ?? [];
    if (!chosen) return;
    const table = await chosen.text();
    file.value = "";
    await change(table);
  });
  async function read() {
    const on = state.edit;
    const found = await api.taxonomy();
    seen = on;
    const error = h("input", { type: "number", min: 0.1, max: 99, step: "any", required: true });
    error.value = String(Number((100 * found.error).toFixed(3)));
    error.addEventListener(
      "change",
      () => error.reportValidity() && change({ ...found, error: error.valueAsNumber / 100 }),
    );
    const { ranks } = found;
    body.replaceChildren(
      ...[
        ...told(found),
        writes &&
          h(
            "div",
            { class: "row" },
            button(ranks.length ? "Replace by a CSV file" : "Choose a CSV file", () => file.click(), { icon: "drop" }),
            ranks.length > 0 &&
              button("Remove the ranks", () => change({ ...found, ranks: [], lineages: {} }), { quiet: true }),
          ),
        ranks.length > 0 &&
          (writes
            ? h("label", { class: "field" }, h("span", {}, "Largest share of wrong names, in %"), error)
            : h("p", { class: "soft" }, `At most ${percent(found.error)} of the images get a wrong name.`)),
      ].filter((one) => one instanceof Node),
    );
  }
  return { element, read };
}
