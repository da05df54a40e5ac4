"""Child process that converts trees from XGBoost's binary format, used by older models, to JSON; it may crash on them.

Not in ``opengcd.classify``, which takes seconds to import and needs more memory.
"""

from __future__ import annotations

import os
import sys

from opengcd._internal.child_process import confine

MEMORY = 2 * 2**30
"""Limit of the address space in bytes; the libraries use most of it."""


def main() -> None:
    """Read from standard input, write to standard output."""
    import xgboost

    confine(MEMORY)
    document = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    raw = sys.stdin.buffer.read()
    with document:
        document.write(xgboost.Booster(model_file=bytearray(raw)).save_raw("json"))


if __name__ == "__main__":
    main()
