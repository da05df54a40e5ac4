"""OpenGCD: open-world recognition on embeddings, the feature vectors that a network computes.

>>> from opengcd import OpenWorldRecognizer

Submodules and heavy libraries are imported when a name that needs them is first used, so that ``import opengcd`` and
``opengcd --help`` are fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

UNKNOWN = -1
"""The label of rejected items where labels are integers; where they are strings, it is ``"unknown"``."""

if TYPE_CHECKING:
    from opengcd._internal.model_folder import ModelFileError
    from opengcd.recognizer import OpenWorldRecognizer
    from opengcd.service.client import Client
    from opengcd.workspace import Workspace

__all__ = [
    "UNKNOWN",
    "Client",
    "ModelFileError",
    "OpenWorldRecognizer",
    "Workspace",
    "discover",
    "memory",
    "metrics",
    "osr",
]

_HOME = {
    "Client": "opengcd.service.client",
    "OpenWorldRecognizer": "opengcd.recognizer",
    "ModelFileError": "opengcd._internal.model_folder",
    "Workspace": "opengcd.workspace",
}
_SUBPACKAGES = (
    "adapt",
    "bench",
    "classify",
    "discover",
    "embed",
    "memory",
    "metrics",
    "osr",
    "presets",
    "service",
    "workspace",
)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _SUBPACKAGES:
        return importlib.import_module(f"opengcd.{name}")
    raise AttributeError(f"module 'opengcd' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
