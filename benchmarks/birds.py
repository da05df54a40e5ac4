"""A real open world from images to labels, by the commands, with a simulated annotator: ``make birds``.

Twelve classes of birds are known; the stream shows eight more. A fifth of it is held out, and accuracy is
measured on it after ``learn``. Everything is done twice, with the network as it is and with one that
``opengcd init --adapt`` has adapted to the known images. Options are passed on to ``opengcd init``, as in
``python -m benchmarks.birds --preset robust``.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from opengcd import Workspace, metrics
from opengcd.bench.reviewer import MANY, simulate_review
from opengcd.workspace.folders import RETURNED

SHARED = Path(os.environ.get("OPENGCD_SHARED", Path(__file__).resolve().parents[2] / "shared"))
BIRDS, NETWORK = SHARED / "images" / "birds", SHARED / "models" / "vit-s14"
HOLD_BACK = 5


def opengcd(*arguments: object) -> str:
    """Run a command, and return what it prints."""
    command = [sys.executable, "-m", "opengcd", *map(str, arguments)]
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    shown = " ".join(map(str, arguments[:1])), time.perf_counter() - start
    print("opengcd {:12} {:6.1f} s".format(*shown), file=sys.stderr)
    return done


def recognize(workspace: Path, files: list[Path]) -> dict[str, dict]:
    """What the command says of each file, by its name."""
    lines = opengcd("recognize", workspace, *files, "--format", "jsonl").splitlines()
    return {Path(one["path"]).name: one for one in map(json.loads, lines)}


def annotate(folder: Path, truth: dict[str, str], known: set[str]) -> None:
    """Do to exported folders what ``simulate_review`` counts: name, merge, move; delete strangers of known classes."""
    groups = [f for f in folder.iterdir() if f.is_dir() and not f.name.startswith(RETURNED)]
    for group in sorted(groups, key=lambda group: -len(list(group.iterdir()))):
        files = {file: truth[file.name.split("-", 2)[2]] for file in group.glob("*.jpg")}
        # As there: of classes that are equally frequent, the first by name.
        counts = Counter(files.values())
        main = min(counts, key=lambda label: (-counts[label], label))
        for file, label in files.items():
            if label in known and label != main:
                file.unlink()
            elif label != main:
                (folder / label).mkdir(exist_ok=True)
                file.rename(folder / label / file.name)
        home = folder / (RETURNED + main if main in known else main)
        if not home.exists():
            group.rename(home)
            continue
        for file in group.glob("*.jpg"):
            file.rename(home / file.name)
        shutil.rmtree(group)


def labels_of_groups(opened: Workspace, truth: dict[str, str]) -> dict[int, list[str]]:
    """The true labels of the images of each new group, by its number."""
    groups = [group for group in opened.groups() if group.kind == "novel"]
    return {group.id: [truth[Path(opened.views.paths(item)[0]).name] for item in group.items] for group in groups}


def reviewed(opened: Workspace, truth: dict[str, str], known: set[str]) -> tuple[int, int]:
    """Number of actions that the groups take, and number of items in them."""
    groups = list(labels_of_groups(opened, truth).values())
    rows = np.split(np.arange(sum(map(len, groups))), np.cumsum([len(part) for part in groups])[:-1])
    labels = [label for part in groups for label in part]
    return simulate_review(rows, labels, known).actions, len(labels)


def split_mixed(opened: Workspace, truth: dict[str, str]) -> int:
    """Split groups while they hold many images of several classes, by the workspace's own verb; return how often."""
    splits, tried = 0, set()
    while True:
        frequent = {
            group: sum(n >= MANY for n in Counter(labels).values())
            for group, labels in labels_of_groups(opened, truth).items()
        }
        mixed = [group for group, n in frequent.items() if n > 1 and (group, n) not in tried]
        if not mixed:
            return splits
        opened.split(mixed[0], frequent[mixed[0]])
        tried.add((mixed[0], frequent[mixed[0]]))
        splits += 1


def run(folder: Path, options: list[str]) -> dict[str, str]:
    """Return all figures, in the order of the loop."""
    with open(BIRDS / "stream_truth.csv", newline="") as lines:
        truth = {row["file"]: row["class"] for row in csv.DictReader(lines)}
    known = {f.name for f in (BIRDS / "known").iterdir() if f.is_dir()}
    files = sorted((BIRDS / "stream").glob("*.jpg"))
    later = files[HOLD_BACK - 1 :: HOLD_BACK]
    stream = [file for file in files if file not in set(later)]
    workspace, out = folder / "birds", folder / "review"

    def share(said: dict[str, dict], part: set[str] | None = None, closed: bool = True) -> str:
        chosen = [name for name in said if part is None or truth[name] in part]
        right = [truth[n] == (said[n]["top"][0]["label"] if closed else said[n]["label"]) for n in chosen]
        return f"{np.mean(right):.1%} of {len(chosen)}"

    start = time.perf_counter()
    opengcd("init", workspace, "--known", BIRDS / "known", "--embedder", NETWORK, *options)
    spent = time.perf_counter() - start
    said = recognize(workspace, stream)
    y = np.array([truth[name] for name in said])
    figures = {
        "seconds of init": f"{spent:.0f}",
        "accuracy on known classes": share(said, known),
        "HNA": f"{metrics.hna(y, [one['label'] for one in said.values()], known):.1%}",
    }
    opengcd("discover", workspace)
    rows = csv.DictReader(opengcd("export", workspace, "--format", "csv").splitlines())
    after = {Path(row["path"]).name: row["label"] for row in rows if row["source"] != "learnt"}
    with Workspace(workspace) as opened:
        k = opened.history()[0].details["k"]
    figures["estimated k"] = f"{k} of {len(set(truth.values()))}"
    figures["HCA"] = f"{metrics.hca(y, [after[name] for name in said], known):.1%}"
    with Workspace(workspace) as opened:
        actions, items = reviewed(opened, truth, known)
        splits = split_mixed(opened, truth)
        figures["annotation actions"] = f"{actions} for {items} images in groups"
        figures["  if mixed groups are split"] = (
            f"{reviewed(opened, truth, known)[0] + splits}, {splits} of them splits"
        )
        for _ in range(splits):
            opened.undo()
    opengcd("review", workspace, "--export", out)
    annotate(out, truth, known)
    opengcd("review", workspace, "--import", out)
    opengcd("learn", workspace)
    with Workspace(workspace) as opened:
        version = opened.status().version
    figures["classes after learn"] = str(len(version.classes))
    said = recognize(workspace, later)
    figures["accuracy after learn, all classes"] = share(said)
    figures["  of known ones"] = share(said, known)
    figures["  of new ones"] = share(said, set(truth.values()) - known)
    figures["  rejected ones counted as wrong"] = share(said, closed=False)
    return figures


def main() -> None:
    """Run it where the images are."""
    if not (BIRDS.is_dir() and NETWORK.is_dir()):
        print(f"Skipped: {BIRDS} and {NETWORK} are not there (OPENGCD_SHARED names another folder that holds them).")
        return
    with tempfile.TemporaryDirectory() as folder:
        columns = {}
        for title, more in (("as it is", []), ("adapted", ["--adapt"])):
            print(f"The network {title}:", file=sys.stderr)
            (Path(folder) / title).mkdir()
            columns[title] = run(Path(folder) / title, [*sys.argv[1:], *more])
        print(f"{'the network':34} {'as it is':32} adapted")
        for name, value in columns["as it is"].items():
            print(f"{name:34} {value:32} {columns['adapted'][name]}")


if __name__ == "__main__":
    main()
