"""What a reviewer does on the page, by mouse and by keyboard, in a real browser."""

import csv
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from fastapi.concurrency import run_in_threadpool

from opengcd import Workspace
from opengcd.bench.reviewer import simulate_review
from opengcd.service.events import Events
from tests.helpers.browsing import Visit, launched
from tests.helpers.pictures import KNOWN, RECOGNIZER, paint, picture, truth
from tests.helpers.places import SHARED
from tests.helpers.serving import Pause, serving

BIRDS, NETWORK = SHARED / "images" / "birds", SHARED / "models" / "vit-s14"


@pytest.fixture(scope="module")
def browser():
    with launched() as found:
        yield found


@pytest.fixture
def site(browser, workspace):
    """The workspace, and a way for people to visit its page; afterwards no browser may have complained."""
    with serving(workspace) as address, ExitStack() as visits:

        def visit(who="ann", **options):
            one = Visit(browser, address, workspace.access.make(who), who, **options)
            visits.callback(one.end)
            return one

        yield workspace, visit


def by_label(workspace):
    """Of each group the colours of its images."""
    return {
        group.label: dict(Counter(truth(workspace.views.paths(item)[0]) for item in group.items))
        for group in workspace.groups()
    }


def group_of(workspace, colour):
    """The group that a file of this colour is in."""
    return next(
        group for group in workspace.groups() if any(colour in workspace.views.paths(item)[0] for item in group.items)
    )


def cell(page, item):
    return page.locator(f"#image-{item}")


def open_group(visit, group):
    visit.go(f"groups/{group.id}")
    cell(visit.page, group.items[0]).wait_for()


# The story.


