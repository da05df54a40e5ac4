/** The whole images in which a detector has found nothing to cut out, such as empty ones. */

import { api } from "./api.js";
import { ask } from "./dialogs.js";
import { button } from "./buttons.js";
import { h } from "./dom.js";
import { complain } from "./toast.js";
import { count } from "./words.js";

const AT_A_TIME = 60;

/** @param {import("./types.d.ts").ImageWithoutCrop} image */
const figure = ({ hash, name, path }) =>
  h(
    "li",
    {},
    h(
      "a",
      { href: api.wholeImage(hash), target: "_blank", rel: "noopener", title: path },
      h("img", { src: api.wholeThumbnail(hash), alt: "", loading: "lazy" }),
      h("span", {}, name),
    ),
  );

/** @param {string} label @param {number} total */
export async function showWithoutCrop(label, total) {
  const list = h("ul", { class: "without-crop", tabindex: 0, "aria-label": "Images" });
  const more = button("Show more", () => add().catch(complain));

  async function add() {
    const shown = list.children.length;
    more.disabled = true;
    try {
      const images = await api.withoutCrop(label, shown, AT_A_TIME);
      list.append(...images.map(figure));
      more.hidden = images.length < AT_A_TIME;
    } finally {
      more.disabled = false;
    }
  }

  try {
    await add();
    await ask(`${count(total, "image")} without a crop: ${label}`, () => [
      h("p", { class: "soft" }, "The detector has found nothing to recognise in these images. They are not learnt."),
      list,
      more,
    ]);
  } catch (error) {
    complain(error);
  }
}
