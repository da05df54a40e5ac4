"""The boundary checks: what becomes of good input, and what is said about bad input."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from opengcd._internal.validation import (
    UNKNOWN,
    UNKNOWN_STR,
    check_features,
    check_integer,
    check_labels,
    encode,
    refuse_unknown_label,
    unknown_label,
)

# ---------------------------------------------------------------- check_features


@pytest.mark.parametrize(
    ("given_as", "becomes"),
    [
        ("float64", "float64"),
        ("float32", "float32"),
        ("float16", "float32"),
        ("uint8", "float32"),
        ("int16", "float32"),
        ("int64", "float64"),
        ("bool", "float32"),
        (">f4", "float32"),
        (">f8", "float64"),
    ],
)
def test_feature_types(given_as, becomes):
    X = check_features(np.array([[0, 1], [1, 0]], dtype=given_as))
    assert X.dtype == np.dtype(becomes)
    assert X.dtype.isnative
    assert X.tolist() == [[0, 1], [1, 0]]


def test_objects_that_are_numbers_become_float64():
    X = check_features(np.array([[1, 2.5], [np.float32(3), True]], dtype=object))
    assert X.dtype == np.float64
    assert X.tolist() == [[1, 2.5], [3, 1]]
    with pytest.raises(TypeError, match=r"X must hold real numbers.*dict"):
        check_features(np.array([[1, {}]], dtype=object))


def test_long_doubles_become_float64():
    assert check_features(np.array([[0.5, 1.0]], dtype=np.longdouble)).dtype == np.float64


def test_features_from_nested_lists():
    assert check_features([[1, 2], [3, 4.5]]).tolist() == [[1.0, 2.0], [3.0, 4.5]]


@pytest.mark.parametrize("view", [lambda X: X[:, ::2], lambda X: X[::-1], np.asfortranarray])
def test_features_are_made_contiguous(view):
    X = view(np.arange(24.0).reshape(4, 6))
    checked = check_features(X)
    assert checked.flags.c_contiguous
    assert np.array_equal(checked, X)


def test_good_features_are_not_copied():
    X = np.ones((3, 2))
    assert check_features(X) is X


def test_a_single_vector_is_one_row_only_where_allowed():
    assert check_features([1.0, 2.0], single=True).tolist() == [[1.0, 2.0]]
    with pytest.raises(ValueError, match=r"two dimensions.*reshape\(1, -1\)"):
        check_features([1.0, 2.0])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([["a", "b"]], "real numbers"),
        ([[1j]], "real numbers.*complex"),
        ([[1.0, None]], "real numbers"),
        (np.array([[1.0, "a"]], dtype=object), "real numbers.*'a'"),
        (np.array([[1.0, 10**400]], dtype=object), "real numbers"),
        (scipy.sparse.csr_array(np.eye(2)), r"sparse.*not supported.*X\.toarray\(\)"),
        ([[1.0], [1.0, 2.0]], "array of numbers"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "array of numbers"),
        (None, "real numbers"),
        (3.0, "two dimensions"),
        (np.zeros((2, 2, 2)), r"two dimensions.*\(2, 2, 2\)"),
        (np.zeros((3, 0)), "no feature columns"),
        (np.zeros((0, 3)), "0 rows, but at least 1"),
        ([[0.0, np.nan], [1.0, 1.0], [np.inf, 0.0]], r"NaN or infinite values in 2 of 3 rows \(first: row 0\)"),
        ([[0.0], [-np.inf]], r"1 of 2 rows \(first: row 1\)"),
    ],
)
def test_bad_features(X, message):
    with pytest.raises(ValueError, match=message):
        check_features(X)


def test_the_message_names_the_argument():
    with pytest.raises(ValueError, match=r"^memory\.X has 0 rows"):
        check_features(np.zeros((0, 2)), name="memory.X")


def test_number_of_features_is_checked():
    assert check_features(np.zeros((2, 3)), width=3).shape == (2, 3)
    with pytest.raises(ValueError, match="3 features, but 4 are expected; use features from the same backbone"):
        check_features(np.zeros((2, 3)), width=4)
    with pytest.raises(ValueError, match="3 features, but Model is expecting 4 features as input; use features from"):
        check_features(np.zeros((2, 3)), width=4, owner="Model")


def test_minimal_number_of_rows_is_checked():
    assert check_features(np.zeros((0, 3)), min_rows=0).shape == (0, 3)
    with pytest.raises(ValueError, match="2 rows, but at least 3"):
        check_features(np.zeros((2, 3)), min_rows=3)


@settings(deadline=None)
@given(hnp.arrays(st.sampled_from([np.float32, np.float64]), hnp.array_shapes(min_dims=2, max_dims=2, max_side=4)))
@np.errstate(over="ignore")
def test_features_pass_unchanged_or_are_refused_for_what_they_hold(X):
    if not np.isfinite(X).all():
        with pytest.raises(ValueError, match="NaN or infinite"):
            check_features(X)
    elif np.isfinite(np.square(X).sum() * 100):
        assert np.array_equal(check_features(X), X)
    elif not np.isfinite(np.square(X).sum(1)).all():
        with pytest.raises(ValueError, match="too large"):
            check_features(X)


@pytest.mark.parametrize(("dtype", "most"), [("float32", 1e18), ("float64", 1e153)])
def test_numbers_whose_squares_overflow(dtype, most):
    assert check_features(np.full((2, 9), most, dtype=dtype)).dtype == dtype
    with pytest.raises(ValueError, match=f"too large for {dtype}.*rescale"):
        check_features(np.full((2, 9), 100 * most, dtype=dtype))


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
def test_integers(value):
    assert check_integer(value, "k") == 3
    assert type(check_integer(value, "k")) is int


@pytest.mark.parametrize("value", [0, -1, 2.0, "2", None, True, np.float64(2), [2]])
def test_bad_integers(value):
    with pytest.raises(ValueError, match=r"^k must be an integer from 1, not "):
        check_integer(value, "k")


def test_integers_without_a_bound():
    assert check_integer(-3, "k", least=None) == -3


# ---------------------------------------------------------------- check_labels


@pytest.mark.parametrize(
    "y",
    [
        [7, 100, 3],
        (7, 100, 3),
        np.array([7, 100, 3], dtype=np.uint8),
        np.array([7, 100, 3], dtype=">i4"),
        np.array([7, 100, 3], dtype=object),
        [np.int32(7), 100, np.uint8(3)],
        iter([7, 100, 3]),
    ],
)
def test_integer_labels_become_int64(y):
    checked = check_labels(y, 3)
    assert checked.dtype == np.int64
    assert checked.tolist() == [7, 100, 3]


@pytest.mark.parametrize(
    "y", [["a", "crow"], np.array(["a", "crow"]), np.array(["a", "crow"], dtype=object), [np.str_("a"), "crow"]]
)
def test_string_labels_keep_their_length(y):
    checked = check_labels(y, 2)
    assert checked.dtype.kind == "U"
    assert checked.tolist() == ["a", "crow"]


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="numpy before 2.0 has no StringDType")
def test_variable_width_strings():
    assert check_labels(np.array(["a", "crow"], dtype=np.dtypes.StringDType()), 2).tolist() == ["a", "crow"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, "a"], r"mixes .*\(int, str\); use all int or all str"),
        ([1, 2.0], r"mixes .*\(float, int\)"),
        ([1.0, 2.0], "float"),
        (np.array([1.0, 2.0]), "dtype float64; labels must be integers or strings"),
        (np.array([1.0, np.nan]), "float64"),
        ([True, False], "bool"),
        (np.array([True, False]), "bool"),
        ([1, None], "NoneType"),
        ([b"a", b"b"], "bytes"),
        (np.array([b"a", b"b"]), r"\|S1"),
        ([[1], [2]], r"one label per row, but has shape \(2, 1\)"),
        (np.zeros((2, 1), dtype=int), r"shape \(2, 1\)"),
        ([[1], [2, 3]], "list"),
        (None, "one label per row"),
        (3, "one label per row"),
        ([1, 2, 3], "3 labels for 2 rows"),
        ([], "0 labels for 2 rows"),
    ],
)
def test_bad_labels(y, message):
    with pytest.raises(ValueError, match=message):
        check_labels(y, 2)


@pytest.mark.parametrize("y", [[2**70, 1], np.array([2**64 - 1, 1], dtype=np.uint64)], ids=["python", "uint64"])
def test_integers_beyond_64_bits_are_refused_not_wrapped(y):
    with pytest.raises(ValueError, match="y "):
        check_labels(y, 2)


def test_no_labels_for_no_rows():
    assert check_labels([], 0).shape == (0,)


# ---------------------------------------------------------------- the label of the unknown


def test_unknown_label_by_type():
    assert unknown_label(np.array([1])) == UNKNOWN == -1
    assert unknown_label(np.array(["a"])) == UNKNOWN_STR == "unknown"


@pytest.mark.parametrize("y", [np.array([0, -1]), np.array(["a", "unknown"])])
def test_the_unknown_label_is_no_class(y):
    with pytest.raises(ValueError, match="reserved for 'unknown'"):
        refuse_unknown_label(y)


@pytest.mark.parametrize("y", [np.array([0, 1, -2]), np.array(["a", "-1", "Unknown"]), np.array([], dtype=int)])
def test_other_labels_are_classes(y):
    before = y.copy()
    assert refuse_unknown_label(y) is None
    assert y.tolist() == before.tolist()


# ---------------------------------------------------------------- encode


def test_encode_by_hand():
    classes = np.array([30, 10, 20])
    assert encode(np.array([10, 20, 30, 10]), classes).tolist() == [1, 2, 0, 1]


def test_encode_strings_of_different_widths():
    assert encode(np.array(["b", "a"]), np.array(["a", "crow", "b"])).tolist() == [2, 0]


def test_encode_nothing():
    assert encode(np.array([], dtype=int), np.array([3, 1])).tolist() == []


labels = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, unique=True),
    # numpy does not keep NUL at the end of a string
    st.lists(st.text(max_size=5).map(lambda s: s.rstrip("\0")), min_size=1, unique=True),
)


@settings(deadline=None)
@given(labels, st.data())
def test_encode_is_undone_by_indexing(classes, data):
    places = data.draw(st.lists(st.integers(0, len(classes) - 1), max_size=20))
    codes = encode(check_labels([classes[i] for i in places], len(places)), check_labels(classes, len(classes)))
    assert codes.tolist() == places
