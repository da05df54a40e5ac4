/** Add images from any view: drop them, or choose files or a folder. They are uploaded, and then recognised in a job. */

import { api } from "./api.js";
import { askBefore } from "./before.js";
import { byId, h } from "./dom.js";
import { takeDrops } from "./dropping.js";
import { noteJob, state } from "./store.js";
import { complain, toast } from "./toast.js";
import { chosenFiles, resumable } from "./uploading.js";
import { uploadCard } from "./views/uploadcard.js";
import { count } from "./words.js";

/** @typedef {import("./uploading.js").Chosen} Chosen */
/** @typedef {import("./before.js").Asked} Asked */

/** The answers about the upload that is under way, for after the page was loaded again. */
const ASKED = `opengcd.asked.${location.pathname}`;
const upload = resumable("images");
let sending = false;

/** Whether the items of this project are vectors instead of images. */
export const takesVectors = () => state.status.embedder === "vectors";

async function forget() {
  localStorage.removeItem(ASKED);
  await upload.forget();
}

/** @returns {Asked} */
function askedBefore() {
  try {
    return JSON.parse(localStorage.getItem(ASKED) ?? "{}");
  } catch {
    return {};
  }
}

/** Whether images can be added here. */
export const canAdd = () => state.session.scopes.includes("write") && state.status.version !== null;

/** Send files, and recognise them. @param {Chosen[]} chosen */
async function add(chosen) {
  if (!chosen.length) return;
  if (!canAdd())
    return toast("Images cannot be added here: no classes are known, or your token is read only.", { kind: "error" });
  if (sending) return toast("Images are being uploaded; add more when that is done.", { kind: "error" });
  const asked = takesVectors() ? {} : await askBefore(chosen.map(({ path }) => path));
  if (asked) await send(chosen, asked);
}

/** @param {Chosen[]} chosen @param {Asked} asked */
async function send(chosen, asked) {
  localStorage.setItem(ASKED, JSON.stringify(asked));
  const stopping = new AbortController();
  const card = uploadCard("Uploading images", () => stopping.abort());
  const place = byId("adding");
  sending = true;
  place.replaceChildren(card.element);
  try {
    const id = await upload.send(chosen, { progress: card.paint, signal: stopping.signal });
    await recognise({ upload: id, ...asked });
    await forget();
  } catch (error) {
    if (stopping.signal.aborted) {
      await upload.drop().catch(complain);
      toast("The upload was cancelled.");
    } else complain(error);
  }
  sending = false;
  place.replaceChildren();
}

/** @param {Parameters<typeof api.addImages>[0]} what */
async function recognise(what) {
  await noteJob(await api.addImages(what));
}

/** Ask about what a folder of the server's machine holds besides images. @param {string} folder */
async function askAboutFolder(folder) {
  const { files, videos } = await api.folders(folder);
  return askBefore(files, videos > 0);
}

/** Recognise the images of a folder of the server's machine, or of a list there. @param {string} folder */
export async function addFolder(folder) {
  try {
    const asked = takesVectors() || /\.(csv|jsonl)$/i.test(folder) ? {} : await askAboutFolder(folder);
    if (asked) await recognise({ folder, ...asked });
  } catch (error) {
    complain(error);
  }
}

/** Let a person choose files, or a folder. @param {boolean} folder */
export function chooseFiles(folder) {
  const input = h("input", { type: "file", multiple: true, webkitdirectory: folder });
  input.addEventListener("change", () => add(chosenFiles(input.files ?? [])));
  input.click();
}

/** What a finished job has added, in words. @param {import("./types.d.ts").RecognizeResult} result */
export function addedWords({ images, rejected, duplicates, bad, empty }) {
  const parts = [`${count(images, "image was", "images were")} added`];
  if (images) parts[0] += `, ${rejected ? `${rejected} of them unknown` : "all of known classes"}`;
  if (duplicates) parts.push(`${count(duplicates, "file was", "files were")} there already`);
  if (empty) parts.push(`${count(empty, "image has", "images have")} no box`);
  if (bad) parts.push(`${count(bad, "file", "files")} could not be used`);
  return `${parts.join("; ")}.`;
}

/** Take what is dropped anywhere on the page, and go on with an upload that was interrupted. */
export function startAdding() {
  takeDrops({
    text: `Drop to add to “${state.status.name}”`,
    wanted: () => canAdd() && byId("main").dataset.view !== "try",
    take: add,
  });
  resume().catch(complain);
}

async function resume() {
  if (!upload.begun() || !canAdd()) return;
  const kept = await upload.kept();
  if (kept.length) return send(kept, askedBefore());
  // The files have arrived, or the browser could not keep them: then only the person has them.
  const id = /** @type {string} */ (upload.begun());
  try {
    await recognise({ upload: id, ...askedBefore() });
  } catch {
    // It is used up, or gone.
  }
  await forget();
}
