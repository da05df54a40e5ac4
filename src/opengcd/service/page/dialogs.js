/** Questions to the reviewer. Each is a promise of the answer, or of null if the question was dismissed. */

import { api } from "./api.js";
import { h } from "./dom.js";
import { sheet } from "./keys.js";

const SHOWN = 60;
let serial = 0;

/**
 * Open a dialog; Escape, a click outside and its cross close it.
 * @template T
 * @param {string} title
 * @param {(answer: (value: T|null) => void) => (Node|null|undefined|false)[]} build
 * @param {string} [kind]
 * @returns {Promise<T|null>}
 */
export function ask(title, build, kind = "") {
  return new Promise((resolve) => {
    const id = `dialog-${++serial}`;
    const before = document.activeElement;
    /** @type {T|null} */
    let value = null;
    const dialog = h("dialog", { class: kind, "aria-labelledby": id });
    /** @param {T|null} given */
    const answer = (given) => {
      value = given;
      dialog.close();
    };
    dialog.append(
      h(
        "div",
        { class: "panel" },
        h(
          "header",
          {},
          h("h2", { id }, title),
          h(
            "button",
            { type: "button", class: "quiet icon", "aria-label": "Close", on: { click: () => answer(null) } },
            "×",
          ),
        ),
        build(answer),
      ),
    );
    dialog.addEventListener("click", (event) => event.target === dialog && answer(null));
    dialog.addEventListener("close", () => {
      dialog.remove();
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
      resolve(value);
    });
    document.body.append(dialog);
    dialog.showModal();
    /** @type {HTMLElement|null} */ (dialog.querySelector("[autofocus]"))?.focus();
  });
}

/** @param {number[]} ids */
const images = (ids) =>
  h(
    "div",
    { class: "strip", "aria-hidden": "true" },
    ids.slice(0, 8).map((id) => h("img", { src: api.thumbnail(id), alt: "" })),
  );

/**
 * Ask for a name that completes.
 * @typedef {{label: string, kind: string, group?: import("./types.d.ts").Group, image?: number}} Option
 * @param {Object} question
 * @param {string} question.title
 * @param {Option[]} question.options
 * @param {number[]} [question.images]
 * @param {string} [question.value]
 * @param {string|null} [question.suggestion] offered while nothing is typed
 * @param {boolean} [question.free] whether a name that is no option will do
 * @param {(text: string) => string} [question.tell] what a name would lead to
 * @param {string} question.submit
 * @param {string} [question.other] label of a second way to answer, by Shift and Enter
 * @returns {Promise<{text: string, option: Option|null, other: boolean}|null>}
 */
export function pick(question) {
  const { options, free = false, suggestion = null, tell = () => "" } = question;
  return ask(
    question.title,
    (answer) => {
      const list = `options-${serial}`;
      /** @type {Option[]} */
      let matches = [];
      let current = -1;

      const input = h("input", {
        type: "text",
        role: "combobox",
        "aria-label": free ? "Name" : "Search",
        "aria-autocomplete": "list",
        "aria-expanded": "true",
        "aria-controls": list,
        autocomplete: "off",
        autocapitalize: "off",
        spellcheck: "false",
        autofocus: true,
        placeholder: free ? "Type a name" : "Type to search",
      });
      input.value = question.value ?? "";
      const ghost = h("span", { class: "ghost", "aria-hidden": "true" });
      const box = h("ul", { class: "options", role: "listbox", id: list, "aria-label": "Names" });
      const note = h("p", { class: "note", role: "status" });
      const submit = h(
        "button",
        { type: "submit", class: "primary" },
        h("span", {}, question.submit),
        h("kbd", { "aria-hidden": "true" }, "Enter"),
      );
      const other =
        question.other &&
        h(
          "button",
          { type: "button", on: { click: () => give(true) } },
          h("span", {}, question.other),
          h("kbd", { "aria-hidden": "true" }, "⇧Enter"),
        );

      const completion = () => {
        const text = input.value;
        if (!text) return suggestion ?? null;
        const found = options.find((option) => option.label.toLowerCase().startsWith(text.toLowerCase()));
        return found && found.label !== text ? found.label : null;
      };
      const chosen = () => {
        if (current >= 0) return { text: matches[current].label, option: matches[current] };
        const text = input.value.trim();
        const same = options.find((option) => option.label === text) ?? null;
        if (free) return text ? { text, option: same } : null;
        const option = same ?? matches[0] ?? null;
        return option && { text: option.label, option };
      };
      /** @param {boolean} second */
      const give = (second) => {
        const found = chosen();
        if (found) answer({ ...found, other: second });
        else input.focus();
      };
      const paint = () => {
        const text = input.value.trim().toLowerCase();
        /** @param {Option} option */
        const rank = (option) => (option.label.toLowerCase().startsWith(text) ? 0 : 1);
        matches = options
          .filter((option) => option.label.toLowerCase().includes(text))
          .sort((a, b) => rank(a) - rank(b))
          .slice(0, SHOWN);
        const marked = current >= 0 ? current : free ? -1 : 0;
        box.replaceChildren(
          ...matches.map((option, i) =>
            h(
              "li",
              {
                role: "option",
                id: `${list}-${i}`,
                "aria-selected": String(i === marked),
                on: { click: () => ((current = i), give(false)) },
              },
              option.image ? h("img", { src: api.thumbnail(option.image), alt: "" }) : h("span", { class: "blank" }),
              h("span", { class: "label" }, option.label),
              h("span", { class: "kind" }, option.group ? `${option.kind} · ${option.group.size}` : option.kind),
            ),
          ),
        );
        box.hidden = matches.length === 0;
        if (marked >= 0 && matches.length) {
          input.setAttribute("aria-activedescendant", `${list}-${marked}`);
          box.children[marked]?.scrollIntoView({ block: "nearest" });
        } else input.removeAttribute("aria-activedescendant");
        const full = completion();
        ghost.textContent = current < 0 && full ? input.value + full.slice(input.value.length) : "";
        const ending = full && input.value ? ` Press Tab for “${full}”.` : "";
        note.textContent =
          !input.value && suggestion
            ? `These images look like “${suggestion}”. Press Tab to use that name.`
            : tell(chosen()?.text ?? "") + ending;
        submit.disabled = chosen() === null;
        if (other) other.disabled = submit.disabled;
      };
      input.addEventListener("input", () => {
        current = -1;
        paint();
      });
      input.addEventListener("keydown", (event) => {
        const full = completion();
        if (event.key === "Tab" && !event.shiftKey && full) {
          event.preventDefault();
          input.value = full;
          current = -1;
          paint();
        } else if (["ArrowDown", "ArrowUp"].includes(event.key) && matches.length) {
          event.preventDefault();
          const from = current < 0 && !free ? 0 : current;
          current = (from + (event.key === "ArrowDown" ? 1 : -1) + matches.length) % matches.length;
          if (from < 0 && event.key === "ArrowUp") current = matches.length - 1;
          paint();
        } else if (event.key === "Enter" && event.shiftKey && other) {
          event.preventDefault();
          give(true);
        }
      });
      queueMicrotask(() => input.select());
      paint();
      return [
        question.images?.length ? images(question.images) : null,
        h(
          "form",
          { on: { submit: (event) => (event.preventDefault(), give(false)) } },
          h("div", { class: "complete" }, ghost, input),
          note,
          box,
          h("footer", {}, other, submit),
        ),
      ];
    },
    "picker",
  );
}

