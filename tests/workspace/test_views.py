"""What people look at is counted once and kept; it must be what a fresh look at the database finds."""

import random
import shutil
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert

from opengcd import Workspace
from opengcd.workspace import groups as groups_module
from opengcd.workspace import similarity, unit_vectors
from opengcd.workspace.schema import assignments, predictions
from opengcd.workspace.unit_vectors import UnitVectors
from tests.helpers.counting import check
from tests.helpers.pictures import paint, truth

ACTS = {
    "name": lambda w, g, rng: w.name(rng.choice(g).id, rng.choice(["sky", "sun", "red"]), confirm=rng.random() < 0.5),
    "confirm": lambda w, g, rng: w.confirm(rng.choice(g).id),
    "unconfirm": lambda w, g, rng: w.unconfirm(rng.choice(g).id),
    "move": lambda w, g, rng: w.move(rng.choice(g).items[:1], rng.choice([rng.choice(g).id, "red", "sky"])),
    "separate": lambda w, g, rng: w.separate(rng.choice(g).items[:2]),
    "remove": lambda w, g, rng: w.remove(rng.choice(g).items[-1:]),
    "merge": lambda w, g, rng: w.merge(rng.choice(g).id, rng.choice(g).id),
    "split": lambda w, g, rng: w.split(rng.choice(g).id, 2),
    "undo": lambda w, g, rng: w.undo(),
    "redo": lambda w, g, rng: w.redo(),
    "discover": lambda w, g, rng: w.discover(k=rng.choice([5, 7])),
    "learn": lambda w, g, rng: w.learn(),
    "rollback": lambda w, g, rng: w.rollback(1),
    "recognise": lambda w, g, rng: list(
        w.recognize(paint(w.path.parent / "more", rng.choice(["red", "blue"]), [rng.randrange(1000, 1020)]))
    ),
}


@settings(max_examples=15)
@given(acts=st.lists(st.sampled_from(sorted(ACTS)), min_size=5, max_size=14), seed=st.integers(0, 1000))
def test_cached_counts_equal_the_database(reviewable, tmp_path_factory, acts, seed):
    """After anything that changes the database, here or through another workspace on the same folder."""
    rng = random.Random(seed)
    folder = tmp_path_factory.mktemp("kept") / "workspace"
    shutil.copytree(reviewable, folder)
    with Workspace(folder) as workspace, Workspace(folder) as other:
        check(workspace, other)
        for act in acts:
            one = rng.choice([workspace, other])
            groups = one.groups()
            try:
                if groups or act in ("undo", "redo", "discover", "learn", "rollback", "recognise"):
                    ACTS[act](one, groups, rng)
            except ValueError:
                continue  # as when there is nothing to undo, or a group has no name that could be confirmed
            check(workspace, other)


def test_a_reader_sees_what_was_when_it_began(workspace):
    """Also if someone else has edited, and looked at the result, meanwhile."""
    counts = workspace.views.counts
    first, second = workspace.groups()
    with workspace.store.database.reading() as early:
        assert early.exec_driver_sql("SELECT count(*) FROM groups").scalar() == 2
        workspace.move(first.items[:3], second.id)
        assert [card.group.size for card in workspace.views.overview().cards] == [11, 5]
        assert {id: count.size for id, count in counts.of_groups(early).items()} == {first.id: 8, second.id: 8}
    assert [card.group.size for card in workspace.views.overview().cards] == [11, 5]


@pytest.mark.parametrize("most_rows", [0, 10, 1000])
def test_vectors_that_are_kept_and_vectors_that_are_read(workspace, tmp_path, monkeypatch, most_rows):
    """Distances are the same however much of the vectors is kept, and when items come one by one."""
    monkeypatch.setattr(unit_vectors, "BLOCK", 7)
    kept = UnitVectors(most_rows * 4 * 192)
    for colour in ("red", "blue", "purple"):
        list(workspace.recognize(paint(tmp_path / "more", colour, [7000])))
        with workspace.store.database.reading() as connection:
            store = workspace.vectors.shards(connection)
            ids, gaps = kept.distances(connection, store, 40)
            watched = Mock(wraps=store)
            watched.width, watched.id = store.width, store.id
            np.testing.assert_array_equal(kept.distances(connection, watched, 40)[1], gaps)
            read = [item for call in watched.of_items.call_args_list for item in call.args[1]]
            X = store.of_items(connection, ids.tolist()).astype(np.float64)
        assert ids.tolist() == [one.item for one in workspace.views.labels()]
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        np.testing.assert_allclose(gaps, 1 - X @ X[ids == 40][0], atol=1e-6)
        # The item that is asked about, and what is not kept: whole blocks of 7 within the limit are.
        assert len(read) == 1 + (len(ids) - most_rows // 7 * 7 if most_rows < len(ids) else 0)


def test_neighbours_that_are_far_away(workspace, monkeypatch):
    """Where hardly anything near is recognised yet, the search goes on."""
    monkeypatch.setattr(similarity, "MORE", 0)
    recognised = [one.item for one in workspace.views.labels() if one.source == "recognized"]
    with workspace.store.database.writing() as connection:
        connection.execute(delete(predictions).where(predictions.c.item_id.in_(recognised[1:])))
    found = workspace.similarity.neighbours(recognised[0], 30)
    assert len(found) == 30
    assert not {one.id for one in found} & set(recognised)
    assert [one.distance for one in found] == sorted(one.distance for one in found)


def test_an_earlier_version_is_asked_again(workspace, tmp_path):
    """What it says of items that are there already changes the counts too, without an edit and without a new item."""
    workspace.name(workspace.groups()[0].id, "sky", confirm=True)
    workspace.learn()
    files = paint(tmp_path / "more", "red", [7000])
    list(workspace.recognize(files))
    workspace.rollback(1)
    check(workspace)
    assert workspace.status().counts["waiting"] == 1
    list(workspace.recognize(files))
    check(workspace)
    assert workspace.status().counts["waiting"] == 0


def test_a_group_that_looks_like_a_known_class(workspace):
    """What was learnt as red, moved to a group of its own among the new ones, is said to look like red."""
    assert workspace.views.suggestions() == {}
    workspace.discover(k=4)  # no room for new classes: all are put back
    reds = [one.item for one in workspace.views.labels() if truth(one.paths[0]) == "red" and one.source == "recognized"]
    with workspace.store.editing("try") as edit:
        home = groups_module.make_group(edit, "novel", "odd", False)
        edit.touch(assignments, reds)
        edit.connection.execute(
            insert(assignments),
            [{"item_id": item, "group_id": home, "rank": i, "by_person": True} for i, item in enumerate(reds)],
        )
    assert workspace.views.suggestions() == {home: "red"}
