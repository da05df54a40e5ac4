"""Quick baselines, and rows to try them on."""

from sklearn.datasets import make_blobs

from opengcd.bench.baselines import BASELINES

# Eight separate classes in twelve dimensions, 30 rows each; 0 to 4 are known at first.
X, Y = make_blobs(240, 12, centers=8, cluster_std=1.0, center_box=(-6, 6), random_state=5)
KNOWN = Y < 5
QUICK = {
    "nno": {"dimensions": 32, "step": 1e-3, "iterations": 300},
    "evm": {"tail": 0.25, "fuse": 4, "distance": "euclidean", "scale": 0.5, "cover": 0.5},
    "l2ac": {"neighbours": 3, "negatives": 3, "learning_rate": 1e-3},
    "deepnno": {"learning_rate": 0.1, "weight_decay": 1e-5, "classification": 1.0, "distillation": 1.0},
    "b-doc": {
        "learning_rate": 0.1,
        "weight_decay": 1e-3,
        "global_weight": 1.0,
        "local_weight": 0.1,
        "distillation": 1.0,
    },
}
"""Parameters of learning, so that only the threshold is searched."""


def quick(name, **changes):
    return BASELINES[name](**({"device": "cpu", "random_state": 0, "max_classes": 12} | QUICK[name] | changes))
