/** The number of classes: the score of each, the estimate, and a grouping with another number. */

import { startJob } from "../acts.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { scoreChart } from "../charts.js";
import { h, heading } from "../dom.js";
import { useKeys } from "../keys.js";
import { currentJob, state, subscribe, underReview } from "../store.js";
import { complain } from "../toast.js";
import { count } from "../words.js";
import { jobCard } from "./job.js";

/** @type {import("../router.js").View} */
export function numberOfClasses(root) {
  const body = h("div", {});
  const job = h("div", {});
  root.append(
    heading("How many classes are there?", "The number of classes, k, counts the known classes and the new ones."),
    job,
    body,
  );
  /** @type {() => unknown} */
  let regroup = () => {};

  /** What the view shows. While that stays the same it is not built again: the reviewer may be using the slider. */
  let shown = "";

  const nothing = () =>
    body.replaceChildren(
      h(
        "div",
        { class: "empty card" },
        h("h2", {}, "Nothing has been grouped yet"),
        h("p", {}, "Grouping the rejected images also estimates how many classes there are."),
        button("Group them", () => regroup(), { primary: true, icon: "next", key: ["work", "go"] }),
      ),
    );

  /** @param {import("../types.d.ts").ClassNumber} found */
  const paint = (found) => {
    const values = found.curve.map(([k]) => k);
    const [low, high] = [found.known + 1, Math.max(found.k, ...(found.interval ?? []), ...values, found.known + 2)];
    const range = [
      low,
      Math.min(high + Math.max(2, Math.round((high - low) / 4)), found.known + Math.max(2, underReview())),
    ];
    let chosen = found.k;
    const chart = h("div", {});
    const words = h("p", { class: "lead", role: "status" });
    const slider = h("input", { type: "range", min: range[0], max: Math.max(...range), value: chosen, id: "k-slider" });
    const go = button("", () => regroup(), { primary: true, key: ["work", "go"] });
    const goWords = /** @type {Element} */ (go.firstElementChild);
    const draw = () => {
      chosen = slider.valueAsNumber;
      chart.replaceChildren(scoreChart({ ...found, chosen, range: [range[0], Math.max(...range)] }));
      words.textContent = `${chosen} classes: ${found.known} known and ${chosen - found.known} new${chosen === found.k && estimated ? " (the estimate)" : ""}.`;
      goWords.textContent = `Regroup with k = ${chosen}`;
      slider.setAttribute("aria-valuetext", `${chosen} classes`);
    };
    regroup = () => startJob({ verb: "discover", k: chosen });
    slider.addEventListener("input", draw);
    const estimated = found.curve.length > 0;
    const told = found.interval
      ? `With a probability of 90 %, there are between ${found.interval[0]} and ${found.interval[1]} (shaded).`
      : "";
    body.replaceChildren(
      h(
        "section",
        { class: "card number" },
        h(
          "div",
          { class: "estimate" },
          h("strong", {}, String(found.k)),
          h("span", {}, estimated ? `classes, by estimate. ${told}` : "classes, a number that was chosen."),
        ),
        !found.trusted &&
          h("p", { class: "warning" }, `Treat this estimate with caution${found.reason ? `: ${found.reason}` : ""}.`),
        estimated
          ? [
              h(
                "p",
                { class: "soft" },
                "The curve shows how well each number of classes fits the images: higher is better.",
              ),
              chart,
            ]
          : h("p", { class: "empty" }, "Someone chose this number of classes, so there is no estimate and no curve."),
        h("label", { class: "slider", for: "k-slider" }, "Number of classes"),
        slider,
        words,
        h(
          "div",
          { class: "row" },
          go,
          button("Re-estimate", () => startJob({ verb: "discover" })),
          h(
            "span",
            { class: "soft" },
            found.confirmed
              ? `${count(found.confirmed, "confirmed group stays as it is", "confirmed groups stay as they are")}, and so does everything that you named or moved.`
              : "What you named or moved stays as it is.",
          ),
        ),
      ),
    );
    draw();
  };

  const read = async () => {
    job.replaceChildren(...jobCard(currentJob()));
    if (Object.keys(state.status.discovered).length) {
      const found = await api.k();
      const now = JSON.stringify([found, underReview()]);
      if (now !== shown) paint(found);
      shown = now;
      return undefined;
    }
    shown = "";
    regroup = () => startJob({ verb: "discover" });
    return nothing();
  };
  read().catch(complain);
  const ends = [
    useKeys("work", { go: () => regroup() }),
    subscribe((topic) => {
      if (topic === "review") return read();
      if (topic === "job") job.replaceChildren(...jobCard(currentJob()));
      return undefined;
    }),
  ];
  return () => ends.forEach((end) => end());
}
