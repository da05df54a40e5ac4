/** Buttons that show their key. */

import { h } from "./dom.js";
import { icon } from "./icons.js";
import { keyOf } from "./keys.js";

/**
 * @param {string} label
 * @param {() => unknown} run
 * @param {{icon?: import("./icons.js").Icon, key?: [string, string], primary?: boolean, quiet?: boolean, bare?: boolean, disabled?: boolean,
 *   title?: string}} [options] key: scope and act in the table; bare: the picture alone is shown
 */
export function button(label, run, options = {}) {
  const key = options.key && keyOf(...options.key);
  return h(
    "button",
    {
      type: "button",
      class:
        [options.primary && "primary", options.quiet && "quiet", options.bare && "icon"].filter(Boolean).join(" ") ||
        null,
      title: options.title ?? (options.bare && key ? `${label} (${key})` : options.bare ? label : null),
      "aria-label": options.bare ? label : null,
      "aria-keyshortcuts": key && keyShortcut(key),
      disabled: options.disabled,
      on: { click: run },
    },
    options.icon && icon(options.icon),
    !options.bare && h("span", {}, label),
    key && !options.bare && h("kbd", { "aria-hidden": "true" }, key),
  );
}

/** @type {Record<string, string>} */
const SHORTCUTS = { Esc: "Escape", Del: "Delete", "⇧U": "Shift+U", "+": "Plus" };

/** @param {string} key */
const keyShortcut = (key) => SHORTCUTS[key] ?? key;
