/** What the page knows of the workspace, and who wants to hear when it changes. */

import { api } from "./api.js";

/** @typedef {import("./types.d.ts").Group} Group */
/** @typedef {import("./types.d.ts").Job} Job */

export const state = {
  /** @type {import("./types.d.ts").Session} set before any view is shown, as is the status */
  session: /** @type {any} */ (null),
  /** @type {import("./types.d.ts").Status} */
  status: /** @type {any} */ (null),
  /** @type {Group[]} in the order of review, as it was when each was first shown */
  groups: [],
  /** Whether the groups stand where they were first shown, while the service has another order by now. */
  outOfOrder: false,
  /** The last edit that these groups contain: what an act on a group is based on. */
  edit: 0,
  /** @type {Map<number, Job>} jobs that were seen to run, by their number */
  jobs: new Map(),
};

/** @typedef {"review"|"job"|"map"|"adaptation"|"presence"} Topic */
/** @type {Set<(topic: Topic) => unknown>} */
const listeners = new Set();

/**
 * Hear of changes until the returned function is called.
 * @param {(topic: Topic) => unknown} listener a promise is waited for before the next act
 */
export function subscribe(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param {Topic} topic */
async function tell(topic) {
  await Promise.all([...listeners].map((listener) => listener(topic)));
}

const KINDS = ["novel", "known", "removed"];

/** The groups in the order in which they were first shown, those that are gone too: undo brings them back. @type {number[]} */
let shown = [];

/**
 * Leave groups where they were: nothing moves under the hands of a reviewer. New ones come last of their kind.
 * @param {Group[]} found in the order of the service
 */
function inPlace(found) {
  shown = [...new Set([...shown, ...found.map((group) => group.id)])];
  const place = new Map(shown.map((id, i) => [id, i]));
  /** @param {Group} group */
  const rank = (group) => KINDS.indexOf(group.kind) * shown.length + (place.get(group.id) ?? 0);
  return found.toSorted((a, b) => rank(a) - rank(b));
}

/** Show the groups in the order of the service again. */
export function sortAgain() {
  shown = [];
  return refresh();
}

/** @type {Promise<void>|null} */
let running = null;
let again = false;

/** Reload status and groups; calls while it runs cause one more reload. */
export function refresh() {
  if (running) {
    again = true;
    return running;
  }
  running = (async () => {
    do {
      again = false;
      const [status, review] = await Promise.all([api.status(), api.groups()]);
      const groups = inPlace(review.groups);
      const outOfOrder = groups.some((group, i) => group.id !== review.groups[i].id);
      Object.assign(state, { status, groups, outOfOrder, edit: review.edit });
      for (const job of status.jobs) state.jobs.set(job.id, job);
      await tell("review");
    } while (again);
  })().finally(() => (running = null));
  return running;
}

/** A better map is ready. */
export const noteMap = () => tell("map");

/** Other people look at other groups. */
export const notePresence = () => tell("presence");

/** How long an adaptation takes is known. */
export const noteAdaptation = () => tell("adaptation");

/** Take what the service says of a job; an answer may come after the event that the job is over. @param {Job} job */
export function noteJob(job) {
  const old = state.jobs.get(job.id);
  if (old && isOver(old) && !isOver(job)) return tell("job");
  state.jobs.set(job.id, job);
  return tell("job");
}

/** @param {Job} job */
export const isOver = (job) => ["done", "failed", "cancelled"].includes(job.state);

/** The job that runs or waits, the first one first; null if there is none. */
export function currentJob() {
  return [...state.jobs.values()].find((job) => !isOver(job)) ?? null;
}

/**
 * The latest job of a verb, of those that the page has seen, or else of others; undefined if there is none.
 * @template {Job["verb"]} V
 * @param {V} verb
 * @param {Job[]} others
 */
export function latestJob(verb, others) {
  /** @param {Job} job @returns {job is Extract<Job, {verb: V}>} */
  const fits = (job) => job.verb === verb;
  const seen = [...state.jobs.values()].filter(fits).at(-1);
  return (
    seen ??
    others
      .filter(fits)
      .sort((a, b) => a.id - b.id)
      .at(-1)
  );
}

/** @param {number|null} id @returns {Group|undefined} */
export const groupById = (id) => state.groups.find((group) => group.id === id);

export const knownClasses = () => state.status?.version?.classes ?? [];

/** How many images are in groups, without those that were removed. */
export const underReview = () =>
  state.groups.reduce((sum, group) => sum + (group.kind === "removed" ? 0 : group.size), 0);

/** Groups that a person should look at: new ones that nobody has confirmed. */
export const toReview = () => state.groups.filter((group) => group.kind === "novel" && !group.confirmed);

/** Whether a group is assigned to somebody else. @param {Group} group */
export const ofOthers = (group) => group.assignee !== null && group.assignee !== state.session.who;

/**
 * The group to go to after this one: the next to review in the order of the page, then those before it. Groups that are
 * assigned to others come last.
 * @param {number} id @param {Group[]} [order] the order before the act that took the group out of it
 */
export function nextToReview(id, order = state.groups) {
  const place = order.findIndex((group) => group.id === id);
  const later = [...order.slice(place + 1), ...order.slice(0, Math.max(place, 0))].map((group) => group.id);
  const waiting = new Map(toReview().map((group) => [group.id, group]));
  const left = later.flatMap((other) => waiting.get(other) ?? []);
  return (left.find((group) => !ofOthers(group)) ?? left[0])?.id ?? null;
}
