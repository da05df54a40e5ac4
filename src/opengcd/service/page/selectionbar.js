/** What can be done with selected images, as buttons and keys. */

import { correctItems, moveItems, removeItems, separateItems } from "./acts.js";
import { button } from "./buttons.js";
import { h } from "./dom.js";
import { useKeys } from "./keys.js";
import { otherButtons } from "./otherverbs.js";
import { toast } from "./toast.js";
import { count } from "./words.js";

/**
 * @param {{selection: import("./selection.js").Selection, on: () => number, from?: () => import("./types.d.ts").Group|undefined,
 *   hint: string, more?: HTMLElement[], done?: () => void, within?: Element, correct?: boolean}} options
 *   on: the edit that the images are shown with; more: buttons of the view's own; correct: ask what the images show, not
 *   where they go
 */
export function selectionBar({
  selection,
  on,
  from = () => undefined,
  hint,
  more = [],
  done = () => {},
  within,
  correct,
}) {
  const text = h("p", { class: "chosen", role: "status" });
  /** @param {(ids: number[]) => Promise<unknown>} run whether it was done */
  const act = (run) => async () => {
    if (!selection.size) return toast("Select images first.");
    if (!(await run(selection.ids))) return undefined;
    selection.clear();
    return done();
  };
  const acts = {
    move: act((ids) => (correct ? correctItems(ids, on()) : moveItems(ids, on(), { from: from() }))),
    known: act((ids) => moveItems(ids, on(), { from: from(), known: true })),
    separate: act((ids) => separateItems(ids, on())),
    remove: act((ids) => removeItems(ids, on())),
  };
  const buttons = [
    button(correct ? "Correct label…" : "Move to…", acts.move, { icon: "move", key: ["selection", "move"] }),
    ...(correct ? [] : [button("Move to known class…", acts.known, { icon: "known", key: ["selection", "known"] })]),
    button("Make new group", acts.separate, { icon: "plus", key: ["selection", "separate"] }),
    button("Remove", acts.remove, {
      icon: "bin",
      key: ["selection", "remove"],
      title: "Move the images to the bin: they are neither learnt nor grouped again",
    }),
  ];
  /** @type {HTMLElement|null} made when they can be used, since the images should not wait for them */
  let others = null;
  const row = h("div", { class: "row" }, more, buttons);
  const element = h("div", { class: "selectionbar", role: "toolbar", "aria-label": "Selected images" }, text, row);
  const update = () => {
    if (selection.size && !others)
      row.append((others = otherButtons("items", (apply) => act((ids) => apply({ items: ids }, on()))())));
    text.textContent = selection.size ? `${count(selection.size, "image")} selected` : hint;
    element.classList.toggle("some", selection.size > 0);
    for (const one of buttons) one.disabled = selection.size === 0;
  };
  update();
  return { element, update, acts, end: useKeys("selection", acts, within) };
}
