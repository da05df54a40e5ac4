"""What the sizes of known classes say about new ones."""

import numpy as np
import pytest

from opengcd.classify import Labelled
from opengcd.discover.class_sizes import expected_number, matched_sample
from opengcd.osr import Share


def labelled(classes, rows):
    codes = np.repeat(np.arange(classes), rows)
    return Labelled(np.zeros((len(codes), 2)), codes, np.arange(classes), np.full(classes, rows))


def test_labelled_and_streamed_rows_of_a_class_count_together():
    # 1000 new rows; a known class has 30 labelled rows and 1000 / 50 in the stream.
    assert expected_number(labelled(50, 30), 2000, Share(0.5, 0.01)) == pytest.approx(20)


def test_in_a_short_excerpt_classes_are_compared_within_the_stream():
    # A known class has 200 rows, of which 2 are in the stream: 100 new rows are 50 classes.
    assert expected_number(labelled(50, 198), 200, Share(0.5, 0.01)) == pytest.approx(50)
    # If hardly any row of the stream is known, that says nothing about sizes.
    assert expected_number(labelled(50, 200), 200, Share(0.01, 0.1)) == pytest.approx(198 / 200.04)


def test_hidden_and_new_classes_are_of_one_size():
    assert matched_sample(1000, 1000, 50.0, 80) == (1000, 50)
    assert matched_sample(1000, 1000, 50.0, 25) == (500, 25)  # the stream is thinned out
    assert matched_sample(60_000, 6000, 500.0, 80) == (6000, 50)
