/** The page: sign in, show the bar, then the view that the address names. */

import { redo, undo } from "./acts.js";
import { startAdding } from "./adding.js";
import { api } from "./api.js";
import { button } from "./buttons.js";
import { showSheet } from "./dialogs.js";
import { byId, h } from "./dom.js";
import { follow } from "./events.js";
import { icon } from "./icons.js";
import { listen, useKeys } from "./keys.js";
import { watchPictures } from "./pictures.js";
import { startPresence } from "./presence.js";
import { go, startRouter } from "./router.js";
import { currentJob, refresh, state, subscribe, toReview } from "./store.js";
import { toggleTheme } from "./theme.js";
import { complain } from "./toast.js";
import { group } from "./views/group.js";
import { groups } from "./views/groups.js";
import { history } from "./views/history.js";
import { images } from "./views/images.js";
import { labels } from "./views/labels.js";
import { learn } from "./views/learn.js";
import { numberOfClasses } from "./views/number.js";
import { overview } from "./views/overview.js";
import { questions } from "./views/questions.js";
import { rejection } from "./views/rejection.js";
import { signIn } from "./views/signin.js";
import { tryIt } from "./views/try.js";
import { doing, DOING } from "./words.js";

/** @type {[string, string, import("./router.js").View][]} name, label and view */
const VIEWS = [
  ["overview", "Overview", overview],
  ["groups", "Groups", (root, ...rest) => (rest[0] ? group : groups)(root, ...rest)],
  ["number", "Number of classes", numberOfClasses],
  ["learn", "Learn", learn],
  ["try", "Try it", tryIt],
  ["rejection", "Rejection", rejection],
  ["history", "History", history],
  ["questions", "Questions", questions],
  ["images", "Images", images],
  ["labels", "Labels", labels],
];

/** Where a job is shown. @type {Record<string, string>} */
const HOMES = {
  discover: "#/number",
  learn: "#/learn",
  teach: "#/learn",
  measure: "#/labels",
  check: "#/history",
  adapt: "#/overview",
  recognize: "#/overview",
};

async function signOut() {
  await api.signOut().catch(complain);
  location.reload();
}

function bar() {
  const links = VIEWS.map(([name, label]) => h("a", { href: `#/${name}`, "data-view": name }, h("span", {}, label)));
  const waiting = h("span", { class: "count" });
  const ready = h("span", { class: "count" });
  links[1].append(waiting);
  links[3].append(ready);
  const back = button("Undo", undo, { icon: "undo", bare: true, quiet: true, key: ["everywhere", "undo"] });
  const forth = button("Redo", redo, { icon: "redo", bare: true, quiet: true, key: ["everywhere", "redo"] });
  const job = h("a", { class: "pill", hidden: true });
  const offline = h("span", { class: "pill bad", hidden: true, role: "alert" }, "Connection lost. Reconnecting …");
  const projects = h(
    "a",
    { class: "up", href: "../../", title: "All projects", "aria-label": "All projects", hidden: true },
    icon("previous"),
  );
  const element = byId("bar");
  api.watch().then((watch) => (projects.hidden = !watch.home), complain);
  element.append(
    projects,
    h(
      "a",
      { class: "brand", href: "#/overview", title: state.status.name },
      h("img", { src: new URL("icon.svg", import.meta.url).pathname, alt: "", width: 22, height: 22 }),
      h("span", {}, state.status.name),
    ),
    h("nav", { "aria-label": "Views" }, links),
    h(
      "div",
      { class: "end" },
      offline,
      !state.session.scopes.includes("write") &&
        h("span", { class: "pill", title: "Your token lets you look at everything and change nothing" }, "read only"),
      job,
      back,
      forth,
      button("Switch between light and dark", toggleTheme, {
        icon: "theme",
        bare: true,
        quiet: true,
        key: ["everywhere", "theme"],
      }),
      button("Keyboard shortcuts", showSheet, { icon: "help", bare: true, quiet: true, key: ["everywhere", "sheet"] }),
      button(`Sign out ${state.session.who}`, signOut, { icon: "out", bare: true, quiet: true }),
    ),
  );
  element.hidden = false;
  const paint = () => {
    const { can_undo, can_redo, to_learn } = state.status;
    back.disabled = !can_undo;
    forth.disabled = !can_redo;
    back.title = can_undo ? `Undo ${doing(can_undo.verb)} (u)` : "Nothing to undo";
    forth.title = can_redo ? `Redo ${doing(can_redo.verb)} (⇧U)` : "Nothing to redo";
    const count = toReview().length;
    waiting.textContent = String(count || "");
    ready.textContent = String(to_learn || "");
    const running = currentJob();
    job.hidden = !running;
    if (!running) return;
    const share = running.total ? ` ${Math.round((100 * running.done) / running.total)} %` : "";
    job.replaceChildren(h("span", {}, DOING[running.verb]), share);
    job.href = HOMES[running.verb];
  };
  subscribe(paint);
  paint();
  return {
    /** @param {boolean} there */
    connection: (there) => (offline.hidden = there),
    /** @param {string} name */
    current(name) {
      for (const link of links) {
        if (link.dataset.view !== name) link.removeAttribute("aria-current");
        else {
          link.setAttribute("aria-current", "page");
          link.scrollIntoView({ block: "nearest", inline: "nearest" }); // a small screen has no room for all
        }
      }
      document.title = `${VIEWS.find(([view]) => view === name)?.[1]} – ${state.status.name}`;
    },
  };
}

async function start() {
  const main = byId("main");
  state.session = await signIn(main);
  await refresh();
  const top = bar();
  listen();
  watchPictures();
  useKeys("everywhere", {
    view: (event) => go(VIEWS[(Number(event.key) + 9) % 10][0]),
    undo,
    redo,
    theme: toggleTheme,
    sheet: showSheet,
  });
  startRouter(main, Object.fromEntries(VIEWS.map(([name, , view]) => [name, view])), top.current);
  startPresence();
  follow(top.connection);
  startAdding();
}

start().catch(complain);
