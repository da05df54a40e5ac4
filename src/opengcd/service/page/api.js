/**
 * The service's HTTP interface: the one module that knows its addresses. What they take and give is in `types.d.ts`,
 * which `make types` writes from the service's own description.
 */

/** @import {Conflict, EditEvent, Job, Operations, Presence, Session} from "./types.d.ts" */

/**
 * What an operation needs: parts of its path, query and body.
 * @template {keyof Operations} K
 * @typedef {Omit<Operations[K], "answer"> & {signal?: AbortSignal}} Options
 */

/**
 * Options, which may be left out where none is required.
 * @template {keyof Operations} K
 * @typedef {{} extends Options<K> ? [Options<K>?] : [Options<K>]} OptionsOf
 */

/** @typedef {Omit<NonNullable<Operations["GET /images"]["query"]>, "after"|"limit">} Filters of all images */

const ROOT = new URL("../api/v1", import.meta.url).pathname;

/** How often something is read again while the service says that it cannot be read at the moment. */
const RETRIES = 3;

let csrf = "";

/** What the service refused, in its words. */
export class ApiError extends Error {
  /** @param {number} status @param {Partial<Conflict>|null} body */
  constructor(status, body) {
    const detail = body?.detail;
    super(typeof detail === "string" ? detail : `The server answered with status ${status}. Its log says why.`);
    this.status = status;
    /** The edit of somebody else that was in the way. */
    this.conflict = body?.conflict ?? null;
  }
}

/** @param {string} path @param {RequestInit} options */
async function answerTo(path, options) {
  try {
    return await fetch(ROOT + path, options);
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError") throw error;
    throw new ApiError(0, { detail: "The server is not answering. Check that `opengcd` is still running." });
  }
}

/**
 * Fill the parts of an address in.
 * @param {string} template as `/items/{id}`
 * @param {Record<string, any>} [parts]
 * @param {Record<string, any>} [query] what is undefined is left out; a list repeats the name
 */
function address(template, parts = {}, query = {}) {
  const path = template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(parts[name]));
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const pairs = given.flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]));
  return pairs.length ? `${path}?${new URLSearchParams(pairs)}` : path;
}

/**
 * Ask the service.
 * @template {keyof Operations} K
 * @param {K} operation its method and path
 * @param {OptionsOf<K>} given
 * @returns {Promise<Operations[K]["answer"]>}
 */
const call = (operation, ...given) => request(operation, given[0]);

/**
 * Ask the service at an address that is not checked; `call` is for those of a project.
 * @param {string} operation
 * @param {Record<string, any>} [given]
 * @returns {Promise<any>}
 */
export async function request(operation, given = {}) {
  const { path: parts, query, body, signal, blob } = given;
  const [method, template] = operation.split(" ");
  /** @type {Record<string, string>} */
  const headers = {};
  if (method !== "GET") headers["X-CSRF-Token"] = csrf;
  const form = body instanceof FormData || body instanceof Blob;
  if (body !== undefined && !form) headers["Content-Type"] = "application/json";
  const path = address(template, parts, query);
  /** @type {RequestInit} */
  const options = { method, headers, body: form ? body : JSON.stringify(body), signal, credentials: "same-origin" };
  let response = await answerTo(path, options);
  // Reading again does no harm; whoever wanted to change something is told instead.
  for (let tries = 0; response.status === 503 && method === "GET" && tries < RETRIES; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * Number(response.headers.get("Retry-After") ?? 5)));
    response = await answerTo(path, options);
  }
  if (blob && response.ok) return response.blob();
  const type = response.headers.get("Content-Type") ?? "";
  const answer = response.status !== 204 && type.includes("json") ? await response.json() : null;
  if (!response.ok) throw new ApiError(response.status, answer);
  return answer;
}

/** @param {Promise<Session>} answer */
async function signedIn(answer) {
  const session = await answer;
  csrf = session.csrf;
  return session;
}

/** The image that a picture of the service is of; null for any other picture. @param {string} url */
export function itemOf(url) {
  const found = new URL(url, location.href).pathname.match(/\/items\/(\d+)\/(thumbnail|image|origin)$/);
  return found && Number(found[1]);
}

