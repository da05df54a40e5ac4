/** Where the workspace stands: what to do next, how well it does, the map, and what it knows. */

import { mergeClass, renameClass } from "../acts.js";
import { takesVectors } from "../adding.js";
import { api } from "../api.js";
import { invitation } from "../asking.js";
import { button } from "../buttons.js";
import { legend, lineChart } from "../charts.js";
import { h, heading } from "../dom.js";
import { classLink } from "../router.js";
import { state, subscribe, toReview } from "../store.js";
import { complain } from "../toast.js";
import { showFailures } from "../failures.js";
import { count, number, percent } from "../words.js";
import { showWithoutCrop } from "../withoutcrop.js";
import { adaptCard } from "./adapt.js";
import { addCard } from "./addcard.js";
import { mapCard } from "./mapcard.js";
import { nextCard } from "./nextstep.js";
import { ranksCard } from "./ranks.js";

const CLASSES = 24;

function tiles() {
  const { status } = state;
  const seen = Object.values(status.counts).reduce((sum, n) => sum + n, 0);
  /** @param {string} value @param {string} label @param {import("../dom.js").Child} note @param {string} [title] what the words mean */
  const tile = (value, label, note, title) =>
    h("div", { class: "tile", title }, h("dt", {}, label), h("dd", {}, value, note && h("small", {}, note)));
  const { memory } = status;
  const whole = Object.entries(status.without_crop);
  return h(
    "dl",
    { class: "tiles" },
    tile(
      number(status.version?.classes.length ?? 0),
      "known classes",
      `phase ${status.version?.phase ?? 0}`,
      "A new phase begins each time the recogniser learns",
    ),
    tile(
      number(seen),
      takesVectors() ? "vectors seen" : "images seen",
      status.failures > 0 &&
        button(`${count(status.failures, "file")} could not be used`, showFailures, { quiet: true }),
    ),
    whole.length > 0 &&
      tile(
        number(whole.reduce((sum, [, n]) => sum + n, 0)),
        "images without a crop",
        whole.map(([label, n]) =>
          button(`${number(n)} ${label}`, () => showWithoutCrop(label, n), { quiet: true, title: "Look at them" }),
        ),
        "Images in which the detector has found nothing to recognise",
      ),
    tile(number(status.to_review), "to review", `in ${count(toReview().length, "group")}`),
    tile(number(status.to_learn), "ready to learn", null),
    memory &&
      tile(
        percent(memory.size ? memory.used / memory.size : 0),
        "of the exemplar memory used",
        `${number(memory.used)} of ${number(memory.size)}`,
        "Exemplars are the learnt images that the recogniser keeps: from them it recognises the known classes",
      ),
  );
}

/** @typedef {import("../types.d.ts").Phase} Phase */
/** @typedef {import("../charts.js").Line} Line */

/** @param {Phase[]} phases */
function charts(phases) {
  if (!phases.length) return h("p", { class: "empty" }, "Curves appear once the first classes are known.");
  /** @param {string} name @param {(phase: Phase) => number|null|undefined} value @returns {Line} */
  const line = (name, value, dashed = false) => ({
    name,
    dashed,
    points: phases.map((phase) => [phase.phase, value(phase) ?? null]),
  });
  /** @param {string} label @param {string} note @param {Line[]} lines */
  const figure = (label, note, lines) =>
    h(
      "figure",
      { class: "card" },
      h(
        "figcaption",
        {},
        h("h3", {}, label),
        lines.length > 1 ? legend(lines) : h("strong", {}, percent(lines[0].points.at(-1)?.[1])),
        h("p", { class: "soft" }, note),
      ),
      lineChart({ label, unit: "phase", lines }),
    );
  const accuracy = [
    line("held out", (phase) => phase.held_out),
    line("confirmed", (phase) => phase.accuracy?.confirmed, true),
  ];
  const told = accuracy.filter(({ points }) => points.some(([, value]) => value !== null));
  return [
    told.length
      ? figure(
          "Accuracy by phase",
          "On exemplars that were held out, and on the images that were confirmed in the phase.",
          told,
        )
      : h(
          "figure",
          { class: "card" },
          h("figcaption", {}, h("h3", {}, "Accuracy by phase")),
          h("p", { class: "empty" }, "Accuracy is measured when the recogniser learns."),
        ),
    figure("Share of unknown images", "Of the stream: all images that were added to be recognised.", [
      line("unknown", (phase) => phase.unknown_rate),
    ]),
  ];
}

