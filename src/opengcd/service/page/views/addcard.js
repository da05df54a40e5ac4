/** Ways to add images, and the folder that is watched. */

import { addFolder, canAdd, chooseFiles, takesVectors } from "../adding.js";
import { api } from "../api.js";
import { askForRate } from "../before.js";
import { button } from "../buttons.js";
import { h } from "../dom.js";
import { chooseFolder } from "../folders.js";
import { complain, toast } from "../toast.js";
import { count } from "../words.js";

const EVERY = 4000;

/** @typedef {import("../types.d.ts").Watch} Watch */

export function addCard() {
  const watched = h("div", { class: "watched", "aria-live": "polite" });
  const local = h("div", { class: "row", hidden: true });
  const element = h(
    "section",
    { class: "card adding", "aria-label": "Add images", hidden: !canAdd() },
    h(
      "div",
      { class: "head" },
      h(
        "div",
        {},
        h("h2", {}, takesVectors() ? "Add vectors" : "Add images"),
        h(
          "p",
          { class: "soft" },
          takesVectors()
            ? "Drop files of vectors (.npz, .npy, .parquet) or a zip anywhere on this page, or choose them."
            : "Drop images, videos, folders or a zip anywhere on this page, or choose them; with boxes of a detector (JSON), if you have some.",
        ),
      ),
      h(
        "div",
        { class: "row" },
        button("Choose files", () => chooseFiles(false), { icon: "drop" }),
        button("Choose a folder", () => chooseFiles(true), { icon: "drop" }),
        local,
      ),
    ),
    watched,
  );
  const folder = async () => {
    const path = await chooseFolder({
      title: "Add the images of a folder, or of a list",
      submit: "Add this folder",
      kind: takesVectors() ? "images" : "stream",
    });
    if (path !== null) await addFolder(path);
  };
  const watch = async () => {
    const path = await chooseFolder({ title: "Watch a folder", submit: "Watch this folder", kind: "images" });
    if (path === null) return;
    try {
      const { images, videos } = await api.folders(path);
      const rate = await askForRate(videos > 0 || images === 0, "Watch this folder");
      if (!rate) return;
      paint(await api.startWatch(path, rate.fps));
      toast("Images are recognised as they appear in this folder.");
    } catch (error) {
      complain(error);
    }
  };
  const stop = () => api.stopWatch().then(paint, complain);
  local.append(
    button("From this machine", folder, { icon: "plus" }),
    button("Watch a folder", watch, { icon: "look" }),
  );

  let last = "";
  /** @param {Watch} state */
  const paint = (state) => {
    const now = JSON.stringify(state);
    if (now === last) return;
    last = now;
    local.hidden = !state.local;
    watched.replaceChildren(
      ...(state.folder
        ? [
            h("span", { class: state.problem ? "badge warn" : "badge good" }, state.problem ? "waiting" : "watching"),
            h("code", {}, state.folder),
            h("span", { class: "soft" }, state.problem || `${count(state.images, "image")} added since it began`),
            button("Stop", stop, { quiet: true }),
          ]
        : []),
    );
  };
  const read = () => api.watch().then(paint, () => null); // the bar tells that the server does not answer
  const timer = setInterval(() => document.visibilityState === "visible" && read(), EVERY);
  read();
  return { element, end: () => clearInterval(timer), paint: () => (element.hidden = !canAdd()) };
}
