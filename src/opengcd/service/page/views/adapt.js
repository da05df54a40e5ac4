/** The card that adapts the network: what it is, what it would take, how it goes, what it brought, and the way back. */

import { rollback, startJob, undo } from "../acts.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { beforeAfter, legend, lineChart, progress } from "../charts.js";
import { choose } from "../dialogs.js";
import { h } from "../dom.js";
import { icon } from "../icons.js";
import { isOver, latestJob, state } from "../store.js";
import { complain } from "../toast.js";
import { ago, count, duration, pace, percent } from "../words.js";

/** @import {AdaptJob, AdaptOptions, AdaptationPlan, Curves, Epoch, LastAdaptation, Rehearsal} from "../types.d.ts" */

/** @type {Record<string, string>} */
const DEVICES = { cpu: "on the CPU of this machine", cuda: "on the GPU of this machine" };

/** @param {AdaptJob|undefined} job @returns {job is AdaptJob} */
const runs = (job) => job !== undefined && !isOver(job);

/** The two curves of a training, each for the rehearsal and for the training itself. @param {Curves|null} curves */
function drawings(curves) {
  if (!curves?.rehearsing?.length && !curves?.training?.length) return null;
  /** @param {(point: Epoch) => number|null} value */
  const lines = (value) => [
    { name: "rehearsal", dashed: true, points: pairs(curves.rehearsing ?? [], value) },
    { name: "training", points: pairs(curves.training ?? [], value) },
  ];
  /** @param {Epoch[]} points @param {(point: Epoch) => number|null} value @returns {[number, number|null][]} */
  const pairs = (points, value) => points.map((point) => [point.epoch, value(point)]);
  /** @param {string} label @param {string} note @param {SVGElement} chart @param {ReturnType<typeof lines>} shown */
  const figure = (label, note, chart, shown) =>
    h("figure", {}, h("figcaption", {}, h("h3", {}, label), legend(shown), h("p", { class: "soft" }, note)), chart);
  const loss = lines((point) => point.loss);
  const accuracy = lines((point) => point.accuracy);
  const known = accuracy.some(({ points }) => points.some(([, value]) => value !== null));
  return h(
    "div",
    { class: "tables" },
    figure(
      "Loss",
      "What the training minimises. It should fall.",
      lineChart({
        label: "Loss",
        unit: "epoch",
        axes: ["Epoch", "Loss"],
        lines: loss,
        range: null,
        format: (value) => (value === null ? "–" : value.toFixed(2)),
      }),
      loss,
    ),
    known &&
      figure(
        "Accuracy",
        "On labelled images that were held out of the training. It should rise.",
        lineChart({
          label: "Accuracy on held-out images",
          unit: "epoch",
          axes: ["Epoch", "Accuracy"],
          lines: accuracy,
          format: percent,
        }),
        accuracy,
      ),
  );
}

/** @param {Rehearsal} found */
const gains = (found) =>
  h(
    "div",
    { class: "tables" },
    beforeAfter(
      "Known or new (HNA)",
      found.frozen_hna,
      found.adapted_hna,
      "The harmonic mean of two shares: known images that get the right label, and new ones that are rejected as unknown.",
    ),
    beforeAfter(
      "Grouping (HCA)",
      found.frozen_hca,
      found.adapted_hca,
      "The harmonic mean of two shares: known images that get the right label, and new ones that join the right group.",
    ),
  );

/** Whether the version in use is the one that an adaptation made. @param {LastAdaptation} last */
const inUse = (last) => last.switched && !last.undone && last.version === state.status.version?.id;

/** @param {LastAdaptation} last */
function verdict(last) {
  const when = ago(last.at);
  if (inUse(last)) return `Adapted ${when}: the adapted network is in use`;
  if (last.switched && (last.undone || Number(last.version) > (state.status.version?.id ?? 0)))
    return `Adapted ${when}, but the previous network is in use again`;
  if (last.switched) return `Adapted ${when}, as version ${last.version}`;
  if (!last.rehearsed) return `Tried ${when}: too few known classes to measure whether it helps`;
  return `Tried ${when}: ${last.rehearsed.helps ? "it would help" : "it did not help"}`;
}

/** @param {LastAdaptation} last */
function measured({ rehearsed, images, missing, seconds }) {
  const took = Object.values(seconds).reduce((sum, one) => sum + one, 0);
  const on =
    rehearsed &&
    `Measured on ${count(rehearsed.hidden, "known class", "known classes")} that were hidden from the training and treated as new.`;
  const gone =
    missing &&
    `${count(missing, "image was left out: its file is", "images were left out: their files are")} missing or changed.`;
  return [on, `This used ${count(images, "image")} and took ${duration(took)}.`, gone].filter(Boolean).join(" ");
}

