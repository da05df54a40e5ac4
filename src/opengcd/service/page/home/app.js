/** The home page: all projects, and creating one. */

import { api } from "../api.js";
import { byId, h } from "../dom.js";
import { icon } from "../icons.js";
import { startRouter } from "../router.js";
import { toggleTheme } from "../theme.js";
import { complain } from "../toast.js";
import { signIn } from "../views/signin.js";
import { newProject } from "./create.js";
import { projects } from "./projects.js";

const HINT = [
  "Run ",
  h("code", {}, "opengcd"),
  " again on the machine where OpenGCD runs: it opens a page that is signed in. Or enter the token from the address that it prints.",
];

async function signOut() {
  await api.signOut().catch(complain);
  location.reload();
}

/** @param {string} label @param {import("../icons.js").Icon} picture @param {() => unknown} run */
const tool = (label, picture, run) =>
  h(
    "button",
    { type: "button", class: "quiet icon", title: label, "aria-label": label, on: { click: run } },
    icon(picture),
  );

async function start() {
  const main = byId("main");
  const session = await signIn(main, HINT);
  const bar = byId("bar");
  bar.append(
    h(
      "a",
      { class: "brand", href: "#/projects" },
      h("img", { src: new URL("../icon.svg", import.meta.url).pathname, alt: "", width: 22, height: 22 }),
      h("span", {}, "OpenGCD"),
    ),
    h("nav", { "aria-label": "Views" }, h("a", { href: "#/projects", "data-view": "projects" }, "Projects")),
    h(
      "div",
      { class: "end" },
      tool("Switch between light and dark", "theme", toggleTheme),
      tool(`Sign out ${session.who}`, "out", signOut),
    ),
  );
  bar.hidden = false;
  startRouter(main, { projects, new: newProject }, (name) => {
    document.title = `${name === "new" ? "New project" : "Projects"} – OpenGCD`;
    const link = bar.querySelector("[data-view]");
    if (name === "projects") link?.setAttribute("aria-current", "page");
    else link?.removeAttribute("aria-current");
  });
}

start().catch(complain);
