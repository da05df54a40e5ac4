/** Labelled images from a folder on the person's disk: uploaded, then taught by a job. */

import { startJob } from "../acts.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { progress } from "../charts.js";
import { h } from "../dom.js";
import { labelsOf } from "../labeltable.js";
import { currentJob, isOver, state } from "../store.js";
import { count } from "../words.js";

const AT_ONCE = 20;
const TOLD = 5;

/** The class of a file without a table: the folder that it is in, below the one that was chosen. @param {string} path */
function folderOf(path) {
  const parts = path.split("/");
  return parts.length > 2 ? parts[1] : parts[0];
}

/**
 * Sort what was chosen into images and their classes; a CSV file among them gives the labels.
 * @param {File[]} chosen
 * @returns {Promise<{files: File[], classOf: (file: File) => string|null}>}
 */
async function labelled(chosen) {
  /** @param {File} file */
  const path = (file) => file.webkitRelativePath || file.name;
  const tables = chosen.filter((file) => /\.csv$/i.test(file.name));
  const files = chosen.filter((file) => !tables.includes(file));
  if (tables.length > 1) throw new Error("There are several CSV files; choose the one with the labels.");
  if (tables.length) {
    const labels = labelsOf(await tables[0].text(), tables[0].name);
    return { files, classOf: (file) => labels(path(file)) };
  }
  if (!files.some((file) => file.webkitRelativePath))
    throw new Error("Choose the CSV file with the labels together with the images.");
  return { files, classOf: (file) => folderOf(path(file)) };
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

/** @param {File[]} all @param {(file: File) => string|null} classOf @param {(done: number) => void} report */
async function upload(all, classOf, report) {
  /** @type {Map<string, Set<number>>} */
  const items = new Map();
  /** @type {Map<number, string>} */
  const labelOf = new Map();
  unusable = all.filter((file) => classOf(file) === null).map((file) => `${file.name}: the table does not name it`);
  const files = all.filter((file) => classOf(file) !== null);
  for (let start = 0; start < files.length; start += AT_ONCE) {
    report(start);
    const some = files.slice(start, start + AT_ONCE);
    const stored = await api.upload(some);
    stored.forEach(({ id, reason }, i) => {
      const label = classOf(some[i]) ?? "";
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
  /** @param {string} label @param {boolean} webkitdirectory */
  const input = (label, webkitdirectory) =>
    h("input", { type: "file", webkitdirectory, multiple: true, hidden: true, "aria-label": label });
  const folder = input("Folder of labelled images", true);
  const single = input("Images and a CSV file", false);
  const bar = h("div", {});
  const choose = button("Choose a folder", () => folder.click(), { icon: "plus" });
  const chooseTable = button("Choose images and a CSV file", () => single.click(), { icon: "plus" });
  const told = h("div", { class: "stack" });
  const paint = () => {
    choose.disabled = busy || currentJob() !== null;
    chooseTable.disabled = choose.disabled;
    told.replaceChildren(
      ...[problem && h("p", { class: "note bad", role: "alert" }, problem), outcome()]
        .flat(2)
        .filter((part) => part instanceof Node),
    );
  };
  /** @param {HTMLInputElement} from */
  const begin = async (from) => {
    const chosen = [...(from.files ?? [])].filter((file) => !file.name.startsWith("."));
    from.value = "";
    if (!chosen.length) return;
    busy = true;
    problem = null;
    paint();
    try {
      const { files, classOf } = await labelled(chosen);
      const given = await upload(files, classOf, (done) =>
        bar.replaceChildren(
          progress(done / files.length, "Uploading"),
          h("p", { class: "soft" }, `Uploading ${count(files.length, "file")} …`),
        ),
      );
      if (given.length) await teach(given, false);
      else problem = `No file in this folder can be used. ${unusable[0] ?? ""}`;
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    } finally {
      busy = false;
      bar.replaceChildren();
      paint();
    }
  };
  for (const one of [folder, single]) one.addEventListener("change", () => begin(one));
  element.append(
    h("h2", {}, "Teach labelled images"),
    h(
      "p",
      { class: "soft" },
      "Choose a folder with one folder of images per class, named after the class: known classes or new ones. Or choose images with a CSV file with the columns file and label. The next learning takes them.",
    ),
    h("div", { class: "row" }, choose, chooseTable, folder, single),
    bar,
    told,
  );
  paint();
  return { element, paint };
}
