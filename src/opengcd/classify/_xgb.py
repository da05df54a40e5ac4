"""The paper's gradient-boosted trees, through xgboost (an optional dependency)."""

from __future__ import annotations

from typing import Any

import numpy as np

from opengcd import kernels
from opengcd.classify._base import ArrayClassifier, Inference
from opengcd.randomness import Seed, as_int


class XGB(ArrayClassifier):
    """XGBoost with the defaults of its native interface: depth 6, learning rate 0.3, ten rounds.

    "Default parameters" is ambiguous: ``xgboost.train`` takes ten rounds, its scikit-learn wrapper a hundred (ten
    times the cost), the paper's code fifty. Set ``rounds`` for another reading. Trees need no standardised inputs.
    """

    def __init__(self, rounds: int = 10, random_state: Seed = None, device: str = "auto") -> None:
        self.rounds = rounds
        self.random_state = random_state
        self.device = device

    def fit(self, X: np.ndarray, y: np.ndarray) -> XGB:
        """Train from scratch on rows ``X`` of classes ``y``."""
        xgboost = _xgboost()
        settings = {
            "objective": "multi:softprob",
            "num_class": int(y.max()) + 1,
            "seed": as_int(self.random_state) % 2**31,
            "device": "cuda" if kernels.resolve_device(self.device).type == "cuda" and _built_for_gpu() else "cpu",
        }
        self.booster_ = xgboost.train(settings, xgboost.DMatrix(_narrow(X), label=y), self.rounds)
        return self

    def infer(self, X: np.ndarray) -> Inference:
        """Probabilities in float64, normalised again: float32 sums are off by 1e-7, visible at alpha >= 1e7."""
        p = self.booster_.predict(_xgboost().DMatrix(_narrow(X))).astype(np.float64)
        p /= p.sum(1, keepdims=True)
        return Inference(p.argmax(1), p)

    def to_bytes(self) -> bytes:
        """Return the trees in XGBoost's own binary JSON."""
        return bytes(self.booster_.save_raw("ubj"))

    def from_bytes(self, raw: bytes) -> None:
        """Take over trees from :meth:`to_bytes`."""
        if not raw.startswith(b"{"):  # xgboost ends the process when it is handed no bytes
            raise ValueError("these are no trees of XGBoost")
        self.booster_ = _xgboost().Booster(model_file=bytearray(raw))


def _xgboost() -> Any:
    try:
        import xgboost
    except ImportError:
        raise ImportError('The classifier "xgb" needs xgboost: pip install "opengcd[xgb]".') from None
    return xgboost


def _narrow(X: np.ndarray) -> np.ndarray:
    if X.size and np.abs(X).max() > np.finfo(np.float32).max:
        raise ValueError("XGBoost works in float32, and X holds numbers too large for float32; rescale the features.")
    return X.astype(np.float32)


def _built_for_gpu() -> bool:
    return bool(_xgboost().build_info().get("USE_CUDA", False))
