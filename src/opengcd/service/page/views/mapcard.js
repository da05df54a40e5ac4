/** The map of what is under review, with its legend, its lasso and what to do with selected images. */

import { api } from "../api.js";
import { button } from "../buttons.js";
import { groupColours } from "../colours.js";
import { h } from "../dom.js";
import { useKeys } from "../keys.js";
import { PlaneMap } from "../map.js";
import { go } from "../router.js";
import { Selection } from "../selection.js";
import { selectionBar } from "../selectionbar.js";
import { groupById, state } from "../store.js";
import { isDark, onTheme } from "../theme.js";
import { number, title } from "../words.js";

const SHOWN = 12;
const ZOOM = 1.5;

/** @returns {{element: HTMLElement, read: () => Promise<void>, end: () => void}} read: show how things stand now */
export function mapCard() {
  const element = h("section", { class: "mapcard card", "aria-label": "Map of the images under review" });
  const legend = h("div", { class: "maplegend" });
  const preview = h("div", { class: "strip", "aria-hidden": "true" });
  const nothing = h(
    "p",
    { class: "empty", hidden: true },
    "No images are under review. The map shows rejected images once they are grouped.",
  );
  let edit = 0; // the last one that the map shows
  let ended = false;

  const selection = new Selection(() => {
    map.draw();
    bar.update();
    preview.replaceChildren(
      ...selection.ids.slice(0, SHOWN).map((id) => h("img", { src: api.thumbnail(id), alt: "" })),
    );
    clear.disabled = selection.size === 0;
  });
  const lasso = button("Lasso", () => map.setLasso(!map.lassoing), { icon: "lasso", key: ["map", "lasso"] });
  lasso.setAttribute("aria-pressed", "false");
  const map = new PlaneMap({
    selection,
    colours: () => groupColours(state.groups, isDark()),
    name: (group) => title(groupById(group) ?? { kind: "novel", label: "" }),
    open: (group, item) => go("groups", group, item),
    lassoed: (on) => lasso.setAttribute("aria-pressed", String(on)),
  });
  const clear = button("Clear", () => selection.clear(), { icon: "close", key: ["map", "clear"], disabled: true });
  const body = h("div", { class: "mapbody" }, map.element, legend);
  const bar = selectionBar({
    selection,
    on: () => edit,
    hint: "Similar images lie close together. To select some, draw around them with the lasso, or hold Shift and drag.",
    more: [clear],
    within: element,
  });
  const acts = {
    /** @param {KeyboardEvent} event */
    pan: (event) => map.walk(event.key),
    zoomIn: () => map.zoomBy(ZOOM),
    zoomOut: () => map.zoomBy(1 / ZOOM),
    whole: () => map.whole(),
    lasso: () => map.setLasso(!map.lassoing),
    take: () => map.take(),
    clear: () => selection.clear(),
  };
  element.append(
    h(
      "header",
      {},
      h("h2", {}, "Map of the images under review"),
      h(
        "div",
        { class: "row" },
        lasso,
        button("Zoom in", acts.zoomIn, { icon: "plus", bare: true, quiet: true, key: ["map", "zoomIn"] }),
        button("Zoom out", acts.zoomOut, { icon: "minus", bare: true, quiet: true, key: ["map", "zoomOut"] }),
        button("Show all", acts.whole, { key: ["map", "whole"], quiet: true }),
      ),
    ),
    body,
    nothing,
    h("footer", {}, preview, bar.element),
  );

  const paintLegend = () => {
    const colours = groupColours(state.groups, isDark());
    /** @param {import("../types.d.ts").Group} group */
    const all = (group) => map.points.items.filter((_, i) => map.points.group[i] === group.id);
    legend.replaceChildren(
      ...state.groups.map((group) =>
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            title: `Select all of ${title(group)}`,
            on: { click: () => selection.set(all(group)) },
          },
          h("span", { class: "dot", css: { "--colour": colours.get(group.id) } }),
          h("span", { class: "label" }, title(group)),
          h("span", { class: "soft" }, number(group.size)),
        ),
      ),
    );
  };
  paintLegend();
  const ends = [onTheme(() => (paintLegend(), map.draw())), useKeys("map", acts, element), bar.end, () => map.end()];

  return {
    element,
    async read() {
      const asked = state.edit;
      const points = await api.map();
      if (ended) return;
      edit = asked;
      const there = new Set(points.items);
      const stay = selection.ids.filter((id) => there.has(id));
      if (stay.length < selection.size) selection.set(stay);
      nothing.hidden = points.items.length > 0;
      body.hidden = points.items.length === 0;
      map.show(points);
      paintLegend();
    },
    end() {
      ended = true;
      for (const end of ends) end();
    },
  };
}
