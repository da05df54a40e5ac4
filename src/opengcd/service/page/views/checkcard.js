/** Whether all data of the project are as they were written, and the repair of what is not. */

import { startJob } from "../acts.js";
import { button } from "../buttons.js";
import { h } from "../dom.js";
import { currentJob, latestJob, state } from "../store.js";
import { ago, count } from "../words.js";
import { jobCard } from "./job.js";

/** @typedef {import("../types.d.ts").Job} Job */

/** @param {Job[]} jobs those of before */
function outcome(jobs) {
  const last = latestJob("check", jobs);
  if (last?.state !== "done" || !last.result) return [];
  const { findings, total } = last.result;
  const when = h("span", { class: "soft" }, ` (${ago(last.at)})`);
  if (!total) return [h("p", {}, h("span", { class: "badge good" }, "No damage found"), when)];
  const broken = findings.some((one) => !one.repaired);
  return [
    h("p", {}, h("span", { class: broken ? "badge warn" : "badge good" }, `${count(total, "problem")} found`), when),
    h(
      "ul",
      { class: "findings" },
      findings.map((one) =>
        h(
          "li",
          {},
          h("strong", {}, one.what),
          `: ${one.problem}. `,
          h("span", { class: "soft" }, `${one.repaired ? "Repaired" : "To do"}: ${one.remedy}.`),
        ),
      ),
      total > findings.length && h("li", { class: "soft" }, `and ${count(total - findings.length, "more", "more")}`),
    ),
    broken &&
      h(
        "div",
        { class: "row" },
        button("Repair what can be repaired", () => start(true)),
      ),
  ];
}

/** @param {boolean} repair */
const start = (repair) => startJob({ verb: "check", repair });

export function checkCard() {
  const told = h("div", { class: "stack", "aria-live": "polite" });
  const element = h(
    "section",
    { class: "card teach", "aria-label": "Check the data", hidden: !state.session.scopes.includes("write") },
    h(
      "div",
      { class: "head" },
      h("h2", {}, "Check the data"),
      button("Check now", () => start(false), { icon: "check" }),
    ),
    h(
      "p",
      { class: "soft" },
      "Compares the database, vectors, models and pictures with their checksums. Nothing is changed. For a backup, copy the folder of the project.",
    ),
    told,
  );
  /** @type {Job[]} those that were read last */
  let before = [];
  const check = /** @type {HTMLButtonElement} */ (element.querySelector("button"));
  return {
    element,
    /** @param {Job[]} [jobs] */
    paint(jobs = before) {
      before = jobs;
      const job = currentJob();
      check.disabled = job !== null;
      told.replaceChildren(...(job?.verb === "check" ? jobCard(job) : outcome(jobs)).filter((one) => one !== false));
    },
  };
}
