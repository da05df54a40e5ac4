/** What the service reports by itself: edits of others, and how far jobs are. */

import { inTurn, own } from "./acts.js";
import { addedWords } from "./adding.js";
import { api, editOf, jobOf, presenceOf } from "./api.js";
import { PAGE, take, tell } from "./presence.js";
import { isOver, noteAdaptation, noteJob, noteMap, refresh } from "./store.js";
import { complain, toast } from "./toast.js";
import { DOING, leftAlone, story } from "./words.js";

const BY_JOBS = ["discover", "learn", "adapt", "recognize"];

/** Follow the service until the page is left. @param {(connected: boolean) => void} connection */
export function follow(connection) {
  const source = api.events(PAGE);
  let listening = false;
  source.addEventListener("error", () => {
    listening = false;
    connection(false);
  });
  source.addEventListener("open", () => connection(true));
  // The first one says that all that happens from now on will be told; what the page has read is older than that.
  source.addEventListener("ping", () => {
    if (!listening) {
      inTurn(refresh).catch(complain);
      tell();
    }
    listening = true;
  });
  source.addEventListener("edit", (event) => {
    const { edit, who, verb } = editOf(event);
    // Behind the acts under way: by then it is known whether the edit is one of them.
    inTurn(async () => {
      if (own.delete(edit)) return;
      await refresh();
      if (!BY_JOBS.includes(verb)) toast(`${who} ${story(verb)}.`);
    }).catch(complain);
  });
  source.addEventListener("images", () => inTurn(refresh).catch(complain));
  source.addEventListener("presence", (event) => take(presenceOf(event)));
  source.addEventListener("map", () => noteMap().catch(complain));
  source.addEventListener("adaptation", () => noteAdaptation().catch(complain));
  source.addEventListener("job", (event) => {
    const job = jobOf(event);
    noteJob(job);
    if (!isOver(job)) return;
    if (job.state === "failed") toast(`${DOING[job.verb]} failed: ${job.error}`, { kind: "error" });
    else {
      const left = job.verb === "discover" ? leftAlone(job.result?.left_alone) : "";
      if (job.verb === "recognize" && job.state === "done" && job.result) toast(addedWords(job.result));
      const kept = job.verb === "adapt" && job.result?.switched === false ? "; nothing was changed" : "";
      if (job.verb !== "recognize" || job.state !== "done")
        toast(`${DOING[job.verb]} ${job.state === "done" ? "is done" : "was cancelled"}${left}${kept}.`);
    }
    inTurn(refresh).catch(complain);
  });
}
