/** Which network turns images into vectors: those on the machine first, and whether the one that is chosen can be used. */

import { h } from "../dom.js";
import { chooseFolder } from "../folders.js";
import { icon } from "../icons.js";
import { complain } from "../toast.js";
import { moved, movingCard } from "../views/uploadcard.js";
import { number } from "../words.js";
import { home } from "./api.js";
import { choice } from "./choice.js";

/** @typedef {import("./types.d.ts").Backbone} Backbone */
/** @typedef {import("./types.d.ts").BackboneCheck} BackboneCheck */
/** @typedef {import("./types.d.ts").Checking} Checking */

/** Where a network is that is not on the machine. */
const DOWNLOAD = "to download";
const EVERY = 400;

/**
 * @param {import("./create.js").Draft} draft changed in place
 * @param {{save: () => unknown, changed: () => unknown, signal: AbortSignal}} options changed: called when `missing` may answer otherwise
 */
export function backbonePart(draft, { save, changed, signal }) {
  /** @type {BackboneCheck|null} */
  let check = null;
  let checking = false;
  /** Which answer is still wanted: that to the latest question. */
  let tried = 0;
  const networks = h("div", { class: "networks", role: "radiogroup", "aria-label": "Backbone" });
  const fetching = h("div", {});
  const tested = h("div", { class: "found", "aria-live": "polite" });

  /** @param {Backbone[]} list @param {boolean} local whether networks of this machine may be named */
  const show = (list, local) => {
    const others = draft.backbone && !list.some((one) => one.name === draft.backbone) ? draft.backbone : "";
    const typed = h("input", {
      type: "text",
      "aria-label": "Name, folder or ONNX file",
      placeholder: local ? "Name on the Hugging Face hub, folder, or .onnx file" : "Name on the Hugging Face hub",
      spellcheck: "false",
      autocomplete: "off",
    });
    typed.value = others;
    /** @param {string} value */
    const choose = (value) => {
      draft.backbone = value || null;
      save();
      tryIt();
    };
    const browse = async () => {
      const path = await chooseFolder({
        title: "Folder or ONNX file of a network",
        submit: "Use this folder",
        kind: "backbone",
      });
      if (path === null) return;
      typed.value = path;
      more.checked = true;
      choose(path);
    };
    const more = h("input", {
      type: "radio",
      name: "backbone",
      value: "",
      on: { change: () => choose(typed.value.trim()) },
    });
    more.checked = others !== "";
    typed.addEventListener("change", () => ((more.checked = true), choose(typed.value.trim())));
    networks.replaceChildren(
      ...list.map((one) =>
        choice(
          "backbone",
          one.name,
          draft.backbone ?? "",
          one.title,
          one.where === DOWNLOAD ? one.about : `${one.about} (${one.where})`,
          choose,
        ),
      ),
      h(
        "div",
        { class: "choice" },
        h("label", { class: "other" }, more, h("strong", {}, "Another one")),
        h("div", { class: "row" }, typed, local && h("button", { type: "button", on: { click: browse } }, "Browse …")),
      ),
    );
  };

  /** Check the backbone that was chosen. */
  const tryIt = async () => {
    check = null;
    const mine = ++tried;
    fetching.replaceChildren();
    tested.replaceChildren();
    if (!draft.backbone) return changed();
    checking = true;
    changed();
    const wanted = () => mine === tried && !signal.aborted;
    try {
      const asked = { name: draft.backbone, pooling: draft.settings.pooling ?? null };
      const ended = await follow(await home.check(asked, signal), wanted);
      if (!wanted()) return;
      check = ended?.result ?? null;
      tested.replaceChildren(...told(check));
    } catch (error) {
      if (wanted()) tested.replaceChildren(...failed(error instanceof Error ? error.message : String(error)));
    } finally {
      if (mine === tried) {
        checking = false;
        fetching.replaceChildren();
        changed();
      }
    }
  };

  /**
   * Show how far a check is until it ends.
   * @param {Checking} begun @param {() => boolean} wanted
   * @returns {Promise<Checking|null>} how it ended; null if another one was begun elsewhere
   */
  const follow = async (begun, wanted) => {
    const card = movingCard(`Downloading ${begun.request.name}`, () => home.cancelCheck().catch(complain));
    /** @type {Checking|null} */
    let now = begun;
    while (now?.id === begun.id && now.state === "running") {
      if (now.total) {
        card.show(now.done / now.total, moved(now.done, now.total, now.seconds_left));
        if (!card.element.isConnected) {
          fetching.replaceChildren(card.element);
          tested.replaceChildren();
        }
      } else if (card.element.isConnected || !tested.hasChildNodes()) {
        fetching.replaceChildren();
        tested.replaceChildren(h("p", { class: "soft" }, "Checking whether this backbone works here …"));
      }
      await new Promise((resolve) => setTimeout(resolve, EVERY));
      if (!wanted()) return null;
      now = (await home.checking(signal)).checking;
      if (!wanted()) return null;
    }
    return now?.id === begun.id ? now : null;
  };

  /** @param {string} problem */
  const failed = (problem) => [
    h("p", { class: "warning", role: "alert" }, problem),
    h("div", { class: "row" }, h("button", { type: "button", on: { click: tryIt } }, "Try again")),
  ];

  /** @param {BackboneCheck|null} result */
  const told = (result) =>
    result === null
      ? failed("The check was cancelled.")
      : result.usable
        ? [
            h(
              "p",
              { class: "good" },
              icon("check"),
              `It works: ${number(result.width ?? 0)} numbers per image, ${perImage(result.seconds ?? 0)} on this machine.`,
            ),
          ]
        : failed(result.problem);

  return {
    elements: [networks, fetching, tested],
    /**
     * Show the networks. One that is being downloaded stays chosen; without a choice, the first one on the machine is.
     * @param {Backbone[]} list @param {boolean} local @param {Checking|null} now
     */
    show(list, local, now) {
      if (now?.state === "running" && now.total) draft.backbone = now.request.name;
      if (!draft.backbone) draft.backbone = list.find((one) => !one.toy && one.where !== DOWNLOAD)?.name ?? null;
      show(list, local);
      tryIt();
    },
    check: tryIt,
    /** What the person still has to do; empty if nothing. */
    missing: () =>
      !draft.backbone
        ? "Choose a backbone."
        : checking
          ? "The backbone is being checked."
          : !check?.usable
            ? "This backbone cannot be used; see above."
            : "",
  };
}

/** @param {number} seconds */
const perImage = (seconds) =>
  seconds < 0.01 ? "less than 0.01 s per image" : `about ${seconds.toFixed(2)} s per image`;
