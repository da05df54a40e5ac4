"""Convert XGBoost's trees to plain arrays that can be validated, and back.

XGBoost's own parser crashes on damaged files, so it is only given documents that were built here.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

MOST_LEVELS = 32
"""Largest depth of a tree that is accepted; those trained here have seven levels."""
NO_PARENT = 2**31 - 1


class Trees(NamedTuple):
    """All nodes of all trees, one tree after the other; each round has a tree for each class."""

    shape: np.ndarray
    """Number of classes, number of features."""
    start: np.ndarray
    """Base score of each class."""
    nodes: np.ndarray
    """Number of nodes of each tree."""
    left: np.ndarray
    """Left child of each node, as an index into its tree; -1 for a leaf."""
    right: np.ndarray
    feature: np.ndarray
    """Feature that each node splits on."""
    value: np.ndarray
    """Split threshold of a node, or value of a leaf."""
    missing_left: np.ndarray
    """Whether a missing value leads to the left child."""


_TYPES = ("int64", "float32", "int64", "int32", "int32", "int32", "float32", "uint8")


def check_trees(trees: Trees) -> None:
    """Raise an error unless every row with this number of features reaches a leaf of every tree."""
    _check_sizes(trees)
    if not np.isfinite(trees.value).all() or not np.isfinite(trees.start).all() or trees.missing_left.max() > 1:
        raise ValueError("the trees hold an invalid number")
    if not 0 <= trees.feature.min() <= trees.feature.max() < trees.shape[1]:
        raise ValueError(f"a node of the trees splits on a feature beyond the {trees.shape[1]} there are")
    root, size = np.repeat(np.cumsum(trees.nodes) - trees.nodes, trees.nodes), np.repeat(trees.nodes, trees.nodes)
    place = np.arange(len(root)) - root
    leaf = trees.left == -1
    inner = np.flatnonzero(~leaf)
    if (trees.right[leaf] != -1).any():
        raise ValueError("a node of the trees has one child")
    children = np.stack([trees.left[inner], trees.right[inner]])
    if (children <= place[inner]).any() or (children >= size[inner]).any():
        raise ValueError("a node of the trees has a child before it, or beyond its tree")
    if (np.bincount((children + root[inner]).ravel(), minlength=len(root)) != (place > 0)).any():
        raise ValueError("a node of the trees has no parent, or two")
    _check_levels(np.flatnonzero(place == 0), ~leaf, trees.left + root, trees.right + root)


def _check_sizes(trees: Trees) -> None:
    for name, array, dtype in zip(Trees._fields, trees, _TYPES, strict=True):
        if array.dtype != dtype or array.ndim != 1:
            raise ValueError(f"{name} of the trees must be one row of {dtype}")
    if trees.shape.shape != (2,) or trees.shape.min() < 1:
        raise ValueError("shape of the trees must have two positive numbers")
    classes, total = int(trees.shape[0]), len(trees.left)
    if not len(trees.nodes) or len(trees.nodes) % classes or trees.start.shape != (classes,):
        raise ValueError(f"{len(trees.nodes)} trees are not a whole number of rounds for {classes} classes")
    if trees.nodes.min() < 1 or trees.nodes.max() > total or trees.nodes.sum() != total:
        raise ValueError("the number of nodes of the trees is wrong")
    if any(len(part) != total for part in trees[3:]):
        raise ValueError("the nodes of the trees are incomplete")


def _check_levels(level: np.ndarray, inner: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
    for _ in range(MOST_LEVELS):
        level = level[inner[level]]
        if not level.size:
            return
        level = np.concatenate([left[level], right[level]])
    raise ValueError(f"a tree has more than {MOST_LEVELS} levels")


def trees_of(document: dict[str, Any]) -> Trees:
    """Return the trees of a JSON document of XGBoost, without unreachable nodes."""
    learner = document["learner"]
    sizes = learner["learner_model_param"]
    shape = int(sizes["num_class"]), int(sizes["num_feature"])
    start = np.array(sizes["base_score"].strip("[]").split(","), dtype=np.float32)
    model = learner["gradient_booster"]["model"]
    if model["tree_info"] != [tree % shape[0] for tree in range(len(model["trees"]))]:
        raise ValueError("the trees are not one for each class in each round")
    parts = [_reached(tree) for tree in model["trees"]]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    arrays = [np.array(shape), np.broadcast_to(start, shape[0]), [len(part[0]) for part in parts], *columns]
    trees = Trees(*(np.ascontiguousarray(a, dtype=t) for a, t in zip(arrays, _TYPES, strict=True)))
    check_trees(trees)
    return trees


def _reached(tree: dict[str, Any]) -> list[np.ndarray]:
    """Return children, feature, value and default direction of the nodes of one tree, in breadth-first order."""
    if any(tree["split_type"]):
        raise ValueError("a tree splits by categories")
    left, right = tree["left_children"], tree["right_children"]
    order = [0]
    for node in order:
        if left[node] >= 0:
            order += [left[node], right[node]]
        if len(order) > len(left):
            raise ValueError("a tree has a loop")
    place = {node: i for i, node in enumerate(order)} | {-1: -1}
    children = [[place[side[node]] for node in order] for side in (left, right)]
    rest = [[tree[name][node] for node in order] for name in ("split_indices", "split_conditions", "default_left")]
    return [np.array(column) for column in children + rest]


def document_of(trees: Trees, template: dict[str, Any]) -> bytes:
    """Return a JSON document for XGBoost; ``template`` is one that XGBoost wrote, with any trees."""
    classes, width = trees.shape.tolist()
    learner = template["learner"]
    sizes, model = learner["learner_model_param"], learner["gradient_booster"]["model"]
    start = [str(value) for value in trees.start]
    if sizes["base_score"].startswith("["):
        sizes["base_score"] = f"[{','.join(start)}]"
    elif len(set(start)) == 1:
        sizes["base_score"] = start[0]
    else:
        raise ValueError("this model needs XGBoost 3.1 or later")
    sizes["num_class"] = learner["objective"]["softmax_multiclass_param"]["num_class"] = str(classes)
    sizes["num_feature"] = str(width)
    ends = np.cumsum(trees.nodes).tolist()
    nodes = zip([0, *ends], ends, strict=False)
    model["tree_info"] = [tree % classes for tree in range(len(ends))]
    model["iteration_indptr"] = list(range(0, len(ends) + 1, classes))
    model["gbtree_model_param"]["num_trees"] = str(len(ends))
    model["trees"] = [_tree(trees, slice(*part), id, model["trees"][0]) for id, part in enumerate(nodes)]
    return json.dumps(template).encode()


def _tree(trees: Trees, part: slice, id: int, template: dict[str, Any]) -> dict[str, Any]:
    left, right = trees.left[part], trees.right[part]
    size = len(left)
    parents = np.full(size, NO_PARENT)
    for side in (left, right):
        parents[side[side >= 0]] = np.flatnonzero(side >= 0)
    nothing = [0.0] * size
    return template | {
        "id": id,
        "tree_param": template["tree_param"]
        | {"num_deleted": "0", "num_feature": str(trees.shape[1]), "num_nodes": str(size)},
        "parents": parents.tolist(),
        "left_children": left.tolist(),
        "right_children": right.tolist(),
        "split_indices": trees.feature[part].tolist(),
        # The shortest decimals that round to these float32 values: XGBoost cannot parse all digits of a float64.
        "split_conditions": [float(text) for text in trees.value[part].astype(str)],
        "split_type": [0] * size,
        "default_left": trees.missing_left[part].tolist(),
        # Statistics of the training, which predictions do not use.
        "base_weights": nothing,
        "loss_changes": nothing,
        "sum_hessian": nothing,
    }
