"""The paper's gradient-boosted trees, through xgboost (an optional dependency)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any

import numpy as np

from opengcd._internal import kernels
from opengcd._internal.child_process import start_child
from opengcd._internal.model_folder import ModelFileError
from opengcd._internal.randomness import Seed, as_int
from opengcd.classify.classifier import ArrayClassifier, Inference
from opengcd.classify.trees import Trees, check_trees, document_of, trees_of

SECONDS = 60
"""Time limit for reading the trees of an older model."""


class XGB(ArrayClassifier):
    """XGBoost with the defaults of its native interface: depth 6, learning rate 0.3, ten rounds.

    "Default parameters" is ambiguous: ``xgboost.train`` takes ten rounds, its scikit-learn wrapper a hundred (ten
    times the cost), the paper's code fifty. Trees need no standardised inputs.

    Parameters
    ----------
    rounds : int
        Boosting rounds.
    random_state, device
        Seed, and ``"auto"``, ``"cpu"`` or ``"cuda"``.

    """

    def __init__(self, rounds: int = 10, random_state: Seed = None, device: str = "auto") -> None:
        self.rounds = rounds
        self.random_state = random_state
        self.device = device

    def fit(self, X: np.ndarray, y: np.ndarray) -> XGB:
        """Train from scratch.

        Parameters
        ----------
        X : array of shape (n, d)
            Feature vectors.
        y : int array of shape (n,)
            Their classes, numbered from 0 without gaps.

        Returns
        -------
        XGB
            This object.

        """
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
        """Return labels and probabilities in float64.

        They are normalised again, because float32 sums are off by 1e-7, which matters for alpha >= 1e7.
        """
        p = self.booster_.predict(_xgboost().DMatrix(_narrow(X))).astype(np.float64)
        p /= p.sum(1, keepdims=True)
        return Inference(p.argmax(1), p)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the trees."""
        return trees_of(json.loads(bytes(self.booster_.save_raw("json"))))._asdict()

    def stored_arrays(self, arrays: dict[str, np.ndarray], blobs: Mapping[str, bytes]) -> dict[str, np.ndarray]:
        """Return the trees; older versions stored them in XGBoost's own format."""
        return _trees_from_ubj(blobs["classifier"]) if "classifier" in blobs else arrays

    def check_stored(self, arrays: dict[str, np.ndarray], n_classes: int, n_features: int) -> None:
        """Refuse trees for other classes or features: XGBoost would read beyond the end of its arrays."""
        if arrays["shape"].tolist() != [n_classes, n_features]:
            raise ModelFileError("The model is damaged: trees, classes and features do not fit together.")

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Validate trees and build the booster from them."""
        trees = Trees(**arrays)
        check_trees(trees)
        xgboost = _xgboost()
        # A minimal model gives a document in the format of the installed version; the trees replace its own.
        settings = {"objective": "multi:softprob", "num_class": 2, "device": "cpu"}
        minimal = xgboost.train(settings, xgboost.DMatrix(np.zeros((2, 1), np.float32), label=[0, 1]), 1)
        document = document_of(trees, json.loads(bytes(minimal.save_raw("json"))))
        self.booster_ = xgboost.Booster(model_file=bytearray(document))


def _trees_from_ubj(raw: bytes) -> dict[str, np.ndarray]:
    """Convert trees from XGBoost's binary JSON, which older models hold, to what :meth:`XGB.arrays` returns.

    XGBoost reads them in a child process, because damaged ones can crash it or make it run forever.
    """
    _xgboost()
    with start_child("opengcd._internal.old_trees") as child:
        try:
            document, _ = child.communicate(raw, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            raise ValueError(f"XGBoost does not read the trees within {SECONDS} seconds") from None
    if child.returncode:
        raise ValueError(f"XGBoost cannot read the trees (exit status {child.returncode})")
    return trees_of(json.loads(document))._asdict()


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
