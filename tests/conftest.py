import shutil

import pytest
from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from opengcd import Workspace
from opengcd.bench.demo import digits, run_demo
from opengcd.service import create_app
from tests.helpers import pictures
from tests.helpers.serving import connect

# A busy machine may take any time for an example; that is no fault of what is tested.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture
def one_thread():
    """Small arrays; threads would only wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def demo():
    """The demo's data and phases, as `make demo` runs it."""
    data = digits(0)
    return data, list(run_demo(data, 0))


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """Folders of pictures: known classes, and a stream."""
    return pictures.paint_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="session")
def fitted(world, tmp_path_factory):
    """A workspace that knows four colours and has seen no stream; tests copy it."""
    folder = tmp_path_factory.mktemp("fitted") / "birds"
    with Workspace.create(folder, "pixels", recognizer=pictures.RECOGNIZER) as workspace:
        workspace.fit(world[0])
    return folder


@pytest.fixture(scope="session")
def reviewable(world, tmp_path_factory):
    """A workspace that has recognised the stream and found its two new classes; tests copy it."""
    known, stream = world
    folder = tmp_path_factory.mktemp("template") / "workspace"
    with Workspace.create(folder, "pixels", recognizer=pictures.RECOGNIZER) as workspace:
        assert workspace.fit(known) == []
        assert len(list(workspace.recognize([stream]))) == 48
        workspace.discover(k=6)
    return folder


@pytest.fixture
def workspace(reviewable, tmp_path):
    """A copy of it, open."""
    shutil.copytree(reviewable, tmp_path / "workspace")
    with Workspace(tmp_path / "workspace", who="ann") as opened:
        yield opened


@pytest.fixture
def app(workspace):
    return create_app(workspace)


@pytest.fixture
def client(app, workspace):
    """A program with a token that may write, while jobs are run."""
    with connect(app, workspace.access.make("ann")) as opened:
        yield opened