/** What the last attempt brought. @param {LastAdaptation} last @param {AdaptJob|undefined} job */
function outcome(last, job) {
  const curves = job?.state === "done" && drawings(job.curves);
  return h(
    "div",
    { class: "stack brought" },
    h("h3", {}, verdict(last)),
    !last.switched && h("p", {}, `Nothing was changed: ${last.reason}.`),
    last.rehearsed && gains(last.rehearsed),
    h("p", { class: "soft" }, measured(last)),
    curves && h("details", {}, h("summary", {}, "Training curves"), curves),
  );
}

/** What a job that was not finished left, if nothing came after it. @param {AdaptJob|undefined} job @param {LastAdaptation|null} last */
function interrupted(job, last) {
  if (!job || (last && last.at > job.at)) return null;
  if (job.state === "failed") return h("p", { class: "warning" }, `The last attempt failed: ${job.error}`);
  if (job.state !== "cancelled") return null;
  return h(
    "p",
    { class: "soft" },
    "The last attempt was cancelled, and nothing was changed. The next one continues from there.",
  );
}

/** @param {AdaptationPlan} plan */
function cost({ images, seconds, rehearsal_seconds, measuring, device, last }) {
  const again = last !== null && inUse(last);
  const used = `Adapting${again ? " again" : ""} would use ${count(images, "labelled image")}`;
  if (seconds === null) return `${used}. ${measuring ? "Measuring how long that takes here …" : ""}`.trim();
  const first = rehearsal_seconds === null ? "" : ` Trying it first takes ${duration(rehearsal_seconds)}.`;
  return `${used} and take ${duration(seconds)} ${DEVICES[device] ?? ""}.${first}`;
}

/** How the network is to be adapted; what is left out is chosen by the data and the device. @type {Partial<AdaptOptions>} */
const options = {};

/** Settings that have good defaults, folded away. */
function settings() {
  /** @param {string} label @param {string} about @param {HTMLInputElement|HTMLSelectElement} control @param {() => unknown} set */
  const field = (label, about, control, set) => {
    control.addEventListener("input", () => control.checkValidity() && set()); // the card may be drawn again any time
    control.addEventListener("change", () => control.reportValidity());
    return h("label", {}, h("span", {}, label), control, h("small", { class: "soft" }, about));
  };
  /** @param {string} label @param {string} about @param {"blocks"|"epochs"|"batch_size"} name @param {number} min */
  const whole = (label, about, name, min) => {
    const control = h("input", { type: "number", min, step: 1, placeholder: "automatic" });
    control.value = String(options[name] ?? "");
    return field(label, about, control, () => (options[name] = control.value === "" ? null : control.valueAsNumber));
  };
  const method = h(
    "select",
    {},
    h("option", { value: "lora" }, "small additions to their weights (lora)"),
    h("option", { value: "blocks", selected: options.method === "blocks" }, "all their weights (blocks)"),
  );
  const unlabelled = h(
    "select",
    {},
    h("option", { value: "" }, "images with labels only"),
    h("option", { value: "yes", selected: options.unlabelled === true }, "those without a label, too"),
  );
  return h(
    "details",
    {},
    h("summary", {}, "More settings"),
    h(
      "div",
      { class: "fields" },
      field(
        "What is trained of the last blocks",
        "Small additions need less memory.",
        method,
        () => (options.method = method.value === "blocks" ? "blocks" : "lora"),
      ),
      whole("Blocks that are trained", "The last ones of the network.", "blocks", 1),
      whole("Passes over the images", "By default fewer, the more images there are.", "epochs", 1),
      whole("Images per step", "Fewer need less memory.", "batch_size", 4),
      field(
        "Images that take part",
        "Those without a label may help if they are of the same kind.",
        unlabelled,
        () => (options.unlabelled = unlabelled.value === "yes" ? true : null),
      ),
    ),
  );
}

/** Continue an adaptation that was interrupted, with its options. */
export async function continueAdapting() {
  const job = latestJob("adapt", await api.jobs());
  await startJob({ ...job?.arguments, verb: "adapt" });
}

async function force() {
  const sure = await choose({
    title: "Use the adapted network anyway?",
    text: "The rehearsal did not show that it helps. The old network is kept, so you can return to it.",
    submit: "Use it anyway",
  });
  if (sure) await startJob({ ...options, verb: "adapt", force: true });
}

/** Return to the network before: by undo if the adaptation was the last edit, else by its version. */
function giveUp() {
  const { can_undo, version } = state.status;
  if (can_undo?.verb === "adapt") return undo();
  return version?.parent ? rollback(version.parent) : null;
}

/** @param {AdaptationPlan} plan */
function acts({ possible, last }) {
  const locked = !state.session.scopes.includes("write");
  const used = last !== null && inUse(last);
  const poor = last !== null && !last.switched && !last.rehearsed?.helps;
  return h(
    "div",
    { class: "row" },
    possible && [
      button("Try it first", () => startJob({ ...options, verb: "adapt", dry_run: true }), { disabled: locked }),
      button(used ? "Adapt again" : "Adapt", () => startJob({ ...options, verb: "adapt" }), {
        primary: !poor && !used,
        disabled: locked,
      }),
      poor && button("Use it anyway", force, { disabled: locked }),
    ],
    used &&
      h("a", { class: "button", href: api.onnx, download: "" }, icon("drop"), h("span", {}, "Download it as ONNX")),
    used && button("Return to the old network", giveUp, { icon: "undo", disabled: locked }),
  );
}

