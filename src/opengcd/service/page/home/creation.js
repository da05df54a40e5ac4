/** A project that is being created: how far it is, and how it ended. */

import { progress } from "../charts.js";
import { h } from "../dom.js";
import { complain } from "../toast.js";
import { capital, count, pace } from "../words.js";
import { addressOf, home } from "./api.js";

/** @typedef {import("./types.d.ts").Creation} Creation */

const EVERY = 400;

/**
 * Hear of the creation, until the returned function is called.
 * @param {(creation: Creation|null) => void} tell called at first, and whenever it has changed
 */
export function followCreation(tell) {
  let last = "";
  let ended = false;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  const read = async () => {
    try {
      const { creation } = await home.creation();
      if (ended) return;
      const now = JSON.stringify(creation);
      if (now !== last) tell(creation);
      last = now;
      timer = setTimeout(read, creation?.state === "running" ? EVERY : 4 * EVERY);
    } catch {
      if (!ended) timer = setTimeout(read, 4 * EVERY); // the list tells that the server does not answer
    }
  };
  read();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}

/**
 * @param {Creation} creation
 * @param {{again: () => unknown, closed: () => unknown}} options to fill in the form again; after it was closed
 */
export function creationCard(creation, { again, closed }) {
  const { name } = creation.request;
  const close = () => home.close().then(closed, complain);
  /** @param {string} label @param {() => unknown} run @param {string} [kind] */
  const act = (label, run, kind = "") => h("button", { type: "button", class: kind, on: { click: run } }, label);
  if (creation.state === "running") {
    const share = creation.total ? creation.done / creation.total : null;
    return h(
      "section",
      { class: "card job", "aria-label": `Creating ${name}` },
      h(
        "div",
        { class: "head" },
        h("h2", {}, `Creating “${name}” …`),
        act("Cancel", () => home.cancel().catch(complain), "quiet"),
      ),
      progress(share, `Creating ${name}`),
      h("p", { class: "soft" }, [capital(creation.stage || "starting"), pace(creation)].filter(Boolean).join(" · ")),
    );
  }
  if (creation.state === "done")
    return h(
      "section",
      { class: "card job", "aria-label": `${name} is ready` },
      h("h2", {}, `“${name}” is ready`),
      h("p", {}, `It has learnt from ${count(creation.images, "image")}.`),
      creation.unusable > 0 &&
        h(
          "details",
          {},
          h("summary", {}, `${count(creation.unusable, "file")} could not be used`),
          h(
            "ul",
            { class: "soft reasons" },
            creation.reasons.map((reason) => h("li", {}, reason)),
          ),
        ),
      h(
        "div",
        { class: "row" },
        h(
          "a",
          {
            class: "button strong",
            href: addressOf(creation.key ?? ""),
            on: { click: () => void home.close().catch(complain) },
          },
          "Open it",
        ),
        act("Close", close, "quiet"),
      ),
    );
  const failed = creation.state === "failed";
  return h(
    "section",
    { class: "card job", "aria-label": failed ? `${name} was not created` : `The creation of ${name} was cancelled` },
    h("h2", {}, failed ? `“${name}” was not created` : `The creation of “${name}” was cancelled`),
    failed
      ? h("p", { class: "warning", role: "alert" }, creation.error)
      : h("p", { class: "soft" }, "Nothing of it was kept."),
    h("div", { class: "row" }, act("Back to the form", again, "primary"), act("Close", close, "quiet")),
  );
}
