/** The filters of all images: in the address, as fields, and as chips that take one away. */

import { button } from "./buttons.js";
import { h } from "./dom.js";
import { SOURCES } from "./reasons.js";
import { groupById } from "./store.js";
import { count, number, percent, title } from "./words.js";

/** @typedef {import("./api.js").Filters} Filters */
/** @typedef {import("./types.d.ts").ImageChoices} Choices */
/** @typedef {import("./reasons.js").Source} Source */

/** Sources of labels that are chosen together. @type {[string, Source[]][]} */
const KINDS = [
  ["Known: learnt, reviewed or recognised", ["learnt", "reviewed", "returned", "recognized"]],
  ["Not known: rejected or grouped", ["rejected", "grouped"]],
  ...Object.entries(SOURCES).map(([source, text]) => /** @type {[string, Source[]]} */ ([text, [source]])),
];

/** @type {[string, string][]} sort and direction, as in the address, and what they are called */
const ORDERS = [
  ["added-", "Newest first"],
  ["added", "Oldest first"],
  ["doubt-", "Most doubtful first"],
  ["unknown-", "Highest unknown probability"],
  ["label", "Class"],
  ["name", "File name"],
  ["date-", "Date, latest first"],
  ["date", "Date, earliest first"],
];
const SHARES = /** @type {const} */ (["unknown_min", "unknown_max", "doubt_min", "doubt_max"]);
const TEXTS = /** @type {const} */ (["label", "since", "until", "folder", "who", "name"]);
/** Fields that are shown only when they are asked for. */
const FURTHER = ["unknown_min", "unknown_max", "doubt_min", "doubt_max", "since", "until", "folder", "who"];

/** The filters that an address asks for; what makes no sense in it is left out. @param {URLSearchParams} asked @returns {Filters} */
export function read(asked) {
  /** @type {Filters} */
  const found = {};
  for (const name of TEXTS) if (asked.get(name)) found[name] = asked.get(name) ?? "";
  for (const name of /** @type {const} */ (["since", "until"]))
    if (!/^[12]\d{3}-\d\d-\d\d$/.test(found[name] ?? "") || Number.isNaN(Date.parse(found[name] ?? "")))
      delete found[name];
  for (const name of SHARES) {
    const share = Number(asked.get(name));
    if (asked.has(name) && share >= 0 && share <= 1) found[name] = share;
  }
  const group = Number(asked.get("group"));
  if (Number.isInteger(group) && group > 0) found.group = group;
  const sources = (asked.get("source") ?? "").split(",").filter((one) => one in SOURCES);
  if (sources.length) found.source = /** @type {Source[]} */ (sources);
  const order = ORDERS.find(([name]) => name === asked.get("sort"))?.[0] ?? ORDERS[0][0];
  found.sort = /** @type {Filters["sort"]} */ (order.replace("-", ""));
  found.descending = order.endsWith("-");
  return found;
}

/** How an address asks for filters. @param {Filters} filters */
export function write({ sort, descending, source, ...others }) {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(others))
    if (value !== undefined && value !== null && value !== "") asked.set(name, String(value));
  if (source?.length) asked.set("source", source.join(","));
  const order = `${sort}${descending ? "-" : ""}`;
  if (order !== ORDERS[0][0]) asked.set("sort", order);
  return asked;
}

/** The filters in words, each with its names. @param {Filters} filters @returns {[string, (keyof Filters)[]][]} */
export function inWords({ label, group, source, unknown_min, unknown_max, doubt_min, doubt_max, ...others }) {
  const { since, until, folder, who, name } = others;
  /** @param {string} what @param {number|null|undefined} least @param {number|null|undefined} most */
  const range = (what, least, most) =>
    least !== undefined && most !== undefined
      ? `${what} ${percent(least)} to ${percent(most)}`
      : least !== undefined
        ? `${what} at least ${percent(least)}`
        : most !== undefined && `${what} at most ${percent(most)}`;
  const of = group ? groupById(group) : undefined;
  /** @type {[string|undefined|null|false|0, (keyof Filters)[]][]} */
  const all = [
    [name && `name has “${name}”`, ["name"]],
    [label && `class ${label}`, ["label"]],
    [group && `group ${of ? title(of) : group}`, ["group"]],
    [source?.length && source.map((one) => SOURCES[one].toLowerCase()).join(" or "), ["source"]],
    [range("doubt", doubt_min, doubt_max), ["doubt_min", "doubt_max"]],
    [range("unknown", unknown_min, unknown_max), ["unknown_min", "unknown_max"]],
    [since && `from ${since}`, ["since"]],
    [until && `until ${until}`, ["until"]],
    [folder && `in ${folder}`, ["folder"]],
    [who && `labelled by ${who}`, ["who"]],
  ];
  return all.flatMap(([text, names]) => (text ? [/** @type {[string, (keyof Filters)[]]} */ ([text, names])] : []));
}

