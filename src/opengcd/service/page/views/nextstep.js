/** What to do next, in one sentence with one button. */

import { startJob } from "../acts.js";
import { canAdd, chooseFiles } from "../adding.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { progress } from "../charts.js";
import { h } from "../dom.js";
import { exportLabels } from "../exporting.js";
import { go } from "../router.js";
import { currentJob, state, toReview } from "../store.js";
import { complain } from "../toast.js";
import { continueAdapting } from "./adapt.js";
import { count, DOING, pace } from "../words.js";

/** Beside other projects, another way than a command. */
function anew() {
  const way = h("p", { hidden: true }, "Or ", h("a", { href: "../../#/new" }, "create a new project"), " instead.");
  api.watch().then((watch) => (way.hidden = !watch.home), complain);
  return way;
}

/** @returns {[string, HTMLElement, import("../dom.js").Child]} heading, text and buttons */
function nextStep() {
  const { status } = state;
  const { step, images, groups } = status.next;
  const job = currentJob();
  if (job && !(job.verb === "adapt" && step === "review")) {
    const share = job.total ? job.done / job.total : null;
    return [
      DOING[job.verb] ?? job.verb,
      h(
        "div",
        { class: "wide" },
        progress(share, job.stage || job.verb),
        h("p", {}, [job.stage, pace(job)].filter(Boolean).join(" · ")),
      ),
      state.session.scopes.includes("write")
        ? button("Cancel", () => api.cancel(job.id).catch(complain), { quiet: true })
        : null,
    ];
  }
  /** @param {string} command */
  const code = (command) => h("code", {}, command);
  switch (step) {
    case "init":
      return [
        "No classes are known yet",
        h(
          "div",
          {},
          h("p", {}, "To teach the first ones, run ", code(`opengcd init ${status.name} --known FOLDER`), "."),
          anew(),
        ),
        null,
      ];
    case "view":
      return [
        "This workspace is read-only",
        h("p", {}, "You can look at everything here, but change nothing. To change it, make its folder writable."),
        null,
      ];
    case "adapt":
      return [
        "An adaptation was interrupted",
        h("p", {}, "It goes on from where it was."),
        canAdd() ? button("Continue", () => continueAdapting().catch(complain), { primary: true, icon: "next" }) : null,
      ];
    case "review":
      return [
        `${count(groups, "group")} to review`,
        h(
          "p",
          {},
          `${count(images, "image")} to look at. Name the groups that you recognise, and press Enter to confirm.`,
        ),
        button("Review", () => go("groups", toReview()[0]?.id), { primary: true, icon: "next" }),
      ];
    case "learn":
      return [
        "Everything is reviewed",
        h("p", {}, `${count(images, "image is", "images are")} ready to be learnt.`),
        button("Learn", () => go("learn"), { primary: true, icon: "next" }),
      ];
    case "discover":
      return [
        `${count(images, "image was", "images were")} rejected`,
        h("p", {}, "Group them to find new classes."),
        button("Group them", () => startJob({ verb: "discover" }), { primary: true, icon: "next" }),
      ];
  }
  const add = canAdd();
  return [
    step === "recognize" ? "No image has been recognised yet" : "Nothing to review",
    h(
      "p",
      {},
      add
        ? "Add images: drop them anywhere on this page. To see how single images are recognised, "
        : "To see how single images are recognised, ",
      h("a", { href: "#/try" }, "try them"),
      ".",
    ),
    [
      step === "export" && button("Export labels…", exportLabels),
      add && button("Add images", () => chooseFiles(false), { primary: true, icon: "drop" }),
    ],
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
