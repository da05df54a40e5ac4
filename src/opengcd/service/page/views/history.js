/** Who did what when. Nothing in it is ever changed. */

import { redo, undo } from "../acts.js";
import { api } from "../api.js";
import { agreement } from "../agreement.js";
import { button } from "../buttons.js";
import { h, heading } from "../dom.js";
import { exportLabels } from "../exporting.js";
import { state, subscribe } from "../store.js";
import { tally, total } from "../tally.js";
import { complain } from "../toast.js";
import { checkCard } from "./checkcard.js";
import { ago, clock, count, day, doing, story } from "../words.js";

const PART = 100;

/** @type {import("../router.js").View} */
export function history(root) {
  const acts = h("div", { class: "row" });
  const days = h("div", { class: "days" });
  const foot = h("div", { class: "row" });
  const session = h("p", { class: "soft" });
  const check = checkCard();
  root.append(
    heading(
      "History",
      "All changes, latest first. Undo reverts them one at a time.",
      button("Export labels…", exportLabels, { icon: "drop" }),
    ),
    acts,
    session,
    agreement(),
    days,
    foot,
    check.element,
  );
  /** @type {import("../types.d.ts").Entry[]} */
  let entries = [];

  const paint = () => {
    const { can_undo, can_redo } = state.status;
    acts.replaceChildren(
      button(can_undo ? `Undo ${doing(can_undo.verb)}` : "Undo", undo, {
        icon: "undo",
        key: ["everywhere", "undo"],
        disabled: !can_undo,
      }),
      button(can_redo ? `Redo ${doing(can_redo.verb)}` : "Redo", redo, {
        icon: "redo",
        key: ["everywhere", "redo"],
        disabled: !can_redo,
      }),
    );
    session.textContent = total()
      ? `${count(total(), "action")} in this session: ${Object.entries(tally())
          .map(([kind, n]) => `${kind} ${n}`)
          .join(", ")}.`
      : "";
    const byDay = Map.groupBy ? Map.groupBy(entries, (entry) => day(entry.at)) : new Map([["", entries]]);
    days.replaceChildren(
      ...[...byDay].map(([name, some]) =>
        h(
          "section",
          {},
          h("h2", {}, name),
          h(
            "ol",
            { class: "entries" },
            some.map((entry) =>
              h(
                "li",
                { class: entry.undone ? "undone" : null },
                h("time", { datetime: entry.at, title: ago(entry.at) }, clock(entry.at)),
                h("span", {}, h("strong", {}, entry.who), " ", story(entry.verb, entry.details)),
                entry.undone && h("span", { class: "badge" }, "undone"),
              ),
            ),
          ),
        ),
      ),
    );
  };
  const read = async (older = false) => {
    const [found, jobs] = await Promise.all([api.history(PART, older ? entries.at(-1)?.id : undefined), api.jobs()]);
    check.paint(jobs);
    entries = older ? [...entries, ...found] : found;
    foot.replaceChildren(found.length === PART ? button("Show older", () => read(true).catch(complain)) : "");
    paint();
  };
  read().catch(complain);
  return subscribe((topic) => (topic === "review" ? read() : topic === "job" && check.paint()));
}
