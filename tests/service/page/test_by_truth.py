"""A whole review by the truth, by mouse and by keyboard: what it costs is what the simulated annotator counts."""

import csv
import re
from collections import Counter
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from opengcd import Workspace
from opengcd.bench.reviewer import simulate_review
from tests.helpers.browsing import Visit, cell, select
from tests.helpers.pictures import KNOWN, RECOGNIZER, paint, picture
from tests.helpers.places import SHARED
from tests.helpers.serving import serving

BIRDS, NETWORK = SHARED / "images" / "birds", SHARED / "models" / "vit-s14"


class Mouse:
    """Does everything by clicks; only names are typed."""

    BUTTONS: ClassVar = {"x": "Remove", "m": "Move to…", "Enter": "Name", "c": "Confirm"}

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
        hand.one.said("moved to the bin")
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
            one.page.get_by_role("heading", name="Version 2 is ready").wait_for()
            one.end()
        assert set(workspace.status().version.classes) == set(truths.values())
        assert sum(counted.values()) < len(truths) / 2
