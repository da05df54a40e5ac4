/** From the address to a view: `#/groups/12` shows the view `groups` with "12", `#/images?label=red` the view `images`. */

import { h } from "./dom.js";

/** @typedef {(root: HTMLElement, ...rest: string[]) => (() => void)} View shows itself and returns how to end */

/** @type {Object<string, View>} */
let views = {};
/** @type {HTMLElement} */
let root;
let leave = () => {};
/** @type {string|null} */
let shown = null;

/** Parts of the present address, and what stands behind its question mark. */
const address = () => location.hash.replace(/^#\/?/, "").split("?");
const place = () => address()[0].split("/").map(decodeURIComponent);

/** What the present address asks for: `#/images?label=red` has the label "red". */
export const query = () => new URLSearchParams(address()[1] ?? "");

/**
 * Change what the address asks for, and stay in the view, which shows it itself.
 * @param {URLSearchParams} asked @param {boolean} [back] whether the browser can go back to what was asked before
 */
export function setQuery(asked, back = true) {
  const text = asked.toString();
  const url = `#/${place().map(encodeURIComponent).join("/")}${text && `?${text}`}`;
  if (url !== location.hash) history[back ? "pushState" : "replaceState"](null, "", url);
}

/** The address of all images that some filters let pass, such as those of a class. @param {Record<string, string|number>} filters */
export const imagesOf = (filters) =>
  `#/images?${new URLSearchParams(Object.entries(filters).map(([name, value]) => [name, String(value)]))}`;

/** The name of a class, as a link to all its images. @param {string} label */
export const classLink = (label) => h("a", { href: imagesOf({ label }), title: `Show all images of ${label}` }, label);

/** @param {...(string|number)} parts */
export const go = (...parts) => (location.hash = `#/${parts.map(encodeURIComponent).join("/")}`);

/**
 * @param {HTMLElement} element
 * @param {Object<string, View>} routes the first one is shown by default
 * @param {(name: string) => void} changed
 */
export function startRouter(element, routes, changed) {
  [root, views] = [element, routes];
  const show = () => {
    const [name, ...rest] = place();
    const known = name in views ? name : Object.keys(views)[0];
    leave();
    root.replaceChildren();
    root.scrollTop = 0;
    root.dataset.view = known;
    leave = views[known](root, ...rest);
    changed(known);
    // A new page is read from its start, unless the view knows better.
    if (shown !== null && shown !== known && !root.contains(document.activeElement))
      root.focus({ preventScroll: true });
    shown = known;
  };
  window.addEventListener("hashchange", show);
  show();
}
