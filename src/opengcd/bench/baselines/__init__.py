"""The open-world methods that the paper compares with, on frozen features and behind one interface (Sec. 4.2.1)."""

from opengcd.bench.baselines.baseline import Baseline
from opengcd.bench.baselines.bdoc import BDOC
from opengcd.bench.baselines.deepnno import DeepNNO
from opengcd.bench.baselines.evm import EVM
from opengcd.bench.baselines.grid_search import Trial
from opengcd.bench.baselines.l2ac import L2AC
from opengcd.bench.baselines.nno import NNO

__all__ = ["BASELINES", "BDOC", "EVM", "L2AC", "NNO", "Baseline", "DeepNNO", "Trial"]

BASELINES: dict[str, type[Baseline]] = {"nno": NNO, "evm": EVM, "l2ac": L2AC, "deepnno": DeepNNO, "b-doc": BDOC}
"""By the names that they have in the benchmark."""
