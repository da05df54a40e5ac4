"""Generalized category discovery: semi-supervised k-means++ and the number of classes (Sec. 3.5)."""

from opengcd.discover.by_kmeans import discover_by_kmeans
from opengcd.discover.class_number import ClassNumberEstimate, CurvePoint, estimate_class_number
from opengcd.discover.discovery import Discovery, Group, arrange, with_confirmed
from opengcd.discover.joint import Labelled, discover_jointly
from opengcd.discover.kmeans import Clustering, SemiSupervisedKMeans, ss_kmeans
from opengcd.discover.mixture import Mixture, joint_mixture
from opengcd.discover.refinement import refine
from opengcd.discover.rehearsal import Rehearsal, RehearsedNumber, estimate_by_rehearsal, rehearse

__all__ = [
    "ClassNumberEstimate",
    "Clustering",
    "CurvePoint",
    "Discovery",
    "Group",
    "Labelled",
    "Mixture",
    "Rehearsal",
    "RehearsedNumber",
    "SemiSupervisedKMeans",
    "arrange",
    "discover_by_kmeans",
    "discover_jointly",
    "estimate_by_rehearsal",
    "estimate_class_number",
    "joint_mixture",
    "refine",
    "rehearse",
    "ss_kmeans",
    "with_confirmed",
]
