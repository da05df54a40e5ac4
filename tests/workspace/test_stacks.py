"""Stacks in a workspace: found by vectors, or by time and hash; reviewed together, opened, exported one by one."""

import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import ExifTags, Image

from opengcd import Workspace
from opengcd.workspace import WorkspaceError, stacks
from opengcd.workspace.predictions import count_scores, least_of_stacks, observed_scores
from opengcd.workspace.stacks import Capture, burst_links
from tests.helpers.pictures import KNOWN, RECOGNIZER, paint, picture, truth

CLOSE = 0b111
"""Three bits."""


def test_images_of_a_burst_follow_each_other_and_look_alike():
    seen = {
        1: Capture(100.0, 0),
        2: Capture(104.0, CLOSE),  # of the burst
        3: Capture(112.0, CLOSE),  # too late
        4: Capture(113.0, 0xFFFF),  # 13 bits from the one before
        5: Capture(100.5, 1),  # between the first two
    }
    assert burst_links(seen) == [(1, 5), (5, 2)]


def test_a_burst_ends_where_it_no_longer_looks_like_its_first_image():
    seen = {i: Capture(float(i), (1 << 8 * i) - 1) for i in range(5)}  # each differs by 8 bits from the one before
    assert burst_links(seen) == [(0, 1), (1, 2), (3, 4)]


@given(st.dictionaries(st.integers(1, 30), st.builds(Capture, st.integers(0, 40).map(float), st.integers(0, 255))))
def test_every_link_is_between_neighbours_in_time(seen):
    for a, b in burst_links(seen):
        assert 0 <= seen[b].taken - seen[a].taken <= stacks.BURST_SECONDS
        assert not any(seen[a].taken < one.taken < seen[b].taken for one in seen.values())


def test_a_stack_has_its_smallest_score():
    assert least_of_stacks({1: 0.5, 2: 0.2, 3: 0.9, 4: 0.1}, {2: 1, 1: 1, 4: 3, 3: 3}).tolist() == [0.2, 0.1]
    assert least_of_stacks({1: 0.5, 2: 0.2}, {}).tolist() == [0.5, 0.2]


def jitter(folder, colour, number, copies):
    """Write a picture and near copies of it, in which one pixel is a little brighter."""
    folder.mkdir(parents=True, exist_ok=True)
    pixels = np.array(picture(colour, number))
    for copy in range(copies + 1):
        near = pixels.copy()
        near[copy, 0] = np.minimum(near[copy, 0].astype(int) + 2, 255)
        Image.fromarray(near).save(folder / f"{colour}{number}-{copy}.png")


@pytest.fixture(scope="module")
def bursts(tmp_path_factory):
    """A workspace of the preset ``best`` that has seen a burst of each of two blue and two yellow pictures."""
    folder = tmp_path_factory.mktemp("bursts")
    for colour in KNOWN:
        paint(folder / "known" / colour, colour, range(12))
    for colour in (*KNOWN, "blue", "yellow"):
        paint(folder / "stream", colour, range(100, 112))
    for colour in ("blue", "yellow"):
        for number in (200, 201):
            jitter(folder / "stream", colour, number, 3)
    with Workspace.create(folder / "w", "pixels", recognizer={"random_state": 0}) as workspace:
        assert workspace.fit(folder / "known") == []
        list(workspace.recognize([folder / "stream"]))
        workspace.discover(k=6)
    return folder


@pytest.fixture
def workspace(bursts, tmp_path):
    shutil.copytree(bursts / "w", tmp_path / "w")
    with Workspace(tmp_path / "w", who="ann") as opened:
        yield opened


def item(workspace, bursts, name):
    return workspace.views.find(bursts / "stream" / name)


def burst_of(workspace, bursts, colour, number):
    return [item(workspace, bursts, f"{colour}{number}-{copy}.png") for copy in range(4)]


def group_of(workspace, one):
    return workspace.views.item(one).group


