"""Results of the benchmark that were made up."""

from opengcd import metrics
from opengcd.bench import AlphaPoint, Cell, CellResult, Environment, PhaseResult
from opengcd.discover import CurvePoint


def phase(t, **values):
    """A phase, closed unless ``values`` say otherwise."""
    known = {"forgetting": 0.1, "seconds": {"fit": 2.0}, "peak_mb": {"fit": None}}
    return PhaseResult(**({"phase": t, "known": 40, "accuracy": [0.5] * t, "accuracy_all": 0.5} | known | values))


def open_phase(t, hna, k, **values):
    return phase(
        t,
        hna=hna,
        hna_precision=hna / 2,
        auroc=0.7,
        rejected=50,
        osr_parts=metrics.Parts(0.6, 0.4, 0.1),
        gcd_parts=metrics.Parts(0.6, 0.0, 0.3),
        k=k,
        k_true=60,
        k_error=k / 60 - 1,
        hca=0.4,
        acc=0.5,
        actions=10,
        actions_with_splits=8,
        named=20,
        learnt_share=0.5,
        missing_classes=1,
        alpha=10.0,
        alpha_curve=[AlphaPoint(1.0, 0.2, 0.3), AlphaPoint(10.0, 0.4, hna)],
        k_curve=[CurvePoint(100, 0.5, 0.3, 0.2), CurvePoint(k, 0.8, 0.6, 0.2)],
        **values,
    )


def result(method, seed, phases, **cell):
    cell = Cell(**({"dataset": "cifar100", "method": method, "seed": seed} | cell))
    return CellResult(cell, "0", Environment({"torch": "2.0"}, threads=1), 90.0, 0.25, phases)
