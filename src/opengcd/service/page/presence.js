/** Who looks at which group now: this page tells the service, and the service tells of the others. */

import { api } from "./api.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { notePresence, state, subscribe } from "./store.js";
import { complain } from "./toast.js";
import { listed } from "./words.js";

/** The name of this page; `crypto.randomUUID` exists on encrypted pages only. */
export const PAGE = [...crypto.getRandomValues(new Uint32Array(4))].map((n) => n.toString(36)).join("-");

/** The service forgets what it was not told again for half a minute. */
const RENEW = 10_000;

/** @type {number|null} the group on display */
let shown = null;
/** @type {Map<number, string[]>} */
let looking = new Map();

let telling = false;
let again = false;

/** Tell the service what is on display; a page in the background is not looked at. One request follows the other. */
export async function tell() {
  again = true;
  if (telling) return;
  telling = true;
  try {
    while (again) {
      again = false;
      await api.look(PAGE, document.hidden ? null : shown);
    }
  } catch {
    // The bar says that the connection is lost, and it is told again once there is one.
  } finally {
    telling = false;
  }
}

/** Tell it again and again, and when the page comes to the front or goes to the back, or the network is there again. */
export function startPresence() {
  setInterval(() => shown !== null && tell(), RENEW);
  document.addEventListener("visibilitychange", tell);
  window.addEventListener("online", tell);
}

/** Look at a group until the returned function is called. @param {number} group */
export function lookAt(group) {
  shown = group;
  tell();
  return () => {
    shown = null;
    tell();
  };
}

/** Take what the service tells. @param {import("./types.d.ts").Presence} told */
export function take(told) {
  looking = new Map(told.groups.map(({ group, people }) => [group, people]));
  notePresence().catch(complain);
}

/** The others who look at a group. @param {number} group */
export const lookers = (group) => (looking.get(group) ?? []).filter((who) => who !== state.session.who);

/** "Ana and Ben are looking at this group"; empty if nobody is. @param {number} group */
export function lookersText(group) {
  const names = lookers(group);
  return names.length ? `${listed(names)} ${names.length === 1 ? "is" : "are"} looking at this group` : "";
}

/** Their names, for a card. @param {number} group */
export const lookersBadge = (group) =>
  lookers(group).length > 0 &&
  h("span", { class: "badge looking", title: lookersText(group) }, icon("look"), h("span", {}, listed(lookers(group))));

/** A line about them that stays up to date, for the open group. @param {number} group */
export function lookersLine(group) {
  const element = h("p", { class: "lookers", role: "status" });
  const paint = () => {
    const text = lookersText(group);
    element.hidden = !text;
    element.replaceChildren(...(text ? [icon("look"), text] : []));
  };
  paint();
  return { element, end: subscribe((topic) => topic === "presence" && paint()) };
}
