"""Where things lie that tests read."""

from pathlib import Path

HELPERS = Path(__file__).resolve().parent
ROOT = HELPERS.parents[1]
SHARED = ROOT.parent / "shared"
"""Networks and images that are too large for the repository, where a machine has them."""
