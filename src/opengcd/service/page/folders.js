/** Choose a folder or a file of the machine that the server runs on. */

import { ask } from "./dialogs.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { count } from "./words.js";
import { api } from "./api.js";

const PLACE = "opengcd.folder";

/** @typedef {"images"|"stream"|"project"|"backbone"|"table"|"boxes"|"vectors"} Kind */

/** Where a folder may be chosen beside a file. @type {Kind[]} */
const FOLDERS = ["backbone", "stream"];

/** Files that may be chosen, by their ends. @type {Record<Kind, string[]>} */
const ENDS = {
  images: [],
  stream: [".csv", ".jsonl"],
  project: [],
  backbone: [".onnx"],
  table: [".csv", ".tsv", ".txt", ".jsonl", ".json"],
  boxes: [".json"],
  vectors: [".npz", ".npy", ".parquet", "state.json"],
};

/**
 * @param {{title: string, submit: string, kind: Kind, start?: string|null}} question
 * @returns {Promise<string|null>} the path
 */
export function chooseFolder({ title, submit, kind, start }) {
  return ask(
    title,
    (answer) => {
      const path = h("input", {
        type: "text",
        "aria-label": "Folder",
        spellcheck: "false",
        autocomplete: "off",
        autocapitalize: "off",
      });
      const list = h("ul", { class: "options entries", "aria-label": "Folders" });
      const places = h("div", { class: "row places", role: "group", "aria-label": "Places" });
      const note = h("p", { class: "note", role: "status" });
      let here = "";
      const button = h(
        "button",
        { type: "submit", class: "primary", hidden: ENDS[kind].length > 0 && !FOLDERS.includes(kind) },
        submit,
      );
      /** @param {string} name */
      const join = (name) => (here.endsWith("/") || here.endsWith("\\") ? here : `${here}/`) + name;
      /** @param {string} label @param {import("./icons.js").Icon} picture @param {() => unknown} run */
      const entry = (label, picture, run) =>
        h(
          "li",
          {},
          h("button", { type: "button", class: "quiet", on: { click: run } }, icon(picture), h("span", {}, label)),
        );
      let asked = 0; // an answer that comes after another request, or after typing, is out of date
      /** @param {string|null} wanted */
      const show = async (wanted) => {
        asked += 1;
        const mine = asked;
        note.textContent = "";
        try {
          const found = await api.folders(wanted);
          if (mine !== asked) return;
          here = found.path;
          path.value = found.path;
          const files = found.files.filter((name) => ENDS[kind].some((end) => name.toLowerCase().endsWith(end)));
          list.replaceChildren(
            ...[
              found.parent !== null && entry("One folder up", "previous", () => show(found.parent)),
              ...found.folders.map((name) => entry(name, "next", () => show(join(name)))),
              ...files.map((name) => entry(name, "check", () => finish(join(name)))),
            ].filter((one) => one !== false),
          );
          list.scrollTop = 0;
          places.replaceChildren(
            ...found.places.map((place) =>
              h("button", { type: "button", class: "chip", on: { click: () => show(place.path) } }, place.name),
            ),
          );
          const parts = [];
          if (found.images) parts.push(`${count(found.images, "image")} in this folder`);
          if (found.videos) parts.push(`${count(found.videos, "video")} in this folder`);
          if (found.folders.length) parts.push(count(found.folders.length, "folder"));
          note.textContent = `${parts.join(", ") || "This folder is empty"}${found.more ? "; not all are listed" : ""}.`;
        } catch (error) {
          if (mine === asked) note.textContent = error instanceof Error ? error.message : String(error);
        }
      };
      /** @param {string} chosen */
      const finish = (chosen) => {
        localStorage.setItem(PLACE, here);
        answer(chosen);
      };
      path.addEventListener("input", () => (asked += 1));
      path.addEventListener("change", () => show(path.value));
      // A folder that is gone by now is replaced by the person's own, unless they have typed another one meanwhile.
      show(start || localStorage.getItem(PLACE)).then(() => (here || asked > 1 ? undefined : show(null)));
      return [
        h(
          "form",
          {
            on: {
              submit: async (event) => {
                event.preventDefault();
                if (path.value !== here) await show(path.value);
                else finish(here);
              },
            },
          },
          places,
          path,
          list,
          note,
          h("footer", {}, button),
        ),
      ];
    },
    "picker folders",
  );
}
