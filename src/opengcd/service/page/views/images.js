/** All images of the workspace: filtered, sorted, looked at and corrected. */

import { api } from "../api.js";
import { button } from "../buttons.js";
import { h, heading } from "../dom.js";
import { Grid } from "../grid.js";
import { filterBar, inWords, read, write } from "../imagefilters.js";
import { ImageList } from "../items.js";
import { useKeys } from "../keys.js";
import { differs, sureName } from "../reasons.js";
import { query, setQuery } from "../router.js";
import { Selection } from "../selection.js";
import { selectionBar } from "../selectionbar.js";
import { cellSizes } from "../sizes.js";
import { state, subscribe } from "../store.js";
import { SureRanks } from "../sureranks.js";
import { complain, toast } from "../toast.js";
import { count, number } from "../words.js";
import { inspector } from "./inspector.js";

/** More than this would take long to read, only to be selected. */
const MOST_SELECTED = 20_000;

/** What the list depends on: it is read again only if some of this has changed. */
const present = () => JSON.stringify([state.edit, state.status.counts, state.status.version]);

/** @type {import("../router.js").View} */
export function images(root) {
  let filters = read(query());
  const list = new ImageList(filters, () => show());
  const selection = new Selection(() => {
    grid.paint();
    bar.update();
  });
  const grid = new Grid({
    list,
    selection,
    label: "Images",
    side: cellSizes.value(),
    look: (item) => image.enlarge(item),
    moved: () => image.follow(grid.current()),
    caption: (item) => [item.label, sureBeside(item)].filter(Boolean).join("\n"),
    seen: (items) => ranks.look(items.map((item) => item.id)),
  });
  const ranks = new SureRanks(() => grid.render());
  /** The deepest sure rank of an image, if it is not the class. @param {import("../types.d.ts").Image} item */
  function sureBeside({ id, label }) {
    const taxon = ranks.of(id);
    return taxon && differs(taxon, label) ? sureName(taxon) : "";
  }
  const image = inspector({ selection, step: (by) => grid.goTo(grid.cursor + by) });
  const total = h("p", { class: "lead total", role: "status" }, "…");
  const nothing = h("div", { class: "empty card", hidden: true });
  const fields = filterBar(() => filters, change);
  const bar = selectionBar({
    selection,
    on: () => list.edit,
    correct: true,
    hint: matchMedia("(pointer: coarse)").matches
      ? "Tap images to select them. Hold one to select a range."
      : "Click to select, hold Shift for a range, drag for a box, double-click to enlarge.",
    done: () => grid.element.focus({ preventScroll: true }),
  });
  const sizes = cellSizes.field("Size of the images", "", () => {
    grid.side = cellSizes.value();
    grid.layout();
  });

  function show() {
    grid.render();
    const n = list.total;
    total.textContent = list.counted ? count(n, "image") : `more than ${number(n - 1)} images`;
    const none = list.counted && n === 0;
    nothing.hidden = !none;
    grid.element.hidden = none;
    if (!none) return;
    const filtered = inWords(filters).length > 0;
    nothing.replaceChildren(
      h("h2", {}, filtered ? "No image passes these filters" : "There are no images yet"),
      h(
        "p",
        {},
        filtered ? "Remove a filter to see more." : "Images appear here as soon as they are learnt or recognised.",
      ),
      filtered ? button("Clear all filters", fields.clear, { primary: true }) : "",
    );
  }

  /** Show other images. @param {import("../api.js").Filters} changed @param {boolean} [back] */
  function change(changed, back) {
    filters = changed;
    setQuery(write(filters), back);
    fields.paint();
    selection.clear();
    list.filter(filters).then(() => grid.goTo(0), complain);
  }

  const readChoices = () => api.choices().then(fields.offer, complain);
  async function selectAll() {
    if (!list.counted) await list.starts;
    if (list.total > MOST_SELECTED)
      return toast(
        `There are ${count(list.total, "image")}. Filter them: at most ${number(MOST_SELECTED)} can be selected.`,
      );
    return selection.set((await list.all()).map((one) => one.id));
  }

  const body = h(
    "div",
    { class: "groupbody" },
    h(
      "div",
      { class: "groupmain" },
      fields.element,
      h(
        "div",
        { class: "tools row" },
        total,
        h("span", { class: "grow" }),
        button("Select all", () => selectAll().catch(complain), { key: ["browser", "all"], quiet: true }),
        button("Inspect", () => image.toggle(grid.current()), { icon: "look", key: ["browser", "look"] }),
        button("Enlarge", () => image.enlarge(grid.current()), {
          icon: "enlarge",
          bare: true,
          quiet: true,
          key: ["browser", "enlarge"],
        }),
        sizes,
      ),
      nothing,
      grid.element,
      bar.element,
    ),
    image.element,
  );
  root.append(
    heading("Images", "All images of the workspace: those that were learnt, recognised, rejected and reviewed."),
    body,
  );

  let known = present();
  const start = async () => {
    await list.ensure(0, 0);
    grid.layout();
    if (!root.contains(document.activeElement) || document.activeElement === root)
      grid.element.focus({ preventScroll: true });
    const item = Number(query().get("item")); // an image that a link names
    if (item > 0) image.enlarge({ id: item, name: "" });
    await readChoices();
  };
  start().catch(complain);

  const ends = [
    useKeys("browser", {
      walk: (event) => grid.walk(event),
      extend: (event) => grid.walk(event),
      toggle: () => grid.toggle(),
      all: () => selectAll().catch(complain),
      look: () => image.toggle(grid.current()),
      enlarge: () => image.enlarge(grid.current()),
      search: () => fields.focus(),
      filter: () => fields.toggle(),
      back: () => (selection.size ? selection.clear() : fields.clear()),
    }),
    bar.end,
    subscribe(async (topic) => {
      if (topic !== "review" || known === (known = present())) return;
      await list.reload(...grid.sight());
      ranks.forget();
      readChoices();
    }),
    () => grid.end(),
    () => ranks.end(),
    fields.end,
    image.end,
  ];
  return () => ends.forEach((end) => end());
}
