"""The open-world methods that the paper compares with, on frozen features and behind one interface (Sec. 4.2.1)."""

from opengcd.baselines._base import Baseline, Verdict
from opengcd.baselines._bdoc import BDOC
from opengcd.baselines._deepnno import DeepNNO
from opengcd.baselines._evm import EVM
from opengcd.baselines._l2ac import L2AC
from opengcd.baselines._nno import NNO
from opengcd.baselines._search import Trial

__all__ = ["BASELINES", "BDOC", "EVM", "L2AC", "NNO", "Baseline", "DeepNNO", "Trial", "Verdict"]

BASELINES: dict[str, type[Baseline]] = {"nno": NNO, "evm": EVM, "l2ac": L2AC, "deepnno": DeepNNO, "b-doc": BDOC}
"""By the names that they have in the benchmark."""
