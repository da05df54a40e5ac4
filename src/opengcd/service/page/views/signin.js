/** Asking for the token. */

import { api, ApiError } from "../api.js";
import { h } from "../dom.js";

const WHO = "opengcd.who";

/** @typedef {import("../types.d.ts").Session} Session */
/** @typedef {import("../dom.js").Child} Child */

const BY_COMMAND = [
  "When it was first started, ",
  h("code", {}, "opengcd serve"),
  " printed an address with a token. Open that address, or enter the token here. To make another token, run ",
  h("code", {}, "opengcd token"),
  ".",
];

/**
 * Sign in by the token in the address, by the cookie, or by asking.
 * @param {HTMLElement} root
 * @param {Child[]} [hint] where a token comes from
 * @returns {Promise<Session>}
 */
export async function signIn(root, hint = BY_COMMAND) {
  const given = new URLSearchParams(location.hash.replace(/^#/, "")).get("token");
  if (given) {
    // Out of sight, and out of the browser's history.
    window.history.replaceState(null, "", location.pathname);
    try {
      return await api.signIn(given, localStorage.getItem(WHO));
    } catch (error) {
      return ask(root, error, hint);
    }
  }
  try {
    return await api.session();
  } catch (error) {
    return ask(root, error instanceof ApiError && error.status === 401 ? null : error, hint);
  }
}

/**
 * @param {HTMLElement} root
 * @param {unknown} error why asking is needed; null if there is no more to say
 * @param {Child[]} hint
 * @returns {Promise<Session>}
 */
function ask(root, error, hint) {
  return new Promise((resolve) => {
    const token = h("input", {
      type: "password",
      id: "token",
      autocomplete: "current-password",
      required: true,
      autofocus: true,
    });
    const who = h("input", {
      type: "text",
      id: "who",
      autocomplete: "username",
      placeholder: "optional; shown in the history",
    });
    who.value = localStorage.getItem(WHO) ?? "";
    const wrong = h("p", { class: "warning", role: "alert" }, error ? wordsOf(error) : "");
    /** @param {Event} event */
    const submit = async (event) => {
      event.preventDefault();
      wrong.textContent = "";
      try {
        if (who.value.trim()) localStorage.setItem(WHO, who.value.trim());
        const session = await api.signIn(token.value.trim(), who.value.trim());
        root.replaceChildren();
        resolve(session);
      } catch (refused) {
        wrong.textContent = wordsOf(refused);
        token.select();
      }
    };
    root.replaceChildren(
      h(
        "form",
        { class: "card signin", on: { submit } },
        h("h1", {}, "OpenGCD"),
        h("p", { class: "soft" }, hint),
        h("label", { for: "token" }, "Token"),
        token,
        h("label", { for: "who" }, "Your name"),
        who,
        wrong,
        h("button", { type: "submit", class: "primary" }, "Sign in"),
      ),
    );
    token.focus();
  });
}

/** @param {unknown} error */
const wordsOf = (error) => (error instanceof Error ? error.message : String(error));
