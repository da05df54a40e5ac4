/** The files that could not be used, with reasons. */

import { api } from "./api.js";
import { ask } from "./dialogs.js";
import { h } from "./dom.js";
import { complain } from "./toast.js";
import { count } from "./words.js";

const SHOWN = 500;

export async function showFailures() {
  try {
    const found = await api.failures();
    await ask(`${count(found.length, "file")} could not be used`, () => [
      h("p", { class: "soft" }, "Mend or replace them, then add them again; a file that can be used leaves this list."),
      h(
        "ul",
        { class: "findings", tabindex: 0, "aria-label": "Files" },
        found.slice(0, SHOWN).map(({ name, reason }) => h("li", {}, h("strong", {}, name), `: ${reason}`)),
        found.length > SHOWN && h("li", { class: "soft" }, `and ${count(found.length - SHOWN, "more", "more")}`),
      ),
    ]);
  } catch (error) {
    complain(error);
  }
}
