"""The numbers of the paper's tables, for comparison."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files


def published(method: str, dataset: str, phase: int, metric: str) -> float | None:
    """Return a number of the paper's Tables 1 and 2, or None where there is none.

    Names match whatever their case and hyphens: ``opengcd-xgb`` is the paper's OpenGCD-XGB, and so is a class of that
    name given as ``module:Class``.
    """
    return _numbers().get((_plain(method), _plain(dataset), phase, metric))


@cache
def _numbers() -> dict[tuple[str, str, int, str], float]:
    lines = (files("opengcd.bench") / "published.csv").read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return {
        (_plain(row["method"]), _plain(row["dataset"]), int(row["phase"]), row["metric"]): float(row["value"])
        for row in rows
    }


def _plain(name: str) -> str:
    return name.rpartition(":")[2].casefold().replace("-", "")
