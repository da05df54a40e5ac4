/** One image at a time: what the recogniser says of it. */

import { api } from "../api.js";
import { button } from "../buttons.js";
import { bars } from "../charts.js";
import { h, heading } from "../dom.js";
import { icon } from "../icons.js";
import { useKeys } from "../keys.js";
import { refresh } from "../store.js";
import { complain } from "../toast.js";
import { capital } from "../words.js";

const DRAGS = /** @type {const} */ (["dragover", "dragleave", "drop"]);

/** @type {import("../router.js").View} */
export function tryIt(root) {
  const input = h("input", { type: "file", accept: "image/*", multiple: true, id: "file", class: "sr-only" });
  const keep = h("input", { type: "checkbox", id: "keep" });
  const results = h("section", { class: "results", "aria-label": "Predictions", "aria-live": "polite" });
  /** @type {string[]} */
  const urls = [];
  const zone = h(
    "div",
    { class: "drop card" },
    h("span", { class: "sign" }, icon("drop")),
    h("p", {}, "Drop images here, or paste them"),
    button("Choose images", () => input.click(), { primary: true, key: ["work", "go"] }),
    input,
    h(
      "label",
      { class: "check", for: "keep" },
      keep,
      "Keep them in the workspace, as part of the stream of images to recognise",
    ),
  );
  input.setAttribute("aria-label", "Images");
  input.tabIndex = -1;

  /** @param {Iterable<File>} files */
  const show = async (files) => {
    const chosen = [...files].filter((file) => file.type.startsWith("image/") || !file.type);
    if (!chosen.length) return;
    zone.setAttribute("aria-busy", "true");
    try {
      const said = await api.recognize(chosen, keep.checked);
      results.prepend(...said.map((one, i) => result(one, chosen[i])));
      if (keep.checked) await refresh();
    } catch (error) {
      complain(error);
    }
    zone.removeAttribute("aria-busy");
    input.value = "";
  };
  /** @param {File} file */
  const picture = (file) => {
    const url = URL.createObjectURL(file);
    urls.push(url);
    return h("img", { class: "large", src: url, alt: file.name });
  };
  /** @param {import("../types.d.ts").Recognized} one @param {File} file */
  const result = (one, file) => {
    if (one.reason)
      return h(
        "article",
        { class: "card result" },
        h("h2", {}, one.name ?? file.name),
        h("p", { class: "warning" }, `${capital(one.reason)}.`),
      );
    const unknown = one.label === "unknown";
    return h(
      "article",
      { class: "card result" },
      picture(file),
      h(
        "div",
        {},
        h("p", { class: "soft" }, one.name ?? file.name),
        h("h2", {}, unknown ? "Unknown" : one.label),
        unknown && h("p", { class: "soft" }, "This does not look like any known class."),
        bars([
          { label: "unknown", value: one.unknown, kind: "unknown" },
          ...one.top.map(([label, value]) => ({ label, value })),
        ]),
        one.exemplars?.length > 0 && [
          h("h3", { title: "The images kept of known classes that look most like this one" }, "Nearest exemplars"),
          h(
            "div",
            { class: "strip" },
            one.exemplars.map((id) => h("img", { src: api.thumbnail(id), alt: "exemplar" })),
          ),
        ],
      ),
    );
  };
  /** @param {DragEvent} event */
  const over = (event) => {
    event.preventDefault();
    zone.classList.toggle("over", event.type === "dragover");
    if (event.type === "drop") show(event.dataTransfer?.files ?? []);
  };
  /** @param {ClipboardEvent} event */
  const paste = (event) => show(event.clipboardData?.files ?? []);
  input.addEventListener("change", () => show(input.files ?? []));
  for (const type of DRAGS) root.addEventListener(type, over);
  document.addEventListener("paste", paste);
  root.append(heading("Try it", "See how the recogniser labels single images."), zone, results);
  const end = useKeys("work", { go: () => input.click() });
  return () => {
    end();
    for (const type of DRAGS) root.removeEventListener(type, over);
    document.removeEventListener("paste", paste);
    urls.forEach((url) => URL.revokeObjectURL(url));
  };
}
