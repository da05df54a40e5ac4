"""Comparing groups before they are joined, and a warning before a group is confirmed that looks like two classes."""

import pytest

from opengcd import Workspace
from tests.helpers.browsing import Visit, open_group, violations
from tests.helpers.pictures import paint, truth
from tests.helpers.serving import serving

KNOWN = ("red", "green", "black", "white", "orange", "brown")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A workspace that can estimate whether a group is mixed, with a group of blue and yellow and one of pink."""
    folder = tmp_path_factory.mktemp("mixed")
    for colour in KNOWN:
        paint(folder / "known" / colour, colour, range(12))
    for colour in ("blue", "yellow", "pink"):
        paint(folder / "stream", colour, range(100, 112))
    with Workspace.create(folder / "w", "pixels", recognizer={"random_state": 0}) as workspace:
        workspace.fit(folder / "known")
        list(workspace.recognize([folder / "stream"]))
        workspace.discover(k=len(KNOWN) + 3)
        items = {"blue": [], "yellow": [], "pink": []}
        for one in workspace.views.labels():
            if "stream" in one.paths[0]:
                items[truth(one.paths[0])].append(one.item)
        grouped = {item for group in workspace.groups() for item in group.items}
        both = workspace.separate([i for i in items["blue"] + items["yellow"] if i in grouped]).group
        pink = workspace.separate([i for i in items["pink"] if i in grouped]).group
        yield workspace, both, pink


@pytest.fixture
def one(browser, mixed):
    workspace, *_ = mixed
    with serving(workspace) as address:
        visit = Visit(browser, address, workspace.access.make("ann"))
        before = workspace.review.last_edit()
        yield visit
        visit.end()
        while workspace.review.last_edit() > before and workspace.review.undo_state().undo.id > before:
            workspace.undo()


def group(workspace, id):
    return next(found for found in workspace.groups() if found.id == id)


def test_a_group_of_two_classes_is_found(mixed):
    workspace, both, pink = mixed
    found = workspace.questions.parts(both)
    assert found.mixed > 0.5
    assert sum(found.sizes) == len(group(workspace, both))
    colours = [{truth(workspace.views.paths(item)[0]) for item in shown} for shown in found.shown]
    assert sorted(map(sorted, colours)) == [["blue"], ["yellow"]]
    assert workspace.questions.parts(pink).mixed < 0.5
    workspace.keep(both)
    assert workspace.questions.parts(both).mixed == 0.0
    workspace.undo()
    assert workspace.questions.parts(both).mixed == found.mixed


def test_before_a_mixed_group_is_confirmed_one_is_asked(mixed, one):
    workspace, both, _ = mixed
    open_group(one, group(workspace, both))
    one.press("Enter")
    one.page.keyboard.type("sky")
    one.press("Enter")
    warning = one.page.get_by_role("dialog", name="one class?")
    warning.wait_for()
    assert warning.locator("figure").count() == 2
    assert not violations(one.page)
    one.press("Escape")
    one.said("Named “sky”")
    found = group(workspace, both)
    assert (found.label, found.confirmed) == ("sky", False)
    one.press("c")
    warning.wait_for()
    one.press("s")
    one.page.get_by_role("spinbutton").wait_for()
    one.press("Escape")
    one.page.get_by_role("dialog").wait_for(state="detached")
    assert group(workspace, both) == found
    one.press("c")
    warning.wait_for()
    one.press("Enter")
    one.said("“sky” is confirmed")
    assert group(workspace, both).confirmed


def test_a_group_of_one_class_is_confirmed_without_a_question(mixed, one):
    workspace, _, pink = mixed
    open_group(one, group(workspace, pink))
    one.press("Enter")
    one.page.keyboard.type("rose")
    one.press("Enter")
    one.said("“rose” is named and confirmed")
    assert group(workspace, pink).confirmed


def test_a_group_that_cannot_be_checked_is_confirmed_with_a_word(mixed, one):
    workspace, both, _ = mixed
    one.expected = ("500",)
    one.page.route("**/groups/*/parts", lambda route: route.fulfill(status=500, json={"detail": "broken"}))
    open_group(one, group(workspace, both))
    one.press("Enter")
    one.page.keyboard.type("sky")
    one.press("Enter")
    one.page.locator("#toasts").get_by_text("It could not be checked whether").wait_for()
    one.said("“sky” is named and confirmed")
    assert group(workspace, both).confirmed


def test_groups_are_compared_before_they_are_joined(mixed, one):
    workspace, both, pink = mixed
    open_group(one, group(workspace, pink))
    one.page.get_by_role("button", name="Join").click()
    figures = one.page.get_by_role("dialog").locator("figure")
    figures.nth(1).wait_for()
    label = group(workspace, both).label
    one.page.get_by_role("option", name=label).click()
    figures.filter(has_text=label).wait_for()
    assert figures.nth(1).locator("img").count() == 8
    assert group(workspace, pink)  # a click shows, and does not join
    assert not violations(one.page)
    one.page.get_by_role("dialog").get_by_role("button", name="Join").click()
    one.said(f"Joined with “{label}”")
    assert pink not in {found.id for found in workspace.groups()}
