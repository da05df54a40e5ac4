import numpy as np
import pytest
from sklearn.datasets import make_blobs

from opengcd.bench import (
    PLANS,
    Dataset,
    FeatureFileError,
    class_groups,
    load_dataset,
    make_method,
    method_names,
    plan_for,
    run_protocol,
)


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
        (put("y_test", lambda a: np.zeros_like(a)), "no row of 5 classes, 'c1' first"),
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


def test_plans():
    assert [sum(plan.sizes) for plan in PLANS.values()] == [10, 100, 200]
    toy = Dataset("toy", *[np.zeros((1, 1))] * 4, [str(c) for c in range(12)])
    assert plan_for(toy) == ((6, 2, 2, 2), None)
    with pytest.raises(FeatureFileError, match="at least 5"):
        plan_for(Dataset("toy", *[np.zeros((1, 1))] * 4, ["a", "b"]))


def test_methods_by_name():
    assert set(method_names()) >= {"opengcd-svm", "opengcd-mlp", "opengcd-xgb", "csr-xgb", "il-e-svm", "owr-ue-mlp"}
    assert make_method("opengcd-svm", random_state=3).random_state == 3
    assert type(make_method("opengcd.recognizer:OpenWorldRecognizer")).__name__ == "OpenWorldRecognizer"
    for name, message in [
        ("opengcd-nope", "Unknown method"),
        ("nope:Nope", "cannot be imported"),
        ("opengcd.metrics:Parts", "lacks fit"),
    ]:
        with pytest.raises(ValueError, match=message):
            make_method(name)


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(8, 6)) * 6
    y = np.repeat(np.arange(8), 30)
    train, test = (centers[y] + rng.normal(size=(240, 6)) for _ in range(2))
    return Dataset("blobs", train, y, test, y, [str(c) for c in range(8)]), class_groups(8, (4, 2, 2), 1)


def run(name, blobs, **settings):
    method = make_method(name, random_state=0, max_classes=20, selector="random")
    return [result for result, _ in run_protocol(method, *blobs, random_state=0, **settings)]


def test_csr_neither_learns_nor_rejects(blobs):
    results = run("csr-svm", blobs)
    assert all(r.hna == r.hca == 0 and r.rejected == r.actions == 0 for r in results[:2])
    assert results[2].accuracy[1:] == [0, 0]
    assert results[0].accuracy == [results[2].accuracy[0]]


def test_il_e_learns_all_but_never_rejects(blobs):
    results = run("il-e-svm", blobs)
    assert all(r.hna == r.hca == 0 and r.learnt_share == 1 for r in results[:2])
    assert results[2].accuracy_all > 0.9


def test_owr_ue_puts_all_rejected_items_in_one_heap(blobs):
    first = run("owr-ue-svm", blobs)[0]
    full = run("opengcd-svm", blobs)[0]
    assert first.hna == full.hna
    assert first.actions == first.rejected > full.actions
    # Two balanced novel classes in one group.
    assert first.gcd_parts.ans == pytest.approx(first.osr_parts.aus / 2, abs=0.05)


def test_learning_all_is_not_limited_by_discovery(blobs):
    results = run("opengcd-svm", blobs, learn="all")
    assert all(r.learnt_share == 1 and r.missing_classes == 0 for r in results[:2])
    with pytest.raises(ValueError, match="learn must be"):
        run("opengcd-svm", blobs, learn="some")
