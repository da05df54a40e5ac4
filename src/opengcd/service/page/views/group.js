/** One group: all its images, what to do with them, and the other groups beside. */

import { moveTo, openStacks } from "../acts.js";
import { api } from "../api.js";
import { button } from "../buttons.js";
import { h } from "../dom.js";
import { Grid } from "../grid.js";
import { ItemList } from "../items.js";
import { useKeys } from "../keys.js";
import { likeness } from "../likeness.js";
import { otherButtons } from "../otherverbs.js";
import { lookAt, lookersLine } from "../presence.js";
import { sureOfGroup } from "../reasons.js";
import { go, imagesOf } from "../router.js";
import { Selection } from "../selection.js";
import { selectionBar } from "../selectionbar.js";
import { cellSizes } from "../sizes.js";
import { groupById, nextToReview, ofOthers, state, subscribe } from "../store.js";
import { agree, canAgree, discussion } from "../team.js";
import { complain, toast } from "../toast.js";
import { count, title } from "../words.js";
import { badges, FACTS, facts, groupActs } from "./groups.js";
import { inspector } from "./inspector.js";
import { rail } from "./rail.js";

/** @type {import("../router.js").View} */
export function group(root, which, item) {
  const id = Number(which);
  let before = state.groups; // to know what comes next when this group is gone

  const list = new ItemList(id, "typical", () => {
    grid.render();
    opener.hidden = !list.some((one) => one.copies > 1);
  });
  const selection = new Selection(() => {
    grid.paint();
    bar.update();
    side.paint();
    like.show(selection.size > 0);
  });
  const grid = new Grid({
    list,
    selection,
    label: "Images of the group",
    side: cellSizes.value(),
    look: (found) => image.look(found),
    moved: () => image.follow(grid.current()),
  });
  const image = inspector({ group: id, selection, step: (by) => grid.goTo(grid.cursor + by) });
  const side = rail(id, selection, (other) => moveHere(other));

  const sure = h("p", { class: "soft", hidden: true });
  const head = h("header", { class: "title" });
  const gone = h("div", { class: "empty card", hidden: true });
  const like = likeness((ids) => selection.set(ids));
  const others = lookersLine(id);
  const said = discussion(id);

  /** @param {import("../acts.js").Next} next */
  const after = (next) => {
    if (next === undefined) return grid.element.focus({ preventScroll: true });
    return next === null ? go("groups") : go("groups", next);
  };
  /** The group may have become empty. */
  const left = () => {
    if (!groupById(id)) after(nextToReview(id, before));
    else grid.element.focus({ preventScroll: true });
  };
  const acts = groupActs(() => groupById(id), after);
  const bar = selectionBar({
    selection,
    on: () => list.edit,
    from: () => groupById(id),
    hint: matchMedia("(pointer: coarse)").matches
      ? "Tap images to select them. Hold one to select a range."
      : "Click images to select them. Hold Shift to select a range, or drag to draw a box.",
    more: [button("Select similar", () => selectAlike(), { icon: "like", key: ["images", "like"] }), like.element],
    done: left,
  });

  /** @param {number} by */
  const step = (by) => () => {
    const places = state.groups.filter((one) => one.id === id || !ofOthers(one)).map((one) => one.id);
    const next = places[(places.indexOf(id) + by + places.length) % places.length];
    if (next !== undefined) go("groups", next);
  };
  const opener = button("Open stack", () => open(), { icon: "stack", key: ["images", "open"] });
  opener.hidden = true;
  const oddFirst = button("Show odd ones first", () => reorder(), { icon: "odd", key: ["images", "odd"] });
  oddFirst.setAttribute("aria-pressed", "false");
  const sizes = cellSizes.field("Size of the images", "", () => {
    grid.side = cellSizes.value();
    grid.layout();
  });

  function paintHead() {
    const one = groupById(id);
    gone.hidden = Boolean(one);
    body.hidden = !one;
    if (!one) {
      const next = nextToReview(id, before);
      gone.replaceChildren(
        h("h2", {}, "This group is now empty"),
        h("p", {}, "Its images were moved or learnt. Undo brings them back."),
        button(next === null ? "Show all groups" : "Show the next group", () => after(next), {
          primary: true,
          icon: "next",
        }),
      );
      return;
    }
    before = state.groups;
    document.title = `${title(one)} – ${state.status.name}`;
    const novel = one.kind === "novel";
    head.replaceChildren(
      h(
        "div",
        {},
        h("a", { class: "back", href: "#/groups" }, "Groups"),
        h(
          "div",
          { class: "head" },
          h("h1", { class: novel && !one.named ? "unnamed" : null }, title(one)),
          badges(one),
        ),
        h(
          "p",
          { class: "soft", title: novel ? FACTS : null },
          facts(one).join(" · "),
          " · ",
          h("a", { href: one.named ? imagesOf({ label: one.label }) : imagesOf({ group: id }) }, "show in all images"),
          one.suggestion && !one.named
            ? [
                " · looks like ",
                h("button", { type: "button", class: "chip", on: { click: acts.suggestion } }, one.suggestion),
              ]
            : "",
        ),
        sure,
        others.element,
        said.element,
      ),
      h(
        "div",
        { class: "row" },
        novel &&
          button(one.named ? "Rename" : "Name", acts.name, {
            icon: "pen",
            key: ["group", "name"],
            primary: !one.named,
          }),
        one.kind !== "removed" &&
          button(one.confirmed ? "Reopen" : "Confirm", acts.confirm, {
            icon: "check",
            key: ["group", "confirm"],
            primary: one.named && !one.confirmed && novel,
          }),
        canAgree(one) && button("Confirm, too", () => agree(one), { icon: "check" }),
        one.kind !== "removed" && button("Join", acts.merge, { icon: "merge", key: ["group", "merge"] }),
        one.kind !== "removed" && button("Split", acts.split, { icon: "split", key: ["group", "split"] }),
        one.kind !== "removed" && [
          button("Assign", acts.assign, { icon: "person", bare: true, key: ["group", "assign"] }),
          button("Comment", acts.comment, { icon: "comment", bare: true, key: ["group", "comment"] }),
        ],
        one.kind !== "removed" && otherButtons("group", (apply) => apply({ group: id }, state.edit)),
      ),
    );
  }

  /** Tell what is sure of the images, if they were returned to a known class. */
  async function paintSure() {
    const one = groupById(id);
    const found = one?.kind === "known" && !one.confirmed ? await api.groupTaxa(id).catch(() => null) : null;
    sure.textContent = found && sureOfGroup(found);
    sure.hidden = !sure.textContent;
  }

  /** @param {import("../types.d.ts").Group} one */
  async function moveHere(one) {
    const ids = selection.ids;
    const answer = await moveTo(ids, list.edit, one);
    if (!answer) return;
    selection.clear();
    left();
  }

  /** Open the selected stacks, or the one under the cursor. */
  async function open() {
    const chosen = selection.size ? selection.ids : [grid.current()?.id];
    const stacks = chosen.filter((one) => list.some((item) => item.id === one && item.copies > 1));
    if (!stacks.length) return toast("There is no stack to open here.");
    if (await openStacks(/** @type {number[]} */ (stacks), list.edit)) selection.clear();
    return grid.element.focus({ preventScroll: true });
  }

  async function reorder() {
    list.order = list.order === "typical" ? "odd" : "typical";
    oddFirst.setAttribute("aria-pressed", String(list.order === "odd"));
    await list.reload().catch(complain);
    grid.goTo(0);
  }

  /** @type {Promise<void>} what was asked for last: keys that change the answer wait for it */
  let asked = Promise.resolve();
  async function selectAlike() {
    const current = grid.current();
    if (!current) return;
    try {
      const { items, number } = await api.similar(current.id);
      like.take(items, number);
      toast(
        number > 1
          ? `Selected ${count(number, "image")} like this. Press + for more, − for fewer, or move the slider.`
          : "No other image clearly belongs with this one. Press + or move the slider to select the most similar.",
      );
    } catch (error) {
      complain(error);
    }
    grid.element.focus({ preventScroll: true });
  }

  const body = h(
    "div",
    { class: "groupbody" },
    side.element,
    h(
      "div",
      { class: "groupmain" },
      h(
        "div",
        { class: "tools row" },
        button("Previous group", step(-1), { icon: "previous", bare: true, quiet: true, key: ["images", "previous"] }),
        button("Next group", step(1), { icon: "next", bare: true, quiet: true, key: ["images", "next"] }),
        h("span", { class: "grow" }),
        opener,
        oddFirst,
        button("Inspect", () => image.toggle(grid.current()), { icon: "look", key: ["images", "look"] }),
        button("Enlarge", () => image.enlarge(grid.current()), {
          icon: "enlarge",
          bare: true,
          quiet: true,
          key: ["images", "enlarge"],
        }),
        sizes,
      ),
      grid.element,
      bar.element,
    ),
    image.element,
  );
  root.append(head, gone, body);
  paintHead();
  paintSure();
  side.paint();

  const start = async () => {
    await list.ensure(0, 0);
    grid.layout();
    if (item) {
      const all = await list.all();
      const place = all.findIndex((one) => one.id === Number(item));
      if (place >= 0) {
        grid.goTo(place);
        image.look(grid.current());
      }
    }
    grid.element.focus({ preventScroll: true });
  };
  start().catch((error) => (error.status === 404 ? paintHead() : complain(error)));

  const ends = [
    useKeys("group", acts),
    useKeys("images", {
      walk: (event) => grid.walk(event),
      extend: (event) => grid.walk(event),
      toggle: () => grid.toggle(),
      all: async () => selection.set((await list.all()).map((one) => one.id)),
      like: () => (asked = selectAlike()),
      more: async () => (await asked, like.more()),
      fewer: async () => (await asked, like.fewer()),
      odd: reorder,
      open,
      look: () => image.toggle(grid.current()),
      enlarge: () => image.enlarge(grid.current()),
      next: step(1),
      previous: step(-1),
      back: () => (selection.size ? selection.clear() : go("groups")),
    }),
    bar.end,
    subscribe(async (topic) => {
      if (topic !== "review") return;
      paintHead();
      paintSure();
      side.paint();
      if (!groupById(id)) return selection.size && selection.clear();
      await list.reload(...grid.sight());
      grid.render();
      await drop();
    }),
    () => grid.end(),
    image.end,
    others.end,
    said.end,
    lookAt(id),
  ];

  /** Somebody may have moved selected images away. */
  async function drop() {
    if (!selection.size) return;
    const there = new Set((await list.all()).map((one) => one.id));
    const stay = selection.ids.filter((one) => there.has(one));
    if (stay.length < selection.size) selection.set(stay);
  }

  return () => ends.forEach((end) => end());
}