def shown(workspace, bursts, one):
    """The stack of an item and its number of images, as its group shows it."""
    members = workspace.views.members(group_of(workspace, one)).items
    return next((member.stack, member.copies) for member in members if member.id == one)


def test_near_copies_are_one_stack_next_to_each_other(workspace, bursts):
    for colour in ("blue", "yellow"):
        burst = burst_of(workspace, bursts, colour, 200)
        assert {shown(workspace, bursts, one) for one in burst} == {(min(burst), 4)}
        members = [member.id for member in workspace.views.members(group_of(workspace, burst[0])).items]
        places = sorted(members.index(one) for one in burst)
        assert places == list(range(places[0], places[0] + 4))
    alone = item(workspace, bursts, "blue105.png")
    assert shown(workspace, bursts, alone) == (None, 1)
    assert workspace.history()[0].details["stacks"] == 4


def test_a_stack_is_one_item_where_groups_are_shown(workspace, bursts):
    burst = burst_of(workspace, bursts, "blue", 200)
    group = group_of(workspace, burst[0])
    every, one_each = (workspace.views.members(group, stacked=stacked) for stacked in (False, True))
    assert (every.total, one_each.total) == (20, 14)
    members = [member.id for member in every.items]
    hidden = set(members) - {member.id for member in one_each.items}
    assert len(hidden) == 6
    for stack in (burst, burst_of(workspace, bursts, "blue", 201)):
        assert hidden & set(stack) == set(stack) - {min(stack, key=members.index)}
    odd = workspace.views.members(group, stacked=True, odd=True)
    assert [member.id for member in odd.items] == [member.id for member in one_each.items][::-1]
    card = next(card for card in workspace.views.overview().cards if card.group.id == group)
    assert card.group.size == 20
    assert card.typical == [member.id for member in one_each.items][:8]


def test_a_stack_moves_as_one_and_undo_returns_it(workspace, bursts):
    burst = burst_of(workspace, bursts, "blue", 200)
    before = group_of(workspace, burst[0])
    other = group_of(workspace, item(workspace, bursts, "yellow105.png"))
    workspace.move(burst[1:2], other)
    assert {group_of(workspace, one) for one in burst} == {other}
    assert workspace.history()[0].details == {"images": 4, "group": other}
    workspace.undo()
    assert {group_of(workspace, one) for one in burst} == {before}
    workspace.remove([burst[0]])
    assert len({group_of(workspace, one) for one in burst}) == 1
    workspace.undo()
    workspace.separate([burst[3]], "sky")
    assert {group_of(workspace, one) for one in burst} != {before}
    assert len({group_of(workspace, one) for one in burst}) == 1


def test_an_opened_stack_moves_one_by_one_until_that_is_undone(workspace, bursts):
    burst = burst_of(workspace, bursts, "blue", 200)
    before, other = group_of(workspace, burst[0]), group_of(workspace, item(workspace, bursts, "yellow105.png"))
    edited = workspace.unstack([burst[2]])
    assert edited.groups == [before]
    assert {shown(workspace, bursts, one) for one in burst} == {(None, 1)}
    workspace.move([burst[2]], other)
    assert [group_of(workspace, one) == before for one in burst] == [True, True, False, True]
    workspace.undo()
    workspace.undo()
    assert {shown(workspace, bursts, one) for one in burst} == {(min(burst), 4)}


def test_an_opened_stack_stays_open_when_groups_are_found_again(workspace, bursts):
    opened, other = burst_of(workspace, bursts, "blue", 200), burst_of(workspace, bursts, "blue", 201)
    workspace.unstack([opened[0]])
    workspace.discover(k=6)
    assert {shown(workspace, bursts, one) for one in opened} == {(None, 1)}
    assert {shown(workspace, bursts, one) for one in other} == {(min(other), 4)}
    workspace.undo()
    workspace.undo()
    assert {shown(workspace, bursts, one) for one in opened} == {(min(opened), 4)}


def test_opening_what_is_no_stack_changes_nothing(workspace, bursts):
    before = workspace.history()
    assert workspace.unstack([item(workspace, bursts, "blue105.png")]).groups == []
    assert workspace.history() == before


