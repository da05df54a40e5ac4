"""Open-set recognition: the paper's rule with the search for its one parameter (Sec. 3.4), and a novelty score."""

from opengcd._internal.part import State
from opengcd._internal.run import Run
from opengcd._internal.splits import OpenSplit, split_open_world
from opengcd.osr.alpha_search import DECADES, KNOWN_KEPT, AlphaSearch, search_alpha
from opengcd.osr.neighbours import NeighbourDistanceRatio
from opengcd.osr.novelty import NoveltyFeatures, NoveltyScore
from opengcd.osr.novelty_rejection import NoveltyRejection
from opengcd.osr.rejection import HeldOutScores, Judgement, Rejection, ScoredRejection, ScoresAmong
from opengcd.osr.rule import UncertaintyRule, check_alpha, critical_alpha
from opengcd.osr.threshold import (
    Share,
    Threshold,
    UnknownProfile,
    bounded_threshold,
    evident_share,
    known_share,
    stream_threshold,
)
from opengcd.osr.uncertainty_rejection import UncertaintyRejection

REJECTIONS: dict[str, type[Rejection]] = {kind.name: kind for kind in (UncertaintyRejection, NoveltyRejection)}
"""The built-in rejections by name."""

__all__ = [
    "DECADES",
    "KNOWN_KEPT",
    "REJECTIONS",
    "AlphaSearch",
    "HeldOutScores",
    "Judgement",
    "NeighbourDistanceRatio",
    "NoveltyFeatures",
    "NoveltyRejection",
    "NoveltyScore",
    "OpenSplit",
    "Rejection",
    "Run",
    "ScoredRejection",
    "ScoresAmong",
    "Share",
    "State",
    "Threshold",
    "UncertaintyRejection",
    "UncertaintyRule",
    "UnknownProfile",
    "bounded_threshold",
    "check_alpha",
    "critical_alpha",
    "evident_share",
    "known_share",
    "search_alpha",
    "split_open_world",
    "stream_threshold",
]
