"""Generalized category discovery: semi-supervised k-means++ and the number of classes (Sec. 3.5)."""

from opengcd.discover._class_number import ClassNumberEstimate, CurvePoint, estimate_class_number
from opengcd.discover._discovery import Discovery, Group, arrange
from opengcd.discover._kmeans import Clustering, SemiSupervisedKMeans, ss_kmeans
from opengcd.discover._mixture import Mixture, joint_mixture

__all__ = [
    "ClassNumberEstimate",
    "Clustering",
    "CurvePoint",
    "Discovery",
    "Group",
    "Mixture",
    "SemiSupervisedKMeans",
    "arrange",
    "estimate_class_number",
    "joint_mixture",
    "ss_kmeans",
]
