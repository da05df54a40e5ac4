"""Giving names: what is offered first, what Enter takes, and spellings that are the same name."""

from itertools import combinations

import pytest

from opengcd.workspace import names
from tests.helpers.browsing import WAIT, cell, open_group, select
from tests.helpers.pictures import truth


def of_colour(workspace, colour):
    return next(group for group in workspace.groups() if truth(workspace.views.paths(group.items[0])[0]) == colour)


def options(one):
    one.page.locator(".options li").first.wait_for()
    return one.page.locator(".options .label").all_text_contents()


def marked(one):
    return one.page.locator(".options [aria-selected=true] .label").text_content()


def completed(one, name):
    """Wait until a name is completed: the names that are offered may come after the text."""
    from playwright.sync_api import expect  # without Playwright, the tests are skipped

    expect(one.page.locator(".ghost")).to_have_text(name, timeout=WAIT)


def labels(workspace):
    return sorted((group.label, len(group)) for group in workspace.groups())


def test_names_are_offered_by_likeness_and_k_marks_the_most_likely_class(site):
    workspace, visit = site
    group, other = of_colour(workspace, "yellow"), of_colour(workspace, "blue")
    workspace.name(other.id, "sky")
    one = visit()
    likely = [home.label for home in workspace.suggestions.of_items(group.items).homes if home.group != group.id]
    assert likely != sorted(likely)
    open_group(one, group)
    for key in ("Enter", "j"):
        one.press(key)
        assert options(one) == (["sky"] if key == "j" else likely)
        one.press("Escape")
    item = group.items[2]
    top = workspace.views.members(group.id).items[2].prediction.top
    assert top[0][0] != "black"
    select(one, [item])
    one.press("m")
    homes = workspace.suggestions.of_items([item]).homes
    assert options(one) == [home.label for home in homes if home.group != group.id]
    one.press("Escape", "k")
    known = options(one)
    assert [known[0], marked(one)] == [top[0][0]] * 2
    assert one.page.locator(".options img").count() == 4
    one.press("Enter")
    one.said(f"1 image moved to “{top[0][0]}”")
    assert (top[0][0], 1) in labels(workspace)


def test_enter_takes_the_visible_completion_and_a_new_name_is_one_key_away(site):
    workspace, visit = site
    first, second = workspace.groups()
    workspace.name(second.id, "vermilion Flycatcher")
    one = visit()
    open_group(one, first)

    def move(items, *keys):
        select(one, items)
        one.press("m")
        one.page.keyboard.type("verm")
        completed(one, "vermilion Flycatcher")
        one.page.get_by_text("For the new name “verm”, press ↑").wait_for()
        assert (marked(one), options(one)[0]) == ("vermilion Flycatcher", "verm")
        one.press(*keys)

    def moved(item, home):
        one.said(f"1 image moved to “{home}”")
        cell(one.page, item).wait_for(state="detached")

    move(first.items[:1], "Enter")
    moved(first.items[0], "vermilion Flycatcher")
    move(first.items[1:2])
    one.page.get_by_role("button", name="Move", exact=True).click()
    moved(first.items[1], "vermilion Flycatcher")
    assert labels(workspace) == [(first.label, 6), ("vermilion Flycatcher", 10)]
    move(first.items[2:3], "ArrowUp")
    assert marked(one) == "verm"
    one.press("Enter")
    moved(first.items[2], "verm")
    assert ("verm", 1) in labels(workspace)
    select(one, first.items[3:4])
    one.press("m")
    one.page.keyboard.type("vermi")
    one.page.get_by_role("option", name="new name").click()
    moved(first.items[3], "vermi")
    assert labels(workspace) == [(first.label, 4), ("verm", 1), ("vermi", 1), ("vermilion Flycatcher", 10)]
    # The whole name of a group is that group, though another one begins with it.
    select(one, first.items[4:5])
    one.press("m")
    one.page.keyboard.type("verm")
    assert marked(one) == "verm"
    one.press("Enter")
    cell(one.page, first.items[4]).wait_for(state="detached")
    assert ("verm", 2) in labels(workspace)


def test_a_spelling_of_a_name_is_that_name(site):
    workspace, visit = site
    first, second = workspace.groups()
    workspace.name(second.id, "Blue_Jay")
    one = visit()
    open_group(one, first)
    select(one, first.items[:1])
    one.press("m")
    one.page.keyboard.type("blue j")
    completed(one, "blue jay")
    one.page.keyboard.type("ay")
    assert options(one) == ["Blue_Jay"]
    one.press("Enter")
    one.said("1 image moved to “Blue_Jay”")
    cell(one.page, first.items[0]).wait_for(state="detached")
    one.press("Enter")
    one.page.keyboard.type("BLUE-JAY")
    one.page.get_by_text("These images will join the group “Blue_Jay”.").wait_for()
    one.press("Enter")
    one.said("Joined with “Blue_Jay”")
    assert labels(workspace) == [("Blue_Jay", 16)]


def test_an_unchanged_name_stays_when_another_begins_with_it(site):
    workspace, visit = site
    first, second = workspace.groups()
    workspace.name(first.id, "heron")
    workspace.name(second.id, "heron grey")
    one = visit()
    open_group(one, first)
    one.press("Enter")
    options(one)
    one.press("Shift+Enter")
    one.page.get_by_role("dialog").wait_for(state="detached")
    assert labels(workspace) == [("heron", 8), ("heron grey", 8)]


SPELT = ["Blue_Jay", " blue  jay", "BLUE-JAY", "bluejay", "Straße", "STRASSE", "ﬁnch", "Finch", "e\u0301", "é"]
SPELT += ["Ann\u200bLee", "ann lee", "A\u00a0b\u2013c", "a-b_c", "ΟΔΟΣ", "οδος", "Öl", "öL", "heron", "herons", "-"]


def test_the_page_and_the_workspace_compare_names_alike(site):
    _, visit = site
    one = visit()
    found = one.page.evaluate(
        "async (texts) => { const { nameKey } = await import('./page/names.js'); return texts.map(nameKey); }", SPELT
    )
    expected = [names.key(text) for text in SPELT]
    assert len(set(expected)) == 11
    for i, j in combinations(range(len(SPELT)), 2):
        assert (found[i] == found[j]) == (expected[i] == expected[j]), (SPELT[i], SPELT[j])


@pytest.mark.parametrize("answer", ["Enter", "Shift+Enter"])
def test_edits_from_dialogs_carry_what_was_seen_when_they_opened(site, answer):
    """Two people have the same dialog open; behind the second one the page follows the first one's edit."""
    workspace, visit = site
    ann, bob = visit("ann"), visit("bob")
    bob.expected = ("409",)
    group = workspace.groups()[0]
    for one in (ann, bob):
        open_group(one, group)
        one.press("Enter")
        one.page.keyboard.type("heron" if one is ann else "egret")
    ann.press("Shift+Enter")
    ann.said("Named “heron”")
    bob.page.locator("h1", has_text="heron").wait_for()  # the page has heard of it
    bob.press(answer)
    bob.said("ann changed this first (naming a group), so your change was not made")
    assert [found.label for found in workspace.groups() if found.id == group.id] == ["heron"]
