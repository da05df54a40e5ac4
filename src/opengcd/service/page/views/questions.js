/** Questions about groups, one at a time. The next one is shown at once, while the answer to the last is being stored. */

import { answerQuestion, regroup, undo } from "../acts.js";
import { api } from "../api.js";
import { about, ask } from "../asking.js";
import { button } from "../buttons.js";
import { progress } from "../charts.js";
import { h, heading } from "../dom.js";
import { keyOf, useKeys } from "../keys.js";
import { groupById, state, subscribe } from "../store.js";
import { complain } from "../toast.js";
import { capital, count, title } from "../words.js";
import { nextCard } from "./nextstep.js";

/** @typedef {import("../types.d.ts").Question} Question */
/** @typedef {import("../types.d.ts").Answer} Answer */

const SCOPE = "questions";
const ANSWERS = ["yes", "no", "first", "second", "none"];

/** Questions that were skipped, until the page is closed. @type {Set<string>} */
const skipped = new Set();

/** What makes a question the same as another. @param {Question} question */
const nameOf = ({ kind, groups, shown }) => JSON.stringify([kind, groups, shown]);

/** A link to a group, and its size. @param {number} id */
function groupLink(id) {
  const group = groupById(id);
  return [
    h("a", { href: `#/groups/${id}` }, group ? title(group) : `Group ${id}`),
    group && count(group.size, "image"),
  ];
}

/** What stands above the pictures of a question. @param {Question} question @returns {import("../dom.js").Child[][]} */
function captions({ kind, groups, answers }) {
  if (kind === "same") return groups.map(groupLink);
  const whole = groupById(groups[0])?.size;
  const second = answers.find(({ edit }) => edit.act === "divide")?.edit.items.length;
  return [
    ["First part", whole !== undefined && count(whole - second, "image")],
    ["Second part", count(second, "image")],
  ];
}

/** @param {() => unknown} run @param {Object} [options] */
const regroupButton = (run, options) =>
  button("Regroup as answered", run, {
    key: [SCOPE, "regroup"],
    title:
      "Images that you saw to be one class stay together. Images of groups that are not a class join the groups that they resemble most, or start new groups.",
    ...options,
  });

/**
 * @param {Question} question
 * @param {(answer: Answer) => unknown} reply
 * @param {() => unknown} skip
 * @param {(() => unknown)|false} again what regroups the images, if there is something to regroup by
 */
function card(question, reply, skip, again) {
  const above = captions(question);
  return h(
    "section",
    { class: "card question", tabindex: "-1", "aria-label": question.text },
    h(
      "div",
      { class: "head" },
      h("h2", {}, question.text),
      question.kind === "split" && h("span", { class: "soft" }, groupLink(question.groups[0])[0]),
    ),
    h(
      "div",
      { class: "sides" },
      question.shown.map((items, i) =>
        h(
          "figure",
          {},
          h("figcaption", {}, h("h3", {}, above[i][0]), h("span", { class: "soft" }, above[i][1])),
          h(
            "div",
            { class: "mosaic", "aria-hidden": "true" },
            items.map((id) => h("img", { src: api.thumbnail(id), alt: "", decoding: "async" })),
          ),
        ),
      ),
    ),
    h(
      "div",
      { class: "answers" },
      question.answers.map((answer) => {
        const act = ANSWERS.find((one) => keyOf(SCOPE, one) === answer.key);
        return button(capital(answer.text), () => reply(answer), { key: act ? [SCOPE, act] : undefined });
      }),
    ),
    h(
      "div",
      { class: "row" },
      button("Skip", skip, { quiet: true, icon: "next", key: [SCOPE, "skip"] }),
      button("Undo", undo, { quiet: true, icon: "undo", key: ["everywhere", "undo"] }),
      again && regroupButton(again, { quiet: true }),
    ),
  );
}

/**
 * What is shown when no question is left.
 * @param {boolean} any whether one was answered @param {number} n those that were skipped @param {() => unknown} unskip
 * @param {(() => unknown)|false} again what regroups the images, if there is something to regroup by
 */
function ending(any, n, unskip, again) {
  return [
    h(
      "section",
      { class: "empty card", tabindex: "-1" },
      h("h2", {}, any || n ? "No more questions" : "No questions at the moment"),
      h(
        "p",
        {},
        n ? `You skipped ${count(n, "question")}.` : "No further answer is likely to save you more work than it takes.",
      ),
      n > 0 && button("Ask again", unskip),
    ),
    nextCard(again && regroupButton(again)).element,
  ];
}

