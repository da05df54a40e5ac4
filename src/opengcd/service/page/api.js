/**
 * The service's HTTP interface: the one module that knows its addresses.
 *
 * @typedef {{id: number, phase: number, classes: string[], at: string}} Version
 * @typedef {{id: number, verb: string}} Step an edit that can be undone or redone
 * @typedef {{id: number, verb: string, state: string, stage: string, done: number, total: number, result: any,
 *   error: string|null, who: string}} Job
 * @typedef {{name: string, embedder: string, version: Version|null, versions: number, counts: Object<string, number>,
 *   discovered: Object<string, any>,
 *   failures: number, edit: number, groups: number, to_review: number, to_learn: number,
 *   memory: {size: number, used: number}|null, can_undo: Step|null, can_redo: Step|null, jobs: Job[]}} Status
 * @typedef {{id: number, kind: "novel"|"known"|"removed", label: string, named: boolean, confirmed: boolean, size: number,
 *   cohesion: number|null, probability: number|null, doubtful: boolean, typical: number[], suggestion: string|null}} Group
 * @typedef {{id: number, name: string, probability: number|null, unknown: number, label: string|null,
 *   top: [string, number][]}} Item
 * @typedef {{id: number, distance: number, group: number|null, label: string|null}} Neighbour
 */

const ROOT = new URL("../api/v1", import.meta.url).pathname;

/** How often something is read again while the service says that it cannot be read at the moment. */
const RETRIES = 3;

let csrf = "";

/** What the service refused, in its words. */
class ApiError extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    const detail = body?.detail;
    super(typeof detail === "string" ? detail : `The service answered with status ${status}.`);
    this.status = status;
    /** @type {{edit: number, who: string, verb: string}|null} the edit of somebody else that was in the way */
    this.conflict = body?.conflict ?? null;
  }
}

async function answerTo(path, options) {
  try {
    return await fetch(ROOT + path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { detail: "The server does not answer. Is `opengcd serve` still running?" });
  }
}

async function request(method, path, { body, signal } = {}) {
  const headers = {};
  if (method !== "GET") headers["X-CSRF-Token"] = csrf;
  if (body !== undefined && !(body instanceof FormData)) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(body);
  }
  const options = { method, headers, body, signal, credentials: "same-origin" };
  let response = await answerTo(path, options);
  // Reading again does no harm; whoever wanted to change something is told instead.
  for (let tries = 0; response.status === 503 && method === "GET" && tries < RETRIES; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 1000 * Number(response.headers.get("Retry-After") ?? 5)));
    response = await answerTo(path, options);
  }
  const type = response.headers.get("Content-Type") ?? "";
  const answer = type.includes("json") ? await response.json() : null;
  if (!response.ok) throw new ApiError(response.status, answer);
  return answer;
}

const get = (path, options) => request("GET", path, options);
const post = (path, body) => request("POST", path, { body });

async function signedIn(answer) {
  const session = await answer;
  csrf = session.csrf;
  return session;
}

export const api = {
  signIn: (token, who) => signedIn(post("/session", who ? { token, who } : { token })),
  session: () => signedIn(get("/session")),
  signOut: () => request("DELETE", "/session"),

  /** @returns {Promise<Status>} */
  status: () => get("/status"),
  phases: () => get("/phases"),
  classes: () => get("/classes"),
  versions: () => get("/versions"),
  map: () => get("/map"),
  k: () => get("/k"),
  learnable: () => get("/learnable"),
  history: (limit, before) => get(`/history?limit=${limit}${before === undefined ? "" : `&before=${before}`}`),

  /** @returns {Promise<{edit: number, groups: Group[]}>} */
  groups: () => get("/groups"),
  /** @returns {Promise<{edit: number, total: number, items: Item[]}>} */
  items: (group, offset, limit, order) => get(`/groups/${group}/items?offset=${offset}&limit=${limit}&order=${order}`),
  /** @returns {Promise<Item & {group: number|null, paths: string[], width: number, height: number, source: string}>} */
  item: (id, signal) => get(`/items/${id}`, { signal }),
  /** @returns {Promise<Neighbour[]>} */
  neighbours: (id, limit, signal) => get(`/items/${id}/neighbours?limit=${limit}`, { signal }),
  thumbnail: (id) => `${ROOT}/items/${id}/thumbnail`,
  image: (id) => `${ROOT}/items/${id}/image`,

  edit: (body) => post("/edits", body),
  undo: (on) => post("/undo", { on }),
  redo: (on) => post("/redo", { on }),
  rollback: (version, on) => post("/rollback", { version, on }),

  start: (job) => post("/jobs", job),
  jobs: () => get("/jobs"),
  cancel: (id) => post(`/jobs/${id}/cancel`),

  recognize(files, keep) {
    const form = new FormData();
    for (const file of files) form.append("files", file, file.name);
    return post(`/recognize?keep=${keep}`, form);
  },
  rejection: () => get("/rejection"),
  setRejection: (share, on) => request("PUT", "/rejection", { body: { max_known_rejected: share, on } }),
  exported: (format) => `${ROOT}/export?format=${format}`,
  events: () => new EventSource(`${ROOT}/events`),
};
