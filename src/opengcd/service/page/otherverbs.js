/**
 * Verbs of the review that have no button of their own, as the service's OpenAPI document describes them: a new verb needs
 * no change of the page.
 */

import { applyVerb } from "./acts.js";
import { api } from "./api.js";
import { button } from "./buttons.js";
import { h } from "./dom.js";
import { complain } from "./toast.js";
import { capital } from "./words.js";

/**
 * @typedef {Object} Verb
 * @property {string} act
 * @property {string} title
 * @property {string} text what it does
 * @property {"group"|"items"|null} about what it is applied to: the group on display, or selected images
 * @property {import("./dialogs.js").Field[]} fields
 */

/** Verbs with buttons and keys of their own, also those of the questions, of known classes, of learnt images and of teams. */
const OWN = new Set([
  ...["name", "confirm", "unconfirm", "move", "separate", "remove", "unstack", "merge", "split"],
  ...["keep", "compare", "divide", "regroup"],
  ...["rename_class", "merge_classes", "relabel", "keep_label", "discard"],
  ...["assign", "comment"],
]);

/** @type {Record<string, "text"|"number"|"checkbox">} */
const INPUTS = { string: "text", integer: "number", number: "number", boolean: "checkbox" };

/** @type {Promise<Verb[]>|null} */
let verbs = null;

/** @param {any} document @returns {Verb[]} */
function read(document) {
  const body = document.paths["/api/v1/edits"].post.requestBody.content["application/json"].schema;
  /** @type {[string, string][]} */
  const references = Object.entries(body.discriminator?.mapping ?? {});
  return references
    .filter(([act]) => !OWN.has(act))
    .map(([act, reference]) => {
      const schema = document.components.schemas[reference.split("/").at(-1) ?? ""];
      const names = Object.keys(schema.properties).filter((name) => !["act", "on"].includes(name));
      const fields = names.map((name) => {
        const { anyOf, type } = schema.properties[name];
        const kind = type ?? anyOf?.[0].type;
        return { name, label: capital(name), type: INPUTS[kind] ?? "text", required: schema.required.includes(name) };
      });
      const about = names.includes("items") ? "items" : names.includes("group") ? "group" : null;
      return { act, title: capital(act), text: schema.description ?? "", about, fields };
    });
}

/**
 * Buttons for the verbs about groups, or about images; they appear once the document is read, which takes the service a
 * while the first time.
 * @param {Verb["about"]} about
 * @param {(apply: (given: Record<string, unknown>, shown: number) => Promise<unknown>) => unknown} run what a click does
 */
export function otherButtons(about, run) {
  const place = h("span", { class: "row", hidden: true });
  verbs ??= api.document().then(read);
  verbs
    .then((all) => {
      const found = all.filter((verb) => verb.about === about);
      place.hidden = found.length === 0;
      place.replaceChildren(
        ...found.map((verb) =>
          button(verb.title, () => run((given, shown) => applyVerb(verb, given, shown)), { title: verb.text }),
        ),
      );
    })
    .catch((error) => {
      verbs = null;
      complain(error);
    });
  return place;
}
