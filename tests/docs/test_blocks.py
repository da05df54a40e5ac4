"""Every block of code in the documents runs, or says why it does not."""

import csv

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from benchmarks import digits_world
from tests.helpers.documents import PageError, documents, lacking, read_page, session
from tests.helpers.places import ROOT, SHARED


def page_of(file):
    return read_page(file.read_text(encoding="utf-8"), file.relative_to(ROOT).as_posix())


def readable_pages():
    """The pages that are tagged properly; a test of its own names the others."""
    for file in documents():
        try:
            yield page_of(file)
        except PageError:
            continue


PAGES = list(readable_pages())


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


def provide(page, folder, painted):
    """Put into the folder of a page what it says that it needs."""
    if "birds" in page.needs:
        (folder / "images").symlink_to(SHARED / "images" / "birds")
        (folder / "network").symlink_to(SHARED / "models" / "vit-s14")
    if "features" in page.needs:
        (folder / "features").symlink_to(SHARED / "features")
    if "images" in page.needs:
        (folder / "images").symlink_to(painted)


def vectors():
    """Four known classes, and a stream that shows two more."""
    X, y = make_blobs(400, n_features=8, centers=6, random_state=0)
    names = np.array(list("abcdef"))[y]
    return {"X_known": X[y < 4], "y_known": names[y < 4], "X_stream": X, "y_stream": names}


@pytest.mark.parametrize("file", documents(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_page_is_tagged(file):
    page_of(file)


def running(page):
    marks = [pytest.mark.slow] if "slow" in page.needs else []
    return pytest.param(page, id=page.name, marks=marks)


@pytest.mark.parametrize("page", [running(page) for page in PAGES if page.runs()])
def test_the_blocks_of_a_page_run(page, painted, tmp_path, monkeypatch):
    if lacking(page):
        pytest.skip(lacking(page))
    with session(page, tmp_path / "page", vectors() if "vectors" in page.needs else None) as opened:
        provide(page, opened.folder, painted)
        monkeypatch.chdir(opened.folder)
        for block in page.blocks:
            opened.run(block)


@pytest.mark.parametrize(
    ("place", "reason"), [(f"{page.name}:{line}", reason) for page in PAGES for line, reason in page.reasons()]
)
def test_a_block_that_is_not_run(place, reason):
    """For the report of what was skipped, and why."""
    pytest.skip(f"{place}: {reason}")
