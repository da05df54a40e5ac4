/** An upload under way: how far it is, how long it will take, and a way to stop it. */

import { progress } from "../charts.js";
import { h } from "../dom.js";
import { count, duration, number } from "../words.js";

/** @param {number} bytes */
const size = (bytes) =>
  bytes < 1e6
    ? `${number(Math.ceil(bytes / 1e3))} kB`
    : bytes < 1e9
      ? `${(bytes / 1e6).toFixed(1)} MB`
      : `${(bytes / 1e9).toFixed(2)} GB`;

/** @param {string} label @param {() => unknown} cancel */
export function uploadCard(label, cancel) {
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
    /** @param {import("../uploading.js").Sending} sending */
    paint(sending) {
      bar.replaceChildren(progress(sending.bytes ? sending.sent / sending.bytes : null, label));
      const left =
        sending.seconds === null || sending.sent >= sending.bytes ? "" : ` · ${duration(sending.seconds)} left`;
      line.textContent = sending.lost
        ? "The connection is lost. The upload goes on as soon as it is back."
        : sending.done === sending.files
          ? "Everything has arrived; unpacking …"
          : `${number(sending.done)} of ${count(sending.files, "file")} · ${size(sending.sent)} of ${size(sending.bytes)}${left}`;
    },
  };
}
