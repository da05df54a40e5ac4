"""Draw how the number of classes was found.

``python -m benchmarks.rehearsal_figure docs/results/cells docs/results/figures``

One panel per dataset, from the first phase of seed 0 of method ``best-rehearsed``: how well two groupings agree as the
number of classes is raised, the agreement that hidden known classes reached, and the probability of each number.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from opengcd.bench import read_results
from opengcd.bench.figures import count_by_logarithm


def main() -> None:
    """Write rehearsal.png to the folder given second."""
    results, out = (Path(argument) for argument in sys.argv[1:3])
    cells = [r for r in read_results(results) if r.cell.method == "best-rehearsed" and r.cell.seed == 0]
    figure, panels = plt.subplots(1, len(cells), figsize=(3.6 * len(cells), 2.9), layout="constrained", squeeze=False)
    for panel, result in zip(panels[0], cells, strict=True):
        phase = result.phases[0]
        k, score, agreement, rehearsed = np.array(phase.k_curve).T
        count_by_logarithm(panel)
        panel.plot(k, agreement, "o-", color="tab:blue", markersize=3, label="agreement in the stream")
        panel.axhline(rehearsed[0], color="tab:orange", label="agreement in rehearsals")
        panel.plot(k, np.exp(score), color="tab:green", label="probability (largest = 1)")
        panel.axvline(phase.k_true, color="grey", linestyle=":", label="true number")
        panel.set(title=f"{result.cell.dataset}: found {phase.k}, true {phase.k_true}",
                  xlabel="number of classes", ylim=(-0.05, 1.1))  # fmt: skip
    panels[0][0].legend(fontsize=7)
    figure.savefig(out / "rehearsal.png", dpi=110)


if __name__ == "__main__":
    main()
