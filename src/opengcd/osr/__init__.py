"""The open-set decision: the paper's rule with the search for its one parameter (Sec. 3.4), and a score of our own."""

from opengcd.osr.alpha_search import DECADES, KNOWN_KEPT, AlphaSearch, OpenSplit, search_alpha, split_open_world
from opengcd.osr.novelty import NoveltyScore, Witnesses
from opengcd.osr.outlier import LocalOutlierFactor
from opengcd.osr.rejection import Judgement, NoveltyRejection, Rejection, UncertaintyRejection
from opengcd.osr.rule import UncertaintyRule, check_alpha, critical_alpha
from opengcd.osr.threshold import Share, Threshold, UnknownProfile, bounded_threshold, known_share, stream_threshold

__all__ = [
    "DECADES",
    "KNOWN_KEPT",
    "AlphaSearch",
    "Judgement",
    "LocalOutlierFactor",
    "NoveltyRejection",
    "NoveltyScore",
    "OpenSplit",
    "Rejection",
    "Share",
    "Threshold",
    "UncertaintyRejection",
    "UncertaintyRule",
    "UnknownProfile",
    "Witnesses",
    "bounded_threshold",
    "check_alpha",
    "critical_alpha",
    "known_share",
    "search_alpha",
    "split_open_world",
    "stream_threshold",
]
