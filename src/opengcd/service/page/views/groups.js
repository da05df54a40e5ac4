/** All groups as cards, in the order of review. */

import { confirmGroup, giveName, mergeGroup, nameGroup, splitGroup, startJob } from "../acts.js";
import { api } from "../api.js";
import { invitation } from "../asking.js";
import { button } from "../buttons.js";
import { h, keyed, targetOf } from "../dom.js";
import { icon } from "../icons.js";
import { useKeys } from "../keys.js";
import { lookers, lookersBadge, lookersText } from "../presence.js";
import { go } from "../router.js";
import { sizesKept } from "../sizes.js";
import { groupById, sortAgain, state, subscribe, toReview } from "../store.js";
import { tally, total } from "../tally.js";
import { assignGroup, commentOn, confirmedText, isListed, owners, teamBadges } from "../team.js";
import { toast } from "../toast.js";
import { count, number, title } from "../words.js";

/** @typedef {import("../types.d.ts").Group} Group */

/** What the words below a group's name mean. */
export const FACTS = "Spread: how far the images lie from their centre; the smaller it is, the more alike they look.";

/** The sizes of the pictures on the cards, and how many a card has. */
const cards = sizesKept("opengcd.cards", { small: 8, medium: 6, large: 6 });

/** What stands below a group's name. @param {Group} group */
export function facts(group) {
  return [
    count(group.size, "image"),
    group.kind === "novel" && group.cohesion !== null && `spread ${group.cohesion.toFixed(2)}`,
    group.doubtful && "more likely a chance cluster than a class",
  ].filter((fact) => typeof fact === "string");
}

/** Signs of a group's state. @param {Group} group */
export function badges(group) {
  return [
    group.confirmed && h("span", { class: "badge good" }, icon("check"), confirmedText(group)),
    group.named && !group.confirmed && group.kind === "novel" && h("span", { class: "badge" }, "named"),
    group.doubtful && h("span", { class: "badge warn" }, "doubtful"),
    ...teamBadges(group),
  ].filter((badge) => badge !== false);
}

/**
 * What a key or a button does to a group, with where to go afterwards.
 * @param {() => Group|undefined} current
 * @param {(next: import("../acts.js").Next) => void} after
 */
export function groupActs(current, after) {
  /** @param {(group: Group) => Promise<import("../acts.js").Next>} act */
  const run = (act) => async () => {
    const group = current();
    if (!group) return toast("Choose a group first.");
    if (group.kind === "removed") return toast("The bin is not a class. Open it to restore images.");
    return after(await act(group));
  };
  return {
    name: run((group) => (group.kind === "novel" ? nameGroup(group) : confirmGroup(group))),
    confirm: run(confirmGroup),
    merge: run(mergeGroup),
    split: run(async (group) => {
      const answer = await splitGroup(group);
      return answer && !groupById(group.id) ? null : undefined;
    }),
    suggestion: run(async (group) => {
      if (group.suggestion) return giveName(group, group.suggestion, true);
      toast("There is no suggested name for this group.");
      return undefined;
    }),
    assign: run(assignGroup),
    comment: run(commentOn),
  };
}

/**
 * @param {Group} group
 * @param {ReturnType<typeof groupActs>} acts each on this group
 * @param {HTMLElement|undefined} old
 */
