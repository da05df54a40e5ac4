"""Near copies in the page: a stack is shown as one image and moved as a whole, and opens by a click or a key."""

import pytest

from tests.helpers.browsing import cell, open_group, select, violations
from tests.helpers.reviewing import put_in_stack


@pytest.fixture
def stacked(site):
    """A group whose first three images are a stack, and a visit to it."""
    workspace, visit = site
    first = workspace.groups()[0]
    put_in_stack(workspace, first.items[:3])
    one = visit()
    open_group(one, first)
    return workspace, one, first


def test_a_stack_is_one_image_with_its_number(stacked):
    _, one, first = stacked
    cells = one.page.locator(".grid .cell")
    assert cells.count() == len(first.items) - 2
    card = cell(one.page, first.items[0])
    assert card.locator(".copies").inner_text() == "3"
    assert "a stack of 3" in card.get_attribute("aria-label")
    assert cell(one.page, first.items[3]).locator(".copies").count() == 0
    assert not violations(one.page)


def test_a_stack_is_moved_as_one(stacked):
    workspace, one, first = stacked
    select(one, first.items[:1])
    one.press("n")
    one.said("1 image moved to a new group.")
    assert workspace.history()[0].details["images"] == 3
    homes = {workspace.views.item(item).group for item in first.items[:3]}
    assert len(homes) == 1
    assert first.id not in homes


@pytest.mark.parametrize("by", ["key", "click"])
def test_a_stack_opens_and_closes_again_by_undo(stacked, by):
    workspace, one, first = stacked
    if by == "key":
        one.press("o")
    else:
        one.page.get_by_role("button", name="Open stack").click()
    one.said("The stack is open.")
    cell(one.page, first.items[2]).wait_for()
    assert one.page.locator(".grid .cell").count() == len(first.items)
    assert one.page.get_by_role("button", name="Open stack").is_hidden()
    select(one, first.items[1:2])
    one.press("x")
    one.said("moved to the bin")
    assert workspace.views.item(first.items[0]).group == first.id
    assert workspace.views.item(first.items[1]).group != first.id
    one.press("u")
    one.said("Undone: moving images to the bin.")
    one.press("u")
    one.said("Undone: opening a stack.")
    cell(one.page, first.items[2]).wait_for(state="detached")
    assert one.page.locator(".grid .copies").inner_text() == "3"
