"""Which images are kept out of training."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opengcd.adapt import kept_out

ROWS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(-1, 4)), min_size=1, max_size=60, unique_by=lambda r: r[0])


@given(ROWS, st.floats(0.05, 0.5))
def test_every_class_keeps_out_some_and_loses_none(rows, share):
    keys, codes = [key for key, _ in rows], np.array([code for _, code in rows])
    out = kept_out(keys, codes, share)
    assert not out[codes < 0].any()
    for code in np.unique(codes[codes >= 0]):
        here = out[codes == code]
        assert here.any() == (len(here) > 1)
        assert not here.all()


@given(ROWS)
def test_the_choice_does_not_depend_on_other_images(rows):
    keys = [str(key) for key, _ in rows]
    many = [*keys, *(f"more {i}" for i in range(400))]
    codes = np.zeros(len(many), dtype=int)
    out = kept_out(many, codes, 0.2)
    other = kept_out(many[:300], codes[:300], 0.2)
    # At most the first and the last of a class are chosen by their order among the others.
    assert (out[:300] != other).sum() <= 2


def test_about_the_share_is_kept_out():
    out = kept_out(range(5000), np.arange(5000) % 10, 0.2)
    assert 0.18 < out.mean() < 0.22


def test_none_is_kept_out_at_a_share_of_zero():
    assert not kept_out(range(10), np.zeros(10, dtype=int), 0).any()
