"""Let ``json`` write the scalar types of numpy."""

from __future__ import annotations

from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Return a numpy scalar as the Python number or string that ``json.dumps(default=plain)`` can write."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be saved.")
