/** Questions to the reviewer. Each is a promise of the answer, or of null if the question was dismissed. */

import { api } from "./api.js";
import { h } from "./dom.js";
import { sheet } from "./keys.js";
import { ending, nameKey, withName } from "./names.js";

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
 * Ask for a name that completes. The row that is marked in the list is what Enter takes: the name that is being completed,
 * or the row for a new name.
 * @typedef {{label: string, kind: string, group?: import("./types.d.ts").Group, image?: number}} Option
 * @param {Object} question
 * @param {string} question.title
 * @param {Option[]} question.options
 * @param {Promise<Option[]>} [question.ranked] the same options, the most likely first; they are shown when this is known
 * @param {number[]} [question.images]
 * @param {string} [question.value]
 * @param {string|null} [question.suggestion] offered while nothing is typed
 * @param {boolean} [question.free] whether a name that is no option will do
 * @param {(text: string) => string} [question.tell] what a name would lead to
 * @param {{heading: string, note: string, images: number[]}} [question.beside] images to compare with those of the marked option;
 *   then a click marks an option, and does not choose it
 * @param {string} question.submit
 * @param {string} [question.other] label of a second way to answer, by Shift and Enter
 * @returns {Promise<{text: string, option: Option|null, other: boolean}|null>}
 */
export function pick(question) {
  const { free = false, suggestion = null, tell = () => "" } = question;
  return ask(
    question.title,
    (answer) => {
      const list = `options-${serial}`;
      /** @type {Option[]} */
      let options = [];
      let ready = !question.ranked;
      if (ready) options = question.options;
      /** @type {{label: string, option: Option|null}[]} */
      let rows = [];
      let current = -1; // the row that was gone to; -1: the one that fits what is typed
      let typed = false;

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

      const text = () => input.value.trim();
      /** The option that what is typed begins, unless it is the whole name of one. */
      const completed = () => {
        if (!typed || !text() || withName(text(), options, labelOf)) return null;
        return options.find((option) => ending(input.value, option.label) !== null) ?? null;
      };
      /** The row that Enter takes; -1 if there is none. */
      const marked = () => {
        if (current >= 0) return current;
        if (!text() && suggestion) return rows.findIndex((row) => row.label === suggestion);
        if (!text()) return free ? -1 : Math.min(0, rows.length - 1);
        const fits = withName(text(), options, labelOf) ?? completed();
        const place = rows.findIndex((row) => row.option === fits && fits);
        return place >= 0 ? place : Math.min(0, rows.length - 1);
      };
      /** @param {boolean} second */
      const give = async (second) => {
        await order;
        const row = rows[marked()];
        if (row) answer({ text: row.label, option: row.option, other: second });
        else input.focus();
      };
      /** @param {number} i */
      const choose = (i) => {
        const again = current === i;
        current = i;
        if (!question.beside || again) return give(false);
        input.focus();
        return paint();
      };
      const compared = h("div", { class: "compared" });
      let comparedWith = -1;
      /** @param {Option|null|undefined} option */
      const compare = (option) => {
        if (!question.beside || comparedWith === (option?.group?.id ?? 0)) return;
        comparedWith = option?.group?.id ?? 0;
        const other = option?.group && {
          heading: option.label,
          note: kindOf(option),
          images: option.group.typical,
        };
        compared.replaceChildren(sideBySide(other ? [question.beside, other] : [question.beside]));
      };
      const find = () => {
        const wanted = nameKey(text());
        /** @param {Option} option */
        const rank = (option) => (nameKey(option.label).startsWith(wanted) ? 0 : 1);
        const found = options
          .filter((option) => nameKey(option.label).includes(wanted))
          .sort((a, b) => rank(a) - rank(b))
          .slice(0, SHOWN)
          .map((option) => ({ label: option.label, option }));
        const fresh = free && text() && !withName(text(), options, labelOf);
        rows = fresh ? [{ label: text(), option: null }, ...found] : found;
      };
      const paint = () => {
        find();
        const at = marked();
        box.replaceChildren(
          ...rows.map(({ label, option }, i) =>
            h(
              "li",
              {
                role: "option",
                id: `${list}-${i}`,
                class: option ? null : "fresh",
                "aria-selected": String(i === at),
                on: { click: () => choose(i) },
              },
              option?.image
                ? h("img", { src: api.thumbnail(option.image), alt: "" })
                : h("span", { class: "blank" }, option ? "" : "+"),
              h("span", { class: "label" }, label),
              h(
                "span",
                { class: "kind" },
                option ? kindOf(option) : label === question.value ? "as it is" : "new name",
              ),
            ),
          ),
        );
        box.hidden = rows.length === 0;
        if (at >= 0) {
          input.setAttribute("aria-activedescendant", `${list}-${at}`);
          box.children[at].scrollIntoView({ block: "nearest" });
        } else input.removeAttribute("aria-activedescendant");
        compare(rows[at]?.option);
        const full = current < 0 ? completed() : null;
        const offered = text() || current >= 0 ? null : suggestion;
        ghost.textContent = offered ?? (full ? input.value + ending(input.value, full.label) : "");
        note.textContent = noteOf(rows[at], full);
        submit.disabled = ready && at < 0;
        if (other) other.disabled = submit.disabled;
      };
      /** @param {typeof rows[number]|undefined} row @param {Option|null} full */
      const noteOf = (row, full) => {
        if (!ready) return "Looking for the most similar…";
        if (!text() && suggestion && current < 0) return `These images look like “${suggestion}”.`;
        const said = tell(row?.label ?? "");
        return full && free ? `${said} For the new name “${text()}”, press ↑ or choose it in the list.` : said;
      };
      input.addEventListener("input", () => {
        typed = true;
        current = -1;
        paint();
      });
      input.addEventListener("keydown", (event) => {
        const full = text() ? completed()?.label : suggestion;
        if (event.key === "Tab" && !event.shiftKey && full) {
          event.preventDefault();
          input.value = full;
          current = -1;
          paint();
        } else if (["ArrowDown", "ArrowUp"].includes(event.key) && rows.length) {
          event.preventDefault();
          const from = marked();
          current = (from + (event.key === "ArrowDown" ? 1 : -1) + rows.length) % rows.length;
          if (from < 0 && event.key === "ArrowUp") current = rows.length - 1;
          paint();
        } else if (event.key === "Enter" && event.shiftKey && other) {
          event.preventDefault();
          give(true);
        }
      });
      /** @param {Option[]} found */
      const show = (found) => {
        options = found;
        ready = true;
        paint();
      };
      const order = question.ranked?.then(show, () => show(question.options));
      queueMicrotask(() => input.select());
      paint();
      return [
        question.beside ? compared : question.images?.length ? images(question.images) : null,
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
    question.beside ? "picker comparison" : "picker",
  );
}

/** @param {Option} option */
const labelOf = (option) => option.label;
/** @param {Option} option */
const kindOf = ({ kind, group }) => (group?.kind === "novel" ? `${kind} · ${group.size}` : kind);

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
 * Two sets of images side by side.
 * @param {{heading: string, note?: string, images: number[]}[]} both
 */
function sideBySide(both) {
  return h(
    "div",
    { class: "sides" },
    both.map(({ heading, note, images: shown }) =>
      h(
        "figure",
        {},
        h("figcaption", {}, h("h3", {}, heading), h("span", { class: "soft" }, note ?? "")),
        h(
          "div",
          { class: "mosaic", "aria-hidden": "true" },
          shown.slice(0, 8).map((id) => h("img", { src: api.thumbnail(id), alt: "", decoding: "async" })),
        ),
      ),
    ),
  );
}

/**
 * Warn of a group that looks like two classes: Enter goes on anyway, s splits it, Escape does neither.
 * @param {{title: string, text: string, parts: {heading: string, note: string, images: number[]}[], submit: string, cancel: string}}
 *   question
 * @returns {Promise<"on"|"split"|null>}
 */
export function warn({ title, text, parts, submit, cancel }) {
  return ask(
    title,
    (answer) => {
      const footer = h(
        "footer",
        {},
        h("button", { type: "button", on: { click: () => answer(null) } }, cancel, h("kbd", {}, "Esc")),
        h("button", { type: "button", on: { click: () => answer("split") } }, "Split…", h("kbd", {}, "s")),
        h(
          "button",
          { type: "button", class: "primary", autofocus: true, on: { click: () => answer("on") } },
          submit,
          h("kbd", {}, "Enter"),
        ),
      );
      queueMicrotask(() =>
        footer.closest("dialog")?.addEventListener("keydown", (event) => {
          if (event.key !== "s" || event.ctrlKey || event.metaKey || event.altKey) return;
          event.preventDefault();
          answer("split");
        }),
      );
      return [h("p", {}, text), sideBySide(parts), footer];
    },
    "comparison",
  );
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
