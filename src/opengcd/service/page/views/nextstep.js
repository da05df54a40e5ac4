/** What to do next, in one sentence with one button. */

import { startJob } from "../acts.js";
import { canAdd, chooseFiles } from "../adding.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { progress } from "../charts.js";
import { h } from "../dom.js";
import { go } from "../router.js";
import { currentJob, state, toReview } from "../store.js";
import { complain } from "../toast.js";
import { count, DOING, duration, number } from "../words.js";

/** How far a job is. @param {import("../types.d.ts").Job} job */
function stepsOf(job) {
  const steps = job.total ? ` · ${number(job.done)} of ${number(job.total)}` : "";
  const left = "seconds_left" in job && job.done > 0 && job.total > 0 ? job.seconds_left : null;
  return steps + (left === null ? "" : ` · ${duration(left)} left`);
}

/** @returns {[string, HTMLElement, HTMLElement|null]} heading, text and button */
function nextStep() {
  const { status } = state;
  const waiting = toReview();
  const job = currentJob();
  const rejected = status.counts.rejected ?? 0;
  if (job && !(job.verb === "adapt" && waiting.length)) {
    const share = job.total ? job.done / job.total : null;
    return [
      DOING[job.verb] ?? job.verb,
      h("div", { class: "wide" }, progress(share, job.stage || job.verb), h("p", {}, job.stage, stepsOf(job))),
      state.session.scopes.includes("write")
        ? button("Cancel", () => api.cancel(job.id).catch(complain), { quiet: true })
        : null,
    ];
  }
  if (!status.version)
    return [
      "No classes are known yet",
      h("p", {}, "To teach the first ones, run ", h("code", {}, `opengcd init ${status.name} --known FOLDER`), "."),
      null,
    ];
  if (waiting.length) {
    const images = waiting.reduce((sum, group) => sum + group.size, 0);
    return [
      `${count(waiting.length, "group", "groups")} to review`,
      h(
        "p",
        {},
        `${count(images, "image")} to look at. Name the groups that you recognise, and press Enter to confirm.`,
      ),
      button("Review", () => go("groups", waiting[0].id), { primary: true, icon: "next" }),
    ];
  }
  if (status.to_learn) {
    return [
      "Everything is reviewed",
      h("p", {}, `${count(status.to_learn, "image is", "images are")} ready to be learnt.`),
      button("Learn", () => go("learn"), { primary: true, icon: "next" }),
    ];
  }
  if (rejected) {
    return [
      `${count(rejected, "image was", "images were")} rejected`,
      h("p", {}, "Group them to find new classes."),
      button("Group them", () => startJob({ verb: "discover" }), { primary: true, icon: "next" }),
    ];
  }
  const add = canAdd();
  return [
    "Nothing to review",
    h(
      "p",
      {},
      add
        ? "Add images: drop them anywhere on this page. To see how single images are recognised, "
        : "To see how single images are recognised, ",
      h("a", { href: "#/try" }, "try them"),
      ".",
    ),
    add ? button("Add images", () => chooseFiles(false), { primary: true, icon: "drop" }) : null,
  ];
}

/** The card that says so. @param {...import("../dom.js").Child} more buttons before its own */
export function nextCard(...more) {
  const card = h("section", { class: "next card", "aria-label": "What to do next" });
  const paint = () => {
    const [heading, text, action] = nextStep();
    card.replaceChildren(h("div", {}, h("h2", {}, heading), text), h("div", { class: "row" }, more, action));
  };
  paint();
  return { element: card, paint };
}
