/** What a reviewer can do. Acts go to the service one after another, each based on what the page showed before it. */

import { api, ApiError } from "./api.js";
import { choose, fillIn, pick, pickNumber, warn } from "./dialogs.js";
import { withName } from "./names.js";
import { groupById, knownClasses, nextToReview, noteJob, refresh, state } from "./store.js";
import { add } from "./tally.js";
import { complain, toast } from "./toast.js";
import { count, doing, title } from "./words.js";

/** @typedef {import("./types.d.ts").Group} Group */
/** @typedef {import("./types.d.ts").Operations["POST /edits"]["body"]} Edit */
/** @typedef {Edit extends infer One ? One extends Edit ? Omit<One, "on"> : never : never} Act an edit, but for its basis */
/** @typedef {{text: string, counts: Record<string, number>}} Done what an act did, in words and in the reviewer's count */
/** @typedef {number|null|undefined} Next the group to go to; null if none is left, undefined if this one is still in work */

/** Undoing one of these changes more than a few groups, so it is asked for twice. @type {Record<string, string>} */
const LARGE = {
  discover: "the grouping",
  learn: "the last learning step",
  adapt: "the adaptation of the network",
  rollback: "the switch to another version",
};

/** Edits that this page made: the service reports them back. */
export const own = new Set();

/** All edits that this page ever made. */
const made = new Set();

/** @type {Promise<unknown>} */
let tail = Promise.resolve();

/**
 * Wait for acts that are under way, then do this.
 * @template T
 * @param {() => T|Promise<T>} work
 * @returns {Promise<T>}
 */
export function inTurn(work) {
  const turn = tail.then(work);
  tail = turn.catch(() => {});
  return turn;
}

/**
 * Send one act. A conflict is shown and changes nothing.
 * @template {{edit: number}} T
 * @param {() => Promise<T>} send
 * @param {(answer: T) => Done} done
 * @returns {Promise<T|null>} the service's answer; null if it refused
 */
function perform(send, done) {
  return inTurn(async () => {
    try {
      const answer = await send();
      own.add(answer.edit);
      made.add(answer.edit);
      const { text, counts } = done(answer);
      add(counts);
      await refresh();
      toast(text, { action: state.status.can_undo && { label: "Undo", run: undo } });
      return answer;
    } catch (error) {
      if (!(error instanceof ApiError && error.conflict)) {
        complain(error);
        return null;
      }
      const { who, verb } = error.conflict;
      toast(
        `${who} changed this first (${doing(verb)}), so your change was not made. The page now shows the current state.`,
        {
          kind: "conflict",
        },
      );
      await refresh().catch(complain);
      return null;
    }
  });
}

/**
 * The edit that an act is based on: the one on display when it was chosen, and what this page did right after it. What
 * others did since does not count as seen, though the page may show it behind an open dialog by now.
 * @param {number} shown
 */
function basis(shown) {
  let edit = shown;
  while (made.has(edit + 1)) edit += 1;
  return edit;
}

/**
 * @param {Act} act
 * @param {number} shown the edit on display when the act was chosen
 * @param {(answer: import("./types.d.ts").Edited) => Done} done
 */
export const edit = (act, shown, done) => perform(() => api.edit({ on: basis(shown), ...act }), done);

// Groups.

/**
 * What names complete from: known classes, and groups other than this one.
 * @param {{except?: Group, unnamed?: boolean}} [options]
 * @returns {import("./dialogs.js").Option[]}
 */
function homes({ except, unnamed = true } = {}) {
  /** @type {Record<string, string>} */
  const kinds = { novel: "group", known: "known class" };
  const groups = state.groups.filter(
    (group) => group.kind in kinds && group.id !== except?.id && (group.named || unnamed),
  );
  const shown = new Set(groups.map((group) => group.label));
  return [
    ...groups.map((group) => ({ label: group.label, kind: kinds[group.kind], group, image: group.typical[0] })),
    ...knownClasses()
      .filter((label) => !shown.has(label))
      .map((label) => ({ label, kind: "known class" })),
  ];
}

/**
 * The same options, those that images most likely belong to first.
 * @param {import("./dialogs.js").Option[]} options
 * @param {number[]} items
 */
async function byLikeness(options, items) {
  if (!items.length || !options.length) return options;
  const { homes: likely } = await api.suggestions(items);
  /** @type {Map<number|string, number>} */
  const place = new Map(
    likely.flatMap(({ label, group }, i) => [
      [label, i],
      [group ?? label, i],
    ]),
  );
  /** @param {import("./dialogs.js").Option} option */
  const of = ({ label, group }) => place.get(group?.id ?? label) ?? place.get(label) ?? likely.length;
  return options
    .map((option) => ({ ...option, image: option.image ?? likely[of(option)]?.image ?? undefined }))
    .toSorted((a, b) => of(a) - of(b));
}

