/** A job under way. */

import { api } from "../api.js";
import { button } from "../buttons.js";
import { progress } from "../charts.js";
import { h } from "../dom.js";
import { complain } from "../toast.js";
import { DOING, pace } from "../words.js";

/** @param {import("../types.d.ts").Job|null} job @returns {HTMLElement[]} */
export function jobCard(job) {
  if (!job) return [];
  const share = job.total ? job.done / job.total : null;
  const stage = job.state === "waiting" ? "waiting for other jobs" : job.stage;
  return [
    h(
      "section",
      { class: "card job", "aria-label": `${DOING[job.verb]} is under way` },
      h(
        "div",
        { class: "head" },
        h("h2", {}, `${DOING[job.verb]} …`),
        button("Cancel", () => api.cancel(job.id).catch(complain), { quiet: true }),
      ),
      progress(share, DOING[job.verb]),
      h("p", { class: "soft" }, [stage, pace(job)].filter(Boolean).join(" · ")),
    ),
  ];
}
