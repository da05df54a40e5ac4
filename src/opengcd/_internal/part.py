"""What the exchangeable parts of a recogniser have in common: a name, settings, comparison by them."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator


class State(NamedTuple):
    """What a part is saved as: entries of the model's header, which JSON can express, and arrays."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


class Part(BaseEstimator):
    """A strategy with settings, in scikit-learn's style: ``__init__`` stores its arguments and nothing else."""

    name: ClassVar[str] = ""
    """What model folders and error messages call it; a class of your own may leave it out."""

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