/** The known class of a name, in its own spelling. @param {string} label */
const knownClass = (label) => withName(label, knownClasses(), (one) => one);

/**
 * Ask for a name and give it. Enter confirms too, and then the next group is due.
 * @param {Group} group
 * @returns {Promise<Next>}
 */
export async function nameGroup(group) {
  const shown = state.edit;
  const options = homes({ except: group, unnamed: false });
  const chosen = await pick({
    title: group.named ? `Rename ${title(group)}` : `Name this group of ${count(group.size, "image")}`,
    images: group.typical,
    value: group.named ? group.label : "",
    suggestion: group.suggestion,
    options,
    ranked: byLikeness(options, group.typical),
    free: true,
    tell: (text) => {
      const home = withName(text, options, (option) => option.label);
      if (home)
        return `These images will ${home.group?.kind === "novel" ? "join" : "move to"} the ${home.kind} “${home.label}”.`;
      return text ? `“${text}” is a new name.` : "The most similar classes and groups come first.";
    },
    submit: "Confirm and continue",
    other: "Name only",
  });
  if (!chosen) return undefined;
  return giveName(group, chosen.text, !chosen.other, shown);
}

/**
 * Name a group without asking; as {@link nameGroup}.
 * @param {Group} group
 * @param {string} typed
 * @param {boolean} confirm
 * @param {number} [shown]
 * @returns {Promise<Next>}
 */
export async function giveName(group, typed, confirm, shown = state.edit) {
  const order = state.groups;
  const others = order.filter((other) => other.id !== group.id && other.named && other.kind === "novel");
  const known = knownClass(typed);
  const there = known ? undefined : withName(typed, others, title);
  const label = known ?? there?.label ?? typed;
  // What is put into a known class by a person is learnt as it is; confirming it would vouch for the rest of the class.
  const same = group.named && group.label === label;
  if (same && (group.confirmed || !(confirm && !known))) return confirm ? nextToReview(group.id, order) : undefined;
  const choice = confirm && !known ? await ifOneClass(group, same ? "Do not confirm" : "Name only") : "on";
  if (same && choice !== "on") return choice === "split" ? splitHere(group) : undefined;
  const confirms = confirm && !known && choice === "on";
  /** @type {Act} */
  const act = same
    ? { act: "confirm", group: group.id }
    : { act: "name", group: group.id, label, ...(confirms && { confirm: true }) };
  const answer = await edit(act, shown, () => ({
    text: there ? `Joined with “${label}”.` : confirms ? `“${label}” is named and confirmed.` : `Named “${label}”.`,
    counts: {
      ...(!same && { [there ? "merge" : "name"]: 1 }),
      ...(confirms && !(there ?? group).confirmed && { confirm: 1 }),
    },
  }));
  if (answer && choice === "split") return splitHere(groupById(answer.made ?? group.id) ?? group);
  if (!answer || !(confirms || there || known)) return undefined;
  return nextToReview(group.id, order);
}

/** From this probability on, a person is asked whether a group is one class before it is confirmed. */
const MIXED = 0.5;

/**
 * Warn if a group that is to be confirmed looks like two classes.
 * @param {Group} group
 * @param {string} cancel what is done if it is not confirmed
 * @returns {Promise<"on"|"split"|null>} go on, split it, or neither
 */
async function ifOneClass(group, cancel) {
  const found = await api.parts(group.id).catch(() => null);
  if (!found) toast(`It could not be checked whether ${title(group)} is one class.`, { kind: "error" });
  if (!found || found.mixed <= MIXED) return "on";
  const { sizes, shown } = found;
  return warn({
    title: `Is ${title(group)} one class?`,
    text: "Its images fall into two parts that differ as much as two classes do. Once it is confirmed, all are learnt as one class.",
    parts: shown.map((images, i) => ({
      heading: i ? "and these?" : "These …",
      note: count(sizes[i], "image"),
      images,
    })),
    submit: "Confirm as one class",
    cancel,
  });
}

/** Split a group, and stay with it. @param {Group} group @returns {Promise<Next>} */
async function splitHere(group) {
  await splitGroup(group);
  return undefined;
}

/**
 * Confirm a group, or reopen it; one without a name is named first. As {@link nameGroup}.
 * @param {Group} group
 * @returns {Promise<Next>}
 */
