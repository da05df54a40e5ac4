"""What questions bring: ``python -m benchmarks.questions --features FOLDER --dataset cub --seeds 100,101``.

Actions per named item, and in parentheses the named items relative to those named without questions: of a reviewer
alone; of one who first answers questions about groups; of one who then also answers a number of questions about
single items, each of which counts as an action; and of one who is shown groups around the mean directions of the true
classes (without the item itself), with as many items named as without questions. The last one is not a method, but
shows how many actions remain with these features in any case.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from opengcd import OpenWorldRecognizer
from opengcd._internal.randomness import derive
from opengcd._internal.unit_length import unit_rows
from opengcd.bench import RecognizerMethod, class_groups, load_dataset, parse_numbers, plan_for, run_protocol
from opengcd.bench.questioner import Questioned, answer_questions, class_of_most
from opengcd.bench.reviewer import simulate_review
from opengcd.discover import LinkedGroups, MetricRows, WhichQuestion, calibrate, memberships, rank_questions, regroup
from opengcd.discover.linked_groups import typical
from opengcd.discover.questions import Line

ITEMS = (5, 10, 25)
"""Largest numbers of questions about single items."""
BATCH = 5
"""Questions about items between which the rows are grouped again."""


class Phase(NamedTuple):
    """The groups of one phase."""

    groups: list[np.ndarray]
    rows: MetricRows
    truth: np.ndarray
    known: np.ndarray
    """The known classes, in the order of their numbers in ``rows``."""


def phases(features: Path, dataset: str, seed: int) -> Iterator[Phase]:
    """Yield what the preset ``best`` discovers in each phase of protocol ``paper``."""
    data = load_dataset(features, dataset)
    plan = plan_for(data)
    groups = class_groups(len(data.class_names), plan.sizes, derive(seed, 0))
    method = RecognizerMethod(OpenWorldRecognizer(memory_size=plan.memory, random_state=seed))
    for _, detail in run_protocol(method, data, groups, random_state=derive(seed, 1)):
        if detail is not None:
            rows = method.question_rows(detail.stream.X[detail.examined])
            assert rows is not None
            found = [group.rows for group in detail.discovery.groups]
            yield Phase(found, rows, detail.stream.y[detail.examined], np.asarray(method.recognizer.classes_))


def about_items(phase: Phase, asked: Questioned, most: int) -> Questioned:
    """Return the groups after questions about single items, which come after those about groups."""
    linked, counts = asked.linked, asked.asked.copy()
    never = Line(0.0, -50.0)
    calibration = calibrate(phase.rows.hidden)._replace(mixed=never, same=never)
    while left := most - counts["which"]:
        questions = rank_questions(phase.rows, linked, calibration, most=min(BATCH, left), about_items=True)
        if not questions:
            break
        for question in questions:
            assert isinstance(question, WhichQuestion)
            right = (
                choice for choice in question.choices if class_of(choice, linked, phase) == truth_of(question, phase)
            )
            linked = question.answered(linked, next(right, None))
            counts["which"] += 1
        linked = regroup(linked, memberships(phase.rows, linked))
    return Questioned(linked, counts)


def truth_of(question: WhichQuestion, phase: Phase) -> Any:
    """Return the class of the row in question."""
    return phase.truth[question.row]


def class_of(choice: int, linked: LinkedGroups, phase: Phase) -> Any:
    """Return a known class, or the class of more than half of the typical items of a group; None if there is none."""
    if choice < phase.rows.known:
        return phase.known[choice]
    if not len(linked.rows[choice]):
        return None
    return class_of_most(typical(phase.rows.U, linked.rows[choice]), phase.truth)


class TrueCosines(NamedTuple):
    """Cosines of each row to the mean directions of the true classes; its own does not contain it."""

    known: np.ndarray
    """(n, known classes), of the labelled rows, which the rows of the stream are not among."""
    new: np.ndarray
    """(n, new classes)"""
    new_classes: np.ndarray


def true_cosines(phase: Phase) -> TrueCosines:
    """Return how near each row is to each class, if all labels are known."""
    L, codes, U = phase.rows.L, phase.rows.codes, phase.rows.U
    new = np.setdiff1d(phase.truth, phase.known)
    known = np.stack([L[codes == code].sum(0) for code in range(phase.rows.known)])
    sums = np.stack([U[phase.truth == one].sum(0) for one in new])
    cosines = U @ unit_rows(sums).T
    of_new = np.isin(phase.truth, new)
    mine = np.searchsorted(new, phase.truth[of_new])
    cosines[of_new, mine] = (unit_rows(sums[mine] - U[of_new]) * U[of_new]).sum(1)
    return TrueCosines(U @ unit_rows(known).T, cosines, new)


def true_labels(phase: Phase) -> np.ndarray:
    """Return the class of each row whose mean direction is nearest."""
    known, new, classes = true_cosines(phase)
    labels: np.ndarray = np.concatenate([phase.known, classes])[np.hstack([known, new]).argmax(1)]
    return labels


def around_true_means(phase: Phase, named: int) -> list[np.ndarray]:
    """Return groups around the true means of new classes that hold so many items of new classes."""
    known, new, classes = true_cosines(phase)
    of_new = np.isin(phase.truth, classes)
    order = np.argsort(known.max(1) - new.max(1), kind="stable")
    chosen = order[: np.searchsorted(np.cumsum(of_new[order]), named) + 1]
    home = new.argmax(1)[chosen]
    return [members for one in range(len(classes)) if len(members := chosen[home == one])]


def measured(phase: Phase) -> list[tuple[float, int]]:
    """Return actions per named item and the number of named items, in the order of :func:`names`."""

    def reviewed(groups: list[np.ndarray], answers: int = 0) -> tuple[float, int]:
        review = simulate_review(groups, phase.truth, phase.known.tolist())
        return (review.actions + answers) / len(review.rows), len(review.rows)

    alone = reviewed(phase.groups)
    asked = answer_questions(phase.groups, phase.rows, phase.truth)
    found = [alone, reviewed(asked.groups, asked.asked.total())]
    for most in ITEMS:
        more = about_items(phase, asked, most)
        found.append(reviewed(more.groups, more.asked.total()))
    return [*found, reviewed(around_true_means(phase, alone[1]))]


def names() -> list[str]:
    """Return the names of the rows of the table."""
    items = [f"and up to {most} about items" for most in ITEMS]
    return ["without questions", "questions about groups", *items, "groups around the true means"]


def main() -> None:
    """Print one table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--dataset", default="cub")
    parser.add_argument("--seeds", default="100,101")
    chosen = parser.parse_args()
    cells = [
        (seed, number, measured(phase))
        for seed in parse_numbers(chosen.seeds, "seeds")
        for number, phase in enumerate(phases(chosen.features, chosen.dataset, seed), 1)
    ]
    print(f"| {chosen.dataset} | " + " | ".join(f"seed {seed}, phase {number}" for seed, number, _ in cells) + " |")
    print("| --- |" + " --- |" * len(cells))
    for place, name in enumerate(names()):
        values = [f"{found[place][0]:.2f} ({found[place][1] / found[0][1]:.2f})" for _, _, found in cells]
        print(f"| {name} | " + " | ".join(values) + " |")


if __name__ == "__main__":
    main()
