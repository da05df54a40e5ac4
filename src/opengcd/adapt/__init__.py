"""Adapt a network to the user's own images, if a rehearsal shows that this helps."""

from opengcd.adapt.adaptation import Trained, train_network
from opengcd.adapt.crops import LabelledCrops, embed_crops
from opengcd.adapt.estimate import TimeEstimate, estimate_time
from opengcd.adapt.kept_out import kept_out
from opengcd.adapt.networks import AdaptReport, adapt_network, check_trainable
from opengcd.adapt.rehearsal import Rehearsed, rehearse_adaptation
from opengcd.adapt.saving import export_onnx, save_network
from opengcd.adapt.settings import METHODS, AdaptError, AdaptSettings
from opengcd.adapt.training import EpochPoint

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