export async function confirmGroup(group) {
  if (group.kind === "removed") return undefined;
  if (!group.named) return nameGroup(group);
  const order = state.groups;
  const shown = state.edit;
  if (!group.confirmed && group.kind === "novel") {
    const choice = await ifOneClass(group, "Do not confirm");
    if (choice !== "on") return choice === "split" ? splitHere(group) : undefined;
  }
  const verb = group.confirmed ? "unconfirm" : "confirm";
  const text = group.confirmed ? `“${group.label}” is no longer confirmed.` : `“${group.label}” is confirmed.`;
  const answer = await edit({ act: verb, group: group.id }, shown, () => ({ text, counts: { [verb]: 1 } }));
  return answer && !group.confirmed ? nextToReview(group.id, order) : undefined;
}

/** Join a group with another one. As {@link nameGroup}. @param {Group} group @returns {Promise<Next>} */
export async function mergeGroup(group) {
  const order = state.groups;
  const shown = state.edit;
  const options = homes({ except: group }).filter((option) => option.group);
  const chosen = await pick({
    title: `Join ${title(group)} with …`,
    beside: { heading: title(group), note: count(group.size, "image"), images: group.typical },
    options,
    ranked: byLikeness(options, group.typical),
    submit: "Join",
  });
  const into = chosen?.option?.group;
  if (!into) return undefined;
  const answer = await edit({ act: "merge", group: group.id, into: into.id }, shown, () => ({
    text: `Joined with “${into.label}”.`,
    counts: { merge: 1 },
  }));
  return answer ? nextToReview(group.id, order) : undefined;
}

/** Split a group into a number of clusters. @param {Group} group */
export async function splitGroup(group) {
  const shown = state.edit;
  const n = await pickNumber({
    title: `Split ${title(group)} into`,
    value: 2,
    min: 2,
    max: Math.min(99, group.size),
    unit: "groups",
  });
  if (n === null) return null;
  return edit({ act: "split", group: group.id, n }, shown, () => ({
    text: `Split into ${n} groups.`,
    counts: { split: 1 },
  }));
}

// Images. `shown` is the edit that the images were shown with.

/**
 * @param {number[]} items @param {number} shown
 * @param {{known?: boolean, from?: Group}} [options] known: offer known classes only
 */
export async function moveItems(items, shown, { known = false, from } = {}) {
  const classes = new Set(knownClasses());
  const options = homes({ except: from }).filter((option) => !known || classes.has(option.label));
  const chosen = await pick({
    title: `Move ${count(items.length, "image")} to a ${known ? "known class" : "group or class"}`,
    images: items.slice(0, 8),
    options,
    ranked: byLikeness(options, items),
    free: !known,
    tell: (text) => {
      const home = withName(text, options, (option) => option.label);
      const target = home ? `the ${home.kind} “${home.label}”` : `a new group, “${text}”`;
      const images = items.length === 1 ? "This image" : "These images";
      return text ? `${images} will move to ${target}.` : "The most similar classes and groups come first.";
    },
    submit: "Move",
  });
  if (!chosen) return null;
  const home = chosen.option;
  return home?.group ? moveTo(items, shown, home.group) : moveToLabel(items, shown, home?.label ?? chosen.text);
}

/**
 * Ask what images really show, and correct their labels: also of recognised and of learnt ones.
 * @param {number[]} items @param {number} shown
 */
export async function correctItems(items, shown) {
  const options = homes();
  const them = items.length === 1 ? "This image" : "These images";
  const chosen = await pick({
    title: `What ${items.length === 1 ? "does this image" : `do these ${count(items.length, "image")}`} show?`,
    images: items.slice(0, 8),
    options,
    ranked: byLikeness(options, items),
    free: true,
    tell: (text) => {
      const home = withName(text, options, (option) => option.label);
      if (!text) return "The most similar classes and groups come first.";
      if (home?.group && home.group.kind === "novel" && !home.group.confirmed)
        return `${them} will join the group “${home.label}”, which is learnt once it is confirmed.`;
      return home ? `${them} will be learnt as “${home.label}”.` : `${them} will be learnt as the new class “${text}”.`;
    },
    submit: "Correct",
  });
  if (!chosen) return null;
  const home = chosen.option ?? withName(chosen.text, options, (option) => option.label);
  const label = home?.label ?? chosen.text;
  /** @type {Act} */
  const act = home?.group
    ? { act: "move", items, group: home.group.id }
    : { act: "move", items, label, ...(!knownClass(label) && { confirm: true }) };
  return edit(act, shown, () => ({
    text: `${count(items.length, "image is", "images are")} now “${label}”.`,
    counts: { select: items.length, move: 1, ...(!home && { name: 1, confirm: 1 }) },
  }));
}

