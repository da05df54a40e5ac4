"""A labelled set and a stream of known and new classes, and a recogniser of the preset ``best`` for them."""

import numpy as np

from opengcd import OpenWorldRecognizer


def draw(classes, rng, d=32, spread=0.35):
    """Rows around directions that are the same in every world."""
    directions = np.random.default_rng(7).normal(size=(40, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return (directions[classes] + spread / np.sqrt(d) * 2 * rng.normal(size=(len(classes), d))).astype(np.float32)


def open_world(known=8, novel=4, labelled=40, of_known=20, of_novel=60, seed=0, **more):
    """Labelled rows, and a stream of known and new classes: as many rows of a class in all, whichever it is."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(known), labelled)
    truth = rng.permutation(
        np.concatenate([np.repeat(np.arange(known), of_known), np.repeat(np.arange(known, known + novel), of_novel)])
    )
    return draw(y, rng, **more), y, draw(truth, rng, **more), truth


def fitted(X, y, **settings):
    return OpenWorldRecognizer(**({"random_state": 0, "device": "cpu", "max_classes": 40} | settings)).fit(X, y)
