"""The embedder of a workspace, and its vectors."""

import numpy as np
import pytest

from opengcd import Workspace
from opengcd.embed import Pixels
from opengcd.workspace import WorkspaceError
from tests.helpers.pictures import paint


def test_two_embedders_never_mix(world, workspace, tmp_path):
    (file,) = paint(tmp_path, "red", [2000])
    with (
        Workspace(workspace.path, embedder=Pixels(side=4)) as other,
        pytest.raises(WorkspaceError, match="not the one that this workspace was made with"),
    ):
        list(other.recognize([file]))


def test_vectors_of_networks_have_unit_length_and_pixels_do_not(workspace):
    with workspace.store.database.reading() as connection:
        plain = workspace.vectors.read(connection, [1, 2])
        object.__setattr__(workspace.settings, "embedder", "some/network")
        unit = workspace.vectors.read(connection, [1, 2])
    assert np.linalg.norm(plain, axis=1).min() > 1.5
    np.testing.assert_allclose(unit, plain / np.linalg.norm(plain, axis=1, keepdims=True), rtol=1e-6)


def test_how_a_network_computes_is_kept_with_the_workspace(tmp_path, monkeypatch):
    asked = {}

    def load(name, **options):
        asked.update(options)
        return Pixels()

    monkeypatch.setattr("opengcd.workspace.vectors.load_embedder", load)
    Workspace.create(tmp_path / "w", "network", pooling="mean", precision="half").close()
    with Workspace(tmp_path / "w", device="cpu") as workspace:
        assert workspace.vectors.embedder.name == "pixels"
    assert asked == {"device": "cpu", "pooling": "mean", "precision": "half"}