export const api = {
  /** @param {string} token @param {string|null} who */
  signIn: (token, who) => signedIn(call("POST /session", { body: who ? { token, who } : { token } })),
  session: () => signedIn(call("GET /session")),
  signOut: () => call("DELETE /session"),

  status: () => call("GET /status"),
  phases: () => call("GET /phases"),
  agreement: () => call("GET /agreement"),
  classes: () => call("GET /classes"),
  versions: () => call("GET /versions"),
  map: () => call("GET /map"),
  k: () => call("GET /k"),
  learnable: () => call("GET /learnable"),
  adaptation: () => call("GET /adaptation"),
  /** The adapted network, as a file. */
  onnx: `${ROOT}/adaptation/onnx`,
  /** @param {number} limit @param {number} [before] */
  history: (limit, before) => call("GET /history", { query: { limit, before } }),

  /** @param {number} [version] by default the one in use */
  heldOut: (version) => call("GET /held-out", { query: { version } }),
  /** @param {string} label @param {string} predicted @param {number} version */
  confused: (label, predicted, version) => call("GET /held-out/items", { query: { label, predicted, version } }),
  /** @param {number} limit */
  suspects: (limit) => call("GET /suspects", { query: { limit } }),
  /** What labelled images hold. @param {Operations["POST /known"]["body"]} body */
  known: (body) => call("POST /known", { body }),
  /** @param {Operations["POST /taught-files"]["body"]} body */
  teachFiles: (body) => call("POST /taught-files", { body }),

  groups: () => call("GET /groups"),
  /** @param {number} limit */
  questions: (limit) => call("GET /questions", { query: { limit } }),
  /** @param {number} id @param {number} offset @param {number} limit @param {"typical"|"odd"} order */
  items: (id, offset, limit, order) =>
    call("GET /groups/{id}/items", { path: { id }, query: { offset, limit, order, stacked: true } }),
  /** @param {number} id */
  comments: (id) => call("GET /groups/{id}/comments", { path: { id } }),
  people: () => call("GET /people"),
  /** @param {number} id */
  parts: (id) => call("GET /groups/{id}/parts", { path: { id } }),
  /** @param {number} id */
  groupTaxa: (id) => call("GET /groups/{id}/taxa", { path: { id } }),
  /** @param {number[]} items */
  suggestions: (items) => call("GET /suggestions", { query: { items: items.slice(0, 100) } }),
  /** @param {NonNullable<Operations["GET /images"]["query"]>} query */
  images: (query) => call("GET /images", { query }),
  /** @param {NonNullable<Operations["GET /images/starts"]["query"]>} query */
  starts: (query) => call("GET /images/starts", { query }),
  choices: () => call("GET /images/choices"),
  /** @param {number[]} items */
  taxa: (items) => call("GET /images/taxa", { query: { items } }),
  /** @param {number} id @param {AbortSignal} [signal] */
  reasons: (id, signal) => call("GET /items/{id}/reasons", { path: { id }, signal }),
  /** @param {number} id @param {AbortSignal} [signal] */
  camera: (id, signal) => call("GET /items/{id}/camera", { path: { id }, signal }),
  /** @param {number} id @param {AbortSignal} [signal] */
  item: (id, signal) => call("GET /items/{id}", { path: { id }, signal }),
  /** @param {number} id @param {number} limit @param {AbortSignal} [signal] */
  neighbours: (id, limit, signal) => call("GET /items/{id}/neighbours", { path: { id }, query: { limit }, signal }),
  /** @param {number} id */
  similar: (id) => call("GET /items/{id}/similar", { path: { id } }),
  /** @param {number} id */
  thumbnail: (id) => `${ROOT}/items/${id}/thumbnail`,
  /** @param {number} id */
  image: (id) => `${ROOT}/items/${id}/image`,
  /** The whole image of a crop. @param {number} id */
  origin: (id) => `${ROOT}/items/${id}/origin`,

  /** The OpenAPI document. @returns {Promise<any>} */
  document: async () => (await answerTo("/openapi.json", {})).json(),
  /** @param {Operations["POST /edits"]["body"]} body */
  edit: (body) => call("POST /edits", { body }),
  /** @param {number} on */
  undo: (on) => call("POST /undo", { body: { on } }),
  /** @param {number} on */
  redo: (on) => call("POST /redo", { body: { on } }),
  /** @param {number} version @param {number} on */
  rollback: (version, on) => call("POST /rollback", { body: { version, on } }),

  /** @param {Operations["POST /jobs"]["body"]} body */
  start: (body) => call("POST /jobs", { body }),
  jobs: () => call("GET /jobs"),
  /** @param {number} id */
  cancel: (id) => call("POST /jobs/{id}/cancel", { path: { id } }),

  /** @param {File[]} files @param {boolean} keep */
  recognize(files, keep) {
    const body = new FormData();
    for (const file of files) body.append("files", file, file.name);
    return call("POST /recognize", { query: { keep }, body });
  },
  /** @param {Operations["POST /images"]["body"]} body */
  addImages: (body) => call("POST /images", { body }),
  /** @param {string|null} path */
  folders: (path) => call("GET /folders", { query: path === null ? {} : { path } }),
  watch: () => call("GET /watch"),
  /** @param {string} folder @param {number} [fps] */
  startWatch: (folder, fps) => call("PUT /watch", { body: { folder, fps } }),
  stopWatch: () => call("DELETE /watch"),
  rejection: () => call("GET /rejection"),
  /** @param {number|null} share @param {number} on */
  setRejection: (share, on) => call("PUT /rejection", { body: { max_known_rejected: share, on } }),
  taxonomy: () => call("GET /taxonomy"),
  /** @param {Operations["PUT /taxonomy"]["body"]} body */
  setTaxonomy: (body) => call("PUT /taxonomy", { body }),
  /** @param {string} table @param {number} on */
  setTaxonomyTable: (table, on) => call("PUT /taxonomy/table", { body: { table, on } }),
  failures: () => call("GET /failures"),
  exportFormats: () => call("GET /export/formats"),
  /** @param {string} format @param {string} images */
  exported: (format, images) => ROOT + address("/export", {}, { format, images }),
  /** @param {Operations["POST /export"]["body"]} body @returns {Promise<Blob>} */
  exportedWithPlaces: (body) => request("POST /export", { body, blob: true }),
  /** @param {string} page the name of this page */
  events: (page) => new EventSource(`${ROOT}/events?page=${page}`),
  /** @param {string} page @param {number|null} group */
  look: (page, group) => call("PUT /presence", { body: { page, group } }),
};

/** What an event of the service holds. @param {MessageEvent} event @returns {EditEvent} */
export const editOf = (event) => JSON.parse(event.data);

/** @param {MessageEvent} event @returns {Presence} */
export const presenceOf = (event) => JSON.parse(event.data);

/** @param {MessageEvent} event @returns {Job} */
export const jobOf = (event) => JSON.parse(event.data);
