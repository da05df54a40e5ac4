"""The open-set decision: the paper's uncertainty rule, and the search for its one parameter (Sec. 3.4)."""

from opengcd.osr._rule import UncertaintyRule, check_alpha, critical_alpha
from opengcd.osr._search import DECADES, AlphaSearch, search_alpha

__all__ = ["DECADES", "AlphaSearch", "UncertaintyRule", "check_alpha", "critical_alpha", "search_alpha"]