function card(group, acts, old) {
  const pictures = cards.value();
  const shown = JSON.stringify([group, pictures, lookers(group.id)]);
  if (old?.dataset.shown === shown) return old;
  const signs = badges(group).map((one) => one.textContent);
  const label = [title(group), ...facts(group), ...signs, lookersText(group.id)].filter(Boolean).join(", ");
  const cell =
    old?.firstElementChild ??
    h("div", {
      role: "gridcell",
      class: "cell",
      tabindex: "-1",
      on: { click: (event) => targetOf(event)?.closest("button") || go("groups", group.id) },
    });
  cell.setAttribute("aria-label", label);
  cell.replaceChildren(
    h(
      "div",
      { class: "mosaic", "aria-hidden": "true" },
      group.typical
        .slice(0, pictures)
        .map((id) => h("img", { src: api.thumbnail(id), alt: "", loading: "lazy", decoding: "async" })),
    ),
    h(
      "div",
      { class: "head" },
      h("h3", { class: group.named || group.kind !== "novel" ? null : "unnamed" }, title(group)),
      badges(group),
      lookersBadge(group.id),
    ),
    h("p", { class: "facts soft", title: group.kind === "novel" ? FACTS : null }, facts(group).join(" · ")),
    group.suggestion && !group.named
      ? h(
          "p",
          { class: "suggestion" },
          "Looks like ",
          h("button", { type: "button", class: "chip", on: { click: () => acts.suggestion() } }, group.suggestion),
        )
      : "",
    group.kind !== "removed"
      ? h(
          "div",
          { class: "row" },
          group.kind === "novel" && button(group.named ? "Rename" : "Name", acts.name, { icon: "pen", quiet: true }),
          group.named && button(group.confirmed ? "Reopen" : "Confirm", acts.confirm, { icon: "check", quiet: true }),
        )
      : "",
  );
  const element = old ?? h("div", { role: "row", class: "card group" }, cell);
  element.dataset.shown = shown;
  element.classList.toggle("confirmed", group.confirmed);
  element.classList.toggle("doubtful", group.doubtful);
  return element;
}

/** @type {[string, string, string|null][]} */
const SECTIONS = [
  ["waiting", "To review", null],
  [
    "returned",
    "Returned to known classes",
    "When the images were grouped, these were found to belong to known classes. They are learnt only if you confirm the class, or move images there yourself.",
  ],
  ["confirmed", "Confirmed", "These are learnt next."],
  ["removed", "Bin", "Removed from review. Open the bin to restore images."],
];

/** @param {Group} group */
function sectionOf(group) {
  if (group.kind === "removed") return "removed";
  if (group.confirmed) return "confirmed";
  return group.kind === "known" ? "returned" : "waiting";
}