def test_the_story_by_mouse(browser, world, tmp_path):
    """From `opengcd serve` to a recogniser that knows more, without a key but for the names."""
    known, stream = world
    with Workspace.create(tmp_path / "colours", "pixels", recognizer=RECOGNIZER) as workspace:
        workspace.fit(known)
        list(workspace.recognize([stream]))
    command = [sys.executable, "-m", "opengcd", "serve", str(tmp_path / "colours"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            found = None
            while found is None:
                found = re.search(r"(http://\S+/)#token=(\S+)", server.stdout.readline())
            visit = Visit(browser, found[1], found[2])
            page = visit.page
            assert "token" not in page.url
            page.get_by_role("heading", name="16 images were rejected").wait_for()
            page.get_by_role("link", name="Number").click()
            page.get_by_role("button", name="Group them").click()
            visit.said("Grouping is done")
            page.get_by_role("link", name="Groups").click()
            cards = page.locator(".card.group")
            cards.first.wait_for()
            for _ in range(cards.count()):
                card = page.locator(".card.group", has=page.locator(".unnamed")).first
                card.click()
                page.locator(".grid .cell img").first.wait_for()
                name = page.locator(".grid .cell").first.get_attribute("aria-label")
                page.get_by_role("button", name="Name", exact=True).click()
                visit.field.fill(truth(name))
                page.get_by_role("button", name="Confirm, and next").click()
                visit.said("is named and confirmed")
                page.get_by_role("link", name="Groups").first.click()
            page.get_by_role("heading", name="Done").wait_for()
            page.get_by_role("button", name="Learn").click()
            page.get_by_role("heading", name="2 new classes, 16 images").wait_for()
            page.get_by_role("button", name="Learn").click()
            page.get_by_role("heading", name="Version 2 is learnt").wait_for()
            page.get_by_role("link", name="Try it").click()
            (file,) = paint(tmp_path, "blue", [900])
            page.locator("input[type=file]").set_input_files(file)
            result = page.locator(".result")
            result.get_by_role("heading", name="blue").wait_for()
            assert result.locator(".bars li").count() >= 4
            assert result.locator(".strip img").count() > 0
            page.get_by_role("link", name="Learn").click()
            page.get_by_role("button", name="Roll back").click()
            page.get_by_role("button", name="Switch version").click()
            visit.said("Version 1 is in use")
            visit.end()
        finally:
            server.terminate()
            server.wait(timeout=20)
    with Workspace(tmp_path / "colours") as workspace:
        assert workspace.status().version.id == 1
        assert by_label(workspace) == {"blue": {"blue": 8}, "yellow": {"yellow": 8}}


def test_the_story_by_keyboard(site):
    workspace, visit = site
    one = visit()
    page = one.page
    one.press("2")
    page.locator(".card.group .cell:focus").wait_for()
    for _ in range(2):
        group = page.locator(".card.group .cell:focus").locator("..").get_attribute("data-key")
        colour = truth(workspace.views.paths(next(g for g in workspace.groups() if g.id == int(group)).items[0])[0])
        one.press("Enter")
        one.field.fill(colour)
        one.press("Enter")
        one.said(f"“{colour}” is named and confirmed")
    assert by_label(workspace) == {"blue": {"blue": 8}, "yellow": {"yellow": 8}}
    assert all(group.confirmed for group in workspace.groups())
    one.press("4")
    page.get_by_role("heading", name="2 new classes, 16 images").wait_for()
    one.press("g")
    page.get_by_role("heading", name="Version 2 is learnt").wait_for()
    assert workspace.status().version.classes == [*sorted(KNOWN), "blue", "yellow"]
    one.press("u")
    page.get_by_role("heading", name="Undo what was learnt last?").wait_for()
    one.press("Enter")
    one.said("Undone: learn")
    assert workspace.status().version.id == 1
    one.press("1")
    page.get_by_role("heading", name="Everything is reviewed").wait_for()


def test_a_name_completes_from_known_classes_and_goes_on(site):
    workspace, visit = site
    one = visit()
    first, second = workspace.groups()
    open_group(one, first)
    one.press("Enter")
    one.page.keyboard.type("bla")
    assert one.page.locator(".ghost").text_content() == "black"
    one.press("Tab")
    one.page.get_by_text("Puts these images into the known class “black”.").wait_for()
    one.press("Enter")
    one.said("Named “black”")
    cell(one.page, second.items[0]).wait_for()
    assert one.page.url.endswith(f"#/groups/{second.id}")
    assert {group.label: (group.kind, len(group), group.confirmed) for group in workspace.groups()} == {
        second.label: ("novel", 8, False),
        "black": ("known", 8, False),
    }


# Edits, and the way back from each.


def select(one, items):
    for item in items:
        cell(one.page, item).click()
    one.page.get_by_text(f"{len(items)} image{'s' if len(items) > 1 else ''} selected").wait_for()


def move_by_mouse(one, group, other):
    select(one, group.items[:2])
    one.page.get_by_role("button", name=f"Move 2 images to {other.label}").click()


def move_by_key(one, group, other):
    select(one, group.items[:2])
    one.press("m")
    one.page.keyboard.type(other.label)
    one.press("Enter")


def to_known(one, group, other):
    select(one, group.items[:3])
    one.press("k")
    one.page.keyboard.type("re")
    one.press("Enter")


def to_bin(one, group, other):
    select(one, group.items[:1])
    one.press("x")


def to_new_group(one, group, other):
    select(one, group.items[:4])
    one.press("n")


def to_new_name(one, group, other):
    select(one, group.items[:4])
    one.press("m")
    one.page.keyboard.type("sky")
    one.press("Enter")


def join(one, group, other):
    one.press("j")
    one.page.get_by_role("option", name=other.label).click()


def split(one, group, other):
    one.press("s")
    one.page.get_by_role("spinbutton").fill("3")
    one.press("Enter")


def rename(one, group, other):
    one.press("Enter")
    one.field.fill("sky")
    one.press("Shift+Enter")


def name_and_confirm(one, group, other):
    one.page.get_by_role("button", name="Name", exact=True).click()
    one.field.fill("sky")
    one.press("Enter")


EDITS = {
    move_by_mouse: [6, 10],
    move_by_key: [6, 10],
    to_known: [3, 5, 8],
    to_bin: [1, 7, 8],
    to_new_group: [4, 4, 8],
    to_new_name: [4, 4, 8],
    join: [16],
    split: None,
    rename: [8, 8],
    name_and_confirm: [8, 8],
}


@pytest.mark.parametrize("act", EDITS, ids=lambda act: act.__name__)
def test_each_edit_is_written_at_once_undone_and_redone(site, act):
    workspace, visit = site
    one = visit()
    before = workspace.groups()
    group, other = before
    open_group(one, group)
    act(one, group, other)
    one.page.locator(".toast").wait_for()
    after = workspace.groups()
    assert after != before
    if EDITS[act] is None:
        assert len(after) == 4
    else:
        assert sorted(map(len, after)) == EDITS[act]
    one.press("u")
    one.said("Undone")
    assert workspace.groups() == before
    one.press("Shift+U")
    one.said("Redone")
    assert workspace.groups() == after


def test_confirming_is_taken_back_by_the_same_key(site):
    workspace, visit = site
    group = workspace.groups()[0]
    workspace.name(group.id, "sky")
    one = visit()
    open_group(one, group)
    one.page.get_by_role("button", name="Confirm").wait_for()
    one.press("c")
    one.said("is confirmed")
    assert {found.id for found in workspace.groups() if found.confirmed} == {group.id}
    open_group(one, group)
    one.page.get_by_role("button", name="Reopen").wait_for()
    one.press("c")
    one.said("is open again")
    assert not any(found.confirmed for found in workspace.groups())


# Selecting.


def test_selecting_by_click_shift_drag_and_keyboard(site):
    workspace, visit = site
    one = visit()
    page = one.page
    group = workspace.groups()[0]
    open_group(one, group)
    items = group.items

    def selected():
        return [i for i in items if cell(page, i).get_attribute("aria-selected") == "true"]

    cell(page, items[1]).click()
    assert selected() == [items[1]]
    cell(page, items[4]).click(modifiers=["Shift"])
    page.get_by_text("4 images selected").wait_for()
    assert selected() == items[1:5]
    cell(page, items[2]).click()
    assert selected() == [items[1], items[3], items[4]]
    one.press("Escape")
    assert selected() == []
    first, last = cell(page, items[0]).bounding_box(), cell(page, items[2]).bounding_box()
    page.mouse.move(first["x"] + 20, first["y"] + 20)
    page.mouse.down()
    page.mouse.move(last["x"] + 20, last["y"] + 40, steps=5)
    page.mouse.up()
    assert selected() == items[:3]
    one.press("Escape", "Home", "Space", "ArrowRight", "Shift+ArrowRight")
    page.get_by_text("3 images selected").wait_for()
    assert selected() == items[:3]
    one.press("a")
    page.get_by_text("8 images selected").wait_for()
    one.press("Escape", "Escape")
    page.get_by_role("heading", name="Groups", exact=True).wait_for()


def test_selecting_by_finger(site):
    workspace, visit = site
    one = visit(viewport={"width": 1024, "height": 768}, has_touch=True)
    group = workspace.groups()[0]
    open_group(one, group)
    cell(one.page, group.items[1]).tap()
    one.page.get_by_text("1 image selected").wait_for()
    box = cell(one.page, group.items[4]).bounding_box()
    finger = one.context.new_cdp_session(one.page)
    where = [{"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}]
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": where})
    one.page.get_by_text("4 images selected").wait_for()
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    cell(one.page, group.items[1]).tap()
    one.page.get_by_text("3 images selected").wait_for()


def test_all_like_this(site):
    """In a group of blue and yellow, what is like a yellow one is yellow; + and − change how many."""
    workspace, visit = site
    blue, yellow = group_of(workspace, "blue"), group_of(workspace, "yellow")
    workspace.merge(yellow.id, blue.id)
    one = visit()
    open_group(one, blue)
    cell(one.page, yellow.items[3]).click()
    one.press("l")
    one.said("8 images like this")
    assert {i for i in blue.items + yellow.items if cell(one.page, i).get_attribute("aria-selected") == "true"} == set(
        yellow.items
    )
    one.press("-", "-")
    one.page.get_by_text("6 images selected").wait_for()
    one.press("+")
    one.page.get_by_text("7 images selected").wait_for()


def test_odd_ones_first_and_neighbours(site):
    workspace, visit = site
    one = visit()
    group, other = workspace.groups()
    workspace.move([other.items[0]], group.id)
    open_group(one, group)
    first = one.page.locator(".grid .cell").first
    assert first.get_attribute("data-item") == str(group.items[0])
    one.press("d")
    one.page.locator(f".grid .cell[data-index='0'][data-item='{other.items[0]}']").wait_for()
    one.press("i")
    one.page.get_by_role("heading", name="Neighbours").wait_for()
    neighbour = one.page.locator(".neighbours li").first
    neighbour.wait_for()
    neighbour.get_by_role("button").click()  # it is at home in the other group
    cell(one.page, other.items[1]).wait_for()
    assert f"#/groups/{other.id}/" in one.page.url


def test_the_lasso_selects_what_it_surrounds(site):
    workspace, visit = site
    one = visit()
    page = one.page
    page.locator(".maplegend button").first.wait_for()
    canvas = page.locator("canvas")
    box = canvas.bounding_box()
    canvas.scroll_into_view_if_needed()
    page.get_by_role("button", name="Lasso").click()
    box = canvas.bounding_box()
    corners = [(2, 2), (box["width"] - 2, 2), (box["width"] - 2, box["height"] - 2), (2, box["height"] - 2)]
    page.mouse.move(box["x"] + 2, box["y"] + 2)
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(box["x"] + x, box["y"] + y, steps=4)
    page.mouse.up()
    page.get_by_text("16 images selected").wait_for()
    canvas.focus()
    one.press("Escape")
    page.get_by_text("Draw around points").wait_for()
    group = workspace.groups()[1]
    page.get_by_role("button", name=group.label).click()
    page.get_by_text("8 images selected").wait_for()
    page.get_by_role("button", name="New group").click()
    one.said("8 images made a new group")
    assert group.items not in [found.items for found in workspace.groups() if found.id == group.id]
    one.press("u")
    one.said("Undone")
    assert group.items in [found.items for found in workspace.groups() if found.id == group.id]


def test_the_map_by_keyboard(site):
    workspace, visit = site
    workspace.similarity.draw_map()  # a better one must not come in the middle
    one = visit()
    one.page.locator(".maplegend button").first.wait_for()
    one.page.locator("canvas").focus()
    one.press(*["ArrowLeft"] * 5, *["ArrowUp"] * 4)
    for row in range(9):  # to and fro, until all has been in the middle
        for _ in range(10):
            one.press("Space", "ArrowLeft" if row % 2 else "ArrowRight")
        one.press("Space", "ArrowDown")
    one.page.get_by_text("16 images selected").wait_for()
    one.press("0", "+", "l", "l", "Escape")
    one.page.get_by_text("Draw around points").wait_for()


# Several people.


def test_two_browsers_stay_in_step_and_nothing_is_overwritten(site):
    workspace, visit = site
    ann, bob = visit("ann"), visit("bob")
    bob.expected = ("409",)
    group, other = workspace.groups()
    for one in (ann, bob):
        open_group(one, group)
    select(ann, group.items[:2])
    select(bob, group.items[1:4])
    # Bob hears of nothing while he is cut off from events: he acts on what he sees.
    bob.page.route("**/api/v1/groups*", lambda route: route.abort())
    ann.press("x")
    ann.said("2 images put into the bin")
    bob.expected += ("ERR_FAILED", "net::")
    bob.press("m")
    bob.page.keyboard.type(other.label)
    bob.press("Enter")
    bob.said("ann has changed this meanwhile")
    assert sorted(map(len, workspace.groups())) == [2, 6, 8]
    bob.page.unroute("**/api/v1/groups*")
    # Elsewhere, both go on.
    ann.go(f"groups/{other.id}")
    cell(ann.page, other.items[0]).wait_for()
    ann.press("Enter")
    ann.field.fill("sky")
    ann.press("Shift+Enter")
    ann.said("Named “sky”")
    bob.page.locator(".rail", has_text="sky").wait_for()
    bob.said("ann named a group")
    assert cell(bob.page, group.items[0]).count() == 0
    assert {entry.who for entry in workspace.history() if entry.verb == "remove"} == {"ann"}


def test_an_answer_is_based_on_what_was_shown_when_it_was_asked_for(site):
    """Two people have the same question open; the page behind the second one follows the first one's answer."""
    workspace, visit = site
    ann, bob = visit("ann"), visit("bob")
    bob.expected = ("409",)
    group, other = workspace.groups()
    for one in (ann, bob):
        open_group(one, group)
        one.press("Enter")
        one.field.wait_for()
    ann.field.fill("sky")
    ann.press("Shift+Enter")
    bob.said("ann named a group")  # his page shows it, behind the dialog
    bob.field.fill("sea")
    bob.press("Shift+Enter")
    bob.said("ann changed this first (name)")
    assert {group.label for group in workspace.groups()} == {"sky", other.label}
    # He sees her name now, and may choose another one.
    bob.press("Enter")
    bob.field.fill("sea")
    bob.press("Shift+Enter")
    bob.said("Named “sea”")
    # Where images are to go.
    select(bob, group.items[:2])
    bob.press("m")
    bob.field.wait_for()
    workspace.by("ann").remove(group.items[1:2])
    bob.said("ann put images into the bin")
    bob.field.fill("ice")
    bob.press("Enter")
    bob.said("ann changed this first (remove)")
    assert "ice" not in {group.label for group in workspace.groups()}


def test_undoing_something_large_undoes_nothing_else(site):
    workspace, visit = site
    one = visit("ann")
    one.expected = ("409",)
    one.press("u")
    one.page.get_by_role("dialog").get_by_text("Undo the grouping?").wait_for()
    workspace.by("bob").name(workspace.groups()[0].id, "sky")
    one.said("bob named a group")
    one.page.get_by_role("dialog").get_by_role("button", name="Undo", exact=True).click()
    one.said("bob changed this first (name)")
    assert "sky" in {group.label for group in workspace.groups()}


def test_acts_that_follow_each_other_quickly_are_no_conflict(site):
    workspace, visit = site
    one = visit("ann")
    group = workspace.groups()[0]
    open_group(one, group)
    select(one, group.items[:2])
    one.page.route("**/api/v1/edits", lambda route: (time.sleep(0.3), route.continue_()))  # a slow network
    one.press("x", "Enter")  # the question is open before the answer to the first act has come
    one.field.fill("sky")
    one.press("Shift+Enter")
    one.said("Named “sky”")
    assert {group.label: len(group) for group in workspace.groups()}["sky"] == 6


def test_what_others_do_while_the_page_opens_is_seen(site, monkeypatch):
    """After the page has read the groups, and before it hears of changes."""
    workspace, visit = site
    listen = Events.listen

    async def late(self, allowed):
        await run_in_threadpool(workspace.by("bob").remove, workspace.groups()[0].items[:1])
        async for event in listen(self, allowed):
            yield event

    monkeypatch.setattr(Events, "listen", late)
    one = visit()
    one.press("7")
    one.page.get_by_role("button", name="Undo “remove”").wait_for()


def test_an_edit_that_arrives_before_the_first_image_leaves_the_group_visible(site):
    """The images are read again, before the grid has had a layout."""
    workspace, visit = site
    group, other = workspace.groups()[:2]
    one, held = visit(), []
    one.page.evaluate("() => { window.ResizeObserver = class { observe() {} disconnect() {} }; }")
    one.page.route(f"**/groups/{group.id}/items*", lambda route: route.continue_() if held else held.append(route))
    with one.page.expect_request(f"**/groups/{group.id}/items*"):
        one.go(f"groups/{group.id}")
    with one.page.expect_request(f"**/groups/{group.id}/items*"):
        workspace.name(other.id, "sky")
    held[0].continue_()
    cell(one.page, group.items[0]).wait_for()


def test_a_reload_in_the_middle_of_a_job(site, monkeypatch):
    workspace, visit = site
    begun, go_on = threading.Event(), threading.Event()
    learn = Workspace.learn

    def slowly(self, *, progress, **more):
        progress("learning", 1, 4)
        begun.set()
        assert go_on.wait(30)
        return learn(self, progress=progress, **more)

    monkeypatch.setattr(Workspace, "learn", slowly)
    for group in workspace.groups():
        workspace.name(group.id, truth(workspace.views.paths(group.items[0])[0]), confirm=True)
    one = visit()
    one.go("learn")
    one.page.get_by_role("button", name="Learn").click()
    one.page.get_by_role("progressbar").wait_for()
    assert begun.wait(30)
    one.page.reload()
    one.page.get_by_role("progressbar").wait_for()
    assert one.page.get_by_role("progressbar").get_attribute("aria-valuenow") == "25"
    one.page.get_by_role("link", name="Learning 25 %").wait_for()
    other = visit("bob")
    other.page.get_by_role("link", name="Learning 25 %").wait_for()
    go_on.set()
    one.page.get_by_role("heading", name="Version 2 is learnt").wait_for()
    other.said("Learning is done")
    other.go("learn")
    other.page.get_by_role("heading", name="Version 2 is learnt").wait_for()


# The other views.


def test_a_job_is_stopped_on_the_page(site, monkeypatch):
    """The real job, held at its second step: it ends there, and changes nothing."""
    workspace, visit = site
    before = workspace.groups(), workspace.review.last_edit()
    pause = Pause(monkeypatch, 2)
    one = visit()
    one.press("3")
    one.page.get_by_role("button", name="Regroup with k = 6").click()
    assert pause.reached.wait(30)
    with one.page.expect_response("**/cancel") as answer:
        one.page.get_by_role("button", name="Stop").click()
    assert answer.value.json()["state"] == "running"
    pause.go_on.set()
    one.said("Grouping is cancelled")
    one.page.get_by_role("progressbar").wait_for(state="detached")
    (job,) = workspace.jobs.latest()
    assert (job.state, job.error, job.result) == ("cancelled", "Cancelled; nothing was changed.", None)
    assert (workspace.groups(), workspace.review.last_edit()) == before


def test_regrouping_with_another_number(site):
    workspace, visit = site
    first = workspace.groups()[0]
    workspace.name(first.id, "sky", confirm=True)
    one = visit()
    one.press("3")
    one.page.get_by_text("1 confirmed group stays").wait_for()
    slider = one.page.get_by_role("slider")
    assert slider.input_value() == "6"
    slider.focus()
    one.press("ArrowRight")
    one.page.get_by_text("7 classes: 4 known and 3 new.").wait_for()
    one.page.get_by_role("button", name="Regroup with k = 7").click()
    one.said("Grouping is done")
    assert workspace.status().discovered["k"] == 7
    assert "sky" in {group.label for group in workspace.groups() if group.confirmed}


def test_the_limit_of_rejection_in_words(browser, world, tmp_path):
    known, stream = world
    with Workspace.create(tmp_path / "w", "pixels", recognizer={"random_state": 0}) as workspace:
        workspace.fit(known)
        list(workspace.recognize([stream]))
        with serving(workspace) as address:
            one = Visit(browser, address, workspace.access.make("ann"))
            one.press("6")
            one.page.get_by_role("radio", name=re.compile("at most 5 %")).check()
            one.press("g")
            one.said("The limit is set")
            in_use = one.page.locator(".choice", has=one.page.locator(".badge"))
            in_use.filter(has_text="at most 5 %").wait_for()
            one.press("u")
            one.said("Undone: rejection")
            in_use.filter(has_text="Choose the limit automatically").wait_for()
            one.end()


def test_a_rule_without_a_limit_offers_none(site):
    _, visit = site
    one = visit()
    one.press("6")
    one.page.get_by_role("heading", name="Nothing to choose").wait_for()


def test_an_image_that_cannot_be_used_is_said_to_be_so(site, tmp_path):
    _, visit = site
    one = visit()
    one.press("5")
    bad = tmp_path / "bad.png"
    bad.write_bytes(b"no image")
    one.page.locator("input[type=file]").set_input_files(bad)
    one.page.locator(".result .warning").wait_for()
    assert one.page.locator(".result h2").text_content() == "bad.png"


def test_the_history_tells_who_did_what(site):
    workspace, visit = site
    one = visit()
    workspace.by("bob").remove(workspace.groups()[0].items[:1])
    one.press("7")
    one.page.locator(".entries li", has_text="bob put 1 image into the bin").wait_for()
    one.page.get_by_role("button", name="Undo “remove”").click()
    one.page.locator(".entries li.undone", has_text="bob put 1 image into the bin").wait_for()
    with one.page.expect_download() as download:
        one.page.get_by_role("link", name="CSV").click()
    assert Path(download.value.path()).read_text().startswith("path,")


def test_a_wrong_token_is_refused_and_a_right_one_let_in(browser, workspace):
    with serving(workspace) as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"{address}#token=wrong")
        page.get_by_label("Token").fill("also wrong")
        page.get_by_role("button", name="Sign in").click()
        page.locator(".warning").filter(has_text=re.compile(r"\w")).wait_for()
        page.get_by_label("Token").fill(workspace.access.make("ann"))
        page.get_by_label("Your name").fill("Ann at the desk")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("navigation", name="Views").wait_for()
        page.reload()
        page.get_by_role("button", name="Sign out, Ann at the desk (ann)").click()
        page.get_by_label("Token").wait_for()
        page.reload()
        page.get_by_label("Token").wait_for()
        context.close()


# The simulated annotator.


class Mouse:
    """Does everything by clicks; only names are typed."""

    BUTTONS: ClassVar = {"x": "Bin", "m": "Move to…", "Enter": "Name", "c": "Confirm"}

    def __init__(self, one):
        self.one, self.page = one, one.page

    def go(self, key, view):
        self.page.get_by_role("navigation", name="Views").get_by_role("link", name=view).click()

    def open(self, group):
        self.go("2", "Groups")
        self.page.locator(f'.card.group[data-key="{group.id}"] .cell').click()
        cell(self.page, group.items[0]).wait_for()

    def select(self, shown, items):
        select(self.one, items)

    def act(self, key, name=None, button=None):
        self.page.get_by_role("button", name=button or self.BUTTONS[key], exact=True).click()
        if name:
            self.one.field.fill(name)
            self.page.get_by_role("dialog").locator("button.primary").click()


class Keys:
    """Does everything by keys."""

    def __init__(self, one):
        self.one, self.page = one, one.page

    def go(self, key, view):
        self.one.press(key)
        self.page.locator("nav [aria-current=page]", has_text=view).wait_for()

    def open(self, group):
        self.go("2", "Groups")
        focus = self.page.locator(".card.group .cell:focus")
        focus.wait_for()
        self.one.press("Home")
        for _ in range(self.page.locator(".card.group").count()):
            if focus.locator("..").get_attribute("data-key") == str(group.id):
                break
            self.one.press("ArrowRight")
        self.one.press("o")
        cell(self.page, group.items[0]).wait_for()

    def select(self, shown, items):
        at = 0
        self.one.press("Home")
        for place in map(shown.index, items):
            self.one.press(*["ArrowRight"] * (place - at), "Space")
            at = place
        self.page.get_by_text(f"{len(items)} image{'s' if len(items) > 1 else ''} selected").wait_for()

    def act(self, key, name=None, button=None):
        if button:
            self.page.get_by_role("button", name=button, exact=True).wait_for()
        self.one.press(key)
        if name:
            self.one.field.fill(name)
            self.one.press("Enter")


BY_HAND = pytest.mark.parametrize("hand", [Mouse, Keys])


def paint_messy_world(folder):
    """A stream whose groups by colour are mixed by name; the names are the truth."""
    for colour in KNOWN:
        paint(folder / "known" / colour, colour, range(8))
    groups = {  # the colour painted, and the names
        "blue": {"blue": 8, "yellow": 2, "red": 2, "green": 1},
        "yellow": {"yellow": 6, "orange": 3},
        "purple": {"blue": 7},
        "cyan": {"green": 4, "purple": 2},
        "pink": {"pink": 4, "orange": 1},
    }
    (folder / "stream").mkdir()
    for painted, names in groups.items():
        for name, n in names.items():
            for i in range(n):
                picture(painted, sum(map(ord, name)) + i).save(folder / "stream" / f"{name}-{painted}{i}.png")
    return folder / "known", folder / "stream", len(groups)


def name_of(path):
    return Path(path).name.split("-")[0]


@BY_HAND
def test_the_page_counts_what_the_simulated_annotator_counts(browser, tmp_path, hand):
    """A reviewer who follows the truth by the page takes as many actions of each kind as the benchmark says."""
    known, stream, n = paint_messy_world(tmp_path)
    with Workspace.create(tmp_path / "messy", "pixels", recognizer=RECOGNIZER) as workspace:
        workspace.fit(known)
        list(workspace.recognize([stream]))
        workspace.discover(k=len(KNOWN) + n)
        groups = [group for group in workspace.groups() if group.kind == "novel"]
        assert len(groups) == n
        items = [item for group in groups for item in group.items]
        labels = [name_of(workspace.views.paths(item)[0]) for item in items]
        rows = np.split(np.arange(len(items)), np.cumsum([len(group) for group in groups])[:-1])
        expected = simulate_review(rows, labels, KNOWN)
        assert set(expected.by_kind) == {"name", "merge", "select", "move", "remove", "confirm"}
        assert all(expected.by_kind.values())

        with serving(workspace) as address:
            one = Visit(browser, address, workspace.access.make("ann"))
            review_all(hand(one), workspace, lambda item: name_of(workspace.views.paths(item)[0]), KNOWN)
            counted = one.page.evaluate("JSON.parse(sessionStorage.getItem('opengcd.actions'))")
            one.go("groups")
            one.page.get_by_text(f"This session: {expected.actions} actions").wait_for()
            one.end()
        assert counted == {kind: count for kind, count in expected.by_kind.items() if count}
        reviewed = {item: group.label for group in workspace.groups() if group.kind == "novel" for item in group.items}
        assert reviewed == {items[row]: label for row, label in zip(expected.rows, expected.labels, strict=True)}


def review_all(hand, workspace, truth_of, known):
    """Review by the truth, as `simulate_review` does: the groups from the largest on, then what is left to confirm."""
    for group in [group for group in workspace.groups() if group.kind == "novel"]:
        review_group(hand, group, {item: truth_of(item) for item in group.items}, set(known))
    for group in workspace.groups():
        if group.kind == "novel" and not group.confirmed:
            hand.open(group)
            hand.act("c")
            hand.one.said(f"“{group.label}” is confirmed")


def review_group(hand, group, names, known):
    """What `simulate_review` does to one group."""
    counts = Counter(names.values())
    main = min(counts, key=lambda name: (-counts[name], name))
    strangers = {name for name in counts if name != main}
    hand.open(group)
    shown = list(names)  # as the page shows them
    outside = [item for item, name in names.items() if name in strangers & known]
    if outside:
        hand.select(shown, outside)
        hand.act("x")
        hand.one.said("put into the bin")
        shown = [item for item in shown if item not in outside]
    for name in sorted(strangers - known):
        strange = [item for item in shown if names[item] == name]
        hand.select(shown, strange)
        hand.act("m", name)
        hand.one.said(f"moved to “{name}”")
        shown = [item for item in shown if item not in strange]
    hand.act("Enter", main)
    hand.one.page.locator(".toast", has_text=re.compile("confirmed|Named|Joined")).wait_for()
    hand.one.page.wait_for_url(lambda url: not url.endswith(f"/{group.id}"))  # the page goes on by itself


@pytest.mark.slow
@BY_HAND
def test_the_birds_by_the_page(browser, tmp_path, hand):
    """Real images: eight new birds are found, reviewed by the truth and learnt, on the page alone."""
    if not (BIRDS.is_dir() and NETWORK.is_dir()):
        pytest.skip(f"{BIRDS} and {NETWORK} are not there")
    with open(BIRDS / "stream_truth.csv", newline="") as lines:
        truths = {row["file"]: row["class"] for row in csv.DictReader(lines)}
    known = {folder.name for folder in (BIRDS / "known").iterdir() if folder.is_dir()}
    with Workspace.create(tmp_path / "birds", str(NETWORK), recognizer={"random_state": 0}) as workspace:
        workspace.fit(BIRDS / "known")
        list(workspace.recognize([BIRDS / "stream"]))
        with serving(workspace) as address:
            one = Visit(browser, address, workspace.access.make("ann"), viewport={"width": 1280, "height": 2400})
            one.context.set_default_timeout(300_000)
            by = hand(one)
            by.go("3", "Number")
            by.act("g", button="Group them")
            one.said("Grouping is done")
            review_all(by, workspace, lambda item: truths[Path(workspace.views.paths(item)[0]).name], known)
            counted = one.page.evaluate("JSON.parse(sessionStorage.getItem('opengcd.actions'))")
            by.go("4", "Learn")
            by.act("g", button="Learn")
            one.page.get_by_role("heading", name="Version 2 is learnt").wait_for()
            one.end()
        assert set(workspace.status().version.classes) == set(truths.values())
        assert sum(counted.values()) < len(truths) / 2