def test_images_of_a_stack_are_learnt_and_exported_one_by_one(workspace, bursts, tmp_path):
    burst = burst_of(workspace, bursts, "blue", 200)
    workspace.name(group_of(workspace, burst[0]), "sky", confirm=True)
    assert workspace.views.learnable()["sky"] >= 4
    workspace.learn()
    labels = {path: one.label for one in workspace.views.labels() for path in one.paths}
    blue = [label for path, label in labels.items() if truth(path) == "blue"]
    assert len(blue) == 20
    assert [labels[str(bursts / "stream" / f"blue200-{copy}.png")] for copy in range(4)] == ["sky"] * 4
    exemplars = workspace.exemplars.by_class()["sky"]
    assert len(set(burst) & set(exemplars)) == 1, "the memory holds one of them"


def test_a_stack_counts_once_for_the_threshold(workspace, bursts):
    with workspace.store.database.reading() as connection:
        assert count_scores(connection) == 6 * 12 + 16
        assert len(observed_scores(connection)) == 6 * 12 + 4


# By time and looks.


def photograph(file, colour, number, seconds):
    """Write a picture that says when it was taken."""
    exif = Image.Exif()
    exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = f"2024:05:01 06:30:{seconds:02d}"
    picture(colour, number).save(file, exif=exif.tobytes())


@pytest.fixture
def camera(world, tmp_path):
    """A workspace of the paper's preset, which finds no copies by vectors, that has seen four photographs."""
    known, stream = world
    shots = tmp_path / "shots"
    shots.mkdir()
    for name, number, seconds in (("a", 300, 10), ("b", 301, 12), ("c", 302, 40), ("d", 303, 42)):
        photograph(shots / f"blue-{name}.png", "blue", number, seconds)
    with Workspace.create(tmp_path / "w", "pixels", recognizer=RECOGNIZER) as workspace:
        workspace.fit(known)
        list(workspace.recognize([stream, shots]))
        yield workspace, shots


def stacked(workspace, shots):
    """The photographs of each stack."""
    found = {}
    for group in workspace.groups():
        for one, stack in zip(group.items, group.stacks, strict=True):
            if stack is not None:
                found.setdefault(stack, set()).add(workspace.views.paths(one)[0].rpartition("-")[2][0])
    return sorted("".join(sorted(names)) for names in found.values())


def test_photographs_taken_in_a_burst_are_a_stack(camera, monkeypatch):
    workspace, shots = camera
    monkeypatch.setattr(stacks, "SAME_BITS", 64)  # the pictures are noise
    monkeypatch.setattr(stacks, "ALIKE_BITS", 64)
    workspace.discover(k=6)
    assert stacked(workspace, shots) == ["ab", "cd"]


def test_what_does_not_look_alike_is_no_burst(camera):
    workspace, shots = camera
    workspace.discover(k=6)
    assert stacked(workspace, shots) == []


def test_times_from_a_table(camera, monkeypatch):
    workspace, shots = camera
    monkeypatch.setattr(stacks, "SAME_BITS", 64)
    monkeypatch.setattr(stacks, "ALIKE_BITS", 64)
    table = shots / "times.csv"
    table.write_text("file,time\nblue-a.png,2024-05-01T07:00:00\nblue-d.png,2024-05-01T07:00:03\nnone.png,2024-05-01\n")
    assert workspace.set_times(table) == 2
    workspace.discover(k=6)
    assert stacked(workspace, shots) == ["ad"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,time\na,2024-05-01\n", "no column 'file'"),
        ("", "no column 'file'"),
        ("file,time\na,2024-05-01\nb,noon\n", "row 3: 'noon' is not a time"),
        ("file,time\na\n", "row 2: it has 1 cells"),
    ],
)
def test_a_table_that_cannot_be_read(workspace, tmp_path, text, message):
    (tmp_path / "times.csv").write_text(text)
    with pytest.raises(WorkspaceError, match=message):
        workspace.set_times(tmp_path / "times.csv")
