/**
 * Send files in pieces. What was chosen is kept in the browser until it has arrived, so an upload goes on by itself after
 * the connection was lost or the page was loaded again.
 */

import { ApiError, request } from "./api.js";

/** @typedef {{path: string, file: File}} Chosen a file with its name, folders included */
/** @typedef {{sent: number, bytes: number, files: number, done: number, seconds: number|null, lost: boolean}} Sending */

const DATABASE = "opengcd.uploads";
const STORE = "chosen";
const AT_ONCE = 2;
const PAUSES = [1, 2, 4, 8];
/** Names of files that no project needs. */
const SKIPPED = /(^|\/)(\.[^/]*|__MACOSX|Thumbs\.db|desktop\.ini)(\/|$)/i;

/**
 * Files of a choice, folders included.
 * @param {Iterable<File>} files
 * @returns {Chosen[]}
 */
export const chosenFiles = (files) =>
  [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file })).filter(wanted);

/** @param {Chosen} one */
const wanted = (one) => !SKIPPED.test(one.path);

/**
 * Files that were dropped, with those in dropped folders.
 * @param {DataTransfer} dropped
 * @returns {Promise<Chosen[]>}
 */
export async function droppedFiles(dropped) {
  const items = [...dropped.items].filter((item) => item.kind === "file");
  // To be asked for at once: after the event, the list is empty.
  const entries = items.map((item) => item.webkitGetAsEntry?.() ?? null);
  if (entries.includes(null)) return chosenFiles(dropped.files);
  /** @type {Chosen[]} */
  const found = [];
  const waiting = /** @type {FileSystemEntry[]} */ (entries);
  while (waiting.length) {
    const entry = /** @type {FileSystemEntry} */ (waiting.shift());
    if (entry.isDirectory) waiting.push(...(await entriesOf(/** @type {FileSystemDirectoryEntry} */ (entry))));
    else found.push({ path: entry.fullPath.replace(/^\//, ""), file: await fileOf(entry) });
  }
  return found.filter(wanted);
}

/** @param {FileSystemEntry} entry @returns {Promise<File>} */
const fileOf = (entry) =>
  new Promise((resolve, reject) => /** @type {FileSystemFileEntry} */ (entry).file(resolve, reject));

/** @param {FileSystemDirectoryEntry} folder @returns {Promise<FileSystemEntry[]>} */
async function entriesOf(folder) {
  const reader = folder.createReader();
  /** @type {FileSystemEntry[]} */
  const found = [];
  for (;;) {
    // A browser gives a hundred at a time.
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    found.push(...some);
  }
}

/**
 * An upload that can go on after the page was loaded again.
 * @param {string} place tells uploads for different purposes apart
 */
export function resumable(place) {
  const key = `opengcd.upload.${location.pathname}.${place}`;

  /** What was begun; null if there is nothing. @returns {string|null} */
  const begun = () => localStorage.getItem(key);

  const forget = async () => {
    localStorage.removeItem(key);
    await stored("readwrite", (store) => store.delete(key)).catch(() => null);
  };

  /**
   * Send files; those that have arrived before are not sent again.
   * @param {Chosen[]} chosen
   * @param {{progress: (sending: Sending) => void, signal: AbortSignal}} options
   * @returns {Promise<string>} the upload
   */
  const send = async (chosen, { progress, signal }) => {
    const old = begun();
    /** @type {Map<string, number>} */
    let there = new Map();
    let id = old;
    if (old) {
      try {
        const files = await patiently(
          () => request("GET /uploads/{upload}", { path: { upload: old }, signal }),
          signal,
        );
        there = new Map(files.map((/** @type {any} */ one) => [one.path, one.received]));
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 404) throw error;
        id = null;
      }
    }
    const piece = 4 * 2 ** 20;
    if (!id) id = (await patiently(() => request("POST /uploads", { signal }), signal)).id;
    localStorage.setItem(key, /** @type {string} */ (id));
    // The files themselves: without this, a page that is loaded again would have to ask for them.
    await stored("readwrite", (store) => store.put(chosen, key)).catch(() => null);
    await sendAll(/** @type {string} */ (id), chosen, there, piece, progress, signal);
    await patiently(() => request("POST /uploads/{upload}/finish", { path: { upload: id }, signal }), signal);
    await stored("readwrite", (store) => store.delete(key)).catch(() => null);
    return /** @type {string} */ (id);
  };

  return {
    begun,
    send,
    /** The files of an upload that was interrupted; empty if the browser could not keep them. @returns {Promise<Chosen[]>} */
    kept: async () => (begun() ? ((await stored("readonly", (store) => store.get(key)).catch(() => null)) ?? []) : []),
    /** Nothing of it is needed any more on this side. */
    forget,
    /** Delete what has arrived. */
    async drop() {
      const upload = begun();
      await forget();
      if (upload) await request("DELETE /uploads/{upload}", { path: { upload } });
    },
  };
}

/**
 * @param {string} upload
 * @param {Chosen[]} chosen
 * @param {Map<string, number>} there bytes that have arrived before
 * @param {number} piece
 * @param {(sending: Sending) => void} progress
 * @param {AbortSignal} signal
 */
async function sendAll(upload, chosen, there, piece, progress, signal) {
  const sending = { sent: 0, bytes: 0, files: chosen.length, done: 0, seconds: null, lost: false };
  for (const { path, file } of chosen) {
    sending.bytes += file.size;
    sending.sent += Math.min(there.get(path) ?? 0, file.size);
  }
  const began = performance.now();
  const before = sending.sent;
  const tell = () => {
    const made = sending.sent - before;
    const seconds = (performance.now() - began) / 1000;
    progress({ ...sending, seconds: made > 0 ? (seconds * (sending.bytes - sending.sent)) / made : null });
  };
  const waiting = [...chosen];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { path, file } = next;
      let offset = there.get(path) ?? 0;
      while (offset < file.size || (file.size === 0 && !there.has(path))) {
        const body = file.slice(offset, offset + piece);
        const query = { path, size: file.size, offset };
        const given = { path: { upload }, query, body, signal };
        const lost = () => ((sending.lost = true), tell());
        const { received } = await patiently(() => request("PUT /uploads/{upload}/file", given), signal, lost);
        sending.lost = false;
        sending.sent += received - offset;
        there.set(path, received);
        offset = received;
        tell();
      }
      sending.done += 1;
      tell();
    }
  };
  tell();
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/**
 * Try again while the server cannot be reached or has too much to do.
 * @template T
 * @param {() => Promise<T>} run
 * @param {AbortSignal} signal
 * @param {() => void} [lost]
 * @returns {Promise<T>}
 */
async function patiently(run, signal, lost = () => {}) {
  for (let tries = 0; ; tries += 1) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof ApiError) || ![0, 503].includes(error.status)) throw error;
      lost();
      const seconds = PAUSES[Math.min(tries, PAUSES.length - 1)];
      await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
      signal.throwIfAborted();
    }
  }
}

/**
 * Use the browser's own store.
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest} use
 * @returns {Promise<any>}
 */
function stored(mode, use) {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const transaction = opening.result.transaction(STORE, mode);
      const asked = use(transaction.objectStore(STORE));
      transaction.oncomplete = () => (opening.result.close(), resolve(asked.result));
      transaction.onabort = () => (opening.result.close(), reject(transaction.error));
    };
  });
}
