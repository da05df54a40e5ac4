/** Images of one's own: what the recogniser says of each. */

import { api } from "../api.js";
import { button } from "../buttons.js";
import { bars } from "../charts.js";
import { h, heading } from "../dom.js";
import { icon } from "../icons.js";
import { useKeys } from "../keys.js";
import { differs, sureWords } from "../reasons.js";
import { classLink, imagesOf } from "../router.js";
import { refresh } from "../store.js";
import { complain } from "../toast.js";
import { capital, count } from "../words.js";

const DRAGS = /** @type {const} */ (["dragover", "dragleave", "drop"]);

/** Images that are sent together: the service takes no more than 100, and 64 MiB. */
const TOGETHER = 20;
const BYTES = 32 * 2 ** 20;

/** Parts of files that can be sent together. @param {File[]} files */
function* parts(files) {
  /** @type {File[]} */
  let part = [];
  let size = 0;
  for (const file of files) {
    if (part.length && (part.length === TOGETHER || size + file.size > BYTES)) {
      yield part;
      [part, size] = [[], 0];
    }
    part.push(file);
    size += file.size;
  }
  if (part.length) yield part;
}

/** @type {import("../router.js").View} */
export function tryIt(root) {
  const note = h("p", { class: "soft", role: "status" });
  let over = false;
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
    const all = [...files];
    const chosen = all.filter((file) => file.type.startsWith("image/") || !file.type);
    if (!all.length) return;
    const others = all.length - chosen.length;
    const left = others
      ? `${count(others, "file was", "files were")} left out, because ${others === 1 ? "it is" : "they are"} not an image.`
      : "";
    zone.setAttribute("aria-busy", "true");
    let done = 0;
    try {
      for (const part of parts(chosen)) {
        note.textContent = `Recognising ${count(chosen.length, "image")}: ${done} done. ${left}`;
        const said = await api.recognize(part, keep.checked);
        results.prepend(...said.map((one, i) => result(one, part[i])));
        done += part.length;
        if (over) return;
      }
      if (keep.checked) await refresh();
    } catch (error) {
      complain(error);
    } finally {
      const rest = chosen.length - done;
      const stopped = rest ? `${count(rest, "image was", "images were")} not recognised.` : "";
      note.textContent = [`${count(done, "image was", "images were")} recognised.`, stopped, left]
        .filter(Boolean)
        .join(" ");
      zone.removeAttribute("aria-busy");
      input.value = "";
    }
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
        h("h2", {}, unknown ? "Unknown" : classLink(one.label)),
        unknown && h("p", { class: "soft" }, "This does not look like any known class."),
        one.taxon && differs(one.taxon, one.label) && h("p", {}, sureWords(one.taxon)),
        bars([
          { label: "unknown", value: one.unknown, kind: "unknown" },
          ...one.top.map(([label, value]) => ({ label, value, href: imagesOf({ label }) })),
        ]),
        one.exemplars?.length > 0 && [
          h(
            "h3",
            { title: "The exemplars, images kept of known classes, that look most like this one" },
            "Nearest exemplars",
          ),
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
  const drag = (event) => {
    event.preventDefault();
    zone.classList.toggle("over", event.type === "dragover");
    if (event.type === "drop") show(event.dataTransfer?.files ?? []);
  };
  /** @param {ClipboardEvent} event */
  const paste = (event) => show(event.clipboardData?.files ?? []);
  input.addEventListener("change", () => show(input.files ?? []));
  for (const type of DRAGS) root.addEventListener(type, drag);
  document.addEventListener("paste", paste);
  root.append(heading("Try it", "See how the recogniser labels single images."), zone, note, results);
  const end = useKeys("work", { go: () => input.click() });
  return () => {
    end();
    for (const type of DRAGS) root.removeEventListener(type, drag);
    over = true;
    document.removeEventListener("paste", paste);
    urls.forEach((url) => URL.revokeObjectURL(url));
  };
}
