"""All images of a workspace of 100,000 in a real browser: ``python -m benchmarks.browsing``.

The workspace has 1,797 pictures; the other images are rows of the database that share their pictures, so that making it
takes a minute. Times are those of the browser: from the request of the page to the first images, for several filters
and orders; from a jump to the end of the list to the images there; and how smoothly the images scroll. First comes the
processor time of single requests, in seconds. Nothing is asserted. Needs playwright and a Chromium.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Page
from sqlalchemy import insert, select

from benchmarks import digits_world
from benchmarks.page import REPEATS, WATCH, browsing, frames, served, shown_after
from opengcd import Workspace
from opengcd.embed import Pixels
from opengcd.workspace import schema
from opengcd.workspace.browsing import Order, Wanted
from opengcd.workspace.features import FeatureStore
from opengcd.workspace.revision import raise_revision

SELECTOR = ".grid .cell img"
LISTS = [
    ("newest first", "images"),
    ("rejected or grouped", "images?source=rejected,grouped"),
    ("one class", "images?label=zero"),
    ("most doubtful first", "images?sort=doubt-"),
    ("by file name", "images?sort=name"),
    ("name has '77'", "images?name=77"),
]
AT_A_TIME = 5000


def fill(folder: Path, n: int) -> None:
    """Add images to a workspace until it has ``n``: each has the prediction and the picture of another one."""
    with Workspace(folder) as workspace, workspace.store.database.writing() as connection:
        version = workspace.status().version
        assert version is not None
        there = connection.execute(select(schema.predictions).where(schema.predictions.c.model_id == version.id)).all()
        path_of = {item: path for path, item in connection.execute(select(schema.paths.c.path, schema.paths.c.item_id))}
        groups = dict(connection.execute(select(schema.assignments.c.item_id, schema.assignments.c.group_id)).all())
        store = FeatureStore.find(connection, folder / "features", Pixels().fingerprint)
        assert store is not None
        rng = np.random.default_rng(0)
        first = 1 + max(path_of)
        total = len(path_of)
        links = folder.parent / "links"
        links.mkdir()
        for start in range(0, n - total, AT_A_TIME):
            numbers = range(first + start, first + min(start + AT_A_TIME, n - total))
            models = [there[i] for i in rng.integers(0, len(there), len(numbers))]
            hashes = [hashlib.sha256(str(number).encode()).hexdigest() for number in numbers]
            facts = list(zip(numbers, models, hashes, strict=True))
            rows = [{"id": i, "hash": h, "width": 96, "height": 96} for i, _, h in facts]
            connection.execute(insert(schema.items), rows)
            files = [(i, f"{links}/image-{i:06d}.png", path_of[one.item_id]) for i, one, _ in facts]
            rows = [{"path": path, "item_id": i, "size": 1, "mtime": i * 10**9} for i, path, _ in files]
            connection.execute(insert(schema.paths), rows)
            rows = [
                {**one._mapping, "item_id": i, "unknown": min(1.0, one.unknown * rng.uniform(0.9, 1.1))}
                for i, one, _ in facts
            ]
            connection.execute(insert(schema.predictions), rows)
            store.append(connection, list(numbers), rng.random((len(numbers), store.width), np.float32))
            placed = [(i, groups[one.item_id]) for i, one, _ in facts if one.item_id in groups]
            rows = [
                {"item_id": i, "group_id": g, "rank": 10_000 + i, "by_person": False, "probability": rng.random()}
                for i, g in placed
            ]
            connection.execute(insert(schema.assignments), rows)
            for (_, _, hash), (_, _, source) in zip(facts, files, strict=True):  # the small pictures that are kept
                small = folder / "thumbnails" / hash[:2] / f"{hash}-256.jpg"
                small.parent.mkdir(parents=True, exist_ok=True)
                os.symlink(source, small)
        raise_revision(connection)


def at_the_end(page: Page, n: int) -> float:
    """Return the seconds from a jump to the end of the list until its last image is drawn."""
    page.evaluate(
        """() => {
            const grid = document.querySelector(".grid");
            window.jumped = performance.now();
            window.arrived = null;
            grid.scrollTop = grid.scrollHeight;
            const look = () => {
                const cells = [...grid.querySelectorAll(".cell")];
                const last = cells.at(-1);
                if (last?.dataset.item && Number(last.dataset.index) === LAST)
                    window.arrived = performance.now();
                else requestAnimationFrame(look);
            };
            requestAnimationFrame(look);
        }""".replace("LAST", str(n - 1))
    )
    page.wait_for_function("() => window.arrived !== null", timeout=60_000)
    return page.evaluate("() => (window.arrived - window.jumped) / 1000")


def requests(folder: Path) -> None:
    """Print the processor time of the parts of the API's answers, which other work on the machine hardly changes."""
    asked = {
        "newest first": (Wanted(), Order("added", True)),
        "most doubtful first": (Wanted(), Order("doubt", True)),
        "by file name": (Wanted(), Order("name")),
        "by class": (Wanted(), Order("label")),
        "one class": (Wanted(label="zero"), Order("added", True)),
        "rejected or grouped": (Wanted(source=("rejected", "grouped")), Order("added", True)),
        "name has '77'": (Wanted(name="77"), Order("added", True)),
    }
    with Workspace(folder) as workspace:
        for name, (wanted, order) in asked.items():
            begun = time.process_time()
            workspace.browsing.images(wanted, order)
            first = time.process_time() - begun
            begun = time.process_time()
            starts = workspace.browsing.starts(wanted, order)
            counted = time.process_time() - begun
            begun = time.process_time()
            workspace.browsing.images(wanted, order, after=starts.cursors[-1] if starts.cursors else None)
            last = time.process_time() - begun
            told = f"first page {first:5.2f} s, last page {last:5.2f} s, count of {starts.total:,} {counted:5.2f} s"
            print(f"request: {name:25} {told}")
        begun = time.process_time()
        workspace.browsing.choices()
        print(f"request: {'what to filter by':25} {time.process_time() - begun:5.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=100_000)
    n = parser.parse_args().images
    with tempfile.TemporaryDirectory() as temporary:
        fast = {"preset": "robust", "classifier": "logistic", "selector": "random"}
        folder = digits_world.make(Path(temporary), 1, k=10, **fast)
        fill(folder, n)
        print(f"{n:,} images")
        requests(folder)
        with served(folder) as (address, secret), browsing() as page:
            page.add_init_script(WATCH.replace("SELECTORS", json.dumps([".tiles", SELECTOR])))
            start = shown_after(page, f"{address}#token={secret}", ".tiles")
            print(f"{'log-in, the server just started':34} {start:6.2f} s")
            for name, route in LISTS:
                times = [shown_after(page, f"{address}#/{route}", SELECTOR) for _ in range(REPEATS)]
                print(f"{name:34} {statistics.median(times):6.2f} s (first {times[0]:.2f} s, worst {max(times):.2f} s)")
            page.goto(f"{address}#/images")
            page.wait_for_selector(SELECTOR)
            page.get_by_text(f"{n:,} images").wait_for()
            times = frames(page)
            late = sum(t > 50 for t in times)
            median = statistics.median(times)
            print(f"{'frame while scrolling':34} {median:6.1f} ms, {late} of {len(times)} above 50 ms")
            print(f"{'jump to the end':34} {at_the_end(page, n):6.2f} s")
            cells = page.locator(".grid .cell").count()
            print(f"{'cells in the document':34} {cells:6}")


if __name__ == "__main__":
    main()
