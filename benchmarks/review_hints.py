"""How often the review page is right: ``python -m benchmarks.review_hints``.

It compares what the page offers with the true labels: the class or group that a name is suggested from, the images that
are selected as similar to one, and the warning before a group is confirmed that looks like two classes. The world is
that of handwritten digits; ``--birds`` takes real images, where ``../shared`` has them, and ``--workspace`` keeps the
workspace in a folder for the next time.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks import digits_world
from benchmarks.birds import BIRDS, NETWORK
from opengcd import Workspace

FEWEST = 15
"""Images of a class that groups are made of."""
TRIALS = 40
ASKED = 12
"""Images of each group that similar ones are selected for."""
SHARES = (0.1, 0.2, 0.3, 0.5)
WARNED = 0.5


def birds(folder: Path) -> tuple[Path, Callable[[str], str]]:
    """Make a workspace of birds, unless it is there; return it, and the class of a file by its name."""
    with open(BIRDS / "stream_truth.csv", newline="", encoding="utf-8") as lines:
        truth = {row["file"]: row["class"] for row in csv.DictReader(lines)}
    if not (folder / "workspace.json").exists():
        with Workspace.create(folder, str(NETWORK)) as workspace:
            workspace.fit(BIRDS / "known")
            for _ in workspace.recognize([BIRDS / "stream"]):
                pass
            workspace.discover()
    return folder, truth.__getitem__


def digits(folder: Path) -> tuple[Path, Callable[[str], str]]:
    """Make a workspace of digits, unless it is there; as :func:`birds`."""
    if not (folder / "digits" / "workspace.json").exists():
        digits_world.make(folder)
    return folder / "digits", lambda name: name.split("-")[0]


def joined(groups: dict[int, list[int]], centres: dict[int, np.ndarray]) -> Iterator[list[int]]:
    """Yield each group, and each with half of the group that is nearest to it."""
    for group, items in groups.items():
        yield items
        others = {other: float(centre @ centres[group]) for other, centre in centres.items() if other != group}
        if others:
            near = groups[max(others, key=lambda other: others[other])]
            yield items + near[: len(near) // 2]


def report_suggestions(workspace: Workspace, truth: dict[int, str]) -> None:
    """Where images belong that are in a wrong group: how often this is the first suggestion, or one of three."""
    ranks: dict[str, list[int]] = {"a known class (k)": [], "a group or class (m)": []}
    groups = workspace.groups()
    labels = {group.id: main(truth, group.items) if group.kind == "novel" else group.label for group in groups}
    for group in groups:
        for item in group.items:
            if truth[item] == labels[group.id]:
                continue
            homes = [home for home in workspace.suggestions.of_items([item]).homes if home.group != group.id]
            named = [home.label if home.known else labels[home.group or 0] for home in homes]
            classes = [home.label for home in homes if home.known]
            if truth[item] in classes:
                ranks["a known class (k)"].append(classes.index(truth[item]))
            if truth[item] in named:
                ranks["a group or class (m)"].append(named.index(truth[item]))
    for what, found in ranks.items():
        places = np.array(found)
        first, three = (places == 0).mean(), (places < 3).mean()
        print(f"move to {what}: {len(places)} images; right first {first:.0%}, among the first three {three:.0%}")


def report_similar(workspace: Workspace, truth: dict[int, str]) -> None:
    """Select images similar to one that is in a group of another class."""
    rng = np.random.default_rng(0)
    groups = {group.id: group.items for group in workspace.groups() if group.kind == "novel"}
    centres = {id: workspace.vectors.of_items(items).mean(0) for id, items in groups.items()}
    right = wrong = there = alone = asked = clean = 0
    for items in joined(groups, {id: centre / np.linalg.norm(centre) for id, centre in centres.items()}):
        strangers = [item for item in items if truth[item] != main(truth, items)]
        home = workspace.separate(items).group
        for item in rng.permutation(strangers).tolist()[:ASKED]:
            found = workspace.similarity.similar(item)
            chosen = found.items[1 : found.number]
            good = sum(truth[one] == truth[item] for one in chosen)
            right, wrong, asked = right + good, wrong + len(chosen) - good, asked + 1
            there += sum(truth[one] == truth[item] for one in items) - 1
            alone += not chosen
            clean += good == len(chosen)
        assert home is not None
        workspace.undo()
    print(
        f"select similar: {asked} images; of those selected {right / max(right + wrong, 1):.0%} are of the same class, "
        f"which are {right / max(there, 1):.0%} of that class in the group; no wrong one in {clean / asked:.0%} of the "
        f"answers, none at all in {alone / asked:.0%}"
    )


def report_mixed(workspace: Workspace, truth: dict[int, str]) -> None:
    """Warn of groups of one class, and of groups with a second one, as made from the true labels."""
    rng = np.random.default_rng(0)
    groups = [group for group in workspace.groups() if group.kind == "novel"]
    by_class: dict[str, list[int]] = {}
    for group in groups:
        for item in group.items:
            by_class.setdefault(truth[item], []).append(item)
    classes = [label for label, items in by_class.items() if len(items) >= FEWEST]
    warned: dict[float, list[bool]] = {share: [] for share in (0.0, *SHARES)}

    def ask(items: list[int]) -> bool:
        made = workspace.separate(items).group
        assert made is not None
        mixed = workspace.questions.parts(made).mixed > WARNED
        workspace.undo()
        return mixed

    for _ in range(TRIALS):
        one, other = rng.choice(classes, 2, replace=False).tolist()
        n = int(rng.integers(FEWEST, len(by_class[one]) + 1))
        items = rng.choice(by_class[one], n, replace=False).tolist()
        warned[0.0].append(ask(items))
        for share in SHARES:
            more = min(len(by_class[other]), max(2, round(n * share / (1 - share))))
            warned[share].append(ask(items + rng.choice(by_class[other], more, replace=False).tolist()))
    found = [group for group in groups if workspace.questions.parts(group.id).mixed > WARNED]
    print(f"groups of the discovery that are warned of: {len(found)} of {len(groups)}")
    print(f"warned of groups of one class: {np.mean(warned[0.0]):.0%} of {TRIALS}")
    for share in SHARES:
        print(f"warned of groups with a second class of {share:.0%}: {np.mean(warned[share]):.0%}")


def main(truth: dict[int, str], items: list[int]) -> str:
    """Return the most frequent class of items."""
    return Counter(truth[item] for item in items).most_common(1)[0][0]


def run() -> None:
    """Print how often each is right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--birds", action="store_true", help="real images instead of digits")
    parser.add_argument("--workspace", type=Path, help="folder to keep the workspace in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        path, class_of = (birds if options.birds else digits)(options.workspace or Path(scratch) / "world")
        with Workspace(path) as workspace:
            items = [item for group in workspace.groups() for item in group.items]
            truth = {item: class_of(Path(workspace.views.paths(item)[0]).name) for item in items}
            report_suggestions(workspace, truth)
            report_similar(workspace, truth)
            report_mixed(workspace, truth)


if __name__ == "__main__":
    run()
