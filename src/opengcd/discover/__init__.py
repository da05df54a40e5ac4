"""Generalized category discovery: semi-supervised k-means++ and the number of classes (Sec. 3.5)."""

from opengcd.discover._class_number import ClassNumberEstimate, CurvePoint, estimate_class_number
from opengcd.discover._discovery import Discovery, Group, arrange
from opengcd.discover._kmeans import Clustering, SemiSupervisedKMeans, ss_kmeans

__all__ = [
    "ClassNumberEstimate",
    "Clustering",
    "CurvePoint",
    "Discovery",
    "Group",
    "SemiSupervisedKMeans",
    "arrange",
    "estimate_class_number",
    "ss_kmeans",
]
