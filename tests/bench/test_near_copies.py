"""Near copies of images, and streams of them."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcd.bench import DatasetImages, ImageSource, RecognizerMethod, make_method, run_protocol
from opengcd.bench.near_copies import NearCopies, near_copy
from opengcd.bench.scenarios import bursts, image_bursts
from tests.helpers.bench import blob_dataset

RAMP = np.repeat(np.repeat(np.arange(100, dtype=np.uint8)[None, :, None], 100, axis=0), 3, axis=2)
"""An image whose brightness is the number of its column."""


def test_an_image_that_does_not_differ_is_the_same():
    assert np.array_equal(near_copy(RAMP, np.zeros(4)), RAMP)


def test_a_tenth_is_cut_off_around_the_middle_or_beside_it():
    # The middle nine tenths begin at 5; the pixel in column c shows 5 + 0.9 (c + 0.5) - 0.5.
    for right, start in ((0.0, 5), (0.02, 7), (-0.02, 3), (0.5, 10), (-0.5, 0)):
        row = near_copy(RAMP, np.array([right, 0, 0.1, 0]))[50, :, 0].astype(float)
        assert row[50] == pytest.approx(start + 0.9 * 50.5 - 0.5, abs=1)
        assert row[20] == pytest.approx(start + 0.9 * 20.5 - 0.5, abs=1)


def test_light_is_multiplied_and_limited():
    assert np.array_equal(near_copy(RAMP, np.array([0, 0, 0, np.log(2)])), 2 * RAMP)
    assert near_copy(RAMP, np.array([0, 0, 0, np.log(4)])).max() == 255


@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4))
def test_any_view_is_an_image_of_the_same_size(view):
    copy = near_copy(RAMP, np.array(view))
    assert copy.shape == RAMP.shape
    assert copy.dtype == np.uint8


def test_copies_are_read_by_number():
    crops = np.stack([RAMP, RAMP[:, ::-1]])
    copies = NearCopies(crops, np.array([1, 0, 1]), np.zeros((3, 4)))
    assert len(copies) == 3
    assert np.array_equal(copies[np.array([2, 1])], crops[[1, 0]])
    assert copies[np.array([], dtype=int)].shape == (0, 100, 100, 3)


def test_images_come_in_the_same_bursts_as_features():
    y = np.repeat(np.arange(5), 10)
    views, original = image_bursts(y, np.random.default_rng(3))
    assert np.array_equal(original, bursts(np.eye(50), y, np.random.default_rng(3))[1])
    assert np.array_equal(image_bursts(y, np.random.default_rng(3))[0], views)
    first = np.diff(original, prepend=-1) != 0
    assert not views[first].any(), "the first of a burst is the image itself"
    assert views[~first].any(axis=1).all()
    steps = np.diff(views, axis=0)[~first[1:]]
    assert steps.std(0) == pytest.approx([0.01, 0.01, 0.01, 0.03], rel=0.2)


class ByNumber(RecognizerMethod):
    """Takes images; the features of a copy are those of its original."""

    takes_images = True

    def __init__(self, recognizer, X):
        super().__init__(recognizer)
        self.X, self.copies = X, []

    def add_copies(self, copies):
        self.copies.append(copies)

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        of_rows = ("fit", "learn", "recognize", "predict_closed", "observe", "discover_in_stream", "in_metric")
        if name not in (*of_rows, "question_rows"):
            return found

        def of_features(numbers, *rest, **named):
            rows = np.asarray(numbers)
            assert rows.ndim == 1
            if self.copies:
                rows = np.append(np.arange(len(self.X)), self.copies[-1].original)[rows]
            return found(self.X[rows], *rest, **named)

        return of_features


def with_images(data):
    crops = np.zeros((len(data.y), 4, 4, 3), dtype=np.uint8)
    return dataclasses.replace(data, images=DatasetImages(crops, "none", ImageSource("none", "0", "0")))


def test_a_method_that_takes_images_is_given_the_copies_of_every_stream():
    data = with_images(blob_dataset())
    method = ByNumber(make_method("best", memory_size=200, random_state=0).recognizer, data.X)
    groups = np.split(np.arange(8), [4, 6])
    details = [detail for _, detail in run_protocol(method, data, groups, scenario="bursts", random_state=0)]
    assert len(method.copies) == 2
    for detail, copies in zip(details, method.copies, strict=False):
        stream, number = detail.stream, len(data.y)
        is_copy = ~np.isin(stream.X, np.arange(number))
        assert np.array_equal(stream.X[~is_copy], stream.row[~is_copy])
        assert np.array_equal(stream.X[is_copy], number + np.arange(len(copies)))
        assert np.array_equal(stream.row[is_copy], copies.original)
        assert 10 < len(copies) / (~is_copy).sum() < 20


def test_a_method_without_copies_says_so():
    data = with_images(blob_dataset())

    class Plain(ByNumber):
        add_copies = RecognizerMethod.add_copies

    method = Plain(make_method("best", memory_size=200, random_state=0).recognizer, data.X)
    with pytest.raises(NotImplementedError, match="Plain takes images but not near copies"):
        list(run_protocol(method, data, np.split(np.arange(8), [4, 6]), scenario="bursts", random_state=0))
