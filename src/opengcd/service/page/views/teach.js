/** Labelled images or vectors: chosen or dropped, looked at, and taught by a job. */

import { takesVectors } from "../adding.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { h } from "../dom.js";
import { chooseFolder } from "../folders.js";
import { told } from "../labelled.js";
import { isOver, noteJob, state } from "../store.js";
import { complain } from "../toast.js";
import { chosenFiles, droppedFiles, resumable } from "../uploading.js";
import { count } from "../words.js";
import { uploadCard } from "./uploadcard.js";

/** @typedef {import("../types.d.ts").TeachFiles} TeachFiles */
/** @typedef {import("../types.d.ts").KnownPreview} KnownPreview */

const TOLD = 5;
const TABLE = /\.(csv|tsv)$/i;
const upload = resumable("taught");

/** What was chosen and is not taught yet. @type {TeachFiles|null} */
let files = null;
/** What is in it. @type {KnownPreview|null} */
let seen = null;
/** What was taught last, so that it can be taught again with other labels replaced. @type {TeachFiles|null} */
let last = null;
/** @type {number|null} the job that teaches it */
let lastJob = null;

/** @param {TeachFiles} wanted */
async function teach(wanted) {
  const job = await api.teachFiles(wanted);
  [last, lastJob, files, seen] = [wanted, job.id, null, null];
  await noteJob(job);
  await upload.forget();
}

/** What the last job taught. @param {(wanted: TeachFiles) => unknown} again @returns {import("../dom.js").Child} */
function outcome(again) {
  const job = lastJob === null ? undefined : state.jobs.get(lastJob);
  if (job?.verb !== "teach" || !isOver(job) || !last) return null;
  const wanted = last;
  if (!job.result)
    return [h("p", { class: "warning", role: "alert" }, job.error), button("Try again", () => again(wanted))];
  const { images, already, conflicts, conflicting, bad = 0, reasons = [] } = job.result;
  return [
    h(
      "p",
      {},
      `${count(images, takesVectors() ? "vector" : "image")} labelled${already ? `, ${already} had the label already` : ""}.`,
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
            .map(({ item, present, given }) =>
              h(
                "li",
                {},
                h("img", { src: api.thumbnail(item), alt: "" }),
                h("span", {}, `${present || "in the bin"}, not ${given}`),
              ),
            ),
        ),
        button("Replace these labels", () => again({ ...wanted, replace: true })),
      ),
    bad > 0 &&
      h(
        "details",
        {},
        h("summary", {}, `${count(bad, "file")} could not be used`),
        h(
          "ul",
          {},
          reasons.map((text) => h("li", {}, text)),
        ),
      ),
  ];
}