/** @param {number[]} items @param {number} shown @param {Group} group */
export function moveTo(items, shown, group) {
  return edit({ act: "move", items, group: group.id }, shown, () => ({
    text: `${count(items.length, "image")} moved to “${title(group)}”.`,
    counts: { select: items.length, move: 1 },
  }));
}

/** @param {number[]} items @param {number} shown @param {string} label */
function moveToLabel(items, shown, label) {
  return edit({ act: "move", items, label }, shown, () => ({
    text: `${count(items.length, "image")} moved to “${label}”.`,
    counts: { select: items.length, move: 1, name: knownClass(label) ? 0 : 1 },
  }));
}

/** Put images into a new group that has no name yet. @param {number[]} items @param {number} shown */
export function separateItems(items, shown) {
  return edit({ act: "separate", items }, shown, () => ({
    text: `${count(items.length, "image")} moved to a new group.`,
    counts: { select: items.length, move: 1 },
  }));
}

/** Remove images from the review. @param {number[]} items @param {number} shown */
export function removeItems(items, shown) {
  return edit({ act: "remove", items }, shown, () => ({
    text: `${count(items.length, "image")} moved to the bin.`,
    counts: { select: items.length, remove: 1 },
  }));
}

/** Open the stacks of images: from then on, each image is by itself. @param {number[]} items @param {number} shown */
export function openStacks(items, shown) {
  return edit({ act: "unstack", items }, shown, () => ({
    text: items.length === 1 ? "The stack is open." : "The stacks are open.",
    counts: { unstack: 1 },
  }));
}

/**
 * Answer a question about groups.
 * @param {import("./types.d.ts").Answer} answer @param {number} shown the edit that the question was shown with
 */
export function answerQuestion(answer, shown) {
  return edit(/** @type {Act} */ (answer.edit), shown, () => ({
    text: `Answered: ${answer.text}.`,
    counts: { answer: 1 },
  }));
}

/** Regroup the images as answered. @param {number} shown the edit on display */
export function regroup(shown) {
  return edit({ act: "regroup" }, shown, ({ images }) => ({
    text: images === null ? "No question was answered, so nothing has changed." : `${count(images, "image")} moved.`,
    counts: { regroup: Number(images !== null) },
  }));
}

/**
 * Apply a verb that has no button of its own; what it needs beyond the given values is asked for.
 * @param {import("./otherverbs.js").Verb} verb
 * @param {Record<string, unknown>} given
 * @param {number} shown the edit on display
 */
export async function applyVerb(verb, given, shown) {
  const missing = verb.fields.filter((field) => !(field.name in given));
  const asked = missing.length ? await fillIn({ title: verb.title, text: verb.text, fields: missing }) : {};
  if (!asked) return null;
  const act = /** @type {Act} */ (/** @type {unknown} */ ({ act: verb.act, ...asked, ...given }));
  return edit(act, shown, () => ({ text: `Done: ${verb.act}.`, counts: { [verb.act]: 1 } }));
}

// Known classes, and images that were learnt. `shown` is the edit that they were shown with.

/** Rename a known class everywhere. @param {string} known @param {number[]} images @param {number} shown */
export async function renameClass(known, images, shown) {
  const taken = [...knownClasses(), ...state.groups.filter((group) => group.named).map((group) => group.label)];
  const chosen = await pick({
    title: `Rename the class “${known}”`,
    images,
    value: known,
    options: [],
    free: true,
    tell: (text) => {
      const other = withName(text, taken, (one) => one);
      return other && other !== known
        ? `There is “${other}” already. To make them one class, merge them.`
        : "The new name holds in all versions, labels and exports.";
    },
    submit: "Rename",
  });
  if (!chosen || chosen.text === known) return null;
  return edit({ act: "rename_class", known, label: chosen.text }, shown, () => ({
    text: `“${known}” is now “${chosen.text}”.`,
    counts: { rename: 1 },
  }));
}

/** Merge a known class into another one. @param {string} known @param {number[]} images @param {number} shown */
export async function mergeClass(known, images, shown) {
  const options = knownClasses()
    .filter((label) => label !== known)
    .map((label) => ({ label, kind: "known class" }));
  const chosen = await pick({
    title: `Merge the class “${known}” into …`,
    images,
    options,
    ranked: byLikeness(options, images),
    tell: (text) =>
      text ? `All images of “${known}” become “${text}”. The recogniser tells them apart until it learns again.` : "",
    submit: "Merge",
  });
  if (!chosen) return null;
  const into = chosen.text;
  return edit({ act: "merge_classes", known, into }, shown, () => ({
    text: `“${known}” is merged into “${into}”. Learn to make them one class for the recogniser, too.`,
    counts: { merge: 1 },
  }));
}

