/** One image, large: beside a list or enlarged; what the recogniser thinks of it and why, and its neighbours. */

import { api } from "../api.js";
import { button } from "../buttons.js";
import { bars } from "../charts.js";
import { byId, h, s } from "../dom.js";
import { useKeys } from "../keys.js";
import { SOURCES, why } from "../reasons.js";
import { classLink, go, imagesOf } from "../router.js";
import { groupById } from "../store.js";
import { complain } from "../toast.js";
import { percent } from "../words.js";
import { Zoom } from "../zoom.js";

const NEIGHBOURS = 24;
const STEP = 1.5; // of zooming by a key
const PAN = 0.2; // of the stage, by a key

/** @typedef {{id: number, name: string}} Shown */

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

/** The video that a frame is from, and its time in it. @param {import("../types.d.ts").VideoFrame} frame */
const clip = ({ path, seconds }) => h("p", { class: "clip" }, `${at(seconds)} in ${path}`);

/** As "1:02.500". @param {number} seconds */
const at = (seconds) => `${Math.floor(seconds / 60)}:${(seconds % 60).toFixed(3).padStart(6, "0")}`;

/**
 * @param {{group?: number|null, selection: import("../selection.js").Selection, step: (by: number) => void}} options
 *   group: the open one, if there is one; step: go to the next image of the list, or the previous one
 */
export function inspector({ group: id = null, selection, step }) {
  const element = h("div", {
    class: "inspector",
    role: "complementary",
    "aria-label": "Details of the image",
    hidden: true,
  });
  /** @type {AbortController|null} */
  let reading = null;
  /** @type {(() => void)|null} ends the enlargement */
  let reduce = null;
  const zoom = new Zoom(step);
  const name = h("h2", {});
  const facts = h("div", { class: "about" });
  const enlarger = button("Enlarge", () => (reduce ? reduce() : grow()), { icon: "enlarge", bare: true, quiet: true });
  element.append(
    h(
      "header",
      {},
      name,
      h(
        "span",
        { class: "zooms" },
        button("Previous image", () => step(-1), { icon: "previous", bare: true, quiet: true }),
        button("Next image", () => step(1), { icon: "next", bare: true, quiet: true }),
        button("Zoom out", () => zoom.zoom(1 / STEP), { icon: "minus", bare: true, quiet: true }),
        button("Zoom in", () => zoom.zoom(STEP), { icon: "plus", bare: true, quiet: true }),
        button("Show the whole image", () => zoom.whole(), { icon: "whole", bare: true, quiet: true }),
      ),
      enlarger,
      button("Close", () => close(), { icon: "close", bare: true, quiet: true }),
    ),
    zoom.element,
    facts,
  );

  const close = () => {
    reading?.abort();
    reduce?.();
    element.hidden = true;
  };

  /** Fill the window; what is behind cannot be reached meanwhile. */
  function grow() {
    if (reduce) return;
    const behind = [byId("bar"), ...siblings(element)].filter((one) => !one.inert);
    for (const one of behind) one.inert = true;
    element.classList.add("enlarged");
    element.setAttribute("role", "dialog");
    element.setAttribute("aria-modal", "true");
    enlarger.title = "Back to the list (Esc)";
    enlarger.setAttribute("aria-label", "Back to the list");
    zoom.whole();
    enlarger.focus();
    /** @type {Record<string, [number, number]>} */
    const ways = { ArrowLeft: [PAN, 0], ArrowRight: [-PAN, 0], ArrowUp: [0, PAN], ArrowDown: [0, -PAN] };
    const end = useKeys("viewer", {
      next: () => step(1),
      previous: () => step(-1),
      zoomIn: () => zoom.zoom(STEP),
      zoomOut: () => zoom.zoom(1 / STEP),
      whole: () => zoom.whole(),
      pan: (event) => zoom.pan(...ways[event.key]),
      close: () => reduce?.(),
    });
    reduce = () => {
      reduce = null;
      end();
      for (const one of behind) one.inert = false;
      element.classList.remove("enlarged");
      element.setAttribute("role", "complementary");
      element.removeAttribute("aria-modal");
      enlarger.title = "Enlarge";
      enlarger.setAttribute("aria-label", "Enlarge");
      zoom.whole();
      /** @type {HTMLElement|null} */ (document.querySelector("main .grid"))?.focus({ preventScroll: true });
    };
  }

  /** @param {Shown|undefined} item */
  const look = async (item) => {
    if (!item) return;
    reading?.abort();
    reading = new AbortController();
    const { signal } = reading;
    element.hidden = false;
    name.textContent = name.title = item.name;
    zoom.show(h("img", { class: "large", src: api.image(item.id), alt: item.name, draggable: "false" }));
    facts.replaceChildren();
    try {
      const [one, near, reasons] = await Promise.all([
        api.item(item.id, signal),
        api.neighbours(item.id, NEIGHBOURS, signal),
        api.reasons(item.id, signal),
      ]);
      name.textContent = name.title = one.origin?.name ?? one.name; // that of a crop itself says nothing
      facts.replaceChildren(...about(one, near, reasons));
      const camera = await api.camera(item.id, signal).catch((error) => {
        if (error.status !== 404) throw error; // its file is missing, which the picture says
        return null;
      });
      if (camera) facts.append(...notes(camera));
    } catch (error) {
      complain(error);
    }
  };

  /**
   * @param {import("../types.d.ts").ItemDetails} one
   * @param {import("../types.d.ts").Neighbour[]} near
   * @param {import("../types.d.ts").Reasons} reasons
   */
  function about(one, near, reasons) {
    const size = one.width ? [`${one.width} × ${one.height}`] : [];
    if (one.probability !== null) size.push(`${percent(one.probability)} likely to belong here`);
    const source = /** @type {import("../reasons.js").Source} */ (one.source);
    const known = one.top.map(([label, value]) => ({ label, value, href: imagesOf({ label }) }));
    return [
      h(
        "p",
        { class: "head" },
        one.label ? classLink(one.label) : h("strong", {}, "Unknown"),
        h("span", { class: "badge" }, SOURCES[source]),
      ),
      h("p", { class: "why" }, why(one, reasons).join(" ")),
      one.unknown === null ? "" : bars([{ label: "unknown", value: one.unknown, kind: "unknown" }, ...known]),
      h("p", { class: "soft" }, size.join(" · ")),
      ...(one.origin ? [h("h3", {}, "In its image"), whole(one.id, one.origin)] : []),
      ...(one.video ? [h("h3", {}, "In its video"), clip(one.video)] : []),
      ...(reasons.nearest.length
        ? [
            h(
              "h3",
              { title: "The exemplars, images kept of known classes, that look most like this one" },
              "Nearest labelled images",
            ),
            h(
              "ul",
              { class: "nearest" },
              reasons.nearest.map((other) =>
                h("li", {}, looker(other.id, other.label, `nearest labelled image, ${other.label}`)),
              ),
            ),
          ]
        : []),
      h("h3", { title: "The images that look most like this one" }, "Neighbours"),
      h("ul", { class: "neighbours" }, near.map(neighbour)),
      h("h3", {}, one.files.length > 1 ? "Files" : "File"),
      h(
        "ul",
        { class: "files" },
        one.files.length ? "" : h("li", { class: "soft" }, "No file of this image is known any more."),
        one.files.map(({ path, state }) =>
          h("li", {}, path, state !== "present" && h("span", { class: "badge warn" }, `file ${state}`)),
        ),
      ),
    ];
  }

  /** @param {number} other @param {string} label @param {string} told */
  const looker = (other, label, told) =>
    h(
      "button",
      {
        type: "button",
        "aria-label": told,
        title: `Look at this image (${label})`,
        on: { click: () => look({ id: other, name: "" }) },
      },
      h("img", { src: api.thumbnail(other), alt: "", loading: "lazy" }),
      h("span", {}, label),
    );

  /** @param {import("../types.d.ts").Neighbour} found */
  const neighbour = ({ id: other, group, label }) => {
    const here = id !== null && group === id;
    if (id === null || group === null || !groupById(group))
      return h("li", {}, looker(other, label, `neighbour, ${label}`));
    const act = here
      ? { title: "Select or deselect this image", on: { click: () => selection.toggle(other) } }
      : { title: `Go to this image in ${label}`, on: { click: () => go("groups", group, other) } };
    return h(
      "li",
      { class: here ? "here" : null },
      h(
        "button",
        { type: "button", "aria-label": here ? "neighbour in this group" : `neighbour in ${label}`, ...act },
        h("img", { src: api.thumbnail(other), alt: "", loading: "lazy" }),
        h("span", {}, here ? "here" : label),
      ),
    );
  };

  return {
    element,
    look,
    /** Look at an image, or no longer. @param {Shown|undefined} item */
    toggle: (item) => (element.hidden ? look(item) : close()),
    /** Look at an image in the whole window. @param {Shown|undefined} item */
    enlarge(item) {
      if (!item) return;
      look(item);
      grow();
    },
    /** Go on to another image, if one is looked at. @param {Shown|undefined} item */
    follow: (item) => element.hidden || look(item),
    end: close,
  };
}

