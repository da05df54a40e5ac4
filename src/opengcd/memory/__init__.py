"""The fixed-size, class-balanced exemplar memory and the selection of exemplars (Sec. 3.2)."""

from opengcd.memory.buffer import ExemplarMemory, allot
from opengcd.memory.ds3 import DS3Solution, lambda_max, solve_ds3
from opengcd.memory.greedy_selection import greedy
from opengcd.memory.selectors import SELECTORS, Selector, check_selector, keeps_mean, select_exemplars

__all__ = [
    "SELECTORS",
    "DS3Solution",
    "ExemplarMemory",
    "Selector",
    "allot",
    "check_selector",
    "greedy",
    "keeps_mean",
    "lambda_max",
    "select_exemplars",
    "solve_ds3",
]
