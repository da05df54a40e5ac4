"""OpenGCD: open-world recognition on embeddings, the feature vectors that a network computes.

>>> from opengcd import OpenWorldRecognizer

Submodules and heavy libraries are imported when a name that needs them is first used, so that ``import opengcd`` and
``opengcd --help`` are fast.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

__version__: str
"""The version that is installed: of the last tag, or for a checkout after it such as 0.2.1.dev3+g1a2b3c4d5."""

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
    if name == "__version__":
        return _installed_version()
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _SUBPACKAGES:
        return importlib.import_module(f"opengcd.{name}")
    raise AttributeError(f"module 'opengcd' has no attribute {name!r}")


@cache
def _installed_version() -> str:
    """Return the version in the package's metadata, or 0.0 for a folder that was never installed."""
    from importlib.metadata import PackageNotFoundError, version  # takes longer than the rest of this module

    try:
        return version("opengcd")
    except PackageNotFoundError:
        return "0.0"


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
