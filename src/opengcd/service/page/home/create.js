/** The form of a new project. What was entered is kept until the project is made. */

import { h, heading } from "../dom.js";
import { icon } from "../icons.js";
import { go } from "../router.js";
import { complain } from "../toast.js";
import { chosenFiles, droppedFiles, resumable } from "../uploading.js";
import { uploadCard } from "../views/uploadcard.js";
import { addressOf, home } from "./api.js";
import { backbonePart } from "./backbones.js";
import { boxesPart } from "./boxes.js";
import { choice } from "./choice.js";
import { creationCard, followCreation } from "./creation.js";
import { settingsPart } from "./settings.js";
import { chooseFolder } from "../folders.js";
import { told } from "../labelled.js";

/** @typedef {import("./types.d.ts").KnownPreview} KnownPreview */
/** @typedef {"folders"|"table"|"vectors"} Labels how the images are labelled, or that they are vectors */
/**
 * @typedef {{name: string, from: "folder"|"upload", folder: string|null, upload: string|null, labels: Labels, table: string|null,
 *   boxes: string|null, boxLabels: boolean, confidence: number, fps: number, backbone: string|null,
 *   settings: import("./types.d.ts").ProjectSettings}} Draft
 */

const PLACE = "opengcd.draft";
/** Nothing is said yet of the images that are chosen. @type {Pick<Draft, "labels"|"table"|"boxes"|"boxLabels">} */
const UNSAID = { labels: "folders", table: null, boxes: null, boxLabels: false };

/** Files that were dropped on the list of projects. @type {import("../uploading.js").Chosen[]} */
let dropped = [];

/** Go to the form with files that a new project begins with. @param {import("../uploading.js").Chosen[]} files */
export function createFrom(files) {
  if (!files.length) return;
  dropped = files;
  go("new");
}

/** @returns {Draft} */
function readDraft() {
  /** @type {Draft} */
  const empty = {
    name: "",
    from: "folder",
    folder: null,
    upload: null,
    ...UNSAID,
    confidence: 0.2,
    fps: 1,
    backbone: null,
    settings: {},
  };
  try {
    return { ...empty, ...JSON.parse(localStorage.getItem(PLACE) ?? "{}") };
  } catch {
    return empty;
  }
}

