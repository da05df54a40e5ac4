"""Adapt a network to your own images, if a rehearsal shows that this helps."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from opengcd.adapt.kept_out import kept_out
from opengcd.adapt.networks import adapt_network, check_trainable
from opengcd.adapt.reports import AdaptReport, EpochPoint, Rehearsed, TimeEstimate
from opengcd.adapt.settings import METHODS, AdaptError, AdaptSettings

if TYPE_CHECKING:
    from opengcd.adapt.adaptation import Trained, train_network
    from opengcd.adapt.crops import LabelledCrops, embed_crops
    from opengcd.adapt.estimate import estimate_time
    from opengcd.adapt.rehearsal import rehearse_adaptation
    from opengcd.adapt.saving import export_onnx, save_network

_HEAVY = {
    "LabelledCrops": "crops",
    "Trained": "adaptation",
    "embed_crops": "crops",
    "estimate_time": "estimate",
    "export_onnx": "saving",
    "rehearse_adaptation": "rehearsal",
    "save_network": "saving",
    "train_network": "adaptation",
}
"""Names whose modules import torch, which takes seconds; they are imported on first use."""

__all__ = [
    "METHODS",
    "AdaptError",
    "AdaptReport",
    "AdaptSettings",
    "EpochPoint",
    "LabelledCrops",
    "Rehearsed",
    "TimeEstimate",
    "Trained",
    "adapt_network",
    "check_trainable",
    "embed_crops",
    "estimate_time",
    "export_onnx",
    "kept_out",
    "rehearse_adaptation",
    "save_network",
    "train_network",
]


def __getattr__(name: str) -> Any:
    if name not in _HEAVY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HEAVY[name]}"), name)