/** Correct the label of a learnt image. @param {number} item @param {string} label @param {number} shown */
export function relabelItem(item, label, shown) {
  return edit({ act: "relabel", items: [item], label }, shown, () => ({
    text: `The image is now “${label}”. The next learning takes it.`,
    counts: { relabel: 1 },
  }));
}

/** Ask for the label of a learnt image, and correct it. @param {number} item @param {number} shown */
export async function chooseLabel(item, shown) {
  const options = homes({ unnamed: false });
  const chosen = await pick({
    title: "What does this image show?",
    images: [item],
    options,
    ranked: byLikeness(options, [item]),
    free: true,
    tell: (text) => (text && !withName(text, options, (option) => option.label) ? `“${text}” is a new class.` : ""),
    submit: "Change the label",
  });
  return chosen && relabelItem(item, chosen.text, shown);
}

/** Say that the label of a learnt image is right. @param {number} item @param {number} shown */
export function keepLabel(item, shown) {
  return edit({ act: "keep_label", items: [item] }, shown, () => ({
    text: "The label stays, and you are not asked about it again.",
    counts: { keep: 1 },
  }));
}

/** Remove a learnt image. @param {number} item @param {number} shown */
export function discardItem(item, shown) {
  return edit({ act: "discard", items: [item] }, shown, () => ({
    text: "The image is removed. The next learning forgets it.",
    counts: { remove: 1 },
  }));
}

// Back and forth.

/**
 * @param {"undo"|"redo"} direction
 * @param {"can_undo"|"can_redo"} which
 * @param {(on: number) => Promise<{edit: number}>} send
 * @param {"Undo"|"Redo"} past
 */
async function step(direction, which, send, past) {
  await inTurn(() => {}); // what is undone is known once the acts before are done
  const { [which]: last, edit: shown } = state.status;
  if (!last) return toast(`There is nothing to ${direction}.`);
  if (last.verb in LARGE) {
    const sure = await choose({
      title: `${past} ${LARGE[last.verb]}?`,
      text: "This affects the whole workspace.",
      submit: past,
    });
    if (!sure) return null;
  }
  return perform(
    () => send(shown),
    () => ({ text: `${past === "Undo" ? "Undone" : "Redone"}: ${doing(last.verb)}.`, counts: { [direction]: 1 } }),
  );
}

export const undo = () => step("undo", "can_undo", api.undo, "Undo");
export const redo = () => step("redo", "can_redo", api.redo, "Redo");

/** Put another version of the recogniser to use. @param {number} version */
export async function rollback(version) {
  const shown = state.edit;
  const sure = await choose({
    title: `Switch to version ${version}?`,
    text: "Images that this version has not learnt go back to review. You can undo this.",
    submit: "Switch version",
  });
  if (!sure) return null;
  return perform(
    () => api.rollback(version, basis(shown)),
    () => ({ text: `Version ${version} is in use.`, counts: {} }),
  );
}

/**
 * Say how many known images may be called unknown; null lets the recogniser find the limit.
 * @param {number|null} share @param {number} shown the edit on display
 */
export function limitRejection(share, shown) {
  return perform(
    () => api.setRejection(share, basis(shown)),
    () => ({ text: "The new limit is in use. Images that were already recognised keep their labels.", counts: {} }),
  );
}

/**
 * Set the ranks above the classes, by the text of a CSV file or as they were read.
 * @param {string|import("./types.d.ts").TaxonomyTable} wanted
 * @param {number} shown the edit on display
 */
export function setRanks(wanted, shown) {
  return perform(
    () =>
      typeof wanted === "string"
        ? api.setTaxonomyTable(wanted, basis(shown))
        : api.setTaxonomy({ ...wanted, on: basis(shown) }),
    () => ({ text: "The ranks were changed.", counts: {} }),
  );
}

/**
 * Start long work; it reports by events.
 * @param {import("./types.d.ts").Operations["POST /jobs"]["body"]} body
 * @returns {Promise<import("./types.d.ts").Job|null>}
 */
export async function startJob(body) {
  try {
    const job = await inTurn(() => api.start(body));
    await noteJob(job);
    return job;
  } catch (error) {
    complain(error);
    return null;
  }
}
