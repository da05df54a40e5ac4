/** Learnt images whose labels may be wrong, one at a time, with the images that speak for and against the label. */

import { chooseLabel, discardItem, keepLabel, relabelItem, startJob, undo } from "../acts.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { bars, progress } from "../charts.js";
import { h, heading } from "../dom.js";
import { useKeys } from "../keys.js";
import { classLink } from "../router.js";
import { currentJob, state, subscribe } from "../store.js";
import { complain } from "../toast.js";
import { count } from "../words.js";
import { jobCard } from "./job.js";

/** @typedef {import("../types.d.ts").Suspect} Suspect */

const SCOPE = "labels";
const MOST = 100;

/** Images that were skipped, until the page is closed. @type {Set<number>} */
const skipped = new Set();

/** @param {string} title @param {string} note @param {number[]} items */
const side = (title, note, items) =>
  h(
    "figure",
    {},
    h("figcaption", {}, h("h3", {}, classLink(title)), h("span", { class: "soft" }, note)),
    h(
      "div",
      { class: "mosaic", "aria-hidden": "true" },
      items.map((id) => h("img", { src: api.thumbnail(id), alt: "", decoding: "async" })),
    ),
  );

/** @param {Suspect} one @param {Record<string, () => unknown>} acts */
function card(one, acts) {
  return h(
    "section",
    { class: "card question suspect", tabindex: "-1", "aria-label": `Is this really ${one.label}?` },
    h(
      "div",
      { class: "judged" },
      h("img", { class: "large", src: api.image(one.item), alt: `The image, labelled ${one.label}` }),
      h(
        "div",
        { class: "stack" },
        h("h2", {}, `Is this really “${one.label}”?`),
        h("p", { class: "soft" }, "A classifier that was fitted without this image says:"),
        bars([
          { label: one.suggested, value: one.rival },
          { label: `${one.label} (its label)`, value: one.own, kind: "unknown" },
        ]),
        one.copy_of !== null &&
          h(
            "div",
            { class: "copy" },
            h("img", { src: api.thumbnail(one.copy_of), alt: "The near copy" }),
            h("p", {}, "This near copy of it has another label. One of the two is wrong."),
          ),
      ),
    ),
    h(
      "div",
      { class: "sides" },
      side(one.label, "the most similar of its label", one.like_label),
      side(one.suggested, "the most similar of this class", one.like_suggested),
    ),
    h(
      "div",
      { class: "answers" },
      button(`Keep “${one.label}”`, acts.keep, { key: [SCOPE, "keep"] }),
      button(`Change to “${one.suggested}”`, acts.change, { key: [SCOPE, "change"], primary: true }),
      button("Other label", acts.other, { key: [SCOPE, "other"] }),
      button("Remove", acts.discard, { key: [SCOPE, "discard"], title: "The next learning forgets this image" }),
    ),
    h(
      "div",
      { class: "row" },
      button("Skip", acts.skip, { quiet: true, icon: "next", key: [SCOPE, "skip"] }),
      button("Undo", undo, { quiet: true, icon: "undo", key: ["everywhere", "undo"] }),
    ),
  );
}

/** @param {string} title @param {string} text @param {...import("../dom.js").Child} more */
const note = (title, text, ...more) =>
  h("section", { class: "empty card", tabindex: "-1" }, h("h2", {}, title), h("p", {}, text), more);

/** @type {import("../router.js").View} */
export function labels(root) {
  const left = h("p", { class: "soft" });
  const done = h("div", {});
  const running = h("div", {});
  const body = h("div", { class: "stack" });
  root.append(
    heading("Labels", "Learnt images whose labels may be wrong, the most doubtful first.", left),
    done,
    running,
    body,
  );
  /** @type {import("../types.d.ts").Suspects|null} */
  let found = null;
  /** @type {Suspect|undefined} */
  let current;
  let judged = 0;
  let sending = 0;
  let reading = 0;

  const waiting = () => found?.suspects.filter((one) => !skipped.has(one.item)) ?? [];

  const show = () => {
    const focused = body.contains(document.activeElement);
    const old = current?.item;
    current = waiting()[0];
    const n = Math.max(0, (found?.total ?? 0) - skipped.size);
    left.textContent = current ? `${count(n, "image")} left` : "";
    done.replaceChildren(judged && current ? progress(judged / (judged + n), "Images judged") : "");
    running.replaceChildren(...jobCard(currentJob()?.verb === "measure" ? currentJob() : null));
    if (current && old === current.item && body.querySelector(".suspect")) return;
    body.replaceChildren(current ? card(current, acts) : ending());
    if (focused) /** @type {HTMLElement} */ (body.firstElementChild).focus();
  };
  const ending = () => {
    if (!found) return h("section", { class: "empty card" }, "Looking for suspected labels …");
    if (!state.status.version) return note("Nothing is learnt yet", "Labels can be checked once classes are known.");
    if (!found.measured)
      return note(
        "Not measured yet",
        "Each learnt image is judged by a classifier that was fitted without it. Learning does that by itself.",
        !currentJob() && button("Measure now", () => startJob({ verb: "measure" }), { primary: true }),
      );
    if (skipped.size && found.total)
      return note(
        "No more suspected labels",
        `You skipped ${count(skipped.size, "image")}.`,
        button("Show them again", () => {
          skipped.clear();
          show();
        }),
      );
    const text = state.status.to_learn
      ? "Corrected labels are learnt next."
      : "The held-out judgements agree with all labels that nobody has judged.";
    return note(
      "No label is suspected",
      text,
      state.status.to_learn > 0 && h("a", { class: "button primary", href: "#/learn" }, "Learn"),
    );
  };

  const read = async () => {
    const mine = ++reading;
    const answer = await api.suspects(MOST);
    if (mine !== reading || sending) return;
    found = answer;
    show();
  };

  /** Judge the image on display, and show the next one at once. @param {(one: Suspect, shown: number) => Promise<unknown>} act */
  const judge = async (act) => {
    if (!current || !found) return;
    const one = current;
    const shown = found.edit;
    found.suspects = found.suspects.filter((other) => other !== one);
    found.total -= 1;
    judged += 1;
    sending += 1;
    show();
    await act(one, shown);
    sending -= 1;
    if (!sending) await read().catch(complain); // an image whose judgement was refused returns
  };
  const acts = {
    keep: () => judge((one, shown) => keepLabel(one.item, shown)),
    change: () => judge((one, shown) => relabelItem(one.item, one.suggested, shown)),
    other: async () => {
      if (!current || !found) return;
      sending += 1; // the image stays on display while the label is asked for
      await chooseLabel(current.item, found.edit);
      sending -= 1;
      if (!sending) await read().catch(complain);
    },
    discard: () => judge((one, shown) => discardItem(one.item, shown)),
    skip: () => {
      if (current) skipped.add(current.item);
      show();
    },
  };

  show();
  read().catch(complain);
  const ends = [
    useKeys(
      SCOPE,
      Object.fromEntries(
        Object.entries(acts).map(([name, act]) => [
          name,
          (/** @type {KeyboardEvent} */ event) => event.repeat || act(),
        ]),
      ),
    ),
    subscribe((topic) => {
      if (topic === "review" && !sending) read().catch(complain);
      if (topic === "job") {
        if (currentJob()) show();
        else read().catch(complain);
      }
    }),
  ];
  return () => ends.forEach((end) => end());
}
