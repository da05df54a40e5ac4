"""The fixed-size, class-balanced exemplar memory and the selection of exemplars (Sec. 3.2)."""

from opengcd._internal.class_statistics import ClassStatistics
from opengcd.memory.buffer import ExemplarMemory, allot
from opengcd.memory.ds3 import DS3Solution, lambda_max, solve_ds3
from opengcd.memory.greedy_selection import greedy
from opengcd.memory.selectors import (
    SELECTORS,
    Selector,
    SelectorProperties,
    check_selector,
    select_exemplars,
    selector_properties,
)

__all__ = [
    "SELECTORS",
    "ClassStatistics",
    "DS3Solution",
    "ExemplarMemory",
    "Selector",
    "SelectorProperties",
    "allot",
    "check_selector",
    "greedy",
    "lambda_max",
    "select_exemplars",
    "selector_properties",
    "solve_ds3",
]
