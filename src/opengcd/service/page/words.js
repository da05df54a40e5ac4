/** Numbers, times and acts in words. */

/** @import {Details, Entry} from "./types.d.ts" */

const NUMBER = new Intl.NumberFormat("en");

/** @param {number} n */
export const number = (n) => NUMBER.format(n);

/** "1 image", "2,000 images"; other plurals are given. @param {number} n @param {string} noun */
export const count = (n, noun, plural = `${noun}s`) => `${number(n)} ${n === 1 ? noun : plural}`;

const LIST = new Intl.ListFormat("en-GB");

/** "Ana, Ben and Cem". @param {string[]} names */
export const listed = (names) => LIST.format(names);

/** @param {string} text */
export const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** A share as percent, with one decimal only where it tells something. @param {number|null|undefined} share */
export function percent(share) {
  if (share === null || share === undefined) return "–";
  const value = 100 * share;
  const rounded = value >= 99.95 || value === 0 || Math.abs(value - Math.round(value)) < 0.05;
  return `${rounded ? Math.round(value) : value.toFixed(value < 10 || value > 90 ? 1 : 0)} %`;
}

/** @type {[number, Intl.RelativeTimeFormatUnit, number][]} limit, unit and its length in seconds */
const STEPS = [
  [60, "second", 1],
  [3600, "minute", 60],
  [86400, "hour", 3600],
  [Infinity, "day", 86400],
];
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** "2 minutes ago". @param {string} at */
export function ago(at) {
  const seconds = Math.max(0, (Date.now() - new Date(at).getTime()) / 1000);
  if (seconds < 10) return "just now";
  const [, unit, length] = STEPS.find(([limit]) => seconds < limit) ?? STEPS[STEPS.length - 1];
  return RELATIVE.format(-Math.round(seconds / length), unit);
}

/** @param {string} at */
export const clock = (at) =>
  new Date(at).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hour12: false });
/** @param {string} at */
export const day = (at) =>
  new Date(at).toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" });

/** "about 5 minutes". @param {number} seconds */
export function duration(seconds) {
  if (seconds < 5) return "a few seconds";
  const [, unit, length] = STEPS.find(([limit]) => seconds < 1.5 * limit) ?? STEPS[STEPS.length - 1];
  return `about ${count(Math.round(seconds / length), unit)}`;
}

/** The size of a file. @param {number} bytes */
export const size = (bytes) =>
  bytes < 1e6
    ? `${number(Math.ceil(bytes / 1e3))} kB`
    : bytes < 1e9
      ? `${(bytes / 1e6).toFixed(1)} MB`
      : `${(bytes / 1e9).toFixed(2)} GB`;

/** How far long work is: "5 of 40 · about 2 minutes left". @param {{done: number, total: number, seconds_left: number|null}} job */
export function pace({ done, total, seconds_left }) {
  const steps = total ? `${number(done)} of ${number(total)}` : "";
  const left = seconds_left === null ? "" : `${duration(seconds_left)} left`;
  return [steps, left].filter(Boolean).join(" · ");
}

/** Long work, as it goes on. @type {Record<string, string>} */
export const DOING = {
  discover: "Grouping",
  learn: "Learning",
  teach: "Teaching",
  measure: "Measuring",
  check: "Checking",
  adapt: "Adapting",
  recognize: "Recognising",
};

/**
 * How a group is called: by its name, or by its number while it has none.
 * @param {Pick<import("./types.d.ts").Group, "kind"|"label">} group
 */
export const title = (group) => (group.kind === "removed" ? "Bin" : group.label);

/**
 * What an entry of the history says, after the name of who did it.
 * @param {string} verb
 * @param {Entry["details"]} [details] without them the verb is told alone
 */
export function story(verb, details = {}) {
  const full = /** @type {Record<string, (details: any) => string>} */ (STORIES)[verb];
  return Object.keys(details).length && full ? full(details) : (ACTS[verb]?.[0] ?? `applied “${verb}”`);
}

/** What an entry of the history is about, as in "undo naming a group". @param {string} verb */
export const doing = (verb) => ACTS[verb]?.[1] ?? `“${verb}”`;

/** What a discovery says of images that a person changed while it ran. @param {number|null|undefined} n */
export const leftAlone = (n) => (n ? `, except for ${count(n, "image")} that someone edited in the meantime` : "");

