"""The classes and groups that images may belong to, the most likely first."""

import pytest

from opengcd.workspace import MissingError
from tests.helpers.pictures import KNOWN, truth


def test_an_image_most_likely_belongs_to_its_own_class_or_group(workspace):
    groups = {truth(workspace.views.paths(group.items[0])[0]): group for group in workspace.groups()}
    assert set(groups) == {"blue", "yellow"}
    for one in workspace.views.labels():
        colour = truth(one.paths[0])
        found = workspace.suggestions.of_items([one.item])
        assert found.edit == workspace.review.last_edit()
        assert len(found.homes) == len(KNOWN) + 2
        assert {home.label for home in found.homes if home.known} == set(KNOWN)
        best = found.homes[0]
        if colour in KNOWN:
            assert (best.label, best.known, best.group) == (colour, True, None)
        else:
            assert (best.group, best.known) == (groups[colour].id, False)


def test_known_classes_are_in_the_order_of_the_classifier(workspace):
    for group in workspace.groups():
        for member in workspace.views.members(group.id).items:
            homes = workspace.suggestions.of_items([member.id]).homes
            top = [label for label, probability in member.prediction.top if probability > 0]
            assert [home.label for home in homes if home.known][: len(top)] == top


def test_a_class_with_images_under_review_has_its_group_and_follows_its_name(workspace):
    first, second = workspace.groups()
    workspace.move(first.items[:1], "red")
    workspace.name(second.id, "sky")
    homes = {home.label: home for home in workspace.suggestions.of_items(second.items).homes}
    red = next(group for group in workspace.groups() if group.label == "red")
    assert (homes["red"].group, homes["red"].known) == (red.id, True)
    assert (homes["sky"].group, homes["sky"].known) == (second.id, False)
    assert homes["sky"].likeness > 0.99
    assert all(home.image is not None for home in homes.values())


def test_an_image_that_does_not_exist_is_refused(workspace):
    with pytest.raises(MissingError):
        workspace.suggestions.of_items([10**6])
