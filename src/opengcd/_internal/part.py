"""Base class of the exchangeable parts of a recogniser: a name, settings, and comparison by settings."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator


class State(NamedTuple):
    """Saved state of a part: entries of the model's header, as JSON, and arrays."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Part(BaseEstimator):
    """A strategy with settings, in scikit-learn's style: ``__init__`` stores its arguments and nothing else."""

    name: ClassVar[str] = ""
    """Name in model folders and error messages; your own class needs none."""

    @classmethod
    def title(cls) -> str:
        """Return the name for error messages."""
        return cls.name or cls.__qualname__

    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return dict(self.get_params(deep=False))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Part) and self.settings() == other.settings()

    def __hash__(self) -> int:
        return hash(type(self))