/** All that stands beside an element or one that holds it, up to the whole view. @param {HTMLElement} element */
function siblings(element) {
  /** @type {HTMLElement[]} */
  const found = [];
  for (let one = element; one.id !== "main" && one.parentElement; one = one.parentElement)
    for (const other of one.parentElement.children)
      if (other !== one && other instanceof HTMLElement) found.push(other);
  return found;
}

/** What the camera wrote down. @param {import("../types.d.ts").Camera} camera */
function notes({ taken, camera, lens, exposure, aperture, iso, focal_length, latitude, longitude }) {
  const shot = [
    exposure && (exposure < 1 ? `1/${Math.round(1 / exposure)} s` : `${exposure} s`),
    aperture && `f/${aperture}`,
    iso && `ISO ${iso}`,
    focal_length && `${focal_length} mm`,
  ].filter(Boolean);
  /** @type {[string, string|null][]} */
  const lines = [
    ["Taken", taken],
    ["Camera", camera],
    ["Lens", lens],
    ["Exposure", shot.length ? shot.join(" · ") : null],
    ["Place", latitude === null || longitude === null ? null : `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`],
  ];
  const told = lines.filter(([, value]) => value);
  if (!told.length) return [];
  return [
    h("h3", { title: "What the camera wrote down (EXIF)" }, "Camera"),
    h(
      "dl",
      { class: "camera" },
      told.map(([label, value]) => h("div", {}, h("dt", {}, label), h("dd", {}, value))),
    ),
  ];
}
