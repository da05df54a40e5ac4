/** Light or dark: as the system says, until the reviewer says otherwise. */

const PLACE = "opengcd.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
/** @type {Set<() => void>} */
const listeners = new Set();

export const isDark = () => (localStorage.getItem(PLACE) ?? (system.matches ? "dark" : "light")) === "dark";

function apply() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  for (const listener of listeners) listener();
}

/** Hear of changes until the returned function is called. @param {() => void} listener */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function toggleTheme() {
  localStorage.setItem(PLACE, isDark() ? "light" : "dark");
  apply();
}

system.addEventListener("change", apply);
apply();
