"""Lists of all images: every filter and order beside a plain loop over all labels; any label corrected."""

import os
import random
import shutil
from collections import Counter
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opengcd import Workspace
from opengcd.workspace import SOURCES, ConflictError, MissingError, WorkspaceError
from opengcd.workspace.browsing import SORTS, Order, Wanted
from tests.helpers.pictures import paint, truth
from tests.helpers.reviewing import put_in_stack

TAKEN = datetime(2026, 5, 1, 6, 30, tzinfo=UTC).timestamp()


@pytest.fixture(scope="module")
def varied(reviewable, tmp_path_factory):
    """A workspace in which labels come from everywhere; all files were changed in May 2026, a day apart."""
    folder = tmp_path_factory.mktemp("varied") / "workspace"
    shutil.copytree(reviewable, folder)
    with Workspace(folder, who="ann") as workspace:
        first, second = workspace.groups()
        workspace.name(first.id, "sky", confirm=True)
        workspace.move(second.items[:2], "red")
        workspace.by("bob").remove(second.items[2:3])
        workspace.by("bob").separate(second.items[3:5], "dusk")
        (moved,) = (one.item for one in workspace.views.labels() if one.paths[0].endswith("green101.png"))
        workspace.by("bob").move([moved], "red")
        workspace.by("bob").relabel([one.item for one in workspace.views.labels()][:2], "green")
        with workspace.store.database.writing() as connection:
            connection.exec_driver_sql(
                f"UPDATE paths SET mtime = CAST({TAKEN:.0f} + 86400 * (item_id % 20) AS BIGINT) * 1000000000"
            )
        yield workspace


def everything(workspace):
    return {image.id: image for image in workspace.browsing.images(limit=1000).images}


def test_a_list_says_of_each_image_what_all_labels_say(varied):
    found = everything(varied)
    labels = varied.views.labels()
    assert list(found) == [one.item for one in labels]
    for one in labels:
        image = found[one.item]
        assert (image.label, image.source, image.unknown) == (one.label, one.source, one.unknown)
        assert image.name == os.path.basename(one.paths[0])
        assert image.date.timestamp() == TAKEN + 86400 * (one.item % 20)
        assert image.group == varied.views.item(one.item).group
        assert varied.browsing.image(one.item) == image
    assert Counter(image.source for image in found.values()) == +Counter(varied.status().counts)
    with pytest.raises(MissingError, match="no item 4711"):
        varied.browsing.image(4711)


def test_who_gave_a_label_is_the_last_one_who_did(varied):
    by = Counter((image.who, image.label) for image in everything(varied).values() if image.who)
    assert by == {
        ("ann", "sky"): 8,
        ("ann", "red"): 2,
        ("bob", "dusk"): 2,
        ("bob", "unknown"): 1,
        ("bob", "red"): 1,
        ("bob", "green"): 2,
    }
    for who in ("ann", "bob", "eve"):
        listed = varied.browsing.images(Wanted(who=who)).images
        assert len(listed) == sum(n for (one, _), n in by.items() if one == who)
        assert {image.who for image in listed} <= {who}


def test_doubt_is_the_probability_that_the_label_is_wrong(varied):
    """Of the recognised class it is what the other classes have; what a person decided is not in doubt."""
    top = {one.item: one.top for one in varied.views.labels()}
    for image in everything(varied).values():
        if image.source == "recognized":
            assert image.doubt == pytest.approx(1 - top[image.id][0][1])
        elif image.source in ("learnt", "reviewed", "removed"):
            assert image.doubt is None


def plain(image, wanted):
    """Whether an image is wanted, as a person would check it."""
    doubt = (wanted.doubt_min, wanted.doubt_max)
    unknown = (wanted.unknown_min, wanted.unknown_max)
    for value, (least, most) in ((image.doubt, doubt), (image.unknown, unknown)):
        if (least is not None or most is not None) and value is None:
            return False
        if (least is not None and value < least) or (most is not None and value > most):
            return False
    return (
        (wanted.label is None or image.label == wanted.label)
        and (wanted.group is None or image.group == wanted.group)
        and (not wanted.source or image.source in wanted.source)
        and (wanted.since is None or image.date.date() >= wanted.since)
        and (wanted.until is None or image.date.date() <= wanted.until)
        and (wanted.who is None or image.who == wanted.who)
        and (wanted.name is None or wanted.name.lower() in image.name.lower())
    )


