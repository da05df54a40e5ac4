/** The dialog in which labels are exported: which format, which images; the browser downloads the file. */

import { api } from "./api.js";
import { ask } from "./dialogs.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { state } from "./store.js";
import { complain, toast } from "./toast.js";
import { count } from "./words.js";

/** @typedef {import("./types.d.ts").ExportFormat} Format */
/** @typedef {NonNullable<NonNullable<import("./types.d.ts").Operations["GET /export"]["query"]>["images"]>} Images */

/** @returns {[Images, string, string][]} */
const choices = () => {
  const { counts } = state.status;
  const all = Object.values(counts).reduce((sum, n) => sum + n, 0);
  const reviewed = (counts.learnt ?? 0) + (counts.reviewed ?? 0);
  return [
    ["all", "All images", count(all, "image")],
    ["reviewed", "Reviewed images", `${count(reviewed, "image")} whose class a person has given or confirmed`],
    ["new", "New classes", "Images of classes and groups that were discovered"],
  ];
};

/**
 * A choice among cards.
 * @param {string} name
 * @param {string} legend
 * @param {[value: string, title: string, about: string][]} options
 * @param {string} kind
 */
const cards = (name, legend, options, kind) =>
  h(
    "fieldset",
    { class: `cards ${kind}` },
    h("legend", {}, legend),
    options.map(([value, title, about], i) =>
      h(
        "label",
        {},
        h("input", { type: "radio", name, value, checked: i === 0, autofocus: i === 0 && name === "format" }),
        h("span", {}, h("strong", {}, title), h("small", {}, about)),
      ),
    ),
  );

/** Ask for a format and for images, and download them. */
export async function exportLabels() {
  /** @type {Format[]} */
  let formats;
  try {
    formats = await api.exportFormats();
  } catch (error) {
    return complain(error);
  }
  const chosen = await ask(
    "Export labels",
    (
      /** @type {(value: {format: Format, images: Images, table: File|null, metadata: File|null}|null) => void} */ answer,
    ) => {
      const table = h("input", { type: "file", accept: ".csv,text/csv" });
      const metadata = h("input", { type: "file", accept: ".json,application/json" });
      const places = h("div", { class: "places" });
      const form = h("form", { class: "export" });
      const note = h("p", { class: "note", role: "status" });
      const picked = () => {
        const data = new FormData(form);
        return {
          format: /** @type {Format} */ (formats.find(({ name }) => name === data.get("format"))),
          images: /** @type {Images} */ (data.get("images")),
          table: table.files?.[0] ?? null,
          metadata: metadata.files?.[0] ?? null,
        };
      };
      const tell = () => {
        const { format } = picked();
        table.required = format.places === "needed";
        places.hidden = format.places === "none";
        about.hidden = format.places !== "needed";
        note.textContent =
          format.suffix === "zip"
            ? "You get a zip file with copies of the images."
            : `You get one file (.${format.suffix}), without the images.`;
      };
      const about = h("label", { class: "field" }, h("span", {}, "More fields of the data package (JSON)"), metadata);
      places.append(
        h(
          "label",
          { class: "field" },
          h("span", {}, "Table of deployments (CSV): where and when each camera was"),
          table,
        ),
        h(
          "p",
          { class: "soft" },
          "With the columns deploymentID, latitude, longitude, deploymentStart, deploymentEnd, and folder: the end of the path of its images, such as cam1.",
        ),
        about,
      );
      form.append(
        cards(
          "format",
          "Format",
          formats.map(({ name, title, about }) => [name, title, about]),
          "formats",
        ),
        cards("images", "Images", choices(), "images"),
        places,
        note,
        h(
          "footer",
          {},
          h("button", { type: "button", on: { click: () => answer(null) } }, "Cancel"),
          h("button", { type: "submit", class: "primary" }, icon("drop"), h("span", {}, "Download")),
        ),
      );
      form.addEventListener("change", tell);
      form.addEventListener("submit", (event) => (event.preventDefault(), answer(picked())));
      tell();
      return [form];
    },
    "wide",
  );
  if (!chosen) return;
  const { format, images, table, metadata } = chosen;
  try {
    if (table && format.places !== "none") await withPlaces(format, images, table, metadata);
    else download(api.exported(format.name, images), "");
  } catch (error) {
    return complain(error);
  }
  toast(`Downloading the labels: ${chosen.format.title}.`);
}

/** @param {string} href @param {string} name the server's if it is empty */
function download(href, name) {
  const link = h("a", { href, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
}

/** @param {Format} format @param {Images} images @param {File} table @param {File|null} metadata */
async function withPlaces(format, images, table, metadata) {
  let fields = null;
  if (metadata && format.places === "needed")
    try {
      fields = JSON.parse(await metadata.text());
    } catch {
      throw new Error(`${metadata.name} is not JSON.`);
    }
  const made = await api.exportedWithPlaces({
    format: format.name,
    images,
    deployments: await table.text(),
    metadata: fields,
  });
  const address = URL.createObjectURL(made);
  download(address, `${state.status.name}-${format.name}.${format.suffix}`);
  setTimeout(() => URL.revokeObjectURL(address), 60_000); // by then the browser has it
}
