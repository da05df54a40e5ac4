/** The number of classes: the score of each, the estimate, and a grouping with another number. */

import { startJob } from "../acts.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { scoreChart } from "../charts.js";
import { h, heading } from "../dom.js";
import { useKeys } from "../keys.js";
import { currentJob, state, subscribe } from "../store.js";
import { complain } from "../toast.js";
import { count } from "../words.js";
import { jobCard } from "./job.js";

/** @type {import("../router.js").View} */
export function numberOfClasses(root) {
  const body = h("div", {});
  const job = h("div", {});
  root.append(heading("How many classes are there?", "k counts known classes and new ones."), job, body);
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
        h("p", {}, "Discovery groups what was rejected, and estimates the number of classes."),
        button("Group them", () => regroup(), { primary: true, icon: "next", key: ["work", "go"] }),
      ),
    );

  /** @param {import("../types.d.ts").ClassNumber} found */
  const paint = (found) => {
    const values = found.curve.map(([k]) => k);
    const [low, high] = [found.known + 1, Math.max(found.k, ...(found.interval ?? []), ...values, found.known + 2)];
    const range = [
      low,
      Math.min(high + Math.max(2, Math.round((high - low) / 4)), found.known + Math.max(2, state.status.to_review)),
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
      words.textContent = `${chosen} classes: ${found.known} known and ${chosen - found.known} new${chosen === found.k ? " – the estimate" : ""}.`;
      goWords.textContent = `Regroup with k = ${chosen}`;
      slider.setAttribute("aria-valuetext", `${chosen} classes`);
    };
    regroup = () => startJob({ verb: "discover", k: chosen });
    slider.addEventListener("input", draw);
    const told = found.interval
      ? `between ${found.interval[0]} and ${found.interval[1]}, with a probability of 90 %`
      : "without an interval";
    body.replaceChildren(
      h(
        "section",
        { class: "card number" },
        h("div", { class: "estimate" }, h("strong", {}, String(found.k)), h("span", {}, `estimated; ${told}`)),
        !found.trusted &&
          h("p", { class: "warning" }, `Treat this estimate with caution${found.reason ? `: ${found.reason}` : ""}.`),
        found.curve.length > 0
          ? chart
          : h("p", { class: "empty" }, "This grouping was made with a given number: there is no curve."),
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
              ? `${count(found.confirmed, "confirmed group stays", "confirmed groups stay")}, and whatever you named or moved.`
              : "What you named or moved stays.",
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
      const now = JSON.stringify([found, state.status.to_review]);
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
