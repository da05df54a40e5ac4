/** Files that are dropped anywhere on the page. */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { complain } from "./toast.js";
import { droppedFiles } from "./uploading.js";

/**
 * Take what is dropped, until the returned function is called.
 * @param {Object} given
 * @param {string} given.text what dropping does
 * @param {() => boolean} given.wanted whether files are taken now
 * @param {(files: import("./uploading.js").Chosen[]) => unknown} given.take
 */
export function takeDrops({ text, wanted, take }) {
  const veil = h("div", { class: "veil", hidden: true, "aria-hidden": "true" }, h("p", {}, icon("drop"), text));
  document.body.append(veil);
  const listening = new AbortController();
  /** @param {DragEvent} event */
  const here = (event) => wanted() && [...(event.dataTransfer?.types ?? [])].includes("Files");
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let hiding;
  document.addEventListener(
    "dragover",
    (event) => {
      if (!here(event)) return;
      event.preventDefault();
      veil.hidden = false;
      // Events come as long as something is dragged over the page; leaving it is not always told.
      clearTimeout(hiding);
      hiding = setTimeout(() => (veil.hidden = true), 300);
    },
    listening,
  );
  document.addEventListener(
    "drop",
    (event) => {
      veil.hidden = true;
      if (!here(event) || !event.dataTransfer) return;
      event.preventDefault();
      droppedFiles(event.dataTransfer).then(take).catch(complain);
    },
    listening,
  );
  return () => {
    listening.abort();
    veil.remove();
  };
}
