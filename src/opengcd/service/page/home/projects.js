/** The list of projects: what each one is, how it stands, and what to do next. */

import { h, heading, keyed } from "../dom.js";
import { icon } from "../icons.js";
import { go } from "../router.js";
import { complain, toast } from "../toast.js";
import { ago, count, DOING, story } from "../words.js";
import { takeDrops } from "../dropping.js";
import { addressOf, home } from "./api.js";
import { createFrom } from "./create.js";
import { creationCard, followCreation } from "./creation.js";
import { chooseFolder } from "../folders.js";

const AGAIN = 5000;

/** @typedef {import("./types.d.ts").Project} Project */

/** What to do next in a project: in words, and the view of its page. @param {Project} one @returns {[string, string]} */
function nextOf(one) {
  switch (one.next) {
    case "wait":
      return [`${DOING[one.job ?? ""] ?? "A job"} is under way`, "overview"];
    case "init":
      return ["Learn the first classes", "overview"];
    case "view":
      return ["Look at it (it is read-only)", "overview"];
    case "adapt":
      return ["Continue the adaptation", "overview"];
    case "review":
      return [`Review ${count(one.groups, "group")} (${count(one.to_review, "image")})`, "groups"];
    case "learn":
      return [`Learn ${count(one.to_learn, "image")}`, "learn"];
    case "discover":
      return [`Group ${count(one.rejected, "unknown image")}`, "overview"];
    case "export":
      return ["Export the labels, or add images", "overview"];
    default:
      return ["Add images", "overview"];
  }
}

/** @param {Project} one @param {() => unknown} again */
function card(one, again) {
  const forget =
    one.elsewhere &&
    h(
      "button",
      {
        type: "button",
        class: "quiet icon",
        title: "Take it off this list; its files stay",
        "aria-label": `Take ${one.name} off this list; its files stay`,
        on: { click: () => home.forget(one.key).then(again, complain) },
      },
      icon("close"),
    );
  const head = (/** @type {import("../dom.js").Child} */ title) =>
    h("div", { class: "head" }, h("h2", { title: one.path }, title), forget);
  if (one.problem)
    return h(
      "li",
      { class: "card project broken" },
      head(one.name),
      h("p", { class: "warning" }, one.problem),
      h("p", { class: "soft place" }, one.path),
    );
  const [next, view] = nextOf(one);
  const address = addressOf(one.key);
  return h(
    "li",
    { class: "card project" },
    head(h("a", { href: address }, one.name)),
    h("p", { class: "soft" }, `${count(one.images, "image")} · ${count(one.classes, "class", "classes")}`),
    h(
      "a",
      { class: one.next === "wait" ? "button" : "button strong", href: `${address}#/${view}` },
      h("span", {}, next),
      icon("next"),
    ),
    h(
      "p",
      { class: "soft last" },
      one.changed_at ? `${ago(one.changed_at)}: ${one.changed_by} ${story(one.changed_verb ?? "")}` : "not changed yet",
      one.elsewhere && h("span", { class: "place" }, one.path),
    ),
  );
}

const WELCOME = [
  ["Show it what you know", "Give it labelled images of the classes that you know already."],
  ["Let it sort the rest", "It recognises these classes in new images, and groups what is new."],
  ["Name what is new", "You name the groups; it learns them, and knows them from then on."],
];

const welcome = () =>
  h(
    "section",
    { class: "card welcome" },
    h("h2", {}, "Create your first project"),
    h(
      "ol",
      {},
      WELCOME.map(([title, text], i) =>
        h(
          "li",
          {},
          h("span", { class: "step", "aria-hidden": "true" }, i + 1),
          h("h3", {}, title),
          h("p", { class: "soft" }, text),
        ),
      ),
    ),
    h("a", { class: "button strong", href: "#/new" }, icon("plus"), "New project"),
  );

/** @type {import("../router.js").View} */
export function projects(root) {
  const list = h("ul", { class: "projects" });
  const empty = h("div", {});
  const making = h("div", {});
  const add = h(
    "button",
    { type: "button", hidden: true, on: { click: () => addByPath() } },
    icon("drop"),
    h("span", {}, "Add one by its folder"),
  );
  const create = h("a", { class: "button strong", href: "#/new" }, icon("plus"), h("span", {}, "New project"));
  const head = heading("Projects", "", h("div", { class: "row" }, add, create));
  const lead = /** @type {HTMLElement} */ (head.querySelector(".lead"));
  root.append(head, making, h("div", { "aria-live": "polite" }, list), empty);
  root.setAttribute("aria-busy", "true");

  /** @type {Map<string, string>} what is shown of each project */
  const shown = new Map();
  let ended = false;
  const read = async () => {
    const found = await home.projects();
    if (ended) return;
    lead.textContent = `In ${found.folder}`;
    add.hidden = !found.local;
    create.hidden = found.projects.length === 0;
    keyed(
      list,
      found.projects,
      (one) => one.key,
      (one, old) => {
        const state = JSON.stringify([one, one.changed_at && ago(one.changed_at)]);
        const same = old && shown.get(one.key) === state;
        shown.set(one.key, state);
        return same ? old : card(one, read);
      },
    );
    empty.replaceChildren(...(found.projects.length ? [] : [welcome()]));
    root.removeAttribute("aria-busy");
  };
  const addByPath = async () => {
    const path = await chooseFolder({ title: "Add a project", submit: "Add this folder", kind: "project" });
    if (path === null) return;
    try {
      await home.add({ path });
      toast("The project was added.");
      await read();
    } catch (error) {
      complain(error);
    }
  };
  const following = followCreation((creation) => {
    making.replaceChildren(
      ...(creation
        ? [
            creationCard(creation, {
              again: () => go("new"),
              closed: () => (making.replaceChildren(), read().catch(complain)),
            }),
          ]
        : []),
    );
    if (creation?.state === "done") read().catch(complain);
  });
  const reading = () => document.visibilityState === "visible" && read().catch(complain);
  const timer = setInterval(reading, AGAIN);
  const dropping = takeDrops({
    text: "Drop labelled images to create a project",
    wanted: () => true,
    take: createFrom,
  });
  read().catch(complain);
  return () => {
    ended = true;
    clearInterval(timer);
    following();
    dropping();
    root.removeAttribute("aria-busy");
  };
}
