"""How often people agree: first worked out by hand, then by the log of real edits."""

import random

import pytest
from sklearn.metrics import cohen_kappa_score

from opengcd.workspace.agreement import Agreement, kappa, labels_given

ANA, BEN = ["sky"] * 4 + ["sea"] * 4, ["sky"] * 3 + ["sea"] * 5


def test_kappa_by_hand():
    # Ana: 4 sky, 4 sea. Ben: 3 sky, 5 sea. They agree on 7 of 8; by chance on (4 * 3 + 4 * 5) / 64 = 1/2.
    assert kappa(ANA, BEN) == (7 / 8 - 1 / 2) / (1 - 1 / 2) == 0.75
    assert kappa(["sky", "sea"], ["sky", "sea"]) == 1
    assert kappa(["sky", "sea"], ["sea", "sky"]) == -1
    assert kappa(["sky", "sky"], ["sea", "sea"]) == 0
    assert kappa(["sky", "sea", "sky", "sea"], ["sky", "sky", "sea", "sea"]) == 0
    assert kappa(["sky", "sky"], ["sky", "sky"]) is None
    assert kappa([], []) is None


def test_kappa_is_that_of_scikit_learn():
    chance = random.Random(0)
    for _ in range(50):
        first, second = (chance.choices("abcd", [4, 3, 2, 1], k=30) for _ in range(2))
        assert kappa(first, second) == pytest.approx(cohen_kappa_score(first, second))


def test_two_people_who_named_the_same_images(workspace):
    first, second = workspace.groups()
    ben = workspace.by("Ben")
    assert workspace.views.agreement() == []
    workspace.name(first.id, "sky", confirm=True)
    workspace.name(second.id, "sea")
    assert workspace.views.agreement() == []  # ann alone has named any
    ben.confirm(first.id)
    assert workspace.views.agreement() == [Agreement(("Ben", "ann"), 8, 8, None)]
    ben.name(second.id, "lake")
    # Ben and ann: 8 sky and sky, 8 lake and sea. By chance 8 * 8 / 256 = 1/4 agree, and 1/2 do: (1/2 - 1/4) / (3/4).
    assert workspace.views.agreement() == [Agreement(("Ben", "ann"), 16, 8, pytest.approx(1 / 3))]
    workspace.confirm(second.id)  # ann says "lake" as well by now
    assert workspace.views.agreement() == [Agreement(("Ben", "ann"), 16, 16, 1.0)]
    workspace.undo()
    assert workspace.views.agreement() == [Agreement(("Ben", "ann"), 16, 8, pytest.approx(1 / 3))]
    workspace.undo()
    assert workspace.views.agreement() == [Agreement(("Ben", "ann"), 8, 8, None)]
    workspace.redo()
    ben.move(first.items[:2], second.id)
    # Of 16 images: 6 sky by both, 2 lake (Ben) and sky (ann), 8 lake and sea.
    assert workspace.views.agreement()[0][1:3] == (16, 6)


def test_what_a_person_named_is_known_image_by_image(workspace):
    first, second = workspace.groups()
    ben = workspace.by("Ben")
    ben.move(first.items[:3], "sky")
    ben.separate(second.items[:1])  # without a name
    ben.remove(second.items[1:2])
    workspace.name(first.id, "sky")
    ben.relabel([1], "Blue Jay")
    with workspace.store.database.reading() as connection:
        given = labels_given(connection)
    assert given["Ben"] == dict.fromkeys(first.items[:3], "sky") | {1: "bluejay"}
    assert given["ann"] == dict.fromkeys(first.items[3:], "sky")  # what joined the others'
    assert workspace.views.agreement() == []


def test_learning_and_grouping_forget_nothing_and_a_renamed_class_is_the_same(workspace):
    first = workspace.groups()[0]
    workspace.name(first.id, "sky", confirm=True)
    workspace.by("Ben").confirm(first.id)
    expected = [Agreement(("Ben", "ann"), 8, 8, None)]
    workspace.discover(k=6)
    assert workspace.views.agreement() == expected
    workspace.name(next(group.id for group in workspace.groups() if not group.named), "sea")
    workspace.learn()
    assert workspace.views.agreement() == expected
    workspace.rename_class("sky", "heaven")
    workspace.by("Ben").keep_label(first.items)  # under the new name
    assert workspace.views.agreement() == expected
    workspace.rollback(1)
    assert workspace.views.agreement() == expected
