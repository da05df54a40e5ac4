/** Building the document from text that is never parsed as HTML. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Attributes by name; `on` holds listeners, `css` custom properties; null, undefined and false leave an attribute out.
 * @typedef {{on?: Listeners, css?: Record<string, string|undefined>} & Record<string, any>} Properties
 * @typedef {{[K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => unknown}} Listeners
 */

/**
 * What an element holds; lists may be nested, and null, undefined and false are left out.
 * @typedef {Node|string|number|null|undefined|false|""|0|Child[]} Child
 */

/**
 * Make an element.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Properties} [properties]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/**
 * Make an element of a drawing; as {@link h}.
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Properties} [properties]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/**
 * @template {HTMLElement|SVGElement} E
 * @param {E} element
 * @param {Properties} properties
 * @param {Child[]} children
 * @returns {E}
 */
function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "css") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else element.setAttribute(name, value === true ? "" : value);
  }
  const shown = /** @type {any[]} */ (children).flat(Infinity);
  element.append(...shown.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/**
 * The head of a view: its title, a line that says what it is for, and what else stands there.
 * @param {string} title
 * @param {string} lead
 * @param {...Child} more
 */
export const heading = (title, lead, ...more) =>
  h("header", { class: "title" }, h("div", {}, h("h1", {}, title), h("p", { class: "lead" }, lead)), more);

/** An element that `index.html` holds. @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no #${id}`);
  return found;
}

/** The element that an event came from; null if it came from none. @param {Event} event */
export const targetOf = ({ target }) => (target instanceof Element ? target : null);

/**
 * Show a list in a container and keep the elements of entries that stay, so that focus and scrolling stay too.
 * @template T
 * @param {HTMLElement} container
 * @param {T[]} entries
 * @param {(entry: T) => string|number} key
 * @param {(entry: T, old: HTMLElement|undefined) => HTMLElement} render gives the element of an entry, the old one if it
 *   may stay
 */
export function keyed(container, entries, key, render) {
  const children = /** @type {HTMLElement[]} */ ([...container.children]);
  const old = new Map(children.map((element) => [element.dataset.key, element]));
  const shown = entries.map((entry) => {
    const name = String(key(entry));
    const element = render(entry, old.get(name));
    element.dataset.key = name;
    return element;
  });
  const stay = new Set(shown);
  for (const element of children) if (!stay.has(element)) element.remove();
  shown.forEach((element, i) => {
    if (container.children[i] !== element) container.insertBefore(element, container.children[i] ?? null);
  });
}

/** Whether typing goes to this element. @param {Element} element */
export function takesText(element) {
  if ((element instanceof HTMLElement && element.isContentEditable) || element instanceof HTMLTextAreaElement)
    return true;
  const plain = ["button", "checkbox", "radio", "range", "file", "submit"];
  return element instanceof HTMLInputElement && !plain.includes(element.type);
}