/** @param {import("../types.d.ts").Class[]} classes @param {boolean} all */
function classCards(classes, all) {
  const seen = state.edit;
  const shown = all ? classes : classes.slice(0, CLASSES);
  return h(
    "ul",
    { class: "classes" },
    shown.map((one) =>
      h(
        "li",
        { class: "card" },
        h(
          "div",
          { class: "strip", "aria-hidden": "true" },
          one.exemplars.slice(0, 5).map((id) => h("img", { src: api.thumbnail(id), alt: "", loading: "lazy" })),
        ),
        h(
          "div",
          { class: "caption" },
          h("strong", {}, classLink(one.label)),
          h(
            "span",
            { class: "soft" },
            one.exemplars.length < one.learnt
              ? `${number(one.exemplars.length)} of ${number(one.learnt)} kept`
              : count(one.learnt, "exemplar"),
          ),
        ),
        state.session.scopes.includes("write") &&
          h(
            "div",
            { class: "row acts" },
            button(`Rename ${one.label}`, () => renameClass(one.label, one.exemplars, seen), {
              icon: "pen",
              bare: true,
              quiet: true,
            }),
            button(`Merge ${one.label} into another class`, () => mergeClass(one.label, one.exemplars, seen), {
              icon: "merge",
              bare: true,
              quiet: true,
            }),
          ),
      ),
    ),
  );
}

/** @type {import("../router.js").View} */
export function overview(root) {
  const questions = invitation();
  const next = nextCard(questions.element);
  const numbers = h("section", { "aria-label": "Numbers" });
  const curves = h("div", { class: "curves", "aria-busy": "true" });
  const knows = h("section", { "aria-label": "Known classes" });
  const map = mapCard();
  const adapt = adaptCard();
  const add = addCard();
  const ranks = ranksCard();

  const readPhases = async () => {
    const phases = await api.phases();
    curves.replaceChildren(...[charts(phases)].flat());
    curves.removeAttribute("aria-busy");
  };
  const readClasses = async (all = false) => {
    const classes = await api.classes();
    const more =
      !all &&
      classes.length > CLASSES &&
      button(`Show all ${classes.length}`, () => readClasses(true), { quiet: true });
    knows.replaceChildren(h("header", {}, h("h2", {}, "Known classes"), more || ""), classCards(classes, all));
  };
  const paint = () => {
    next.paint();
    add.paint();
    numbers.replaceChildren(tiles());
  };

  const { name, embedder } = state.status;
  root.append(
    heading(
      name,
      takesVectors()
        ? "Its items are vectors that were given. Where there is no picture, the name is shown."
        : `Embedder: ${embedder.startsWith("/") ? embedder.split("/").at(-1) : embedder}. It turns each image into a vector (an embedding), by which images are compared.`,
    ),
    next.element,
    add.element,
    numbers,
    h("div", { class: "overview" }, map.element, curves),
    adapt.element,
    knows,
    state.status.version ? ranks.element : "",
  );
  paint();
  const version = () =>
    JSON.stringify([state.status.version?.id, state.status.version?.classes, state.status.to_learn]);
  let known = version();
  Promise.all([map.read(), readPhases(), readClasses(), adapt.read(), state.status.version && ranks.read()])
    .catch(complain)
    .then(questions.read);
  const ends = [
    subscribe(async (topic) => {
      if (topic === "job") {
        adapt.follow();
        return next.paint();
      }
      if (topic === "map") return map.read();
      if (topic === "adaptation") return adapt.read();
      paint();
      questions.read();
      if (known !== version()) {
        known = version();
        readPhases().catch(complain);
        readClasses().catch(complain);
      }
      if (state.status.version) ranks.read().catch(complain);
      adapt.refresh()?.catch(complain);
      return map.read();
    }),
    map.end,
    add.end,
  ];
  return () => ends.forEach((end) => end());
}
