/** The next phase: what will be learnt, how it goes, what it brought, and the way back. */

import { rollback, startJob } from "../acts.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { beforeAfter } from "../charts.js";
import { h, heading } from "../dom.js";
import { useKeys } from "../keys.js";
import { classLink } from "../router.js";
import { currentJob, latestJob, state, subscribe, toReview } from "../store.js";
import { complain } from "../toast.js";
import { ago, count, number, percent } from "../words.js";
import { jobCard } from "./job.js";
import { measuredPart } from "./measured.js";
import { teachCard } from "./teach.js";

/** @param {string} caption @param {import("../types.d.ts").Count[]} entries */
function table(caption, entries) {
  return h(
    "table",
    {},
    h("caption", {}, caption),
    h(
      "tbody",
      {},
      entries.map(({ label, count: n }) =>
        h("tr", {}, h("th", { scope: "row" }, classLink(label)), h("td", {}, count(n, "image"))),
      ),
    ),
  );
}

/** @param {import("../types.d.ts").Learnable} learnable @param {() => unknown} start */
function plan(learnable, start) {
  const open = toReview().filter((group) => group.named);
  const waiting = toReview().length - open.length;
  if (!learnable.total) {
    return h(
      "section",
      { class: "empty card" },
      h("h2", {}, "Nothing to learn yet"),
      h(
        "p",
        {},
        open.length
          ? `${count(open.length, "group is", "groups are")} named but not confirmed.`
          : "First name and confirm groups, move images to known classes, or teach labelled images.",
      ),
      h("a", { class: "button", href: "#/groups" }, "Review groups"),
    );
  }
  const fresh = learnable.new.length;
  return h(
    "section",
    { class: "card plan" },
    h(
      "h2",
      {},
      `${fresh ? count(fresh, "new class", "new classes") : "No new class"}, ${count(learnable.total, "image")}`,
    ),
    h(
      "div",
      { class: "tables" },
      fresh > 0 && table("New classes", learnable.new),
      learnable.known.length > 0 && table("More images of known classes", learnable.known),
    ),
    (learnable.corrected > 0 || learnable.forgotten > 0) &&
      h(
        "p",
        {},
        [
          learnable.corrected &&
            `${count(learnable.corrected, "learnt image gets", "learnt images get")} another label`,
          learnable.forgotten && `${count(learnable.forgotten, "learnt image is", "learnt images are")} forgotten`,
        ]
          .filter(Boolean)
          .join(", "),
        ".",
      ),
    (open.length > 0 || waiting > 0) &&
      h(
        "p",
        { class: "soft" },
        [
          open.length && `${count(open.length, "named group is", "named groups are")} not confirmed`,
          waiting && `${count(waiting, "group has", "groups have")} no name`,
        ]
          .filter(Boolean)
          .join(" and "),
        ". What is not confirmed stays under review.",
      ),
    h("div", { class: "row" }, button("Learn", start, { primary: true, icon: "next", key: ["work", "go"] })),
  );
}

/** @param {import("../types.d.ts").LearnJob|undefined} job */
function outcome(job) {
  if (job?.state !== "done" || !job.result?.after) return null;
  const { before, after, version } = job.result;
  /** @param {"memory"|"confirmed"} key @param {string} label @param {string} note */
  const pair = (key, label, note) => {
    const now = after[key];
    return now === null || now === undefined ? null : beforeAfter(label, before?.[key], now, note);
  };
  return h(
    "section",
    { class: "card outcome", "aria-label": "Effect of learning" },
    h(
      "div",
      { class: "head" },
      h("h2", {}, `Version ${version} is ready`),
      h("span", { class: "soft" }, `${percent(after.memory)} accuracy on the exemplars`),
    ),
    h(
      "div",
      { class: "tables" },
      pair("memory", "Accuracy on the exemplars", "The images that are kept of each known class."),
      pair("confirmed", "Accuracy on the confirmed images", "The images that were learnt in this phase."),
    ),
  );
}

/** @param {import("../types.d.ts").Version[]} versions */
function versionList(versions) {
  return h(
    "section",
    {},
    h("h2", {}, "Versions"),
    h(
      "ol",
      { class: "versions", reversed: true },
      [...versions]
        .reverse()
        .map((version) =>
          h(
            "li",
            { class: "card", "aria-current": version.in_use ? "true" : null },
            h("strong", {}, `Version ${version.id}`),
            h(
              "span",
              { class: "soft" },
              `phase ${version.phase} · ${count(version.classes.length, "class", "classes")} · ${ago(version.at)}`,
            ),
            version.in_use
              ? h("span", { class: "badge good" }, "in use")
              : button(
                  version.id < (state.status.version?.id ?? 0) ? "Roll back" : "Switch",
                  () => rollback(version.id),
                  { icon: "undo", quiet: true, title: `Switch to version ${number(version.id)}` },
                ),
          ),
        ),
    ),
  );
}

/** @type {import("../router.js").View} */
export function learn(root) {
  const running = h("div", {});
  const body = h("div", { class: "stack" });
  const measured = measuredPart();
  const teach = teachCard();
  const list = h("div", {});
  root.append(
    heading(
      "Learn",
      "The recogniser learns the classes that you confirmed, keeps those that it knows, and becomes a new version.",
    ),
    running,
    h(
      "div",
      { class: "stack" },
      body,
      state.session.scopes.includes("write") && state.status.version && teach.element,
      measured.element,
      list,
    ),
  );
  let total = 0;
  const start = () => total > 0 && !currentJob() && startJob({ verb: "learn" });
  const read = async () => {
    running.replaceChildren(...jobCard(currentJob()));
    const [learnable, versions, jobs] = await Promise.all([api.learnable(), api.versions(), api.jobs()]);
    total = learnable.total;
    const last = latestJob("learn", jobs);
    const current = last?.result?.version === state.status.version?.id ? outcome(last) : null;
    const due = !currentJob() && (learnable.total > 0 || !current); // what was just learnt stands for itself
    const parts = [current, due && plan(learnable, start)];
    body.replaceChildren(...parts.filter((part) => part instanceof Node));
    list.replaceChildren(versionList(versions));
    teach.paint();
    await measured.read(versions);
  };
  read().catch(complain);
  const ends = [
    useKeys("work", { go: start }),
    subscribe((topic) => {
      if (topic === "review") return read();
      if (topic === "job") {
        running.replaceChildren(...jobCard(currentJob()));
        teach.paint();
        if (!currentJob()) measured.refresh();
      }
      if (currentJob()) body.querySelector(".plan")?.remove();
      return undefined;
    }),
  ];
  return () => ends.forEach((end) => end());
}
