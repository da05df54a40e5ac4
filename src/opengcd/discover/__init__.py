"""Generalized category discovery: semi-supervised k-means++ and the number of classes (Sec. 3.5), joint discovery."""

from opengcd._internal.run import Run
from opengcd.discover.class_number import ClassNumberEstimate, CurvePoint, estimate_class_number
from opengcd.discover.copies import CopyLimits, CopyScale, Stacks, copy_scale, find_stacks
from opengcd.discover.discovery import Discovery, Group, arrange
from opengcd.discover.joint_discovery import JointDiscovery
from opengcd.discover.kmeans import Clustering, SemiSupervisedKMeans, ss_kmeans
from opengcd.discover.kmeans_discovery import KMeansDiscovery
from opengcd.discover.linked_groups import (
    HiddenClasses,
    LinkedGroups,
    MetricRows,
    hidden_classes,
    memberships,
    regroup,
    typical,
)
from opengcd.discover.mixture import Mixture, MixtureSettings, joint_mixture
from opengcd.discover.new_groups import Regrouped, regroup_by_answers, start_groups
from opengcd.discover.questions import (
    Calibration,
    Question,
    SameQuestion,
    SplitQuestion,
    WhichQuestion,
    bisect,
    calibrate,
    likeness,
    rank_questions,
)
from opengcd.discover.refinement import refine
from opengcd.discover.rehearsal import Rehearsal, RehearsedNumber, estimate_by_rehearsal, rehearse
from opengcd.discover.splitting import Subcluster, around_mean, similar_rows, split_rows
from opengcd.discover.strategy import ClassCount, Confirmed, DiscoveryStrategy

DISCOVERIES: dict[str, type[DiscoveryStrategy]] = {kind.name: kind for kind in (KMeansDiscovery, JointDiscovery)}
"""The built-in discovery strategies by name."""

__all__ = [
    "DISCOVERIES",
    "Calibration",
    "ClassCount",
    "ClassNumberEstimate",
    "Clustering",
    "Confirmed",
    "CopyLimits",
    "CopyScale",
    "CurvePoint",
    "Discovery",
    "DiscoveryStrategy",
    "Group",
    "HiddenClasses",
    "JointDiscovery",
    "KMeansDiscovery",
    "LinkedGroups",
    "MetricRows",
    "Mixture",
    "MixtureSettings",
    "Question",
    "Regrouped",
    "Rehearsal",
    "RehearsedNumber",
    "Run",
    "SameQuestion",
    "SemiSupervisedKMeans",
    "SplitQuestion",
    "Stacks",
    "Subcluster",
    "WhichQuestion",
    "around_mean",
    "arrange",
    "bisect",
    "calibrate",
    "copy_scale",
    "estimate_by_rehearsal",
    "estimate_class_number",
    "find_stacks",
    "hidden_classes",
    "joint_mixture",
    "likeness",
    "memberships",
    "rank_questions",
    "refine",
    "regroup",
    "regroup_by_answers",
    "rehearse",
    "similar_rows",
    "split_rows",
    "ss_kmeans",
    "start_groups",
    "typical",
]