/**
 * Fields for all filters.
 * @param {() => Filters} current @param {(changed: Filters, back?: boolean) => void} change what to do with new filters;
 *   back: whether the browser can go back to the ones before
 */
export function filterBar(current, change) {
  /** @param {Partial<Filters>} some @param {boolean} [back] */
  const set = (some, back) => change({ ...current(), ...some }, back);
  const typing = { timer: 0 };
  const search = h("input", {
    type: "search",
    class: "search",
    placeholder: "Search file names",
    "aria-label": "Search file names",
    maxlength: 200,
    on: {
      input: () => {
        clearTimeout(typing.timer);
        typing.timer = window.setTimeout(() => set({ name: search.value || undefined }, false), 250);
      },
    },
  });
  /**
   * @param {string} label @param {(value: string) => Partial<Filters>} read
   */
  const choice = (label, read) => {
    /** @type {HTMLSelectElement} */
    const field = h("select", { "aria-label": label, on: { change: () => set(read(field.value)) } });
    return field;
  };
  const labels = choice("Class", (value) => ({ label: value || undefined, group: undefined }));
  const kinds = choice("Where the label comes from", (value) => ({
    source: value ? /** @type {Source[]} */ (value.split(",")) : undefined,
  }));
  const orders = choice("Order", (value) => ({
    sort: /** @type {Filters["sort"]} */ (value.replace("-", "")),
    descending: value.endsWith("-"),
  }));
  const folders = choice("Folder", (value) => ({ folder: value || undefined }));
  const people = choice("Labelled by", (value) => ({ who: value || undefined }));
  /** @param {"unknown_min"|"unknown_max"|"doubt_min"|"doubt_max"} name @param {string} label */
  const share = (name, label) => {
    /** @type {HTMLInputElement} */
    const field = h("input", {
      type: "number",
      min: 0,
      max: 100,
      step: "any",
      "aria-label": label,
      "data-filter": name,
      on: {
        change: () => {
          const value = field.valueAsNumber;
          set({ [name]: Number.isNaN(value) ? undefined : Math.max(0, Math.min(100, value)) / 100 });
        },
      },
    });
    return field;
  };
  /** @param {"since"|"until"} name @param {string} label */
  const date = (name, label) => {
    /** @type {HTMLInputElement} */
    const field = h("input", {
      type: "date",
      "aria-label": label,
      "data-filter": name,
      on: { change: () => set({ [name]: field.value || undefined }) },
    });
    return field;
  };
  const shares = {
    doubt_min: share("doubt_min", "Doubt at least, in percent"),
    doubt_max: share("doubt_max", "Doubt at most, in percent"),
    unknown_min: share("unknown_min", "Probability of unknown at least, in percent"),
    unknown_max: share("unknown_max", "Probability of unknown at most, in percent"),
  };
  const dates = { since: date("since", "From this day"), until: date("until", "Until this day") };
  /** @param {string} label @param {string} text what it means @param {...Node|string} fields */
  const line = (label, text, ...fields) =>
    h("div", { class: "range", title: text }, h("span", {}, label), h("span", { class: "fields" }, fields));
  const more = h(
    "div",
    { class: "further card", id: "further-filters", hidden: true },
    line(
      "Doubt",
      "How likely the label is wrong: of recognised, rejected and grouped images",
      shares.doubt_min,
      "to",
      shares.doubt_max,
      "%",
    ),
    line("Unknown", "How likely the image is of no known class", shares.unknown_min, "to", shares.unknown_max, "%"),
    line("Date", "When the image was taken, or else when its file was last changed", dates.since, "to", dates.until),
    line("Folder", "The folder of the file, and those below it", folders),
    line("Labelled by", "The person who named the group, moved the image or corrected its label", people),
  );
  const opener = button("More filters", () => toggle(), { icon: "filter", key: ["browser", "filter"] });
  opener.setAttribute("aria-expanded", "false");
  opener.setAttribute("aria-controls", "further-filters");
  const toggle = (show = more.hidden) => {
    more.hidden = !show;
    opener.setAttribute("aria-expanded", String(show));
  };
  const chips = h("div", { class: "row chips" });
  const element = h(
    "div",
    { class: "filters", role: "search", "aria-label": "Filters" },
    h("div", { class: "row" }, search, labels, kinds, orders, opener),
    more,
    chips,
  );

  /** @type {Choices} */
  let choices = { labels: [], folders: [], people: [] };
  /**
   * @param {HTMLSelectElement} field @param {string} all @param {[string, string][]} options value and text
   * @param {string|undefined|null} chosen
   */
  const fill = (field, all, options, chosen) => {
    const value = chosen ?? "";
    if (value && !options.some(([one]) => one === value)) options.unshift([value, value]);
    field.replaceChildren(
      all ? h("option", { value: "" }, all) : "",
      ...options.map(([one, text]) => h("option", { value: one }, text)),
    );
    field.value = value;
    field.classList.toggle("set", Boolean(all && value));
  };
  const paint = () => {
    const filters = current();
    if (document.activeElement !== search) search.value = filters.name ?? "";
    /** @type {[string, string][]} */
    const named = choices.labels.map(({ label, count: n }) => [label, `${label} (${number(n)})`]);
    fill(labels, "All classes", named, filters.label);
    /** @type {[string, string][]} */
    const sources = KINDS.map(([text, some]) => [some.join(","), text]);
    const chosen = filters.source?.join(",");
    if (chosen && !sources.some(([value]) => value === chosen))
      sources.unshift([chosen, (filters.source ?? []).map((one) => SOURCES[one]).join(" or ")]);
    fill(kinds, "Known and unknown", sources, chosen);
    fill(orders, "", [...ORDERS], `${filters.sort}${filters.descending ? "-" : ""}`);
    /** @type {[string, string][]} */
    const places = choices.folders.map(({ folder, count: n }) => [folder, `${folder} (${count(n, "file")})`]);
    fill(folders, "All folders", places, filters.folder);
    fill(
      people,
      "Anybody",
      choices.people.map((one) => [one, one]),
      filters.who,
    );
    for (const [name, field] of Object.entries(shares)) {
      const value = filters[/** @type {keyof typeof shares} */ (name)];
      field.value = value === undefined || value === null ? "" : String(Number((100 * value).toFixed(4)));
    }
    for (const [name, field] of Object.entries(dates))
      field.value = filters[/** @type {keyof typeof dates} */ (name)] ?? "";
    const shown = inWords(filters);
    chips.hidden = !shown.length;
    chips.replaceChildren(
      ...shown.map(([text, names]) =>
        h(
          "button",
          {
            type: "button",
            class: "chip",
            title: "Remove this filter",
            "aria-label": `Remove the filter: ${text}`,
            on: { click: () => set(Object.fromEntries(names.map((one) => [one, undefined]))) },
          },
          text,
          h("span", { "aria-hidden": "true" }, "×"),
        ),
      ),
      shown.length > 1 ? button("Clear all", clear, { quiet: true }) : "",
    );
  };
  const clear = () => {
    const { sort, descending } = current();
    search.value = "";
    change({ sort, descending });
  };
  if (FURTHER.some((name) => current()[/** @type {keyof Filters} */ (name)] !== undefined)) toggle(true);
  paint();
  return {
    element,
    paint,
    clear,
    toggle: () => toggle(),
    focus: () => search.select(),
    /** @param {Choices} found */
    offer(found) {
      choices = found;
      paint();
    },
    end: () => clearTimeout(typing.timer),
  };
}