/** @type {{[V in keyof Details]?: (details: Details[V]) => string}} */
const STORIES = {
  init: (d) => `learnt ${count(d.classes, "class", "classes")} from ${count(d.images, "image")}`,
  recognize: (d) => `added ${count(d.images, "image")} (${number(d.rejected)} unknown)`,
  discover: (d) =>
    `found ${count(d.groups, "group")} in ${count(d.images, "image")} (k = ${d.k})${leftAlone(d.left_alone)}`,
  learn: (d) =>
    `learnt ${d.new_classes.length ? d.new_classes.join(", ") : "more about known classes"} from ${count(d.images, "image")}`,
  adapt: (d) =>
    d.switched
      ? `adapted the network to ${count(d.images, "image")} (version ${d.version})`
      : `tested an adaptation of the network on ${count(d.images, "image")}, and did not use it`,
  name: (d) => `named a group “${d.label}”${d.confirmed ? " and confirmed it" : ""}`,
  move: (d) => `moved ${count(d.images, "image")}`,
  separate: (d) => `moved ${count(d.images, "image")} to a new group`,
  remove: (d) => `moved ${count(d.images, "image")} to the bin`,
  unstack: (d) => `opened stacks with ${count(d.images, "image")}`,
  split: (d) => `split a group into ${count(d.parts.length, "group")}`,
  compare: (d) => (d.same ? "joined two groups of the same class" : "marked two groups as different classes"),
  regroup: (d) => `regrouped the images by the answers given (${count(d.images, "image")} moved)`,
  rename_class: (d) => `renamed the class “${d.known}” to “${d.label}”`,
  merge_classes: (d) => `merged the class “${d.known}” into “${d.label}” (${count(d.images, "image")})`,
  relabel: (d) => `corrected the label of ${count(d.images, "learnt image")} to “${d.label}”`,
  keep_label: (d) => `confirmed the label of ${count(d.images, "learnt image")}`,
  discard: (d) => `removed ${count(d.images, "learnt image")}`,
  teach: (d) =>
    `labelled ${count(d.images, "image")} as ${d.classes.slice(0, 5).join(", ")}${d.classes.length > 5 ? " …" : ""}`,
  assign: (d) => (d.person ? `assigned a group to ${d.person}` : "assigned a group to nobody"),
  comment: (d) => `commented on a group: “${d.text}”`,
  undo: (d) => `undid ${doing(d.verb)}`,
  redo: (d) => `redid ${doing(d.verb)}`,
  rollback: (d) => `switched to version ${d.version}`,
};

/** Each verb as what was done, and as what one can undo. @type {Record<string, [string, string]>} */
const ACTS = {
  init: ["set up the workspace", "setting up the workspace"],
  recognize: ["added images", "adding images"],
  discover: ["grouped images", "grouping images"],
  learn: ["learnt classes", "learning classes"],
  adapt: ["adapted the network", "adapting the network"],
  name: ["named a group", "naming a group"],
  confirm: ["confirmed a group", "confirming a group"],
  unconfirm: ["reopened a group", "reopening a group"],
  move: ["moved images", "moving images"],
  separate: ["moved images to a new group", "moving images to a new group"],
  remove: ["moved images to the bin", "moving images to the bin"],
  unstack: ["opened a stack", "opening a stack"],
  merge: ["joined two groups", "joining two groups"],
  split: ["split a group", "splitting a group"],
  keep: ["marked a group as one class", "marking a group as one class"],
  compare: ["compared two groups", "comparing two groups"],
  divide: ["divided a group in two", "dividing a group in two"],
  regroup: ["regrouped the images by the answers given", "regrouping the images"],
  review: ["imported a review", "importing a review"],
  rejection: ["changed the rejection limit", "changing the rejection limit"],
  taxonomy: ["changed the taxonomy", "changing the taxonomy"],
  rename_class: ["renamed a class", "renaming a class"],
  merge_classes: ["merged two classes", "merging two classes"],
  relabel: ["corrected a label", "correcting a label"],
  keep_label: ["confirmed a label", "confirming a label"],
  discard: ["removed a learnt image", "removing a learnt image"],
  teach: ["added labelled images", "adding labelled images"],
  assign: ["assigned a group", "assigning a group"],
  comment: ["commented on a group", "commenting on a group"],
  undo: ["undid a change", "undoing a change"],
  redo: ["redid a change", "redoing a change"],
  rollback: ["switched to another version", "switching to another version"],
};
