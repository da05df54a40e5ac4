/** From the address to a view: `#/groups/12` shows the view `groups` with "12". */

/** @typedef {(root: HTMLElement, ...rest: string[]) => (() => void)} View shows itself and returns how to end */

/** @type {Object<string, View>} */
let views = {};
/** @type {HTMLElement} */
let root;
let leave = () => {};
/** @type {string|null} */
let shown = null;

/** Parts of the present address. */
const place = () => location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);

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