/** @type {import("../router.js").View} */
export function newProject(root) {
  const draft = readDraft();
  const upload = resumable("known");
  const ending = new AbortController();
  let local = true;
  /** @type {KnownPreview|null} */
  let preview = null;
  let looking = false;
  let sending = false;
  /** Which answers are still wanted: those to the latest question. */
  let asked = 0;

  const save = () => localStorage.setItem(PLACE, JSON.stringify(draft));
  const backbones = backbonePart(draft, { save, changed: () => paint(), signal: ending.signal });

  const name = h("input", {
    type: "text",
    id: "name",
    autocomplete: "off",
    maxlength: 60,
    placeholder: "For example: birds of the harbour",
  });
  name.value = draft.name;
  const source = h("div", { class: "choices", role: "radiogroup", "aria-label": "Where the images are" });
  const chosen = h("div", {});
  const labelling = h("div", {});
  const cutting = h("div", {});
  const found = h("div", { class: "found", "aria-live": "polite" });
  const why = h("p", { class: "soft", role: "status" });
  const submit = h("button", { type: "submit", class: "primary" }, "Create project");
  const files = h("input", {
    type: "file",
    multiple: true,
    class: "sr-only",
    tabindex: -1,
    "aria-label": "Images or a zip",
  });
  const folder = h("input", {
    type: "file",
    webkitdirectory: true,
    class: "sr-only",
    tabindex: -1,
    "aria-label": "Folder",
  });

  const known = () => ({
    folder: draft.from === "folder" ? draft.folder : null,
    upload: draft.from === "upload" ? draft.upload : null,
    table: draft.labels === "folders" ? null : draft.table,
    boxes: draft.labels === "vectors" ? null : draft.boxes,
    min_confidence: draft.confidence,
    box_labels: draft.labels !== "vectors" && draft.boxes !== null && draft.boxLabels,
    fps: draft.fps,
  });

  /** What has the labels. @returns {import("../labelled.js").Noun} */
  const noun = () => (draft.labels === "vectors" ? "vector" : draft.boxLabels ? "box" : "image");

  const paint = () => {
    const missing = !draft.name.trim()
      ? "Give the project a name."
      : sending
        ? "The images are being uploaded."
        : !(draft.from === "folder" ? draft.folder : draft.upload)
          ? "Choose the known images."
          : looking || !preview
            ? "The images are being checked."
            : preview.problem
              ? "The images cannot be used as they are; see above."
              : draft.labels === "vectors"
                ? ""
                : backbones.missing();
    network.hidden = draft.labels === "vectors";
    submit.disabled = missing !== "";
    why.textContent = missing;
  };

  /** Look at the images that were chosen. */
  const look = async () => {
    preview = null;
    found.replaceChildren();
    const mine = ++asked;
    const wanted = known();
    if (!wanted.folder && !wanted.upload) return paint();
    looking = true;
    found.replaceChildren(h("p", { class: "soft" }, "Checking the images …"));
    paint();
    try {
      const seen = await home.known(wanted);
      if (mine !== asked) return;
      preview = seen;
      const [list] = [...seen.vectors, ...seen.tables];
      if (seen.problem && draft.labels === "folders" && list && wanted.table === null) {
        // No folders, but a table or vectors: that is how it is meant.
        draft.labels = seen.vectors.length ? "vectors" : "table";
        draft.table = list;
        save();
        return look();
      }
      found.replaceChildren(...told(seen, noun()), ...frames(seen));
    } catch (error) {
      if (mine !== asked) return;
      if (draft.from === "upload") {
        draft.upload = null;
        await upload.forget();
        save();
        paintChosen();
      }
      found.replaceChildren(
        h("p", { class: "warning", role: "alert" }, error instanceof Error ? error.message : String(error)),
      );
    } finally {
      if (mine === asked) {
        looking = false;
        paintLabels();
        paint();
      }
    }
  };

  /** How many frames of videos are taken. @param {KnownPreview} seen */
  const frames = (seen) => {
    if (!seen.videos) return [];
    const rate = h("input", { type: "number", min: 0.001, max: 1000, step: "any", required: true });
    rate.value = String(draft.fps);
    rate.addEventListener("change", () => rate.reportValidity() && ((draft.fps = rate.valueAsNumber), save()));
    return [
      h("div", { class: "fields" }, h("label", {}, h("span", {}, "Frames per second of the videos"), rate)),
      h("p", { class: "soft" }, "Each frame becomes an image of the class of its video."),
    ];
  };

  const paintSource = () => {
    /** @param {"folder"|"upload"} from */
    const choose = (from) => {
      draft.from = from;
      save();
      paintChosen();
      look();
    };
    source.replaceChildren(
      ...(local
        ? [
            choice(
              "source",
              "folder",
              draft.from,
              "A folder on this machine",
              "The images stay where they are.",
              choose,
            ),
            choice(
              "source",
              "upload",
              draft.from,
              "Upload",
              "Files, a folder or a zip; they are copied into the project.",
              choose,
            ),
          ]
        : []),
    );
    source.hidden = !local;
  };

  const paintChosen = () => {
    if (draft.from === "folder") {
      const pick = async () => {
        const path = await chooseFolder({
          title: "Folder of known images",
          submit: "Use this folder",
          kind: "images",
          start: draft.folder,
        });
        if (path === null) return;
        Object.assign(draft, { folder: path }, UNSAID);
        save();
        paintChosen();
        look();
      };
      chosen.replaceChildren(
        h(
          "div",
          { class: "row" },
          h(
            "button",
            { type: "button", on: { click: pick } },
            icon("drop"),
            h("span", {}, draft.folder ? "Choose another folder" : "Choose a folder"),
          ),
          draft.folder && h("code", {}, draft.folder),
        ),
      );
    } else if (!sending) {
      chosen.replaceChildren(
        h(
          "div",
          { class: "drop card" },
          h("span", { class: "sign" }, icon("drop")),
          h(
            "p",
            {},
            draft.upload ? "Uploaded. Drop more files here to add them" : "Drop images, folders or a zip here",
          ),
          h(
            "div",
            { class: "row" },
            h(
              "button",
              { type: "button", class: draft.upload ? "" : "primary", on: { click: () => folder.click() } },
              "Choose a folder",
            ),
            h("button", { type: "button", on: { click: () => files.click() } }, "Choose files or a zip"),
            draft.upload &&
              h("button", { type: "button", class: "quiet", on: { click: () => startAgain() } }, "Delete the upload"),
          ),
        ),
      );
    }
  };

  const startAgain = async () => {
    Object.assign(draft, { upload: null }, UNSAID);
    save();
    await upload.drop().catch(complain);
    paintChosen();
    look();
  };

  /** @param {import("../uploading.js").Chosen[]} list */
  const send = async (list) => {
    if (!list.length || sending) return;
    const stopping = new AbortController();
    ending.signal.addEventListener("abort", () => stopping.abort());
    const card = uploadCard("Uploading the known images", () => stopping.abort());
    sending = true;
    chosen.replaceChildren(card.element);
    paint();
    try {
      draft.upload = await upload.send(list, { progress: card.paint, signal: stopping.signal });
      Object.assign(draft, UNSAID);
    } catch (error) {
      if (ending.signal.aborted) return;
      if (stopping.signal.aborted) await upload.drop().catch(complain);
      else complain(error);
      draft.upload = stopping.signal.aborted ? null : upload.begun();
    } finally {
      sending = false;
    }
    save();
    paintChosen();
    look();
  };

  const paintLabels = () => {
    const lists = { folders: [], table: preview?.tables ?? [], vectors: preview?.vectors ?? [] }; // by how they are meant
    const there = lists[draft.labels];
    const local = draft.from === "folder";
    const any = lists.table.length || lists.vectors.length;
    const has = local ? draft.folder : draft.upload;
    const plain = !has || (draft.labels === "folders" && !preview?.problem);
    cutting.replaceChildren(
      ...(has && draft.labels !== "vectors"
        ? boxesPart({
            there: preview?.boxes ?? [],
            boxes: draft.boxes,
            confidence: draft.confidence,
            folder: local ? draft.folder : null,
            labelled: draft.boxLabels,
            choose: (boxes, confidence, boxLabels) => (
              Object.assign(draft, { boxes, confidence, boxLabels: boxes !== null && boxLabels }),
              save(),
              look()
            ),
          })
        : []
      ).filter((one) => one instanceof Node),
    );
    if (!has || (plain && !any)) return labelling.replaceChildren();
    /** @param {Labels} labels */
    const choose = (labels) => {
      draft.table = lists[labels][0] ?? null;
      draft.labels = labels;
      save();
      if (labels !== "folders" && draft.table === null) return (paintLabels(), paint());
      look();
    };
    const kind = draft.labels === "vectors" ? "File of vectors" : "List of labels";
    /** @type {HTMLSelectElement} */
    const select = h(
      "select",
      { "aria-label": kind, on: { change: () => ((draft.table = select.value), save(), look()) } },
      [...new Set([...(draft.table ? [draft.table] : []), ...there])].map((one) =>
        h("option", { value: one, selected: one === draft.table }, one),
      ),
    );
    const other = async () => {
      const path = await chooseFolder({
        title: draft.labels === "vectors" ? "File of labelled vectors" : "List with the labels",
        submit: "",
        kind: draft.labels === "vectors" ? "vectors" : "table",
        start: draft.folder,
      });
      if (path === null) return;
      draft.table = path;
      save();
      look();
    };
    labelling.replaceChildren(
      h(
        "div",
        { class: "choices", role: "radiogroup", "aria-label": "How the images are labelled" },
        choice("labels", "folders", draft.labels, "By folders", "Each class has a folder with its name.", choose),
        choice(
          "labels",
          "table",
          draft.labels,
          "By a list",
          "CSV with the columns file and label, JSON lines, or COCO.",
          choose,
        ),
        choice("labels", "vectors", draft.labels, "Vectors, no images", "Labelled, in .npz or .parquet.", choose),
      ),
      ...(draft.labels === "folders"
        ? []
        : [
            h(
              "div",
              { class: "row" },
              (draft.table || there.length > 0) && select,
              local && h("button", { type: "button", on: { click: other } }, "Choose another file"),
              !local && !there.length && h("p", { class: "soft" }, "Drop the file above, beside the images."),
            ),
          ]),
    );
  };

  const create = async () => {
    submit.disabled = true;
    try {
      const backbone = draft.labels === "vectors" ? "vectors" : (draft.backbone ?? "");
      await home.create({ name: draft.name, known: known(), backbone, settings: draft.settings });
      follow();
    } catch (error) {
      complain(error);
      paint();
    }
  };

  const settings = h("section", { class: "card part" });
  const network = h(
    "section",
    { class: "card part" },
    h("h2", {}, h("span", { class: "step", "aria-hidden": "true" }, "3"), "Backbone"),
    h(
      "p",
      { class: "soft" },
      "The network that turns each image into a vector (an embedding), by which images are compared. You cannot change it later.",
    ),
    ...backbones.elements,
  );
  const form = h(
    "form",
    { class: "newproject", on: { submit: (event) => (event.preventDefault(), create()) } },
    h(
      "section",
      { class: "card part" },
      h("h2", {}, h("span", { class: "step", "aria-hidden": "true" }, "1"), h("label", { for: "name" }, "Name")),
      name,
    ),
    h(
      "section",
      { class: "card part" },
      h("h2", {}, h("span", { class: "step", "aria-hidden": "true" }, "2"), "Known images"),
      h(
        "p",
        { class: "soft" },
        "Images of the classes that it should know from the start, at least two. Ten to fifty images per class are a good start.",
      ),
      source,
      chosen,
      labelling,
      cutting,
      found,
    ),
    network,
    settings,
    h("footer", { class: "row" }, submit, why),
    files,
    folder,
  );
  const making = h("div", {});
  root.append(
    heading("New project", "It is created only if everything works; otherwise nothing of it is kept."),
    making,
    form,
  );

  let following = () => {};
  const follow = () => {
    following();
    form.hidden = true;
    following = followCreation((creation) => {
      if (!creation) return (making.replaceChildren(), (form.hidden = false), undefined);
      making.replaceChildren(creationCard(creation, { again: refill, closed: () => go("projects") }));
      if (creation.state !== "done") return;
      localStorage.removeItem(PLACE);
      upload.forget();
      following();
      if (creation.unusable) return; // to be read first
      home.close().then(() => location.assign(addressOf(creation.key ?? "")), complain);
    });
  };
  const refill = async () => {
    following();
    await home.close().catch(complain);
    making.replaceChildren();
    form.hidden = false;
    paint();
    look();
  };

  name.addEventListener("input", () => {
    draft.name = name.value;
    save();
    paint();
  });
  files.addEventListener("change", () => send(chosenFiles(files.files ?? [])).then(() => (files.value = "")));
  folder.addEventListener("change", () => send(chosenFiles(folder.files ?? [])).then(() => (folder.value = "")));
  /** @param {DragEvent} event */
  const drag = (event) => {
    if (![...(event.dataTransfer?.types ?? [])].includes("Files") || form.hidden) return;
    event.preventDefault();
    root.classList.toggle("over", event.type === "dragover");
    if (event.type !== "drop" || !event.dataTransfer) return;
    draft.from = "upload";
    save();
    paintSource();
    paintChosen();
    droppedFiles(event.dataTransfer).then(send, complain);
  };
  const drags = /** @type {const} */ (["dragover", "dragleave", "drop"]);
  for (const type of drags) document.addEventListener(type, drag);

  const begin = async () => {
    const [{ local: here }, listed, { creation }, { checking }] = await Promise.all([
      home.projects(),
      home.backbones(),
      home.creation(),
      home.checking(),
    ]);
    local = here;
    if (creation) {
      // It may have been asked for in another browser, or before the server was stopped.
      const { request } = creation;
      Object.assign(draft, {
        name: request.name,
        from: request.known.upload ? "upload" : "folder",
        folder: request.known.folder ?? null,
        upload: request.known.upload ?? null,
        labels: !request.known.table ? "folders" : request.backbone === "vectors" ? "vectors" : "table",
        table: request.known.table ?? null,
        boxes: request.known.boxes ?? null,
        boxLabels: request.known.box_labels ?? false,
        confidence: request.known.min_confidence,
        fps: request.known.fps,
        backbone: request.backbone === "vectors" ? null : request.backbone,
        settings: request.settings,
      });
      name.value = draft.name;
      save();
      if (creation.state === "running") follow();
      else await home.close();
    }
    if (!local) draft.from = "upload";
    paintSource();
    paintChosen();
    backbones.show(listed.backbones, local, checking);
    settings.replaceChildren(settingsPart(draft.settings, save, backbones.check));
    look();
    const kept = dropped.length ? dropped : draft.upload ? [] : await upload.kept();
    dropped = [];
    if (kept.length) {
      draft.from = "upload";
      paintSource();
      send(kept);
    }
  };
  name.focus();
  paint();
  begin().catch(complain);
  return () => {
    ending.abort();
    following();
    for (const type of drags) document.removeEventListener(type, drag);
  };
}