/** @type {import("../router.js").View} */
export function groups(root) {
  const line = h("p", { class: "lead" });
  const session = h("p", { class: "soft session" });
  const questions = invitation();
  const empty = h("div", { class: "empty card" });
  /** Where each group stood when this view was opened: it stays there until one leaves or sorts. @type {Map<number, string>} */
  let sections = new Map();
  const parts = SECTIONS.map(([kind, heading, note]) => {
    const grid = h("div", { class: "cards", role: "grid", "aria-label": heading });
    const n = h("span", { class: "soft" });
    const section = h("section", {}, h("h2", {}, heading, " ", n), note && h("p", { class: "soft" }, note), grid);
    return { kind, grid, section, n };
  });
  const sizes = cards.field("Size of the pictures", "pictures", () => paint());
  const whose = owners(() => paint());
  const sort = button("Sort again", () => {
    sections = new Map();
    return sortAgain();
  });
  sort.title = "Move confirmed groups to their own section, and show the largest groups first";
  root.append(
    h(
      "header",
      { class: "title" },
      h("div", {}, h("h1", {}, "Groups"), line),
      h("div", { class: "row" }, session, sort, whose.element, sizes, questions.element),
    ),
    empty,
    ...parts.map((part) => part.section),
  );
  /** @type {number|null} */
  let chosen = null;
  const cells = () => /** @type {HTMLElement[]} */ ([...root.querySelectorAll(".card.group > .cell")]);
  /** @param {Element} cell */
  const idOf = (cell) => Number(cell.parentElement?.dataset.key);
  /** @param {HTMLElement|undefined} cell */
  const focus = (cell) => {
    if (!cell) return;
    chosen = idOf(cell);
    for (const other of cells()) other.tabIndex = other === cell ? 0 : -1;
    cell.focus();
    cell.scrollIntoView({ block: "nearest" });
  };
  /** @param {import("../acts.js").Next} next */
  const after = (next) => {
    const cell = cells().find((one) => idOf(one) === (next ?? chosen)) ?? cells()[0];
    focus(cell);
  };
  const acts = groupActs(() => groupById(chosen), after);

  const paint = () => {
    questions.read();
    whose.paint();
    const waiting = toReview();
    const ready = state.groups.filter((group) => group.confirmed).length;
    const novel = state.groups.filter((group) => group.kind === "novel");
    line.textContent = novel.length
      ? waiting.length
        ? `${count(waiting.length, "group")} to review, ${number(ready)} confirmed. Doubtful ones come last.`
        : "All groups are confirmed."
      : "";
    const done = total();
    session.textContent = done ? `This session: ${count(done, "action")}` : "";
    session.hidden = !done;
    session.title = Object.entries(tally())
      .map(([kind, n]) => `${kind} ${n}`)
      .join(", ");
    for (const group of state.groups) if (!sections.has(group.id)) sections.set(group.id, sectionOf(group));
    sort.hidden = !state.outOfOrder && state.groups.every((group) => sections.get(group.id) === sectionOf(group));
    for (const { kind, grid, section, n } of parts) {
      const entries = state.groups.filter((group) => sections.get(group.id) === kind && isListed(group));
      section.hidden = entries.length === 0;
      n.textContent = number(entries.length);
      grid.dataset.size = cards.chosen();
      keyed(
        grid,
        entries,
        (group) => group.id,
        (group, old) =>
          card(
            group,
            groupActs(() => groupById(group.id), after),
            old,
          ),
      );
    }
    const all = cells();
    if (!all.some((cell) => cell.tabIndex === 0) && all.length) all[0].tabIndex = 0;
    if (!groupById(chosen)) chosen = all.length ? idOf(all[0]) : null;
    empty.hidden = waiting.length > 0;
    empty.replaceChildren(...emptyState(novel.length));
  };
  root.addEventListener("focusin", (event) => {
    const cell = targetOf(event)?.closest(".card.group > .cell");
    if (cell) chosen = idOf(cell);
  });
  paint();
  const first = toReview()[0];
  after(first?.id ?? null);

  const ends = [
    useKeys("group", acts),
    useKeys("cards", {
      walk: (event) =>
        focus(
          neighbour(
            cells(),
            cells().findIndex((cell) => idOf(cell) === chosen),
            event.key,
          ),
        ),
      open: () => chosen !== null && go("groups", chosen),
    }),
    subscribe((topic) => ["review", "presence"].includes(topic) && paint()),
  ];
  return () => {
    for (const end of ends) end();
  };
}

/** @param {number} any */
function emptyState(any) {
  const { to_learn, counts } = state.status;
  if (to_learn) {
    return [
      h("h2", {}, "Done"),
      h("p", {}, `${count(to_learn, "image is", "images are")} ready to be learnt.`),
      button("Learn", () => go("learn"), { primary: true, icon: "next" }),
    ];
  }
  if (any) return [h("h2", {}, "Done"), h("p", {}, "All groups are confirmed, and nothing is left to learn.")];
  return [
    h("h2", {}, "No groups yet"),
    h(
      "p",
      {},
      counts.rejected
        ? `${count(counts.rejected, "rejected image")} can be grouped now.`
        : "Images that are rejected as unknown appear here once they are grouped.",
    ),
    button("Group them", () => startJob({ verb: "discover" }), {
      primary: Boolean(counts.rejected),
      icon: "next",
    }),
  ];
}

/**
 * The card that an arrow leads to, by where cards are on the screen.
 * @param {HTMLElement[]} cells @param {number} from @param {string} key
 */
function neighbour(cells, from, key) {
  /** @type {Record<string, number>} */
  const plain = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: cells.length - 1 };
  if (key in plain) return cells[Math.max(0, Math.min(cells.length - 1, plain[key]))];
  const { left, top } = cells[from].getBoundingClientRect();
  const down = key === "ArrowDown";
  const boxes = cells.map((cell) => cell.getBoundingClientRect());
  const beyond = cells.filter((_, i) => (down ? boxes[i].top > top + 4 : boxes[i].top < top - 4));
  /** @param {HTMLElement} cell */
  const distance = (cell) => {
    const box = cell.getBoundingClientRect();
    return 1000 * Math.abs(box.top - top) + Math.abs(box.left - left);
  };
  return beyond.sort((a, b) => distance(a) - distance(b))[0];
}
