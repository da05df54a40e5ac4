"""The sheet of keys, and for each key what it does: the same as a button or the mouse."""

import json
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.helpers.reviewing import put_in_stack

NAMES = {"←": "ArrowLeft", "↑": "ArrowUp", "→": "ArrowRight", "↓": "ArrowDown", "Esc": "Escape", "Del": "Delete",
         "Page ↑": "PageUp", "Page ↓": "PageDown"}  # fmt: skip
STATE = """() => {
    const all = (query, read) => [...document.querySelectorAll(query)].map(read);
    const canvas = document.querySelector("canvas");
    return {
        place: location.hash,
        theme: document.documentElement.dataset.theme,
        dialog: document.querySelector("dialog[open] h2")?.textContent ?? null,
        messages: all(".toast > span", (one) => one.textContent),
        selected: all(".grid .cell[aria-selected=true]", (one) => one.dataset.item),
        chosen: all(".chosen", (one) => one.textContent),
        order: all(".grid .cell", (one) => one.dataset.item),
        cursor: document.querySelector(".grid .cell.cursor")?.dataset.index ?? null,
        card: document.activeElement.closest(".card.group")?.dataset.key ?? null,
        inspector: document.querySelector(".inspector:not([hidden]) h2")?.textContent ?? null,
        stage: document.querySelector(".stage")?.style.getPropertyValue("--zoom") ?? null,
        enlarged: document.querySelector(".enlarged") !== null,
        focus: document.activeElement.getAttribute("aria-label"),
        filters: document.querySelector(".further:not([hidden])") !== null,
        question: document.querySelector(".question h2, .empty h2")?.textContent ?? null,
        lasso: document.querySelector(".plane.lassoing") !== null,
        map: canvas && canvas.toDataURL(),
    };
}"""
"""What the reviewer sees."""


