/** The questions that are worth asking, and a link to them where there are any. */

import { api } from "./api.js";
import { h } from "./dom.js";
import { state, toReview } from "./store.js";
import { complain } from "./toast.js";
import { count } from "./words.js";

const MOST = 100;

/** @returns {Promise<import("./types.d.ts").Questions>} */
export async function ask() {
  const unnamed = toReview().some((group) => !group.named);
  return state.status.version && unnamed
    ? api.questions(MOST)
    : { edit: state.edit, seconds: 0, questions: [], answered: false };
}

/** "about 12 seconds". @param {number} seconds */
export const about = (seconds) => `about ${count(Math.max(1, Math.round(seconds)), "second")}`;

/** A link to the questions, hidden while there are none. */
export function invitation() {
  const element = h("a", { class: "button", href: "#/questions", hidden: true });
  let reading = false;
  let again = false;
  // Nobody waits for this: finding questions takes the service longer than most answers.
  const read = async () => {
    again = true;
    if (reading) return;
    reading = true;
    try {
      while (again) {
        again = false;
        const { seconds, questions } = await ask();
        element.hidden = questions.length === 0;
        element.textContent = `Answer questions: ${about(seconds)}`;
      }
    } catch (error) {
      complain(error);
    } finally {
      reading = false;
    }
  };
  return { element, read };
}