/** @param {AdaptationPlan} plan @param {AdaptJob|undefined} job the latest one @param {HTMLElement} chosen the settings */
function resting(plan, job, chosen) {
  return [
    h("h2", {}, "Let the network learn from your own images"),
    h(
      "p",
      { class: "soft" },
      "The network that turns images into embeddings, the vectors by which they are compared, was trained on other images ",
      "than yours. Adapting trains its last layers on your labelled images, so that similar classes become easier to tell ",
      "apart. A rehearsal comes first: some known classes are hidden from the training and treated as new. If adapting does ",
      "not help there, the network stays as it is. You can always return to the old network.",
    ),
    plan.possible ? h("p", {}, cost(plan)) : h("p", { class: "warning" }, `Not possible here. ${plan.reason}`),
    interrupted(job, plan.last),
    plan.last && outcome(plan.last, job),
    acts(plan),
    plan.possible && state.session.scopes.includes("write") && chosen,
  ];
}

/** A job under way; its button stays the same, so that it keeps the focus. @param {AdaptJob} job */
function running(job) {
  const heading = h("h2", {});
  const body = h("div", { class: "stack" });
  const element = [
    h(
      "div",
      { class: "head" },
      heading,
      button("Cancel", () => api.cancel(job.id).catch(complain)),
    ),
    body,
  ];
  /** @param {AdaptJob} now */
  const update = (now) => {
    const title = now.arguments.dry_run ? "Testing whether adapting helps" : "Adapting the network";
    const stage = now.state === "waiting" ? "waiting for other jobs" : now.stage;
    heading.textContent = `${title} …`;
    body.replaceChildren(
      progress(now.total ? now.done / now.total : null, title),
      h("p", {}, [stage, pace(now)].filter(Boolean).join(" · ")),
      h(
        "p",
        { class: "soft" },
        now.arguments.dry_run
          ? "Nothing will be changed."
          : "The current network stays in use until the new one is ready.",
        " You can go on reviewing.",
      ),
      drawings(now.curves) ?? "",
    );
  };
  update(job);
  return { id: job.id, element, update };
}

/** The card, and functions that read the plan again and that show how far the job is. */
export function adaptCard() {
  const element = h("section", {
    class: "card adapt",
    "aria-label": "Adapt the network",
    "aria-busy": "true",
    tabindex: "-1",
  });
  /** @type {AdaptationPlan|null} */
  let plan = null;
  /** @type {import("../types.d.ts").Job[]} */
  let jobs = [];
  /** @type {ReturnType<typeof running>|null} */
  let shown = null;
  let seen = "";
  /** What the card shows while no job runs; it is not drawn again if nothing has changed. */
  let painted = "";

  const chosen = settings();
  /** Draw the card; what was unfolded stays so, and so does the focus. @param {(Node|null|undefined|false|"")[]} parts */
  const show = (parts) => {
    const focused = document.activeElement;
    const held = element.contains(focused);
    const unfolded = [...element.querySelectorAll("details[open] > summary")].map((one) => one.textContent);
    element.replaceChildren(...parts.filter((part) => part instanceof Node));
    for (const one of element.querySelectorAll("details"))
      one.open ||= unfolded.includes(one.querySelector("summary")?.textContent ?? "");
    if (!held) return;
    const again = [...element.querySelectorAll("button, a, summary")];
    const same = element.contains(focused) ? focused : again.find((one) => one.textContent === focused?.textContent);
    (same instanceof HTMLElement ? same : element).focus({ preventScroll: true });
  };
  const paint = () => {
    const job = latestJob("adapt", jobs);
    if (runs(job)) {
      if (shown?.id === job.id) return shown.update(job);
      shown = running(job);
      return show(shown.element);
    }
    const told = JSON.stringify([plan, job, state.status.version?.id, state.status.can_undo]);
    if (plan && (shown || told !== painted)) show(resting(plan, job, chosen));
    shown = null;
    painted = told;
    return undefined;
  };
  /** What the plan depends on. */
  const situation = () => {
    const { version, to_learn } = state.status;
    const job = latestJob("adapt", []);
    return [version?.id, to_learn, job?.id, job?.state].join();
  };
  const read = async () => {
    seen = situation();
    [plan, jobs] = await Promise.all([api.adaptation(), api.jobs()]);
    element.removeAttribute("aria-busy");
    paint();
  };
  return {
    element,
    read,
    /** Show a job's progress. */
    follow: () => runs(latestJob("adapt", jobs)) && paint(),
    /** Read the plan again if it may be another one. */
    refresh: () => (plan?.measuring || seen !== situation() ? read() : undefined),
  };
}
