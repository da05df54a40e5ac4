/** The keys: one table that is obeyed, shown on buttons and printed on the sheet. */

import { h, takesText } from "./dom.js";

/** @typedef {Record<string, (event: KeyboardEvent) => unknown>} Handlers one for each act of a scope */

/**
 * @typedef {{act: string, keys: string[], label: string}} Key
 *   keys are values of `KeyboardEvent.key`, with `Shift+`, `Ctrl+` before them where these count
 * @type {{scope: string, title: string, keys: Key[]}[]}
 */
const KEYS = [
  {
    scope: "everywhere",
    title: "Everywhere",
    keys: [
      { act: "view", keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"], label: "Go to a view" },
      { act: "undo", keys: ["u", "Ctrl+z"], label: "Undo" },
      { act: "redo", keys: ["Shift+U", "Ctrl+Shift+Z", "Ctrl+y"], label: "Redo" },
      { act: "theme", keys: ["t"], label: "Switch between light and dark" },
      { act: "sheet", keys: ["?"], label: "Show these keyboard shortcuts" },
    ],
  },
  {
    scope: "group",
    title: "Group",
    keys: [
      { act: "name", keys: ["Enter"], label: "Name the group: Tab completes, Enter confirms and continues" },
      { act: "confirm", keys: ["c"], label: "Confirm or reopen" },
      { act: "merge", keys: ["j"], label: "Join with another group" },
      { act: "split", keys: ["s"], label: "Split into several groups" },
      { act: "suggestion", keys: ["y"], label: "Accept the suggested name" },
      { act: "assign", keys: ["w"], label: "Assign to a person" },
      { act: "comment", keys: ["r"], label: "Add a comment" },
    ],
  },
  {
    scope: "cards",
    title: "All groups",
    keys: [
      {
        act: "walk",
        keys: ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown", "Home", "End"],
        label: "Move from group to group",
      },
      { act: "open", keys: ["o", " "], label: "Open the group" },
    ],
  },
  {
    scope: "images",
    title: "Images of a group",
    keys: [
      {
        act: "walk",
        keys: ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown", "Home", "End", "PageUp", "PageDown"],
        label: "Move from image to image",
      },
      {
        act: "extend",
        keys: ["Shift+ArrowLeft", "Shift+ArrowUp", "Shift+ArrowRight", "Shift+ArrowDown", "Shift+Home", "Shift+End"],
        label: "Extend the selection",
      },
      { act: "toggle", keys: [" "], label: "Select or deselect the image" },
      { act: "all", keys: ["a"], label: "Select all" },
      { act: "like", keys: ["l"], label: "Select images like this one" },
      { act: "more", keys: ["+"], label: "… select more of them" },
      { act: "fewer", keys: ["-"], label: "… select fewer of them" },
      { act: "odd", keys: ["d"], label: "Show the odd ones first, or the most typical" },
      { act: "look", keys: ["i"], label: "Inspect the image and its neighbours" },
      { act: "enlarge", keys: ["e"], label: "Enlarge the image" },
      { act: "open", keys: ["o"], label: "Open the stack, or all selected stacks" },
      { act: "next", keys: ["."], label: "Next group" },
      { act: "previous", keys: [","], label: "Previous group" },
      { act: "back", keys: ["Escape"], label: "Clear the selection; press again for all groups" },
    ],
  },
  {
    scope: "browser",
    title: "All images",
    keys: [
      {
        act: "walk",
        keys: ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown", "Home", "End", "PageUp", "PageDown"],
        label: "Move from image to image",
      },
      {
        act: "extend",
        keys: ["Shift+ArrowLeft", "Shift+ArrowUp", "Shift+ArrowRight", "Shift+ArrowDown", "Shift+Home", "Shift+End"],
        label: "Extend the selection",
      },
      { act: "toggle", keys: [" "], label: "Select or deselect the image" },
      { act: "all", keys: ["a"], label: "Select all that are listed" },
      { act: "look", keys: ["i"], label: "Inspect the image: why it has its label, and its neighbours" },
      { act: "enlarge", keys: ["e"], label: "Enlarge the image" },
      { act: "search", keys: ["/"], label: "Search by the name of the file" },
      { act: "filter", keys: ["f"], label: "Show or hide more filters" },
      { act: "back", keys: ["Escape"], label: "Clear the selection; press again to clear the filters" },
    ],
  },
  {
    scope: "viewer",
    title: "Enlarged image",
    keys: [
      { act: "next", keys: ["ArrowRight", "ArrowDown"], label: "Next image" },
      { act: "previous", keys: ["ArrowLeft", "ArrowUp"], label: "Previous image" },
      { act: "zoomIn", keys: ["+"], label: "Zoom in" },
      { act: "zoomOut", keys: ["-"], label: "Zoom out" },
      { act: "whole", keys: ["0"], label: "Show the whole image" },
      {
        act: "pan",
        keys: ["Shift+ArrowLeft", "Shift+ArrowUp", "Shift+ArrowRight", "Shift+ArrowDown"],
        label: "Move the image",
      },
      { act: "close", keys: ["Escape", "e"], label: "Back to the list" },
    ],
  },
  {
    scope: "selection",
    title: "Selected images",
    keys: [
      { act: "move", keys: ["m"], label: "Move to a group or class" },
      { act: "known", keys: ["k"], label: "Move to a known class" },
      { act: "separate", keys: ["n"], label: "Move to a new group" },
      { act: "remove", keys: ["x", "Delete"], label: "Move to the bin" },
    ],
  },
  {
    scope: "questions",
    title: "Questions",
    keys: [
      { act: "yes", keys: ["y"], label: "Yes: one class, or the same class" },
      { act: "no", keys: ["n"], label: "No: two classes, or different classes" },
      { act: "first", keys: ["a"], label: "Only the first part is a class" },
      { act: "second", keys: ["b"], label: "Only the second part is a class" },
      { act: "none", keys: ["0"], label: "Neither part is a class" },
      { act: "skip", keys: ["s"], label: "Skip the question" },
      { act: "regroup", keys: ["g"], label: "Regroup the images as answered" },
    ],
  },
  {
    scope: "labels",
    title: "Suspected labels",
    keys: [
      { act: "keep", keys: ["k"], label: "Keep the label: it is right" },
      { act: "change", keys: ["c"], label: "Change it to the suggested class" },
      { act: "other", keys: ["o"], label: "Give another label" },
      { act: "discard", keys: ["x", "Delete"], label: "Remove the image from what is learnt" },
      { act: "skip", keys: ["s"], label: "Skip the image" },
    ],
  },
  {
    scope: "map",
    title: "Map",
    keys: [
      { act: "pan", keys: ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"], label: "Move the map" },
      { act: "zoomIn", keys: ["+"], label: "Zoom in" },
      { act: "zoomOut", keys: ["-"], label: "Zoom out" },
      { act: "whole", keys: ["0"], label: "Show the whole map" },
      { act: "lasso", keys: ["l"], label: "Turn the lasso on or off" },
      { act: "take", keys: [" "], label: "Select the points in the ring" },
      { act: "clear", keys: ["Escape"], label: "Clear the selection" },
    ],
  },
  {
    scope: "work",
    title: "Number of classes, Learn, Rejection, Try it",
    keys: [{ act: "go", keys: ["g"], label: "Start: regroup, learn, apply, or choose images" }],
  },
];

/** @type {Record<string, string>} */
const SHOWN = {
  ArrowLeft: "←",
  ArrowUp: "↑",
  ArrowRight: "→",
  ArrowDown: "↓",
  " ": "Space",
  Escape: "Esc",
  Delete: "Del",
  PageUp: "Page ↑",
  PageDown: "Page ↓",
  "Shift+U": "⇧U",
};
/** @param {string} key */
const show = (key) =>
  SHOWN[key] ??
  key
    .replace("Ctrl+", "Ctrl ")
    .replace("Shift+", "⇧")
    .replace(/Arrow(\w+)/, (name) => SHOWN[name]);

/** @type {{scope: string, handlers: Handlers, within?: Element}[]} the latest first */
const active = [];

/** @param {string} scope */
function keysOf(scope) {
  const section = KEYS.find((one) => one.scope === scope);
  if (!section) throw new Error(`No keys for ${scope}`);
  return section.keys;
}

/**
 * Obey the keys of a scope until the returned function is called.
 * @param {string} scope
 * @param {Handlers} handlers
 * @param {Element} [within] obey only while focus is in this element
 */
export function useKeys(scope, handlers, within) {
  const acts = keysOf(scope).map((key) => key.act);
  const missing = acts.filter((act) => !(act in handlers));
  if (missing.length) throw new Error(`No handler for ${missing.join(", ")} of ${scope}`);
  const entry = { scope, handlers, within };
  active.unshift(entry);
  return () => active.splice(active.indexOf(entry), 1);
}

/** The first key of an act, as shown on a button. @param {string} scope @param {string} act */
export function keyOf(scope, act) {
  const key = keysOf(scope).find((one) => one.act === act);
  if (!key) throw new Error(`No key for ${act} of ${scope}`);
  return show(key.keys[0]);
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  const ctrl = event.ctrlKey || event.metaKey;
  const named = event.key.length > 1 || ctrl;
  const shift = event.shiftKey && (named || /^[A-Z]$/.test(event.key));
  return `${ctrl ? "Ctrl+" : ""}${shift ? "Shift+" : ""}${event.key}`;
}

/** Whether the element in focus answers the key by itself. @param {Element} element @param {string} key */
function answers(element, key) {
  if (takesText(element)) return true;
  if (["Enter", " "].includes(key)) return element.closest("button, a, input, select, summary, label") !== null;
  return key.startsWith("Arrow") && element.closest("input, select") !== null;
}

/** Listen to the keyboard. */
export function listen() {
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.isComposing || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (event.target instanceof Element && answers(event.target, event.key)) return;
    const key = pressed(event);
    for (const { scope, handlers, within } of active) {
      if (within && !(event.target instanceof Node && within.contains(event.target))) continue;
      const found = keysOf(scope).find((one) => one.keys.includes(key));
      if (!found) continue;
      event.preventDefault();
      handlers[found.act](event);
      return;
    }
  });
}

/** The sheet of all keys. */
export function sheet() {
  return h(
    "div",
    { class: "sheet" },
    KEYS.map(({ title, keys }) =>
      h(
        "section",
        {},
        h("h3", {}, title),
        h(
          "dl",
          {},
          keys.map(({ keys: names, label }) => {
            const shown = /^\d\d+$/.test(names.join("")) ? [`${names[0]} – ${names.at(-1)}`] : names.map(show);
            return h(
              "div",
              {},
              h(
                "dt",
                {},
                shown.slice(0, 4).map((name) => h("kbd", {}, name)),
              ),
              h("dd", {}, label),
            );
          }),
        ),
      ),
    ),
  );
}
