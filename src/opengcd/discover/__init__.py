"""Generalized category discovery: semi-supervised k-means++ and the number of classes (Sec. 3.5)."""

from opengcd.discover._class_number import ClassNumberEstimate, CurvePoint, estimate_class_number
from opengcd.discover._discovery import Discovery, Group, arrange, with_confirmed
from opengcd.discover._head import refine
from opengcd.discover._joint import Labelled, discover_jointly
from opengcd.discover._kmeans import Clustering, SemiSupervisedKMeans, ss_kmeans
from opengcd.discover._mixture import Mixture, joint_mixture
from opengcd.discover._paper import discover_by_kmeans
from opengcd.discover._rehearsal import Rehearsal, RehearsedNumber, estimate_by_rehearsal, rehearse

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
