/** Pictures that cannot be shown, as when their file is missing: a word in their place, wherever they are. */

import { api, itemOf } from "./api.js";
import { h } from "./dom.js";

/** What is told of a picture that cannot be shown. @param {import("./types.d.ts").File["state"]|undefined} state */
const word = (state) =>
  state === "missing" ? "file missing" : state === "changed" ? "file changed" : "cannot be shown";

/** @param {HTMLImageElement} picture @param {string} text */
function replace(picture, text) {
  const sign = h("span", { class: `${picture.className} missing`, role: "img", "aria-label": word(undefined) });
  sign.append(h("span", {}, text));
  picture.replaceWith(sign);
  return sign;
}

/** @param {HTMLElement} sign @param {number} item */
async function explain(sign, item) {
  /** @type {import("./types.d.ts").File[]} */
  let files = [];
  try {
    ({ files } = await api.item(item));
  } catch {
    // the item itself is gone, or the service: there is nothing more to tell
  }
  const text = word(files.find((file) => file.state !== "present")?.state ?? (files.length ? undefined : "missing"));
  sign.setAttribute("aria-label", text);
  sign.title = files.map((file) => file.path).join("\n") || "No file of this image is known any more.";
  sign.replaceChildren(h("span", {}, text));
}

/** Watch all pictures of the page. */
export function watchPictures() {
  document.addEventListener(
    "error",
    ({ target }) => {
      if (!(target instanceof HTMLImageElement)) return;
      const item = itemOf(target.src);
      if (item !== null) explain(replace(target, "…"), item);
      // A whole image, or a file of the person's own in a format that this browser does not know.
      else if (target.src.startsWith("blob:") || target.closest(".whole, .without-crop"))
        replace(target, word(undefined));
    },
    { capture: true }, // such an event does not bubble
  );
}
