/** Short messages: seen in a corner and heard by a screen reader. */

import { h } from "./dom.js";

const LASTS = 6000;

/**
 * @param {string} text
 * @param {{kind?: "done"|"conflict"|"error", action?: {label: string, run: () => void}}} [options] what went wrong stays
 *   until it is closed
 */
export function toast(text, { kind = "done", action } = {}) {
  const stays = kind !== "done";
  document.getElementById(stays ? "alert" : "live").textContent = text;
  const shown = document.getElementById("toasts");
  const close = () => element.remove();
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

/** Show that something failed, in the service's words. */
export function complain(error) {
  if (error?.name === "AbortError") return;
  toast(error?.message ?? String(error), { kind: "error" });
}
