import csv

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from benchmarks import digits_world
from tests.helpers.documents import environment, lacking, session
from tests.helpers.places import SHARED
from tests.helpers.warm_command import warm_command


@pytest.fixture(scope="session")
def painted(tmp_path_factory):
    """Handwritten digits in the layout of the folder of birds."""
    folder = tmp_path_factory.mktemp("painted")
    _, stream = digits_world.paint(folder)
    with open(folder / "stream_truth.csv", "w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["file", "class"])
        rows.writerows([file.name, file.name.split("-")[0]] for file in sorted(stream.iterdir()))
    return folder


def vectors():
    """Four known classes, and a stream that shows two more."""
    X, y = make_blobs(400, n_features=8, centers=6, random_state=0)
    names = np.array(list("abcdef"))[y]
    return {"X_known": X[y < 4], "y_known": names[y < 4], "X_stream": X, "y_stream": names}


@pytest.fixture(scope="session")
def commands(tmp_path_factory):
    """A folder with the command ``opengcd``, which starts at once."""
    with warm_command(tmp_path_factory.mktemp("commands"), environment()) as folder:
        yield folder


@pytest.fixture
def run_page(painted, commands, tmp_path, monkeypatch):
    """Run the blocks of a page in a folder that has what the page says it needs."""
    folders = {
        "birds": {"images": SHARED / "images" / "birds", "network": SHARED / "models" / "vit-s14"},
        "features": {"features": SHARED / "features"},
        "images": {"images": painted},
    }

    def run(page):
        if lacking(page):
            pytest.skip(lacking(page))
        with session(page, tmp_path / "page", commands, vectors() if "vectors" in page.needs else None) as opened:
            for need in page.needs & set(folders):
                for name, folder in folders[need].items():
                    (opened.folder / name).symlink_to(folder)
            monkeypatch.chdir(opened.folder)
            for block in page.blocks:
                opened.run(block)

    return run
