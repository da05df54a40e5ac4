"""Run the attacks and print a report: ``python -m benchmarks.torture --only kills power --scale 10``."""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.torture.report import Outcome, Setting, markdown

ATTACKS = ("kills", "power", "files", "requests", "load", "faults")
"""Modules of this package; each has a function ``attack(setting)`` that yields outcomes."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=ATTACKS, default=ATTACKS)
    parser.add_argument("--scale", type=float, default=1.0, help="1 takes minutes, 20 takes hours")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="also write the report to this Markdown file")
    options = parser.parse_args()
    outcomes: list[Outcome] = []
    for name in options.only:
        attack = importlib.import_module(f"benchmarks.torture.{name}").attack
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix=f"opengcd-{name}-") as folder:
            setting = Setting(Path(folder), options.scale, options.seed, partial(print, file=sys.stderr, flush=True))
            for outcome in attack(setting):
                outcomes.append(outcome)
                print(f"{outcome.attack}: {outcome.tries:,} tries, {len(outcome.failures)} broken", file=sys.stderr)
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    report = markdown(outcomes)
    print(report)
    if options.out is not None:
        options.out.write_text(report + "\n")
    return int(any(outcome.failures for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