/** A card to teach classes. */
export function teachCard() {
  const noun = takesVectors() ? "vector" : "image";
  /** @type {string|null} */
  let problem = null;
  let sending = false;
  let asked = 0;

  /** @param {TeachFiles} wanted */
  const begin = (wanted) =>
    teach(wanted)
      .catch((error) => (problem = error.message))
      .finally(paint);

  /** Look at what was chosen. @param {TeachFiles} wanted @param {boolean} [said] whether a person said how it is labelled @returns {Promise<void>} */
  const look = async (wanted, said = false) => {
    [files, seen, problem] = [wanted, null, null];
    const mine = ++asked;
    paint();
    try {
      const { folder, table } = wanted;
      const found = await api.known({ folder, upload: wanted.upload, table });
      if (mine !== asked) return;
      const lists = takesVectors() ? found.vectors : found.tables;
      const list = lists.find((name) => TABLE.test(name)) ?? (found.problem ? lists[0] : undefined);
      // A table beside the images is meant to be used, and so are vectors; other lists if there are no folders.
      if (!said && !table && list) return look({ ...wanted, table: list });
      seen = found;
      if (takesVectors() && !lists.length && !table)
        seen = { ...found, problem: "There is no file of vectors (.npz, .npy or .parquet) among these files." };
    } catch (error) {
      if (mine !== asked) return;
      [files, problem] = [null, error instanceof Error ? error.message : String(error)];
      await upload.forget();
    }
    paint();
  };

  /** @param {import("../uploading.js").Chosen[]} list */
  const send = async (list) => {
    if (!list.length || sending) return;
    const stopping = new AbortController();
    const card = uploadCard(`Uploading labelled ${noun}s`, () => stopping.abort());
    sending = true;
    bar.replaceChildren(card.element);
    paint();
    try {
      const id = await upload.send(list, { progress: card.paint, signal: stopping.signal });
      sending = false;
      await look({ upload: id, folder: null, table: null });
    } catch (error) {
      if (stopping.signal.aborted) await upload.drop().catch(complain);
      else complain(error);
    } finally {
      sending = false;
      bar.replaceChildren();
      paint();
    }
  };

  /** @param {string} label @param {boolean} webkitdirectory */
  const input = (label, webkitdirectory) => {
    const made = h("input", { type: "file", webkitdirectory, multiple: true, hidden: true, "aria-label": label });
    made.addEventListener("change", () => {
      const chosen = chosenFiles(made.files ?? []); // before the list is emptied
      made.value = "";
      send(chosen);
    });
    return made;
  };
  const folder = input(`Folder of labelled ${noun}s`, true);
  const single = input(`Labelled ${noun}s, a zip, or a list with the labels`, false);
  const fromMachine = async () => {
    const path = await chooseFolder({ title: "Folder of labelled images", submit: "Use this folder", kind: "images" });
    if (path !== null) await look({ folder: path, upload: null, table: null });
  };
  const machine = button("From this machine", fromMachine, { icon: "plus" });
  machine.hidden = true;
  api.watch().then(
    ({ local }) => (machine.hidden = !local),
    () => null, // the bar tells that the server does not answer
  );
  const chosen = h("div", { class: "stack", "aria-live": "polite" });
  const ways = h(
    "div",
    { class: "row" },
    button("Choose a folder", () => folder.click(), { icon: "drop" }),
    button("Choose files or a zip", () => single.click(), { icon: "drop" }),
    machine,
  );
  const bar = h("div", {});
  const result = h("div", { class: "stack" });

  /** How the labels are given. @param {TeachFiles} wanted @param {KnownPreview} found */
  const labelling = (wanted, found) => {
    const lists = takesVectors() ? found.vectors : found.tables;
    const all = [...new Set([...(wanted.table ? [wanted.table] : []), ...lists])];
    /** @type {HTMLSelectElement} */
    const select = h(
      "select",
      { on: { change: () => look({ ...wanted, table: select.value || null }, true) } },
      !takesVectors() && h("option", { value: "" }, "By folders: each class has a folder with its name"),
      all.map((one) => h("option", { value: one, selected: one === wanted.table }, one)),
    );
    const other = async () => {
      const kind = takesVectors() ? "vectors" : "table";
      const path = await chooseFolder({ title: "File with the labels", submit: "", kind, start: wanted.folder });
      if (path !== null) await look({ ...wanted, table: path }, true);
    };
    return [
      all.length > 0 && h("div", { class: "fields" }, h("label", {}, h("span", {}, "Labels"), select)),
      wanted.folder && button("Labels from another file …", other, { quiet: true }),
    ];
  };

  const paintResult = () =>
    result.replaceChildren(
      ...[problem && h("p", { class: "warning", role: "alert" }, problem), outcome(begin)]
        .flat(2)
        .filter((part) => part instanceof Node),
    );
  const paint = () => {
    ways.hidden = sending || files !== null;
    paintResult();
    if (!files) return chosen.replaceChildren();
    const wanted = files;
    const leave = async () => {
      [files, seen] = [null, null];
      asked += 1;
      paint();
      if (wanted.upload) await upload.drop().catch(complain);
    };
    if (!seen) return chosen.replaceChildren(h("p", { class: "soft" }, "Checking what was chosen …"));
    const rate = h("input", { type: "number", min: 0.001, max: 1000, step: "any", required: true });
    rate.value = String(wanted.fps ?? 1);
    const submit = h(
      "button",
      { type: "submit", class: "primary", disabled: seen.problem !== "" },
      seen.problem ? "Teach them" : `Teach ${count(seen.files, seen.videos ? "file" : noun)}`,
    );
    chosen.replaceChildren(
      h(
        "form",
        {
          class: "stack",
          on: { submit: (event) => (event.preventDefault(), begin({ ...wanted, fps: rate.valueAsNumber })) },
        },
        wanted.folder && h("code", {}, wanted.folder),
        labelling(wanted, seen),
        seen.videos > 0 &&
          h("div", { class: "fields" }, h("label", {}, h("span", {}, "Frames per second of the videos"), rate)),
        ...told(seen, noun),
        h("div", { class: "row" }, submit, button("Cancel", leave, { quiet: true })),
      ),
    );
    return undefined;
  };

  const element = h(
    "section",
    { class: "card teach", "aria-label": `Teach labelled ${noun}s` },
    h("h2", {}, `Teach labelled ${noun}s`),
    h(
      "p",
      { class: "soft" },
      takesVectors()
        ? "Labelled vectors of known classes or new ones, in .npz, .npy or .parquet; choose them, or drop them here. The next learning takes them."
        : "Images of known classes or new ones: a folder for each class, named after it, or images with a list (CSV with the columns file and label, JSON lines, COCO). Choose them, or drop them here. The next learning takes them.",
    ),
    ways,
    folder,
    single,
    bar,
    chosen,
    result,
  );
  /** What is dropped here is taught; elsewhere it is recognised. @param {DragEvent} event */
  const drag = (event) => {
    if (![...(event.dataTransfer?.types ?? [])].includes("Files")) return;
    event.preventDefault();
    event.stopPropagation();
    element.classList.toggle("over", event.type === "dragover");
    if (event.type === "drop" && event.dataTransfer && !files) droppedFiles(event.dataTransfer).then(send, complain);
  };
  for (const type of /** @type {const} */ (["dragover", "dragleave", "drop"])) element.addEventListener(type, drag);

  /** Go on with what was chosen before the page was loaded again. */
  const resume = async () => {
    const begun = upload.begun();
    if (!begun || files) return;
    const kept = await upload.kept();
    if (kept.length) await send(kept);
    else await look({ upload: begun, folder: null, table: null });
  };
  paint();
  resume().catch(complain);
  return { element, paint: paintResult };
}
