/** All groups in a column beside the one that is open; selected images move there by a click. */

import { api } from "../api.js";
import { button } from "../buttons.js";
import { h, keyed } from "../dom.js";
import { state } from "../store.js";
import { count, number, title } from "../words.js";

/**
 * @param {number} id the open group
 * @param {import("../selection.js").Selection} selection
 * @param {(group: import("../types.d.ts").Group) => void} move what to do with selected images
 */
export function rail(id, selection, move) {
  const list = h("ul", {});
  const element = h("nav", { class: "rail", "aria-label": "Groups" }, h("h2", { class: "sr-only" }, "Groups"), list);

  /** @param {import("../types.d.ts").Group} group @param {HTMLElement|undefined} old */
  const entry = (group, old) => {
    const moving = group.id === id ? 0 : selection.size;
    const shown = JSON.stringify([group, moving]);
    if (old?.dataset.shown === shown) return old;
    const [picture] = group.typical;
    return h(
      "li",
      { class: group.confirmed ? "confirmed" : null, "data-shown": shown },
      h(
        "a",
        { href: `#/groups/${group.id}`, "aria-current": group.id === id ? "page" : null },
        picture ? h("img", { src: api.thumbnail(picture), alt: "", loading: "lazy" }) : h("span", { class: "blank" }),
        h("span", { class: group.named || group.kind !== "novel" ? "label" : "label unnamed" }, title(group)),
        h("span", { class: "soft" }, group.confirmed ? "✓ " : "", number(group.size)),
      ),
      moving > 0 &&
        button(`Move ${count(moving, "image")} to ${title(group)}`, () => move(group), {
          icon: "move",
          bare: true,
          quiet: true,
        }),
    );
  };
  const paint = () => keyed(list, state.groups, (group) => group.id, entry);
  return { element, paint };
}
