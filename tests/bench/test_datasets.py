"""Feature files: what is read from good ones, and what is said about bad ones."""

import zipfile

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from opengcd.bench import PLANS, Dataset, FeatureFileError, load_dataset, plan_for


@pytest.fixture
def arrays():
    X, y = make_blobs(120, n_features=5, centers=6, random_state=0)
    return {
        "x_train": X[:60].astype(np.float16),
        "y_train": y[:60],
        "x_test": X[60:].astype(np.float16),
        "y_test": y[60:],
        "class_names": np.array([f"c{c}" for c in range(6)]),
    }


def saved(folder, arrays, name="toy"):
    np.savez(folder / f"{name}.npz", **arrays)
    return folder


def test_features_are_scaled_to_unit_length(tmp_path, arrays):
    data = load_dataset(saved(tmp_path, arrays), "toy")
    np.testing.assert_allclose(np.linalg.norm(data.x_train, axis=1), 1, rtol=1e-6)
    assert (data.name, data.x_test.dtype, len(data.class_names)) == ("toy", np.float32, 6)


def without(key):
    return lambda arrays: arrays.pop(key)


def put(key, value):
    return lambda arrays: arrays.update({key: value(arrays[key])})


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("y_test"), "lacks y_test"),
        (put("x_test", lambda a: a[:, :-1]), "x_test has 4 features, but 5"),
        (put("x_train", lambda a: a * np.float16(np.nan)), "NaN or infinite"),
        (put("y_train", lambda a: a + 1), "class_names has 6"),
        (put("y_train", lambda a: a[:-1]), "one class number for each of the 60 rows"),
        (put("y_test", lambda a: np.zeros_like(a)), "no rows of 5 classes, such as 'c1'"),
        (put("y_test", lambda a: a.astype(float)), "one class number"),
    ],
    ids=range(7),
)
def test_bad_feature_files_are_refused(tmp_path, arrays, damage, message):
    damage(arrays)
    with pytest.raises(FeatureFileError, match=message):
        load_dataset(saved(tmp_path, arrays), "toy")


def test_missing_foreign_and_pickled_files(tmp_path, arrays):
    with pytest.raises(FeatureFileError, match=r"no dataset 'cub'.*found: none"):
        load_dataset(tmp_path, "cub")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(FeatureFileError, match="cannot be read"):
        load_dataset(tmp_path, "text")
    arrays["class_names"] = arrays["class_names"].astype(object)
    with pytest.raises(FeatureFileError, match="cannot be read"):
        load_dataset(saved(tmp_path, arrays), "toy")
    np.save(tmp_path / "bare.npy", np.zeros(3))
    (tmp_path / "bare.npy").rename(tmp_path / "bare.npz")
    with pytest.raises(FeatureFileError, match="cannot be read"):
        load_dataset(tmp_path, "bare")


@pytest.mark.parametrize("key", ["class_names", "x_train", "y_test"])
def test_parts_of_a_feature_file_that_are_no_arrays(tmp_path, arrays, key):
    arrays["class_names"] = arrays["class_names"].astype(str)
    del arrays[key]
    with zipfile.ZipFile(saved(tmp_path, arrays) / "toy.npz", "a") as archive:
        archive.writestr(key, b"not in numpy's format")
    with pytest.raises(FeatureFileError, match=r"toy\.npz"):
        load_dataset(tmp_path, "toy")


def test_a_class_order_may_be_given(tmp_path, arrays):
    assert load_dataset(saved(tmp_path, arrays), "toy").class_order is None
    arrays["class_order"] = np.array([5, 3, 1, 0, 2, 4])
    assert load_dataset(saved(tmp_path, arrays), "toy").class_order.tolist() == [5, 3, 1, 0, 2, 4]
    for wrong in ([5, 3, 1, 0, 2, 2], [0, 1], [0.0, 1, 2, 3, 4, 5], 0, [[0, 1, 2, 3, 4, 5]]):
        arrays["class_order"] = np.array(wrong)
        with pytest.raises(FeatureFileError, match="each number from 0 to 5 once"):
            load_dataset(saved(tmp_path, arrays), "toy")


def test_class_names_that_are_no_list(tmp_path, arrays):
    for wrong in ("a", [["a", "b"]]):
        arrays["class_names"] = np.array(wrong)
        with pytest.raises(FeatureFileError, match="one name for each class"):
            load_dataset(saved(tmp_path, arrays), "toy")


def test_plans():
    assert [sum(plan.sizes) for plan in PLANS.values()] == [10, 100, 200]
    toy = Dataset("toy", *[np.zeros((1, 1))] * 4, [str(c) for c in range(12)])
    assert plan_for(toy) == ((6, 2, 2, 2), None)
    with pytest.raises(FeatureFileError, match="at least 5"):
        plan_for(Dataset("toy", *[np.zeros((1, 1))] * 4, ["a", "b"]))
