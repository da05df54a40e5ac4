"""The list of groups: its sections, which stay as they are while one works, and the size of the pictures."""

import re

from sqlalchemy import update

from opengcd.taxonomy import Taxonomy
from opengcd.workspace.schema import groups as stored_groups
from opengcd.workspace.taxonomies import Taxonomies, Thresholds
from tests.helpers.browsing import cell, open_group
from tests.helpers.pictures import KNOWN


def sections(one):
    """The visible sections with their groups, in order."""
    one.page.locator(".card.group").first.wait_for()
    return one.page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("main section")]
            .filter((one) => !one.hidden)
            .map((one) => [
                one.querySelector("h2").firstChild.data,
                [...one.querySelectorAll("h3")].map((name) => name.innerText),
            ]))"""
    )


def parted(workspace):
    """Groups of 2, 6, 2 and 4 images, and one that was returned to red, as discovery does it."""
    blue, yellow = workspace.groups()
    workspace.separate(blue.items[:2])
    workspace.separate(yellow.items[:2], "pale")
    workspace.move(yellow.items[2:4], "red")
    return {group.label: group for group in workspace.groups()}


def test_groups_stay_in_their_sections_until_one_asks_or_comes_back(site):
    workspace, visit = site
    groups = parted(workspace)
    one = visit()
    one.go("groups")
    before = sections(one)
    assert list(before) == ["To review", "Returned to known classes"]
    assert before["To review"][0] == max(groups.values(), key=len).label
    assert before["Returned to known classes"] == ["red"]
    # The smallest becomes the largest, two are confirmed, one of them from its card: nothing moves.
    workspace.by("bob").move(groups[before["To review"][0]].items[:5], groups["pale"].id)
    workspace.by("bob").confirm(groups["pale"].id)
    red = one.page.locator(".card.group", has=one.page.get_by_role("heading", name="red"))
    red.get_by_role("button", name="Confirm").click()
    one.said("“red” is confirmed")
    one.page.locator(".card.group.confirmed", has_text="pale").get_by_text("7 images").wait_for()
    assert sections(one) == before
    assert next(group for group in workspace.groups() if group.label == "red").confirmed
    one.page.get_by_role("button", name="Sort again").click()
    one.page.get_by_role("heading", name="Confirmed").wait_for()
    after = sections(one)
    assert list(after) == ["To review", "Confirmed"]
    assert after["Confirmed"] == ["pale", "red"]
    assert one.page.get_by_role("button", name="Sort again").is_hidden()
    # Whoever leaves finds confirmed groups in their section; the others are where they were.
    workspace.by("bob").name(groups[before["To review"][-2]].id, "sky", confirm=True)
    one.page.locator(".card.group.confirmed", has_text="sky").wait_for()
    assert sections(one)["Confirmed"] == ["pale", "red"]
    one.press("1")
    one.page.get_by_role("heading", name="Known classes").wait_for()
    one.press("2")
    one.page.get_by_role("heading", name="Groups", exact=True).wait_for()
    assert set(sections(one)["Confirmed"]) == {"sky", "pale", "red"}


def test_a_card_tells_of_the_probability_only_where_it_is_low(site):
    workspace, visit = site
    sure, doubtful = workspace.groups()
    with workspace.store.database.writing() as connection:
        for group, probability in ((sure, 0.96), (doubtful, 0.2)):
            connection.execute(
                update(stored_groups).where(stored_groups.c.id == group.id).values(probability=probability)
            )
    one = visit()
    one.go("groups")
    facts = [one.page.locator(f".card.group[data-key='{group.id}'] .facts") for group in (sure, doubtful)]
    facts[0].wait_for()
    assert re.fullmatch(r"8 images · spread \d\.\d\d", facts[0].inner_text())
    assert facts[1].inner_text().endswith(" · more likely a chance cluster than a class")
    open_group(one, sure)
    assert not re.search("96|probab|likely", one.page.locator("header.title").inner_text())


def test_the_groups_beside_an_open_one_stay_in_place(site):
    workspace, visit = site
    first, second = workspace.groups()
    one = visit()
    open_group(one, first)
    workspace.by("bob").move(first.items[3:], second.id)
    one.page.locator(".rail li", has_text=second.label).get_by_text("13").wait_for()
    assert [group.id for group in workspace.groups()] == [second.id, first.id]
    names = one.page.locator(".rail .label").all_text_contents()
    assert names == [first.label, second.label]
    one.press(".")
    cell(one.page, second.items[0]).wait_for()


def test_the_size_of_the_pictures_is_remembered(site):
    _, visit = site
    one = visit()
    one.go("groups")
    widths = {}
    for size in ("small", "medium", "large"):
        one.page.get_by_label("Size of the pictures").select_option(size)
        widths[size] = one.page.locator(".mosaic img").first.bounding_box()["width"]
    assert 60 < widths["small"] < widths["medium"] / 1.2 < widths["large"] / 1.5
    one.page.reload()
    one.page.locator(".cards[data-size=large] img").first.wait_for()
    assert one.page.get_by_label("Size of the pictures").input_value() == "large"


def test_the_header_of_a_group_that_was_returned_to_a_class_says_what_is_sure(site, monkeypatch):
    """All of its images have a hue for sure; which colour they have is in doubt."""
    workspace, visit = site
    workspace.discover(k=4)  # no room for a new class
    workspace.taxonomies.set(Taxonomy(["hue"], {label: ["a hue"] for label in KNOWN}, "colour"), 0.1)
    monkeypatch.setattr(Taxonomies, "thresholds", lambda *_, **__: Thresholds(0.999, 1.0))
    group = max(workspace.groups(), key=len)
    _, own = workspace.taxonomies.of_group(group.id)
    assert own.items < len(group)
    one = visit()
    open_group(one, group)
    told = f"{group.label} (colour) {own.items}, a hue (hue) {len(group)}. At most 10 % of images get a wrong name."
    line = one.page.get_by_text(f"What is sure, of {len(group)} images: {told}")
    line.wait_for()
    workspace.by("bob").confirm(group.id)
    line.wait_for(state="hidden")
