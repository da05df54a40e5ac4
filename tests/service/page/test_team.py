"""Several reviewers on the page: who is to review which group, what they say of it, and who agrees."""

from tests.helpers.browsing import cell, open_group


def card(one, group):
    return one.page.locator(f".card.group[data-key='{group.id}']")


def head(one):
    return one.page.locator("header.title")


def test_groups_are_assigned_and_the_list_shows_whose_they_are(site):
    workspace, visit = site
    workspace.separate(workspace.groups()[0].items[:2])  # a third group
    ann, bob = visit("ann"), visit("bob")
    first, second, third = workspace.groups()
    assert ann.go("groups").text_content() == "Groups"
    whose = ann.page.get_by_label("Whose groups are shown")
    assert whose.is_hidden()  # nothing is assigned
    bob.go("groups")
    card(ann, second).locator(".cell").focus()
    ann.press("w")
    ann.field.fill("BOB")
    ann.press("Enter")
    ann.said("The group is assigned to bob")
    card(bob, second).get_by_text("assigned to you").wait_for()
    card(ann, second).get_by_text("assigned to bob").wait_for()
    card(bob, first).locator(".cell").focus()
    bob.press("w", "Enter")  # to oneself
    bob.said("The group is assigned to you")
    assert {group.id: group.assignee for group in workspace.groups()} == {
        first.id: "bob",
        second.id: "bob",
        third.id: None,
    }
    card(ann, first).get_by_text("assigned to bob").wait_for()
    whose.select_option("nobody")
    card(ann, first).wait_for(state="detached")
    assert ann.page.locator(".card.group").count() == 1
    bob.page.get_by_label("Whose groups are shown").select_option("mine")
    card(bob, third).wait_for(state="detached")
    assert bob.page.locator(".card.group").count() == 2
    # Given back.
    card(bob, first).locator(".cell").focus()
    bob.press("w")
    bob.field.fill("Nobody")
    bob.press("Enter")
    bob.said("The group is assigned to nobody")
    card(ann, first).wait_for()
    assert {group.assignee for group in workspace.groups()} == {None, "bob"}


def test_the_next_group_is_one_that_nobody_else_is_to_review(site):
    workspace, visit = site
    workspace.separate(workspace.groups()[0].items[:2])
    one = visit("ann")
    first, second, third = workspace.groups()
    workspace.assign(second.id, "bob")
    open_group(one, first)
    head(one).wait_for()
    one.press(".")
    cell(one.page, third.items[0]).wait_for()
    one.press(".")
    cell(one.page, first.items[0]).wait_for()
    one.press("Enter")
    one.field.fill("sky")
    one.press("Enter")  # confirms, and goes to the next one
    cell(one.page, third.items[0]).wait_for()
    one.press("Enter")
    one.field.fill("sea")
    one.press("Enter")
    cell(one.page, second.items[0]).wait_for()  # only those of others are left


def test_comments_are_text_and_reach_the_others(site):
    workspace, visit = site
    ann, bob = visit("ann"), visit("bob")
    group, other = workspace.groups()
    for one in (ann, bob):
        open_group(one, group)
    text = "<img src=x onerror=alert(1)> two kinds?"
    ann.press("r")
    ann.page.get_by_label("Comment").last.fill(text)
    ann.press("Enter")
    ann.said("The comment is added")
    written = bob.page.get_by_role("list", name="Comments").get_by_role("listitem")
    written.wait_for()
    assert written.text_content() == f"ann just now {text}"
    assert bob.page.locator(".comments img").count() == 0
    bob.said("ann commented on a group")
    bob.go("groups")
    card(bob, group).get_by_text("1 comment").wait_for()
    bob.go("history")
    bob.page.get_by_text(f"commented on a group: “{text}”").wait_for()
    # It follows the images, and undo removes it.
    workspace.merge(group.id, other.id)
    open_group(bob, other)
    written.wait_for()
    workspace.undo()
    written.wait_for(state="detached")
    ann.press("u")
    ann.said("Undone: commenting on a group")
    ann.page.get_by_role("list", name="Comments").wait_for(state="hidden")
    assert workspace.views.comments(group.id) == []


def test_a_second_person_confirms_a_group(site):
    workspace, visit = site
    ann, bob = visit("ann"), visit("bob")
    group = workspace.groups()[0]
    workspace.by("ann").name(group.id, "sky", confirm=True)
    for one in (ann, bob):
        open_group(one, group)
    assert head(ann).locator(".badge.good").text_content() == "confirmed"
    assert ann.page.get_by_role("button", name="Confirm, too").count() == 0
    head(bob).get_by_text("confirmed by ann").wait_for()
    bob.page.get_by_role("button", name="Confirm, too").click()
    bob.said("You have confirmed “sky”, too")
    head(ann).get_by_text("confirmed by you and bob").wait_for()
    assert [one.confirmed_by for one in workspace.groups() if one.id == group.id] == [["ann", "bob"]]
    assert bob.page.get_by_role("button", name="Confirm, too").count() == 0


def test_the_history_shows_how_often_people_agree(site):
    workspace, visit = site
    first, second = workspace.groups()
    one = visit("ann")
    one.go("history")
    summary = one.page.get_by_text("Agreement of reviewers")
    assert summary.is_hidden()
    for name, who in (("sea", "ann"), ("lake", "bob")):
        workspace.by(who).name(second.id, name)
    for who in ("ann", "bob"):
        workspace.by(who).name(first.id, "sky")
    workspace.by("bob").name(first.id, "sky", confirm=True)
    one.page.reload()
    summary.click()
    one.page.get_by_text("ann and bob: 16 images, 50 % the same, kappa 0.33").wait_for()
