"""Several people, and answers that come late: the page stays in step and overwrites nothing."""

import time

from fastapi.concurrency import run_in_threadpool

from opengcd.service import presence
from opengcd.service.events import Events
from tests.helpers.browsing import cell, open_group, select


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
    ann.said("2 images moved to the bin")
    bob.expected += ("ERR_FAILED", "net::")
    bob.press("m")
    bob.page.keyboard.type(other.label)
    bob.press("Enter")
    bob.said("ann changed this first (moving images to the bin), so your change was not made")
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
    bob.said("ann changed this first (naming a group)")
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
    bob.said("ann moved images to the bin")
    bob.field.fill("ice")
    bob.press("Enter")
    bob.said("ann changed this first (moving images to the bin)")
    assert "ice" not in {group.label for group in workspace.groups()}


def wait_until_it_hears(one, workspace):
    """Wait until the page is told of other people's edits; those before that it has read without a message."""
    other, group = workspace.by("eve"), workspace.groups()[0].id
    for _ in range(50):
        other.name(group, "tree")
        other.undo()
        one.page.wait_for_timeout(200)
        if one.page.locator(".toast", has_text="eve named a group").count():
            return
    raise AssertionError("The page hears of nothing.")


def test_undoing_something_large_undoes_nothing_else(site):
    workspace, visit = site
    one = visit("ann")
    one.expected = ("409",)
    wait_until_it_hears(one, workspace)
    one.press("u")
    one.page.get_by_role("dialog").get_by_text("Undo the grouping?").wait_for()
    workspace.by("bob").name(workspace.groups()[0].id, "sky")
    one.said("bob named a group")
    one.page.get_by_role("dialog").get_by_role("button", name="Undo", exact=True).click()
    one.said("bob changed this first (naming a group)")
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
    one.page.get_by_role("button", name="Undo moving images to the bin").wait_for()


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


def looked_at(one, group):
    """The names that the card of a group shows."""
    return one.page.locator(f".card.group[data-key='{group.id}'] .badge.looking")


def test_people_see_who_looks_at_which_group(site):
    workspace, visit = site
    ann, bob = visit("ann"), visit("bob")
    group, other = workspace.groups()
    bob.go("groups")
    open_group(ann, group)
    looked_at(bob, group).wait_for()
    assert looked_at(bob, group).text_content() == "ann"
    assert looked_at(bob, group).get_attribute("title") == "ann is looking at this group"
    assert ann.page.locator(".lookers").text_content() == ""  # one does not see oneself
    open_group(bob, group)
    ann.page.get_by_text("bob is looking at this group").wait_for()
    bob.page.get_by_text("ann is looking at this group").wait_for()
    # The same person in a second tab, and somebody else.
    second = ann.context.new_page()
    second.goto(f"{ann.address}#/groups/{group.id}")
    second.get_by_text("bob is looking at this group").wait_for()
    cem = visit("cem")
    open_group(cem, group)
    cem.page.get_by_text("ann and bob are looking at this group").wait_for()
    bob.page.get_by_text("ann and cem are looking at this group").wait_for()
    # A tab that is closed, a view that is left, and a person who goes to another group.
    second.close()
    open_group(cem, other)
    bob.page.get_by_text("ann is looking at this group").wait_for()
    ann.page.close()
    bob.page.locator(".lookers").wait_for(state="hidden")
    bob.go("groups")
    assert looked_at(bob, other).text_content() == "cem"
    assert looked_at(bob, group).count() == 0
    cem.go("history")
    looked_at(bob, other).wait_for(state="detached")


def test_who_looks_is_told_again_after_the_connection_was_lost(site, monkeypatch):
    workspace, visit = site
    monkeypatch.setattr(presence, "LEASE", 3.0)
    ann, bob = visit("ann"), visit("bob")
    bob.expected = ("ERR_INTERNET_DISCONNECTED", "ERR_NETWORK", "net::")
    group = workspace.groups()[0]
    open_group(ann, group)
    open_group(bob, group)
    ann.page.get_by_text("bob is looking at this group").wait_for()
    bob.context.set_offline(True)
    ann.page.locator(".lookers").wait_for(state="hidden")
    bob.context.set_offline(False)
    ann.page.get_by_text("bob is looking at this group").wait_for()