/**
 * Ask for a whole number.
 * @param {{title: string, value: number, min: number, max: number, unit: string}} question
 * @returns {Promise<number|null>}
 */
export function pickNumber({ title, value, min, max, unit }) {
  return ask(title, (answer) => {
    const input = h("input", { type: "number", min, max, value, autofocus: true, "aria-label": unit });
    queueMicrotask(() => input.select());
    return [
      h(
        "form",
        { on: { submit: (event) => (event.preventDefault(), answer(input.valueAsNumber)) } },
        h("div", { class: "field" }, input, h("span", {}, unit)),
        h(
          "footer",
          {},
          h(
            "button",
            { type: "submit", class: "primary" },
            h("span", {}, "Split"),
            h("kbd", { "aria-hidden": "true" }, "Enter"),
          ),
        ),
      ),
    ];
  });
}

/**
 * Ask for several values.
 * @typedef {{name: string, label: string, type: "text"|"number"|"checkbox", required: boolean}} Field
 * @param {{title: string, text: string, fields: Field[]}} question
 * @returns {Promise<Record<string, string|number|boolean>|null>} the values that were given, by the names of the fields
 */
export function fillIn({ title, text, fields }) {
  return ask(title, (answer) => {
    const inputs = fields.map(({ label, type, required }, i) =>
      h("input", { type, "aria-label": label, required: required && type !== "checkbox", autofocus: i === 0 }),
    );
    const submit = () => {
      const values = fields.map(({ name, type }, i) => {
        const input = inputs[i];
        const value =
          type === "checkbox" ? input.checked : type === "number" ? input.valueAsNumber : input.value.trim();
        return /** @type {const} */ ([name, value]);
      });
      answer(Object.fromEntries(values.filter(([, value]) => value !== "" && !Number.isNaN(value))));
    };
    return [
      h("p", {}, text),
      h(
        "form",
        { on: { submit: (event) => (event.preventDefault(), submit()) } },
        fields.map(({ label }, i) => h("label", { class: "field" }, h("span", {}, label), inputs[i])),
        h("footer", {}, h("button", { type: "submit", class: "primary", autofocus: !fields.length }, title)),
      ),
    ];
  });
}

/**
 * Ask whether to go on.
 * @param {{title: string, text: string, submit: string}} question
 * @returns {Promise<true|null>}
 */
export function choose({ title, text, submit }) {
  return ask(title, (answer) => [
    h("p", {}, text),
    h(
      "footer",
      {},
      h("button", { type: "button", on: { click: () => answer(null) } }, "Cancel"),
      h("button", { type: "button", class: "primary", autofocus: true, on: { click: () => answer(true) } }, submit),
    ),
  ]);
}

/** Show all keyboard shortcuts. */
export const showSheet = () => ask("Keyboard shortcuts", () => [sheet()], "wide");
