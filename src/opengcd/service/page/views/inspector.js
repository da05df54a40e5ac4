/** One image, large: what the recogniser thinks of it, and its neighbours. */

import { api } from "../api.js";
import { button } from "../buttons.js";
import { bars } from "../charts.js";
import { h, s } from "../dom.js";
import { go } from "../router.js";
import { groupById } from "../store.js";
import { complain } from "../toast.js";
import { percent } from "../words.js";

const NEIGHBOURS = 24;

/** The image that a crop is from, with its box. @param {number} id @param {import("../types.d.ts").Origin} origin */
function whole(id, { name, size: [width, height], box, category, confidence }) {
  const [x, y, w, h_] = box;
  const frame = s(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
    s("rect", { x, y, width: w, height: h_ }),
  );
  return h(
    "figure",
    { class: "whole" },
    h("div", {}, h("img", { class: "large", src: api.origin(id), alt: `The whole image, ${name}` }), frame),
    h("figcaption", { class: "soft" }, `${category} (${percent(confidence)})`),
  );
}

/**
 * @param {number} id the open group
 * @param {import("../selection.js").Selection} selection
 */
export function inspector(id, selection) {
  const element = h("aside", { class: "inspector", "aria-label": "Details of the image", hidden: true });
  /** @type {AbortController|null} */
  let reading = null;

  const close = () => {
    reading?.abort();
    element.hidden = true;
  };
  /** @param {import("../types.d.ts").Item|undefined} item */
  const look = async (item) => {
    if (!item) return;
    reading?.abort();
    reading = new AbortController();
    const { signal } = reading;
    element.hidden = false;
    const title = h("h2", {}, item.name);
    element.replaceChildren(
      h("header", {}, title, button("Close", close, { icon: "close", bare: true, quiet: true })),
      h("img", { class: "large", src: api.image(item.id), alt: item.name }),
    );
    try {
      const [one, near] = await Promise.all([api.item(item.id, signal), api.neighbours(item.id, NEIGHBOURS, signal)]);
      const facts = [`${one.width} × ${one.height}`];
      if (one.probability !== null) facts.push(`${percent(one.probability)} likely to belong here`);
      element.append(h("p", { class: "soft" }, facts.join(" · ")));
      if (one.origin) {
        title.textContent = one.origin.name; // the name of the crop's own file says nothing to a person
        element.append(h("h3", {}, "In its image"), whole(item.id, one.origin));
      }
      if (one.unknown !== null) {
        const known = one.top.map(([label, value]) => ({ label, value }));
        element.append(bars([{ label: "unknown", value: one.unknown, kind: "unknown" }, ...known]));
      }
      element.append(
        h("h3", { title: "The images that look most like this one" }, "Neighbours"),
        h("ul", { class: "neighbours" }, near.map(neighbour)),
      );
    } catch (error) {
      complain(error);
    }
  };

  /** @param {import("../types.d.ts").Neighbour} found */
  const neighbour = ({ id: other, group, label }) => {
    const here = group === id;
    const picture = [
      h("img", { src: api.thumbnail(other), alt: "", loading: "lazy" }),
      h("span", {}, here ? "here" : label),
    ];
    if (group === null || !groupById(group)) return h("li", { title: `Already learnt, as ${label}` }, picture);
    const act = here
      ? { title: "Select or deselect this image", on: { click: () => selection.toggle(other) } }
      : { title: `Go to this image in ${label}`, on: { click: () => go("groups", group, other) } };
    const name = here ? "neighbour in this group" : `neighbour in ${label}`;
    return h(
      "li",
      { class: here ? "here" : null },
      h("button", { type: "button", "aria-label": name, ...act }, picture),
    );
  };

  return {
    element,
    look,
    /** Look at an image, or no longer. @param {import("../types.d.ts").Item|undefined} item */
    toggle: (item) => (element.hidden ? look(item) : close()),
    /** Go on to another image, if one is looked at. @param {import("../types.d.ts").Item|undefined} item */
    follow: (item) => element.hidden || look(item),
    end: close,
  };
}
