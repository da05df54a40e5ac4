import shutil

import pytest

from opengcd import Workspace
from tests.helpers import pictures
from tests.helpers.networks import save_vit


@pytest.fixture(scope="session")
def adaptable(tmp_path_factory):
    """A workspace with a tiny network and enough known classes to hide some in a rehearsal; tests copy it."""
    folder = tmp_path_factory.mktemp("adaptable")
    for colour in (*pictures.KNOWN, "orange", "purple", "cyan"):
        pictures.paint(folder / "known" / colour, colour, range(6))
    for colour in ("red", "blue", "yellow"):
        pictures.paint(folder / "stream", colour, range(100, 106))
    _, network = save_vit(folder / "network")
    with Workspace.create(folder / "workspace", network, recognizer=pictures.RECOGNIZER) as workspace:
        assert workspace.fit(folder / "known") == []
        assert len(list(workspace.recognize([folder / "stream"]))) == 18
        workspace.discover(k=9)
    return folder / "workspace"


@pytest.fixture
def trainable(adaptable, tmp_path):
    """A copy of it, open."""
    shutil.copytree(adaptable, tmp_path / "trainable")
    with Workspace(tmp_path / "trainable", who="ann") as opened:
        yield opened


@pytest.fixture
def least_gain(monkeypatch):
    """Set what a rehearsal must gain to count as helpful."""
    return lambda gain: monkeypatch.setattr("opengcd.adapt.reports.LEAST_GAIN", gain)
