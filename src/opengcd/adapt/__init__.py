"""Placeholder: the names of the package that adapts a network, without the training."""

from opengcd.adapt.settings import AdaptError, AdaptSettings
from opengcd.adapt.training import EpochPoint, LabelledCrops, Trained, check_trainable, embed_crops, train_network

__all__ = [
    "AdaptError",
    "AdaptSettings",
    "EpochPoint",
    "LabelledCrops",
    "Trained",
    "check_trainable",
    "embed_crops",
    "train_network",
]
