/** Building the document from text that is never parsed as HTML. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an element.
 * @param {string} tag
 * @param {Object<string, any>} [properties] attributes by name; `on` holds listeners, `css` custom properties;
 *   null, undefined and false leave an attribute out
 * @param {...(Node|string|number|null|undefined|false|Array)} children
 * @returns {HTMLElement}
 */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** Make an element of a drawing; as {@link h}. @returns {SVGElement} */
export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "css") for (const [key, text] of Object.entries(value)) element.style.setProperty(key, text);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** The head of a view: its title, a line that says what it is for, and what else stands there. */
export const heading = (title, lead, ...more) =>
  h("header", { class: "title" }, h("div", {}, h("h1", {}, title), h("p", { class: "lead" }, lead)), more);

/**
 * Show a list in a container and keep the elements of entries that stay, so that focus and scrolling stay too.
 * @template T
 * @param {Element} container
 * @param {T[]} entries
 * @param {(entry: T) => string|number} key
 * @param {(entry: T, old: Element|undefined) => Element} render gives the element of an entry, the old one if it may stay
 */
export function keyed(container, entries, key, render) {
  const old = new Map([...container.children].map((element) => [element.dataset.key, element]));
  const shown = entries.map((entry) => {
    const name = String(key(entry));
    const element = render(entry, old.get(name));
    element.dataset.key = name;
    return element;
  });
  const stay = new Set(shown);
  for (const element of [...container.children]) if (!stay.has(element)) element.remove();
  shown.forEach((element, i) => {
    if (container.children[i] !== element) container.insertBefore(element, container.children[i] ?? null);
  });
}

/** Whether typing goes to this element. */
export function takesText(element) {
  if (element.isContentEditable || element instanceof HTMLTextAreaElement) return true;
  const plain = ["button", "checkbox", "radio", "range", "file", "submit"];
  return element instanceof HTMLInputElement && !plain.includes(element.type);
}
