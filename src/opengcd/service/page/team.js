/** How several reviewers share the groups: who reviews which, what they say of them, and which of them agree. */

import { edit } from "./acts.js";
import { api } from "./api.js";
import { fillIn, pick } from "./dialogs.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { groupById, ofOthers, state, subscribe } from "./store.js";
import { complain } from "./toast.js";
import { ago, count, listed, title } from "./words.js";

/** @typedef {import("./types.d.ts").Group} Group */

const OWNERS = "opengcd.owners";
const NOBODY = "Nobody";

/** @param {string} who */
const person = (who) => (who === state.session.who ? "you" : who);

/** Whose groups the list shows. @type {Record<string, [string, (group: Group) => boolean]>} */
const CHOICES = {
  all: ["All groups", () => true],
  mine: ["Assigned to me", (group) => group.assignee === state.session.who],
  nobody: ["Assigned to nobody", (group) => group.assignee === null],
};

/** What was chosen last in this tab. */
const choice = () => {
  const kept = sessionStorage.getItem(OWNERS) ?? "";
  return kept in CHOICES ? kept : "all";
};

/** Whether the list shows a group. @param {Group} group */
export const isListed = (group) => CHOICES[choice()][1](group);

/** The choice of whose groups are shown; hidden while nothing is assigned. @param {() => void} changed */
export function owners(changed) {
  const element = h(
    "select",
    {
      "aria-label": "Whose groups are shown",
      on: {
        change: () => {
          sessionStorage.setItem(OWNERS, element.value);
          changed();
        },
      },
    },
    Object.entries(CHOICES).map(([name, [label]]) => h("option", { value: name, selected: name === choice() }, label)),
  );
  const paint = () => {
    element.hidden = choice() === "all" && state.groups.every((group) => group.assignee === null);
  };
  return { element, paint };
}

/** Who confirmed a group; others are named, oneself alone is not. @param {Group} group */
export const confirmedText = ({ confirmed_by: by }) =>
  by.some((who) => who !== state.session.who) ? `confirmed by ${listed(by.map(person))}` : "confirmed";

/** Signs of what several reviewers did with a group. @param {Group} group */
export const teamBadges = (group) => [
  group.assignee !== null &&
    h(
      "span",
      { class: ofOthers(group) ? "badge" : "badge mine" },
      icon("person"),
      h("span", {}, `assigned to ${person(group.assignee)}`),
    ),
  group.comments > 0 && h("span", { class: "badge" }, icon("comment"), count(group.comments, "comment")),
];

/** Ask who is to review a group. @param {Group} group */
export async function assignGroup(group) {
  const shown = state.edit;
  const me = state.session.who;
  const nobody = { label: NOBODY, kind: "give it back" };
  const options = [{ label: me, kind: "you" }, ...(group.assignee === null ? [] : [nobody])];
  const others = async () => (await api.people()).filter((who) => who !== me).map((who) => ({ label: who, kind: "" }));
  const chosen = await pick({
    title: `Who is to review ${title(group)}?`,
    options,
    ranked: others().then((people) => [...options, ...people]),
    suggestion: group.assignee === me ? null : me,
    free: true,
    submit: "Assign",
  });
  if (!chosen) return undefined;
  const to = chosen.option === nobody ? null : (chosen.option?.label ?? chosen.text);
  const text = to === null ? "The group is assigned to nobody." : `The group is assigned to ${person(to)}.`;
  await edit({ act: "assign", group: group.id, person: to }, shown, () => ({ text, counts: { assign: 1 } }));
  return undefined;
}

/** Ask for a comment on a group. @param {Group} group */
export async function commentOn(group) {
  const shown = state.edit;
  const given = await fillIn({
    title: "Add the comment",
    text: `All who open ${title(group)} see it.`,
    fields: [{ name: "text", label: "Comment", type: "text", required: true }],
  });
  if (typeof given?.text !== "string") return undefined;
  await edit({ act: "comment", group: group.id, text: given.text }, shown, () => ({
    text: "The comment is added.",
    counts: { comment: 1 },
  }));
  return undefined;
}

/** Whether others have confirmed a group, and this person has not. @param {Group} group */
export const canAgree = (group) => group.confirmed && !group.confirmed_by.includes(state.session.who);

/** Confirm what others have confirmed. @param {Group} group */
export const agree = (group) =>
  edit({ act: "confirm", group: group.id }, state.edit, () => ({
    text: `You have confirmed “${group.label}”, too.`,
    counts: { confirm: 1 },
  }));

/** The comments on the open group, kept up to date. @param {number} id */
export function discussion(id) {
  const element = h("ol", { class: "comments", "aria-label": "Comments", hidden: true });
  const paint = async () => {
    const found = groupById(id)?.comments ? await api.comments(id) : [];
    element.hidden = found.length === 0;
    element.replaceChildren(
      ...found.map(({ who, at, text }) =>
        h("li", {}, h("strong", {}, person(who)), " ", h("time", { class: "soft", datetime: at }, ago(at)), " ", text),
      ),
    );
  };
  paint().catch(complain);
  return { element, end: subscribe((topic) => topic === "review" && paint().catch(complain)) };
}
