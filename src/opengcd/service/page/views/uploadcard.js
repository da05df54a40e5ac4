/** Long work under way that moves bytes: how far it is, how long it will take, and a way to stop it. */

import { progress } from "../charts.js";
import { h } from "../dom.js";
import { count, duration, number, size } from "../words.js";

/** @param {string} label @param {() => unknown} cancel */
export function movingCard(label, cancel) {
  const bar = h("div", {}, progress(null, label));
  const line = h("p", { class: "soft" }, "Starting …");
  const element = h(
    "section",
    { class: "card job", "aria-label": label },
    h(
      "div",
      { class: "head" },
      h("h2", {}, `${label} …`),
      h("button", { type: "button", class: "quiet", on: { click: cancel } }, "Cancel"),
    ),
    bar,
    line,
  );
  return {
    element,
    /** @param {number|null} share how much of it is done; null if unknown @param {string} text */
    show(share, text) {
      bar.replaceChildren(progress(share, label));
      line.textContent = text;
    },
  };
}

/** How far bytes are: "5.0 MB of 90.0 MB · about 2 minutes left". @param {number} done @param {number} total @param {number|null} seconds */
export const moved = (done, total, seconds) =>
  `${size(done)} of ${size(total)}${seconds === null || done >= total ? "" : ` · ${duration(seconds)} left`}`;

/** An upload. @param {string} label @param {() => unknown} cancel */
export function uploadCard(label, cancel) {
  const { element, show } = movingCard(label, cancel);
  return {
    element,
    /** @param {import("../uploading.js").Sending} sending */
    paint(sending) {
      show(
        sending.bytes ? sending.sent / sending.bytes : null,
        sending.lost
          ? "The connection is lost. The upload goes on as soon as it is back."
          : sending.done === sending.files
            ? "Everything has arrived; unpacking …"
            : `${number(sending.done)} of ${count(sending.files, "file")} · ${moved(sending.sent, sending.bytes, sending.seconds)}`,
      );
    },
  };
}
