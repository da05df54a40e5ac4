"""What a reviewer does on the page, by mouse and by keyboard, in a real browser."""

import re
import subprocess
import sys
import threading
from collections import Counter

import pytest

from opengcd import Workspace
from tests.helpers.browsing import Visit, cell, open_group, select
from tests.helpers.pictures import KNOWN, RECOGNIZER, paint, truth
from tests.helpers.serving import Pause, serving


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
                page.get_by_role("button", name="Confirm and continue").click()
                visit.said("is named and confirmed")
                page.get_by_role("link", name="Groups").first.click()
            page.get_by_role("heading", name="Done").wait_for()
            page.get_by_role("button", name="Learn").click()
            page.get_by_role("heading", name="2 new classes, 16 images").wait_for()
            page.get_by_role("button", name="Learn").click()
            page.get_by_role("heading", name="Version 2 is ready").wait_for()
            page.get_by_role("link", name="Try it").click()
            (file,) = paint(tmp_path, "blue", [900])
            page.locator("input#file").set_input_files(file)
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
    page.get_by_role("heading", name="Version 2 is ready").wait_for()
    assert workspace.status().version.classes == [*sorted(KNOWN), "blue", "yellow"]
    one.press("u")
    page.get_by_role("heading", name="Undo the last learning step?").wait_for()
    one.press("Enter")
    one.said("Undone: learning classes")
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
    one.page.locator(".ghost", has_text="black").wait_for(state="attached")
    one.press("Tab")
    one.page.get_by_text("These images will move to the known class “black”.").wait_for()
    one.press("Enter")
    one.said("Named “black”")
    cell(one.page, second.items[0]).wait_for()
    assert one.page.url.endswith(f"#/groups/{second.id}")
    assert {group.label: (group.kind, len(group), group.confirmed) for group in workspace.groups()} == {
        second.label: ("novel", 8, False),
        "black": ("known", 8, False),
    }


# Edits, and the way back from each.


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
    one.page.get_by_role("dialog").get_by_role("button", name="Join").click()


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
    one.said("is no longer confirmed")
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
    slider = one.page.get_by_role("slider", name="How many similar images are selected")
    box = slider.bounding_box()
    one.page.mouse.click(box["x"] + box["width"] - 3, box["y"] + box["height"] / 2)
    one.page.get_by_text("16 images selected").wait_for()
    one.page.get_by_role("button", name="Select fewer").click()
    one.page.get_by_text("15 images selected").wait_for()
    one.press("Escape")
    slider.wait_for(state="hidden")


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
    page.get_by_role("img", name="Map of 16 images").wait_for()  # before, there are no points to surround
    canvas = page.locator("canvas")
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
    page.get_by_text("draw around them with the lasso").wait_for()
    group = workspace.groups()[1]
    page.get_by_role("button", name=group.label).click()
    page.get_by_text("8 images selected").wait_for()
    page.get_by_role("button", name="Make new group").click()
    one.said("8 images moved to a new group")
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
    one.page.get_by_text("draw around them with the lasso").wait_for()


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
    one.page.get_by_role("heading", name="Version 2 is ready").wait_for()
    other.said("Learning is done")
    other.go("learn")
    other.page.get_by_role("heading", name="Version 2 is ready").wait_for()


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
        one.page.get_by_role("button", name="Cancel").click()
    assert answer.value.json()["state"] == "running"
    pause.go_on.set()
    one.said("Grouping was cancelled")
    one.page.get_by_role("progressbar").wait_for(state="detached")
    (job,) = workspace.jobs.latest()
    assert (job.state, job.error, job.result) == ("cancelled", "The job was cancelled, and nothing was changed.", None)
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
            one.said("The new limit is in use")
            in_use = one.page.locator(".choice", has=one.page.locator(".badge"))
            in_use.filter(has_text="at most 5 %").wait_for()
            one.press("u")
            one.said("Undone: changing the rejection limit")
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
    one.page.locator(".entries li", has_text="bob moved 1 image to the bin").wait_for()
    one.page.get_by_role("button", name="Undo moving images to the bin").click()
    one.page.locator(".entries li.undone", has_text="bob moved 1 image to the bin").wait_for()


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
        page.get_by_role("button", name="Sign out Ann at the desk (ann)").click()
        page.get_by_label("Token").wait_for()
        page.reload()
        page.get_by_label("Token").wait_for()
        context.close()
