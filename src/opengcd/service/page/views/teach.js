/** Labelled images from a folder on the person's disk: uploaded, then taught by a job. */

import { startJob } from "../acts.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { progress } from "../charts.js";
import { h } from "../dom.js";
import { currentJob, isOver, state } from "../store.js";
import { complain } from "../toast.js";
import { count } from "../words.js";

const AT_ONCE = 20;
const TOLD = 5;

/**
 * The class of each file: the name of the folder that it is in, below the one that was chosen.
 * @param {File} file
 */
function classOf(file) {
  const parts = file.webkitRelativePath.split("/");
  return parts.length > 2 ? parts[1] : parts[0];
}

/** @typedef {{label: string, items: number[]}[]} Given */

/** What was taught last, so that it can be taught again with other labels replaced. @type {Given|null} */
let last = null;
/** @type {number|null} the job that teaches it */
let lastJob = null;
/** Files that could not be used. @type {string[]} */
let unusable = [];

/** @param {Given} given @param {boolean} replace */
async function teach(given, replace) {
  const job = await startJob({ verb: "teach", classes: given, replace });
  last = given;
  lastJob = job?.id ?? null;
}

/** @param {File[]} files @param {(done: number) => void} report */
async function upload(files, report) {
  /** @type {Map<string, Set<number>>} */
  const items = new Map();
  /** @type {Map<number, string>} */
  const labelOf = new Map();
  unusable = [];
  for (let start = 0; start < files.length; start += AT_ONCE) {
    report(start);
    const some = files.slice(start, start + AT_ONCE);
    const stored = await api.upload(some);
    stored.forEach(({ id, reason }, i) => {
      const label = classOf(some[i]);
      const other = id === null ? undefined : labelOf.get(id);
      if (id === null) unusable.push(`${some[i].name}: ${reason}`);
      else if (other !== undefined && other !== label)
        unusable.push(`${some[i].name}: the same image is in “${other}”`);
      else {
        labelOf.set(id, label);
        items.set(label, (items.get(label) ?? new Set()).add(id));
      }
    });
  }
  return [...items].map(([label, ids]) => ({ label, items: [...ids] }));
}

/** What the last job taught. @returns {import("../dom.js").Child} */
function outcome() {
  const job = lastJob === null ? undefined : state.jobs.get(lastJob);
  if (job?.verb !== "teach" || !isOver(job) || !last) return null;
  if (!job.result) return h("p", { class: "note bad" }, job.error);
  const { images, already, conflicts, conflicting } = job.result;
  const given = last;
  return [
    h(
      "p",
      {},
      `${count(images, "image")} labelled${already ? `, ${count(already, "image")} had the label already` : ""}.`,
    ),
    conflicting > 0 &&
      h(
        "div",
        { class: "conflicts" },
        h("p", {}, `${count(conflicting, "image")} kept the label that a person gave before:`),
        h(
          "ul",
          {},
          conflicts
            .slice(0, TOLD)
            .map(({ item, present, given: wanted }) =>
              h(
                "li",
                {},
                h("img", { src: api.thumbnail(item), alt: "" }),
                h("span", {}, `${present || "in the bin"}, not ${wanted}`),
              ),
            ),
        ),
        button("Replace these labels", () => teach(given, true)),
      ),
    unusable.length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, `${count(unusable.length, "file")} could not be used`),
        h(
          "ul",
          {},
          unusable.slice(0, 50).map((text) => h("li", {}, text)),
        ),
      ),
  ];
}

/** A card to teach classes from a folder. */
export function teachCard() {
  const element = h("section", { class: "card teach", "aria-label": "Teach labelled images" });
  /** @type {string|null} */
  let problem = null;
  let busy = false;
  const input = h("input", {
    type: "file",
    webkitdirectory: true,
    multiple: true,
    hidden: true,
    "aria-label": "Folder of labelled images",
  });
  const bar = h("div", {});
  const choose = button("Choose a folder", () => input.click(), { icon: "plus" });
  const told = h("div", { class: "stack" });
  const paint = () => {
    choose.disabled = busy || currentJob() !== null;
    told.replaceChildren(
      ...[problem && h("p", { class: "note bad", role: "alert" }, problem), outcome()]
        .flat(2)
        .filter((part) => part instanceof Node),
    );
  };
  input.addEventListener("change", async () => {
    const files = [...(input.files ?? [])].filter((file) => !file.name.startsWith("."));
    input.value = "";
    if (!files.length) return;
    busy = true;
    problem = null;
    paint();
    try {
      const given = await upload(files, (done) =>
        bar.replaceChildren(
          progress(done / files.length, "Uploading"),
          h("p", { class: "soft" }, `Uploading ${count(files.length, "file")} …`),
        ),
      );
      if (given.length) await teach(given, false);
      else problem = `No file in this folder can be used. ${unusable[0] ?? ""}`;
    } catch (error) {
      complain(error);
    } finally {
      busy = false;
      bar.replaceChildren();
      paint();
    }
  });
  element.append(
    h("h2", {}, "Teach labelled images"),
    h(
      "p",
      { class: "soft" },
      "Choose a folder with one folder of images per class, named after the class: known classes or new ones. The next learning takes them.",
    ),
    h("div", { class: "row" }, choose, input),
    bar,
    told,
  );
  paint();
  return { element, paint };
}