/** @type {import("../router.js").View} */
export function questions(root) {
  const left = h("p", { class: "soft" });
  const done = h("div", {});
  const body = h("div", { class: "stack" });
  root.append(heading("Questions", "Each answer should save you more work than it takes.", left), done, body);
  /** @type {import("../types.d.ts").Questions} */
  let asked = { edit: 0, seconds: 0, questions: [], answered: false };
  /** What an answer takes. */
  let seconds = 0;
  /** @type {Question|undefined} */
  let current;
  /** Questions that were shown and are asked no more. One of them that returns was undone, and is shown at once. @type {Set<string>} */
  const closed = new Set();
  let reading = 0;
  let sending = 0;
  /** Whether there are no questions but those that were read: an answer may raise others. */
  let complete = false;
  let shown = "";

  const waiting = () => asked.questions.filter((one) => !skipped.has(nameOf(one)));

  /** @param {Question|undefined} question */
  const show = (question) => {
    current = question;
    const n = waiting().length;
    left.textContent = n ? `${count(n, "question")} left, ${about(n * seconds)}` : "";
    done.replaceChildren(n || closed.size ? progress(closed.size / (closed.size + n), "Questions answered") : "");
    // Built again only if it looks different: somebody may be about to press a button of it.
    const { status, jobs } = state;
    const now = JSON.stringify(
      question
        ? [question, question.groups.map(groupById), asked.answered]
        : [complete, status, [...jobs.values()], asked.answered],
    );
    if (now === shown) return;
    shown = now;
    const focused = body.contains(document.activeElement);
    const again = asked.answered && regroupNow;
    const looking = h("section", { class: "empty card", tabindex: "-1" }, "Looking for questions …");
    body.replaceChildren(
      ...(question
        ? [card(question, reply, skip, again)]
        : complete
          ? ending(closed.size > 0, asked.questions.length, unskip, again)
          : [looking]),
    );
    if (focused) /** @type {HTMLElement} */ (body.firstElementChild).focus();
  };

  const read = async () => {
    const mine = ++reading;
    const found = await ask();
    if (mine !== reading || sending) return;
    asked = found;
    complete = true;
    seconds = found.seconds / Math.max(1, found.questions.length);
    const old = current && nameOf(current);
    const same = asked.questions.find((one) => nameOf(one) === old);
    if (old && !same) closed.add(old);
    const undone = asked.questions.find((one) => closed.has(nameOf(one)));
    if (undone) closed.delete(nameOf(undone));
    show(undone ?? same ?? waiting()[0]);
  };

  /** @param {Answer} answer */
  const reply = async (answer) => {
    if (!current) return;
    const question = current;
    closed.add(nameOf(question));
    asked.questions = asked.questions.filter((one) => one !== question);
    sending += 1;
    complete = false;
    show(waiting()[0]);
    await answerQuestion(answer, asked.edit);
    sending -= 1;
    if (!sending) await read().catch(complain); // a question whose answer was refused returns
  };
  const regroupNow = async () => {
    if (!asked.answered) return;
    asked.answered = false;
    sending += 1;
    await regroup(asked.edit);
    sending -= 1;
    if (!sending) await read().catch(complain);
  };
  const skip = () => {
    if (!current) return;
    skipped.add(nameOf(current));
    show(waiting()[0]);
  };
  const unskip = () => {
    skipped.clear();
    show(waiting()[0]);
  };
  /** @param {string} act @returns {(event: KeyboardEvent) => unknown} */
  const byKey = (act) => (event) => {
    const answer = current?.answers.find(({ key }) => key === keyOf(SCOPE, act));
    return answer && !event.repeat && reply(answer); // a key held down is one answer
  };

  show(undefined);
  read().catch(complain);
  const ends = [
    useKeys(SCOPE, {
      ...Object.fromEntries(ANSWERS.map((act) => [act, byKey(act)])),
      skip: (event) => event.repeat || skip(),
      regroup: (event) => event.repeat || regroupNow(),
    }),
    subscribe((topic) => {
      if (topic === "review" && !sending) read().catch(complain);
      if (topic === "job" && !current) show(undefined);
    }),
  ];
  return () => ends.forEach((end) => end());
}