class Reviewer:
    """A browser on a workspace that can be put back to where it was."""

    def __init__(self, visit, workspace):
        self.visit, self.page, self.workspace = visit, visit.page, workspace
        self.first = workspace.groups()
        self.sent, self.choosers, self.open, self.stale = [], 0, set(), True
        self.page.on("request", self._note)
        self.page.on("requestfinished", self._answered)
        self.page.on("requestfailed", self._answered)
        self.page.on("filechooser", self._count)

    def _note(self, request):
        if request.resource_type == "fetch":
            self.open.add(request)
        if request.method != "GET" and not request.url.endswith("/presence"):  # which changes nothing
            body = {name: value for name, value in (request.post_data_json or {}).items() if name != "on"}
            self.sent.append((request.method, re.sub(r".*/api/v1", "", request.url), json.dumps(body)))

    def _answered(self, request):
        self.open.discard(request)

    def _count(self, _):
        self.choosers += 1

    def route(self, path, answer):
        """Answer in the service's stead, until the next act."""
        self.stale = True
        self.page.route(f"**/api/v1/{path}", answer)

    def start(self):
        """Begin anew: the workspace as it was, and the page without a trace of what was done before."""
        if self.stale or self.sent or self.workspace.groups() != self.first:
            while self.workspace.groups() != self.first:
                self.workspace.undo()
            self.page.unroute_all()
            self.page.evaluate("() => localStorage.removeItem('opengcd.theme')")
            self.page.goto(f"{self.visit.address}#/history")
            self.page.reload()
            self.stale = False
        if self.page.locator("dialog[open]").count():
            self.press("Escape")
        self.visit.go("history").get_by_text("History").wait_for()

    def begin(self, act):
        """Bring the page to where an act can be done, and forget what that took; return what is seen then."""
        self.start()
        act.begin(self)
        self.quiet()
        self.page.evaluate("() => document.getElementById('toasts').replaceChildren()")
        self.sent.clear()
        self.choosers = 0
        if "map" not in act.compare:
            return self.seen()
        before = self.seen_without_focus()
        self.page.locator("canvas").focus()
        return before

    def quiet(self):
        """Wait until nothing is asked of the service any more."""
        deadline = time.monotonic() + 10
        while self.open:
            assert time.monotonic() < deadline, [request.url for request in self.open]
            self.page.wait_for_timeout(30)

    def seen(self):
        return self.page.evaluate(STATE) | {"sent": list(self.sent), "choosers": self.choosers}

    def seen_without_focus(self):
        """The map shows where the focus is; a button and a key leave it at different places."""
        self.page.evaluate("() => document.activeElement.blur()")
        self.page.wait_for_timeout(100)
        return self.seen()

    def done(self, act, before, told):
        """Return what is seen once something has changed and no more does."""
        deadline, same, last = time.monotonic() + 10, 0, None
        while same < 3:
            assert time.monotonic() < deadline, f"{told}: nothing happened"
            now = self.seen_without_focus() if "map" in act.compare else self.seen()
            changed = any(now[name] != before[name] for name in act.compare or now)
            same = same + 1 if changed and now == last and not self.open else 0
            last = now
            self.page.wait_for_timeout(40)
        return last

    def button(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()

    def image(self, place=0, dblclick=False, **options):
        cell = self.page.locator(f".grid .cell[data-index='{place}']")
        (cell.dblclick if dblclick else cell.click)(**options)

    def press(self, *keys):
        self.visit.press(*keys)


class Act(NamedTuple):
    """How to come to where a key works, and what the mouse does there; without a click the key must do something."""

    begin: Callable[[Reviewer], Any]
    click: Callable[[Reviewer], Any] | None = None
    compare: tuple[str, ...] = ()
    """What has to be alike after the click and the key; everything if nothing is named."""


def overview(one):
    one.visit.go("overview")
    one.page.locator(".maplegend button").first.wait_for()


def themed(one):
    overview(one)
    one.stale = True


def named(one, confirm=False):
    """The first group has a name, and the page knows it."""
    one.workspace.name(one.first[0].id, "sky", confirm=confirm)
    one.page.reload()
    one.page.get_by_role("button", name="Undo naming a group").wait_for()


def group(one):
    one.visit.go(f"groups/{one.first[0].id}")
    one.page.locator(".grid:focus .cell img").first.wait_for()


def browser(*keys):
    """All images, filtered to eight of them."""

    def begin(one):
        one.visit.go("images?name=red10")
        one.page.locator(".grid:focus .cell img").first.wait_for()
        one.page.get_by_text("8 images", exact=True).wait_for()
        one.press(*keys)
        one.page.wait_for_timeout(300)

    return begin


def group_with(*keys):
    def begin(one):
        group(one)
        one.press(*keys)
        one.page.wait_for_timeout(300)

    return begin


def with_stack(one):
    """The first two images of the group are a stack."""
    put_in_stack(one.workspace, one.first[0].items[:2])
    one.page.reload()
    group(one)
    one.page.get_by_role("button", name="Open stack", exact=True).wait_for()
    one.stale = True


def named_group(one):
    named(one)
    group(one)
    one.page.get_by_role("button", name="Confirm", exact=True).wait_for()


def undone(one):
    named(one)
    one.workspace.undo()
    one.page.reload()
    one.page.get_by_role("button", name="Redo naming a group").wait_for()
    one.stale = True


def suggested(one):
    """The service suggests a name for the first group."""

    def answer(route):
        found = route.fetch().json()
        for other in found["groups"]:
            if other["id"] == one.first[0].id:
                other["suggestion"] = "sky"
        route.fulfill(json=found)

    one.route("groups", answer)
    one.page.reload()
    group(one)


def cards(last=False):
    def begin(one):
        one.visit.go("groups")
        one.page.locator(".card.group .cell:focus").wait_for()
        if last:
            one.press("End")

    return begin


def selected(one):
    group(one)
    one.image()
    one.page.get_by_text("1 image selected").wait_for()


def on_map(*keys):
    """The map, with one image in the middle and the others in the corners."""

    def begin(one):
        def answer(route):
            found = route.fetch().json()
            n = len(found["items"])
            found |= {"x": [0.5] + [i % 2 for i in range(1, n)], "y": [0.5] + [i // 2 % 2 for i in range(1, n)]}
            route.fulfill(json=found | {"drawn": True})

        one.route("map", answer)
        one.visit.go("overview")
        one.page.locator(".plane[data-points]").wait_for()
        canvas = one.page.locator("canvas")
        canvas.scroll_into_view_if_needed()
        canvas.focus()
        one.press(*keys)
        one.page.wait_for_timeout(200)

    return begin


def drag(dx, dy):
    def click(one):
        box = one.page.locator("canvas").bounding_box()
        x, y = box["x"] + box["width"] / 3, box["y"] + box["height"] / 3
        one.page.mouse.move(x, y)
        one.page.mouse.down()
        one.page.mouse.move(x + dx, y + dy)
        one.page.mouse.up()

    return click


def click_the_middle(one):
    box = one.page.locator("canvas").bounding_box()
    one.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


def all_by_mouse(one):
    one.image(0)
    one.image(7, modifiers=["Shift"])


def shift_click(place):
    return lambda one: one.image(place, modifiers=["Shift"])


def link(name):
    return lambda one: one.page.get_by_role("navigation", name="Views").get_by_role("link", name=name).click()


def button(name):
    return lambda one: one.button(name)


def job_view(view):
    """A view that starts a job; the service need not do it."""

    def begin(one):
        job = {"id": 9, "state": "done", "stage": "", "done": 0, "total": 0, "result": None, "error": None, "at": ""}
        one.route(
            "jobs",
            lambda route: (
                route.fulfill(json=job | {"verb": "discover", "who": "ann"}, status=202)
                if route.request.method == "POST"
                else route.continue_()
            ),
        )
        if view == "learn":
            named(one, confirm=True)
        one.visit.go(view)
        one.stale = True
        one.page.locator("main button.primary").wait_for()

    return begin


def question(one):
    """The page asks whether a group of two classes is one."""
    one.workspace.merge(one.first[1].id, one.first[0].id)
    one.visit.go("questions")
    one.page.locator(".question img").first.wait_for()


def answered(name):
    return Act(question, button(name), ("sent", "question"))


def all_answered(one):
    """No question is left, and the images can be regrouped."""
    for group in one.workspace.groups():
        one.workspace.keep(group.id)
    one.visit.go("questions")
    one.page.get_by_role("button", name="Regroup as answered").wait_for()


def rejection(one):
    choices = [{"max_known_rejected": share, "rejected_known": 0.1, "rejected_stream": 5, "share": 0.1}
               for share in (None, 0.05)]  # fmt: skip
    found = {"max_known_rejected": None, "threshold": None, "seen": 48, "choices": choices}
    one.route(
        "rejection",
        lambda route: route.fulfill(json=found if route.request.method == "GET" else {"edit": 99}),
    )
    one.visit.go("rejection")
    one.page.get_by_role("radio", name=re.compile("at most 5 %")).check()


def try_it(one):
    one.visit.go("try")
    one.page.get_by_role("button", name="Choose images").wait_for()


VIEWS = ["Overview", "Groups", "Number of classes", "Learn", "Try it", "Rejection", "History", "Questions", "Images",
         "Labels"]  # fmt: skip
LOOKS, STAGE = ("selected", "chosen"), ("stage",)
FORTH, BACK = ("ArrowRight", "ArrowDown", "End", "PageDown"), ("ArrowLeft", "ArrowUp", "Home", "PageUp")
SHEET = {
    "Everywhere": {
        "Go to a view": {
            str(i % 10): Act(group if i == 1 else overview, link(name), ("place",)) for i, name in enumerate(VIEWS, 1)
        },
        "Undo": Act(named, button("Undo"), ("sent", "messages")),
        "Redo": Act(undone, button("Redo"), ("sent", "messages")),
        "Switch between light and dark": Act(themed, button("Switch between light and dark"), ("theme",)),
        "Show these keyboard shortcuts": Act(overview, button("Keyboard shortcuts")),
    },
    "Group": {
        "Name the group: Tab completes, Enter confirms and continues": Act(group, button("Name")),
        "Confirm or reopen": Act(named_group, button("Confirm")),
        "Join with another group": Act(group, button("Join")),
        "Split into several groups": Act(group, button("Split")),
        "Accept the suggested name": Act(suggested, button("sky")),
        "Assign to a person": Act(group, button("Assign")),
        "Add a comment": Act(group, button("Comment")),
    },
    "All groups": {
        "Move from group to group": {
            **{key: Act(cards()) for key in FORTH[:3]},
            **{key: Act(cards(last=True)) for key in BACK[:3]},
        },
        "Open the group": Act(cards(), lambda one: one.page.locator(".card.group .cell:focus .mosaic").click()),
    },
    "Images of a group": {
        "Move from image to image": {
            **{key: Act(group) for key in FORTH},
            **{key: Act(group_with("End")) for key in BACK},
        },
        "Extend the selection": {
            "Shift+ArrowRight": Act(group, shift_click(1)),
            "Shift+End": Act(group, shift_click(7)),
            "Shift+ArrowDown": Act(group),
            "Shift+ArrowLeft": Act(group_with("End"), shift_click(6)),
            "Shift+Home": Act(group_with("End"), shift_click(0)),
            "Shift+ArrowUp": Act(group_with("End")),
        },
        "Select or deselect the image": Act(group, lambda one: one.image()),
        "Select all": Act(group, all_by_mouse, LOOKS),
        "Select images like this one": Act(group, button("Select similar")),
        "… select more of them": Act(group_with("l"), button("Select more"), LOOKS),
        "… select fewer of them": Act(group_with("l", "+", "+"), button("Select fewer"), LOOKS),
        "Show the odd ones first, or the most typical": Act(group, button("Show odd ones first")),
        "Inspect the image and its neighbours": Act(group, button("Inspect")),
        "Enlarge the image": Act(group, button("Enlarge"), ("enlarged", "inspector")),
        "Open the stack, or all selected stacks": Act(with_stack, button("Open stack"), ("sent", "messages", "order")),
        "Next group": Act(group, button("Next group")),
        "Previous group": Act(group, button("Previous group")),
        "Clear the selection; press again for all groups": Act(
            group, lambda one: one.page.locator("a.back").click(), ("place",)
        ),
    },
    "All images": {
        "Move from image to image": {
            **{key: Act(browser()) for key in FORTH},
            **{key: Act(browser("End")) for key in BACK},
        },
        "Extend the selection": {
            "Shift+ArrowRight": Act(browser(), shift_click(1)),
            "Shift+End": Act(browser(), shift_click(7)),
            "Shift+ArrowDown": Act(browser()),
            "Shift+ArrowLeft": Act(browser("End"), shift_click(6)),
            "Shift+Home": Act(browser("End"), shift_click(0)),
            "Shift+ArrowUp": Act(browser("End")),
        },
        "Select or deselect the image": Act(browser(), lambda one: one.image()),
        "Select all that are listed": Act(browser(), button("Select all"), LOOKS),
        "Inspect the image: why it has its label, and its neighbours": Act(
            browser(), button("Inspect"), ("inspector",)
        ),
        "Enlarge the image": Act(browser(), lambda one: one.image(dblclick=True), ("enlarged", "inspector")),
        "Search by the name of the file": Act(
            browser(), lambda one: one.page.get_by_label("Search file names").click(), ("focus",)
        ),
        "Show or hide more filters": Act(browser(), button("More filters"), ("filters",)),
        "Clear the selection; press again to clear the filters": [
            Act(browser("a"), None, LOOKS),
            Act(browser(), lambda one: one.button("Remove the filter: name has “red10”"), ("place", "order")),
        ],
    },
    "Enlarged image": {
        "Next image": Act(browser("e"), button("Next image"), ("inspector", "cursor")),
        "Previous image": Act(browser("End", "e"), button("Previous image"), ("inspector", "cursor")),
        "Zoom in": Act(browser("e"), button("Zoom in"), STAGE),
        "Zoom out": Act(browser("e", "+", "+"), button("Zoom out"), STAGE),
        "Show the whole image": Act(browser("e", "+"), button("Show the whole image"), STAGE),
        "Move the image": {
            key: Act(browser("e", "+"), None, STAGE)
            for key in ("Shift+ArrowLeft", "Shift+ArrowRight", "Shift+ArrowUp", "Shift+ArrowDown")
        },
        "Back to the list": Act(browser("e"), button("Back to the list"), ("enlarged",)),
    },
    "Selected images": {
        "Move to a group or class": Act(selected, button("Move to…")),
        "Move to a known class": Act(selected, button("Move to known class…")),
        "Move to a new group": Act(selected, button("Make new group")),
        "Move to the bin": Act(selected, button("Remove")),
    },
    "Questions": {
        "Yes: one class, or the same class": answered("One class"),
        "No: two classes, or different classes": answered("Two classes, split here"),
        "Only the first part is a class": answered("Only the first part is a class"),
        "Only the second part is a class": answered("Only the second part is a class"),
        "Neither part is a class": answered("No part is a class"),
        "Skip the question": answered("Skip"),
        "Regroup the images as answered": Act(all_answered, button("Regroup as answered"), ("sent", "question")),
    },
    "Map": {
        "Move the map": {
            "ArrowLeft": Act(on_map(), drag(60, 0), ("map",)),
            "ArrowRight": Act(on_map(), drag(-60, 0), ("map",)),
            "ArrowUp": Act(on_map(), drag(0, 60), ("map",)),
            "ArrowDown": Act(on_map(), drag(0, -60), ("map",)),
        },
        "Zoom in": Act(on_map(), button("Zoom in"), ("map",)),
        "Zoom out": Act(on_map("+", "+"), button("Zoom out"), ("map",)),
        "Show the whole map": Act(on_map("+", "ArrowLeft"), button("Show all"), ("map",)),
        "Turn the lasso on or off": Act(on_map(), button("Lasso"), ("lasso",)),
        "Select the points in the ring": Act(on_map(), click_the_middle, LOOKS),
        "Clear the selection": Act(on_map("Space"), button("Clear"), LOOKS),
    },
    "Number of classes, Learn, Rejection, Try it": {
        "Start: regroup, learn, apply, or choose images": [
            Act(job_view("number"), lambda one: one.page.locator("main button.primary").click(), ("sent",)),
            Act(job_view("learn"), button("Learn"), ("sent",)),
            Act(rejection, button("Apply"), ("sent", "messages")),
            Act(try_it, button("Choose images"), ("choosers",)),
        ],
    },
}


OF_IMAGES = ("Images of a group", "Selected images", "All images", "Enlarged image", "Questions")
"""Sections of the sheet."""


def keys_of(shown):
    """What the sheet shows, as the browser calls it."""
    if found := re.fullmatch(r"(\d) – (\d)", shown):
        return [str(i % 10) for i in range(int(found[1]), (int(found[2]) or 10) + 1)]
    modifiers, rest = [], shown
    for sign, name in (("Ctrl ", "Control"), ("⇧", "Shift")):
        if rest.startswith(sign):
            modifiers, rest = [*modifiers, name], rest.removeprefix(sign)
    return ["+".join([*modifiers, NAMES.get(rest, rest)])]


def sheet(one):
    """The sheet of keys: for each section its labels, with the keys that are shown for them."""
    one.press("?")
    dialog = one.page.get_by_role("dialog", name="Keyboard shortcuts")
    dialog.wait_for()
    found = dialog.evaluate(
        """(dialog) => [...dialog.querySelectorAll("section")].map((section) => [
            section.querySelector("h3").textContent,
            [...section.querySelectorAll("dl > div")].map((line) => [
                line.querySelector("dd").textContent,
                [...line.querySelectorAll("kbd")].map((key) => key.textContent),
            ]),
        ])"""
    )
    one.press("Escape")
    return {
        title: {label: [key for shown in keys for key in keys_of(shown)] for label, keys in lines}
        for title, lines in found
    }


def press_all(visit, workspace, section):
    """Each key of the sheet changes what is seen, and in the same way as the click does where there is one."""
    narrow = {"viewport": {"width": 420, "height": 900}} if section == "All groups" else {}  # a card below the other
    one = Reviewer(visit(reduced_motion="reduce", **narrow), workspace)
    for label, keys in sheet(one.visit)[section].items():
        acts = SHEET[section][label]
        if isinstance(acts, dict):  # each key does something of its own; the sheet has room for some of them
            assert set(keys) <= set(acts), label
            for key, act in acts.items():
                check(one, act, [key], f"{section}: {label}")
        else:
            for act in acts if isinstance(acts, list) else [acts]:
                check(one, act, keys, f"{section}: {label}")


def check(one, act, keys, told):
    clicked = None
    if act.click is not None:
        before = one.begin(act)
        act.click(one)
        clicked = one.done(act, before, told)
    for key in keys:
        before = one.begin(act)
        one.press(key)
        pressed = one.done(act, before, (told, key))
        for name in act.compare or set(pressed) - {"map", "messages", "focus"}:
            assert clicked is None or pressed[name] == clicked[name], (told, key, name)
