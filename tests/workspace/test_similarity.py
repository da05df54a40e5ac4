"""Neighbours of an item, and the map."""

import numpy as np
import pytest

from opengcd.workspace import MissingError
from tests.helpers.reviewing import novel


def test_neighbours_by_hand(workspace):
    """Of all images, whatever their labels come from."""
    item = novel(workspace)["blue"].items[0]
    labels = {one.item: one for one in workspace.views.labels()}
    homes = {i: group.id for group in workspace.groups() for i in group.items}
    with workspace.store.database.reading() as connection:
        ids = sorted(labels.keys() - {item})
        X = workspace.vectors.read(connection, [item, *ids]).astype(float)
    cosines = X[1:] @ X[0] / np.linalg.norm(X[1:], axis=1) / np.linalg.norm(X[0])
    order = np.argsort(-cosines)[:60]
    found = workspace.similarity.neighbours(item, 60)
    assert [one.id for one in found] == [ids[i] for i in order]
    np.testing.assert_allclose([one.distance for one in found], 1 - cosines[order], atol=1e-6)
    assert [one.group for one in found] == [homes.get(ids[i]) for i in order]
    assert [one.label for one in found] == [labels[one.id].label for one in found]
    assert {labels[one.id].source for one in found} >= {"learnt", "recognized", "grouped"}


@pytest.mark.parametrize(
    "damage", [lambda r: r[:-1], lambda r: r[:-8], lambda r: r[:8] + b"\xff" * 8 + r[16:], lambda _: b"x"]
)
def test_a_damaged_drawing_of_the_map_is_drawn_again(workspace, damage):
    workspace.similarity.draw_map()
    good = workspace.similarity.map()
    (file,) = (workspace.path / "maps").iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert not workspace.similarity.map().drawn
    workspace.similarity.draw_map()
    np.testing.assert_array_equal(workspace.similarity.map().places, good.places)


def test_what_is_similar_in_a_group_is_of_the_same_colour(workspace):
    blue, yellow = novel(workspace)["blue"], novel(workspace)["yellow"]
    workspace.merge(yellow.id, blue.id)
    for item in yellow.items[:2]:
        found = workspace.similarity.similar(item)
        assert (found.items[0], found.number) == (item, 8)
        assert set(found.items[:8]) == set(yellow.items)
        assert set(found.items[8:]) == set(blue.items)
    learnt = next(one.item for one in workspace.views.labels() if one.source == "learnt")
    for item in (learnt, 10**6):
        with pytest.raises(MissingError, match="under review"):
            workspace.similarity.similar(item)
