/** Short messages: seen in a corner and heard by a screen reader. */

import { byId, h } from "./dom.js";

const LASTS = 6000;

/**
 * @param {string} text
 * @param {{kind?: "done"|"conflict"|"error", action?: {label: string, run: () => void}|null}} [options] what went wrong
 *   stays until it is closed
 */
export function toast(text, { kind = "done", action } = {}) {
  const stays = kind !== "done";
  byId(stays ? "alert" : "live").textContent = text;
  const shown = byId("toasts");
  /** @type {() => void} */
  const close = () => element.remove();
  /** @type {HTMLElement} */
  const element = h(
    "div",
    { class: `toast ${kind}` },
    h("span", {}, text),
    action && h("button", { class: "quiet", on: { click: () => (close(), action.run()) } }, action.label),
    h("button", { class: "quiet icon", "aria-label": "Close this message", on: { click: close } }, "×"),
  );
  // One act follows another quickly: only the last one's message is worth reading.
  if (!stays) for (const old of shown.querySelectorAll(".done")) old.remove();
  shown.append(element);
  if (!stays) setTimeout(close, LASTS);
}

/** Show that something failed, in the service's words. @param {unknown} error */
export function complain(error) {
  const known = error instanceof Error;
  if (known && error.name === "AbortError") return;
  toast(known ? error.message : String(error), { kind: "error" });
}
