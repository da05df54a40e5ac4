"""A small dataset to run the benchmark on, and methods with faults."""

import os
import time
from pathlib import Path

import numpy as np

from opengcd._internal.durable_files import replace_file
from opengcd.bench import (
    Dataset,
    OpenWorldMethod,
)


def blob_dataset():
    """Eight classes of 30 rows in six dimensions, for training and for testing."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(8, 6)) * 6
    y = np.repeat(np.arange(8), 30)
    train, test = (centers[y] + rng.normal(size=(240, 6)) for _ in range(2))
    return Dataset("blobs", train, y, test, y, [str(c) for c in range(8)])


def save_features(folder):
    """Make a folder that holds this dataset as a feature file."""
    data = blob_dataset()
    folder.mkdir()
    np.savez(
        folder / "blobs.npz",
        x_train=data.x_train,
        y_train=data.y_train,
        x_test=data.x_test,
        y_test=data.y_test,
        class_names=np.array(data.class_names),
    )
    return folder


class Failing(OpenWorldMethod):
    """A method of a user's own, with a fault."""

    def __init__(self, **settings):
        pass

    def fit(self, X, y, *, progress=None):
        raise ZeroDivisionError("a fault in the method")

    learn = recognize = discover = fit


class AwkwardError(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


class Awkward(Failing):
    """A method whose fault cannot be unpickled."""

    def fit(self, X, y, *, progress=None):
        raise AwkwardError("no pickle", "brings me back")


class Slow(Failing):
    """A method that says when it is at work, and never ends."""

    def fit(self, X, y, *, progress=None):
        started = Path(os.environ["SLOW_STARTED"])
        replace_file(started, str(os.getpid()).encode())  # whoever sees the file must find the number in it
        time.sleep(600)