FILTERS = {
    "label": st.sampled_from(["red", "sky", "dusk", "unknown", "nothing"]),
    "group": st.integers(1, 5),
    "source": st.lists(st.sampled_from(sorted(SOURCES)), min_size=1, max_size=3),
    "unknown_min": st.sampled_from([0.0, 0.2, 0.25]),
    "unknown_max": st.sampled_from([0.2, 0.25, 1.0]),
    "doubt_min": st.sampled_from([0.0, 0.6, 0.65]),
    "doubt_max": st.sampled_from([0.6, 0.68, 1.0]),
    "since": st.dates(date(2026, 4, 29), date(2026, 5, 25)),
    "until": st.dates(date(2026, 4, 29), date(2026, 5, 25)),
    "who": st.sampled_from(["ann", "bob", "eve"]),
    "name": st.sampled_from(["e", "RED1", "%", "_", "5.png", "'"]),
}
KEYS = {
    "added": lambda image: image.id,
    "name": lambda image: image.name.lower(),
    "date": lambda image: image.date,
    "label": lambda image: image.label.lower(),
    "doubt": lambda image: -1 if image.doubt is None else image.doubt,
    "unknown": lambda image: -1 if image.unknown is None else image.unknown,
}


@settings(max_examples=40)
@given(
    some=st.lists(st.sampled_from(sorted(FILTERS)), max_size=3, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: FILTERS[name] for name in names})
    ),
    by=st.sampled_from(sorted(SORTS)),
    descending=st.booleans(),
    size=st.integers(1, 30),
)
def test_pages_together_are_the_list_in_order(varied, some, by, descending, size):
    wanted, order = Wanted(**some), Order(by, descending)
    chosen = [image for image in everything(varied).values() if plain(image, wanted)]
    chosen.sort(key=lambda image: (KEYS[by](image), image.id), reverse=descending)
    found, after = [], None
    while True:
        page = varied.browsing.images(wanted, order, after=after, limit=size)
        found += page.images
        assert page.edit == varied.review.last_edit()
        if (after := page.next) is None:
            break
    assert found == chosen
    starts = varied.browsing.starts(wanted, order, every=size)
    assert starts.total == len(chosen)
    assert len(starts.cursors) == max(0, (len(chosen) - 1) // size)
    for page, cursor in enumerate(starts.cursors, 1):
        part = varied.browsing.images(wanted, order, after=cursor, limit=size).images
        assert part == chosen[page * size : (page + 1) * size]


def test_folders_are_those_of_the_files(varied, world):
    _, stream = world
    assert varied.browsing.choices().folders[str(stream)] == 48
    assert varied.browsing.starts(Wanted(folder=str(stream))).total == 48
    assert varied.browsing.starts(Wanted(folder=f"{stream.parent}/")).total == 80
    assert varied.browsing.starts(Wanted(folder=str(stream)[:-1])).total == 0
    choices = varied.browsing.choices()
    assert choices.labels["red"] == 8 + 8 + 3
    assert sum(choices.labels.values()) == 80
    assert choices.people == ["ann", "bob"]


def test_a_cursor_of_another_list_or_of_nobody_is_refused(varied):
    cursor = varied.browsing.images(limit=3).next
    for order, after in ((Order("name"), cursor), (Order(descending=True), cursor), (Order(), "x"), (Order(), "MQ")):
        with pytest.raises(MissingError, match="no such page"):
            varied.browsing.images(order=order, after=after)
    with pytest.raises(WorkspaceError, match="no source 'guessed'"):
        Wanted(source=["guessed"])
    with pytest.raises(WorkspaceError, match="cannot be sorted by 'beauty'"):
        Order("beauty")


def test_what_comes_while_one_pages_shifts_nothing(workspace, tmp_path):
    page = workspace.browsing.images(limit=40)
    list(workspace.recognize(paint(tmp_path / "more", "red", [900, 901])))
    rest = workspace.browsing.images(after=page.next, limit=1000)
    ids = [image.id for image in page.images + rest.images]
    assert len(ids) == len(set(ids)) == 82


# Correcting labels.


def accepted(workspace, colour):
    """The images of a colour in the stream that were recognised as it."""
    return [
        one.item
        for one in workspace.views.labels()
        if one.source == "recognized" and truth(one.paths[0]) == colour == one.label
    ]


def test_an_accepted_image_is_corrected_learnt_and_put_back(workspace):
    wrong = accepted(workspace, "green")[:2]
    before = workspace.views.labels()
    done = workspace.move(wrong, "red")
    assert done.images == 2
    for item in wrong:
        image = workspace.browsing.image(item)
        assert (image.label, image.source, image.who) == ("red", "reviewed", "ann")
    assert workspace.views.learnable() == {"red": 2}
    workspace.undo()
    assert workspace.views.labels() == before
    workspace.redo()
    assert workspace.history()[0].verb == "redo"
    workspace.learn()
    learnt = {one.item: (one.label, one.source) for one in workspace.views.labels()}
    assert [learnt[item] for item in wrong] == [("red", "learnt")] * 2


def test_learnt_and_recognised_images_are_corrected_together_and_put_back(workspace):
    learnt, other = workspace.views.labels()[0], accepted(workspace, "green")[0]
    assert (learnt.source, learnt.label) == ("learnt", "black")
    before = workspace.views.labels()
    assert workspace.by("bob").move([learnt.item, other], "red").images == 2
    for item in (learnt.item, other):
        image = workspace.browsing.image(item)
        assert (image.label, image.source, image.who) == ("red", "reviewed", "bob")
    assert {image.id for image in workspace.browsing.images(Wanted(who="bob")).images} == {learnt.item, other}
    assert workspace.browsing.choices().people == ["bob"]
    assert workspace.history()[0].details["images"] == 2
    workspace.undo()
    assert workspace.views.labels() == before
    workspace.redo()
    workspace.learn()
    assert {one.item: (one.label, one.source) for one in workspace.views.labels()}[learnt.item] == ("red", "learnt")
    assert workspace.move([learnt.item], "moss").group is None  # no group is made for a learnt image
    assert workspace.browsing.image(learnt.item).label == "moss"
    assert "moss" not in [group.label for group in workspace.groups()]


def test_a_learnt_image_gets_the_name_of_a_group_and_can_be_removed(workspace):
    (learnt, second, *_), (named, unnamed) = workspace.views.labels(), workspace.groups()
    workspace.name(named.id, "sky")
    workspace.move([learnt.item], named.id)
    assert workspace.browsing.image(learnt.item).label == "sky"
    with pytest.raises(WorkspaceError, match="has no name"):
        workspace.move([learnt.item], unnamed.id)
    workspace.remove([learnt.item, named.items[0]])
    assert [workspace.browsing.image(item).source for item in (learnt.item, named.items[0])] == ["removed"] * 2
    workspace.undo()
    assert workspace.browsing.image(learnt.item).label == "sky"
    with pytest.raises(WorkspaceError, match=f"already learnt item {second.item} as"):
        workspace.separate([second.item])


def test_a_correction_to_a_new_class_is_learnt_if_it_is_confirmed(workspace):
    one, other = accepted(workspace, "green")[:2]
    workspace.move([one], "moss")
    assert workspace.browsing.image(one).source == "grouped"
    workspace.move([other], "moss", confirm=True)
    assert {workspace.browsing.image(item).source for item in (one, other)} == {"reviewed"}
    assert workspace.views.learnable() == {"moss": 2}
    assert workspace.history()[0].details == {
        "images": 1,
        "group": workspace.browsing.image(one).group,
        "confirmed": True,
    }


def test_corrections_of_the_same_image_conflict(workspace):
    one, other = accepted(workspace, "green")[:2]
    seen = workspace.review.last_edit()
    workspace.by("bob").move([one], "red")
    with pytest.raises(ConflictError, match="bob"):
        workspace.move([one], "black", on=seen)
    workspace.move([other], "black", on=seen)
    assert [workspace.browsing.image(item).label for item in (one, other)] == ["red", "black"]


def test_near_copies_that_were_learnt_are_corrected_one_by_one(workspace):
    group = workspace.groups()[0]
    first, second, *_ = group.items
    workspace.name(group.id, "sky", confirm=True)
    workspace.learn()
    put_in_stack(workspace, [first, second])
    assert workspace.move([first], "red").images == 1
    assert [workspace.browsing.image(item).label for item in (first, second)] == ["red", "sky"]


def test_any_image_can_be_removed_or_grouped(workspace):
    """Also near copies of one that is in no group: each is moved by itself."""
    first, second, third = accepted(workspace, "green")[:3]
    put_in_stack(workspace, [first, second])
    workspace.remove([first])
    workspace.separate([third])
    assert [workspace.browsing.image(item).source for item in (first, second, third)] == [
        "removed", "recognized", "grouped",
    ]  # fmt: skip
    with pytest.raises(MissingError, match="no item 4711"):
        workspace.move([first, 4711], "red")
    assert workspace.browsing.image(first).source == "removed"


def test_a_discovery_keeps_what_was_corrected(workspace):
    wrong = accepted(workspace, "green")[:2]
    workspace.move(wrong, "red")
    workspace.discover(k=6)
    assert [workspace.browsing.image(item).label for item in wrong] == ["red", "red"]
    assert workspace.views.learnable() == {"red": 2}


# Files that were moved.


def test_an_image_that_was_moved_is_exported_once(workspace, tmp_path):
    (file,) = paint(tmp_path / "before", "red", [950])
    copy = tmp_path / "copy.png"
    shutil.copy(file, copy)
    list(workspace.recognize([file]))
    moved = tmp_path / "after.png"
    file.rename(moved)
    list(workspace.recognize([moved]))
    lines = workspace.formats.export_bytes("csv").decode().splitlines()
    assert [line.partition(",")[0] for line in lines if "tmp" in line and str(tmp_path) in line] == [str(moved)]
    list(workspace.recognize([copy]))  # a file for each copy that is there
    item = workspace.views.find(copy)
    assert workspace.views.paths(item) == sorted(map(str, (moved, copy)))


def test_an_image_whose_link_was_made_again_is_exported_once(workspace, tmp_path):
    """As in a folder of links to a disk that is found elsewhere now: the old links lead nowhere."""
    (file,) = paint(tmp_path / "disk", "red", [951])
    old, new = tmp_path / "old.png", tmp_path / "new.png"
    old.symlink_to(file)
    list(workspace.recognize([old]))
    (tmp_path / "disk").rename(tmp_path / "other")
    new.symlink_to(tmp_path / "other" / file.name)
    (found,) = workspace.recognize([new])
    assert workspace.views.paths(found.item) == [str(new)]
    assert str(old) not in workspace.formats.export_bytes("csv").decode()


def test_the_state_of_each_file_is_told(workspace, tmp_path):
    file, other = paint(tmp_path / "files", "red", [960, 961])
    (item, _) = (result.item for result in workspace.recognize([file, other]))
    assert [one.state for one in workspace.views.files(item)] == ["present"]
    os.utime(file, (1, 1))
    assert [one.state for one in workspace.views.files(item)] == ["present"]
    shutil.copy(other, file)
    assert [one.state for one in workspace.views.files(item)] == ["changed"]
    file.unlink()
    assert [tuple(one) for one in workspace.views.files(item)] == [(str(file), "missing")]


def test_a_random_walk_of_edits_keeps_counts_and_lists_alike(workspace):
    rng = random.Random(0)
    ids = list(everything(workspace))
    for _ in range(25):
        act = rng.choice(["move", "remove", "separate", "undo"])
        try:
            if act == "undo":
                workspace.undo()
            elif act == "move":
                workspace.move(rng.sample(ids, 2), rng.choice(["red", "sky"]), confirm=rng.random() < 0.5)
            else:
                getattr(workspace, act)(rng.sample(ids, 2))
        except WorkspaceError:
            continue
        counts = Counter(image.source for image in everything(workspace).values())
        assert counts == +Counter(workspace.status().counts)
