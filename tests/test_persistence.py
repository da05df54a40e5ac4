"""Model folders: what is saved comes back to the bit, and what is damaged is refused with a reason."""

import ast
import contextlib
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_limits

import opengcd
from opengcd import ModelFileError, OpenWorldRecognizer
from opengcd.classify import MLP, SVM, XGB
from opengcd.classify import xgb as xgb_module
from opengcd.classify.trees import Trees, check_trees
from opengcd.discover import KMeansDiscovery
from opengcd.osr import UncertaintyRejection
from opengcd.presets import Preset
from tests.helpers.needed import needed_module

# Five well separated classes in six dimensions, 20 rows each; 0 to 2 are known at first.
X, Y = make_blobs(100, 6, centers=5, cluster_std=1.0, center_box=(-8, 8), random_state=1)
KNOWN = Y < 3
QUICK_MLP = MLP(hidden=10, max_iter=20, learning_rate=0.01, device="cpu")


# So few classes and rows often leave no alpha that tells known from unknown.
pytestmark = [
    pytest.mark.filterwarnings("ignore:No alpha of the grid:UserWarning"),
    pytest.mark.usefixtures("one_thread"),
]


def fitted(classifier="svm", y=Y, **changes):
    arguments = {
        "preset": "paper",
        "selector": "greedy",
        "random_state": 0,
        "max_classes": 8,
        "device": "cpu",
        **changes,
    }
    return OpenWorldRecognizer(classifier, **arguments).fit(X[KNOWN], y[KNOWN])


def load(folder, **given_again):
    return OpenWorldRecognizer.load(folder, device="cpu", **given_again)


def last_rows(rows, k, rng):
    """An exemplar selector."""
    return np.arange(len(rows))[-k:]


def assert_same(a, b):
    """Two recognisers are the same to the last bit, as far as one can see."""
    for name in ("phase_", "alpha_", "unknown_label_", "n_features_in_"):
        assert getattr(a, name) == getattr(b, name)
    assert a.classes_.tolist() == b.classes_.tolist()
    assert a.classes_.dtype == b.classes_.dtype
    assert np.array_equal(a.memory_.X, b.memory_.X)
    assert a.memory_.X.dtype == b.memory_.X.dtype
    assert a.memory_.y.tolist() == b.memory_.y.tolist()
    assert a.memory_.size == b.memory_.size
    assert (a.alpha_search_ is None) == (b.alpha_search_ is None)
    if a.alpha_search_ is not None:
        assert np.array_equal(a.alpha_search_.scores, b.alpha_search_.scores)
        assert np.array_equal(a.alpha_search_.grid, b.alpha_search_.grid)
        assert a.alpha_search_.criterion == b.alpha_search_.criterion
    assert np.array_equal(a.recognize(X).probabilities, b.recognize(X).probabilities)
    assert np.array_equal(a.predict(X), b.predict(X))
    assert np.array_equal(a.predict_closed(X), b.predict_closed(X))


# ---------------------------------------------------------------- round trips

MINE = Preset(
    "mine",
    rejection=UncertaintyRejection(alpha_grid=(0.5, 5.0)),
    discovery=KMeansDiscovery(search="authors"),
    classifier_settings={"svm": {"C": 2.0}},
)
FOREST = RandomForestClassifier(3)
CASES = {
    "svm": ({}, {}),
    "mlp": ({"classifier": QUICK_MLP}, {}),
    "mlp by name": ({"classifier": "mlp", "alpha": 2.0}, {}),
    "xgb": ({"classifier": "xgb"}, {}),
    "svm with settings": ({"classifier": SVM(C=5.0, device="cpu")}, {}),
    "svm with a seed": ({"classifier": SVM(random_state=7, device="cpu")}, {}),
    "mlp with a seed": ({"classifier": QUICK_MLP.__class__(hidden=5, max_iter=5, random_state=7, device="cpu")}, {}),
    "foreign classifier": ({"classifier": LogisticRegression()}, {"classifier": LogisticRegression()}),
    "foreign classifier with chance": ({"classifier": FOREST}, {"classifier": FOREST}),
    "foreign selector": ({"selector": last_rows, "memory_size": 30}, {"selector": last_rows}),
    "random selector": ({"selector": "random", "memory_size": 30}, {}),
    "ds3": ({"selector": "ds3", "memory_size": 20}, {}),
    "alpha given": ({"alpha": 3.0}, {}),
    "fresh seed": ({"random_state": None, "selector": "random", "memory_size": 30}, {}),
    "generator": ({"random_state": np.random.default_rng(0)}, {}),
    "seed sequence": ({"random_state": np.random.SeedSequence([1, 2, 3])}, {}),
    "authors": ({"preset": "authors"}, {}),
    "authors mlp": ({"preset": "authors", "classifier": "mlp", "alpha": 1.0}, {}),
    "own preset": ({"preset": MINE}, {}),
    "names": ({"y": np.array(["owl", "é crow with a longer name", "", "d", "e"])[Y]}, {}),
    "any integers": ({"y": np.array([7, -100, 2**40, 5, 6])[Y]}, {}),
    "numpy numbers": (
        {"memory_size": np.int64(30), "max_classes": np.int32(10), "alpha": np.float32(2)},
        {},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_recogniser_comes_back_and_goes_on_as_before(case, tmp_path):
    if case == "xgb":
        needed_module("xgboost")
    arguments, given_again = CASES[case]
    original = fitted(**arguments)
    names = arguments.get("y", Y)
    original.save(tmp_path / "model")
    loaded = load(tmp_path / "model", **given_again)
    assert_same(original, loaded)
    found, again = original.discover(X[~KNOWN]), loaded.discover(X[~KNOWN])
    assert found.labels.tolist() == again.labels.tolist()
    assert found.curve == again.curve
    for r in (original, loaded):
        r.learn(X[Y == 3], names[Y == 3])
    assert_same(original, loaded)
    # ... and from the second phase to the third
    original.save(tmp_path / "model")
    loaded = load(tmp_path / "model", **given_again)
    assert_same(original, loaded)
    for r in (original, loaded):
        r.learn(X[Y == 4], names[Y == 4])
    assert_same(original, loaded)


def test_float32_stays_float32(tmp_path):
    original = OpenWorldRecognizer(random_state=0, device="cpu").fit(X[KNOWN].astype(np.float32), Y[KNOWN])
    original.save(tmp_path)
    assert load(tmp_path).memory_.X.dtype == np.float32
    assert_same(original, load(tmp_path))


def test_parameters_come_back(tmp_path):
    original = fitted(memory_size=40, selector="herding", alpha=2.0, preset="authors", max_classes=9, random_state=5)
    original.save(tmp_path)
    assert load(tmp_path).get_params() == original.get_params()


def test_a_classifier_of_ours_comes_back_with_its_settings(tmp_path):
    fitted(SVM(C=5.0, folds=3)).save(tmp_path)
    loaded = load(tmp_path)
    assert isinstance(loaded.classifier, SVM)
    assert (loaded.classifier.C, loaded.classifier.folds) == (5.0, 3)


def test_a_foreign_classifier_must_be_given_again(tmp_path):
    fitted(LogisticRegression()).save(tmp_path)
    with pytest.raises(ModelFileError, match=r"LogisticRegression.*load\(classifier=\.\.\.\)"):
        load(tmp_path)


def test_a_class_derived_from_ours_must_be_given_again(tmp_path):
    class Mine(SVM):
        def infer(self, X):
            return super().infer(-X)

    original = fitted(Mine(device="cpu"), alpha=1.0)
    original.save(tmp_path)
    with pytest.raises(ModelFileError, match=r"load\(classifier=\.\.\.\)"):
        load(tmp_path)
    assert_same(original, load(tmp_path, classifier=Mine(device="cpu")))


def test_a_foreign_selector_must_be_given_again(tmp_path):
    fitted(selector=last_rows).save(tmp_path)
    with pytest.raises(ModelFileError, match=r"load\(selector=\.\.\.\)"):
        load(tmp_path)


def test_another_classifier_may_take_the_exemplars_over(tmp_path):
    fitted().save(tmp_path)
    loaded = load(tmp_path, classifier=LogisticRegression())
    expected = LogisticRegression().fit(loaded.memory_.X, loaded.memory_.y)
    np.testing.assert_allclose(loaded.unknown_score(X), 1 - expected.predict_proba(X).max(1), atol=1e-9)
    assert (loaded.predict_closed(X[KNOWN]) == Y[KNOWN]).mean() > 0.95


def test_without_xgboost_a_model_of_trees_says_what_to_install(tmp_path, monkeypatch):
    needed_module("xgboost")
    fitted("xgb", alpha=1.0).save(tmp_path)
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ImportError, match=r"opengcd\[xgb\]"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["naïve modèle", "a/b/c", "with.dot"])
def test_any_path_will_do(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    original = fitted(alpha=1.0)
    original.save(name)
    assert_same(original, load(name))
    assert_same(original, load(Path(name)))


def test_names_that_are_no_valid_unicode(tmp_path):
    # What Python makes of a folder name in another encoding.
    names = np.array(["caf\udce9", "b", "c", "d", "e"])
    original = fitted(y=names[Y], alpha=1.0)
    original.save(tmp_path)
    assert_same(original, load(tmp_path))


@pytest.mark.parametrize("changes", [{"classifier": GaussianNB()}, {"alpha": 2.0}, {"selector": "random"}], ids=str)
def test_settings_changed_for_the_next_phase_do_not_hinder_saving(changes, tmp_path):
    original = fitted().set_params(**changes)
    original.save(tmp_path)
    assert np.array_equal(load(tmp_path).recognize(X).probabilities, original.recognize(X).probabilities)


@pytest.mark.parametrize(
    ("wrong", "message"), [({"device": "gpu"}, "device='gpu'"), ({"selector": "nope"}, "selector 'nope'")]
)
def test_a_wrong_argument_of_load_is_not_called_damage(folder, wrong, message):
    with pytest.raises(ValueError, match=message) as caught:
        OpenWorldRecognizer.load(folder, **wrong)
    assert "damaged" not in str(caught.value)


# ---------------------------------------------------------------- no pickle


@pytest.mark.parametrize(
    "classifier", ["svm", QUICK_MLP, "xgb", LogisticRegression()], ids=["svm", "mlp", "xgb", "own"]
)
def test_the_folder_holds_open_formats_only(classifier, tmp_path):
    if classifier == "xgb":
        needed_module("xgboost")
    fitted(classifier, alpha=1.0).save(tmp_path)
    suffixes = sorted(file.suffix for file in tmp_path.iterdir())
    assert suffixes == [".json", ".json", ".safetensors"]
    header = header_of(tmp_path)
    assert (header["format"], header["format_version"], header["kind"]) == ("opengcd", 2, "OpenWorldRecognizer")
    assert {part["file"] for part in header["parts"].values()} | {"model.json"} == set(os.listdir(tmp_path))
    (arrays,) = tmp_path.glob("*.safetensors")
    assert "memory.X" in safetensors.numpy.load_file(arrays)


FORBIDDEN = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
FORBIDDEN_CALLS = {"torch.load", "eval", "exec"}


SOURCES = sorted(Path(opengcd.__file__).parent.rglob("*.py"))
RESTRICTED = "pickled.py"
"""Reads CIFAR's own files by an unpickler that resolves five names, all to stand-ins; test_raw.py attacks it."""


@pytest.mark.parametrize("file", [file for file in SOURCES if file.name != RESTRICTED], ids=lambda f: f.stem)
def test_no_source_file_can_unpickle(file):
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert not {alias.name.split(".")[0] for alias in node.names} & FORBIDDEN
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in FORBIDDEN
        elif isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in FORBIDDEN_CALLS
            assert all(ast.unparse(k.value) == "False" for k in node.keywords if k.arg == "allow_pickle")


# ---------------------------------------------------------------- saving over something


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Saved models, not to be changed: copy them."""
    needed_module("xgboost")
    root = tmp_path_factory.mktemp("models")
    with threadpool_limits(1):
        fitted().save(root / "svm")
        fitted(QUICK_MLP).save(root / "mlp")
        fitted("xgb", alpha=1.0).save(root / "xgb")
        fitted(random_state=1, selector="random", memory_size=30).save(root / "other svm")
        two = OpenWorldRecognizer(preset="paper", random_state=0, device="cpu").fit(X[Y < 2], Y[Y < 2])
        two.save(root / "two classes")
        narrow = OpenWorldRecognizer("xgb", preset="paper", alpha=1.0, random_state=0, device="cpu").fit(
            X[Y < 2, :4], Y[Y < 2]
        )
        narrow.save(root / "narrow xgb")
    return root


@pytest.fixture
def folder(folders, tmp_path):
    """A copy of a saved SVM, to be damaged."""
    return Path(shutil.copytree(folders / "svm", tmp_path / "model"))


INDEX = ("format", "format_version", "parts")


def index_of(folder):
    return json.loads((folder / "model.json").read_bytes())


def header_of(folder):
    """The index and the header, which lie in two files, as one document."""
    return json.loads(part_of(folder, "header").read_bytes()) | index_of(folder)


def write_header(folder, header):
    """Write both back, with checksums that fit, unless the entry of the header in the index is itself changed."""
    document = {key: value for key, value in header.items() if key not in INDEX}
    index = {key: header[key] for key in INDEX if key in header}
    parts = index.get("parts")
    entry = parts.get("header") if isinstance(parts, dict) else None
    if isinstance(entry, dict) and {type(entry.get(key)) for key in ("file", "sha256")} == {str}:
        index["parts"] = parts | {"header": add_part(folder, json.dumps(document).encode(), "header", ".json")}
    (folder / "model.json").write_text(json.dumps(index))


def add_part(folder, raw, name, suffix):
    digest = hashlib.sha256(raw).hexdigest()
    file = f"{name}-{digest[:16]}{suffix}"
    (folder / file).write_bytes(raw)
    return {"file": file, "sha256": digest}


def part_of(folder, name="arrays"):
    return folder / index_of(folder)["parts"][name]["file"]


def replace_part(folder, raw, name="arrays"):
    """Put other bytes in place of a part, with a checksum that fits."""
    index = index_of(folder)
    index["parts"][name] = add_part(folder, raw, name, part_of(folder, name).suffix)
    (folder / "model.json").write_text(json.dumps(index))


def snapshot(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_saving_again_replaces_the_model_and_leaves_nothing_behind(folder):
    needed_module("xgboost")
    for recognizer in (fitted("xgb", alpha=1.0), fitted(QUICK_MLP, alpha=1.0), fitted(alpha=1.0)):
        recognizer.save(folder)
        assert_same(load(folder), recognizer)
        parts = {part["file"] for part in header_of(folder)["parts"].values()}
        assert {file.name for file in folder.iterdir()} == parts | {"model.json"}


def test_saving_the_same_model_twice_writes_the_same_bytes(folder):
    before = snapshot(folder)
    load(folder).save(folder)
    assert snapshot(folder) == before


def test_other_files_beside_a_model_stay(folder):
    (folder / "notes.txt").write_text("mine")
    fitted(alpha=1.0).save(folder)
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "files",
    [
        {"notes.txt": "mine"},
        {".hidden": ""},
        {"arrays.safetensors": "mine"},
        {"model.json": '{"format": "layers-model", "modelTopology": {}}'},  # a TensorFlow.js model
        {"model.json": "[]", "weights.bin": "mine"},
    ],
    ids=lambda files: "+".join(files),
)
def test_a_folder_with_other_files_is_refused_and_left_alone(files, tmp_path):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    before = snapshot(tmp_path)
    with pytest.raises(ModelFileError, match="choose"):
        fitted(alpha=1.0).save(tmp_path)
    assert snapshot(tmp_path) == before


def test_what_a_killed_save_left_behind_is_cleared_away(folder):
    leftover = folder / ".model.json.12345.tmp"
    leftover.write_text("half a hea")
    recognizer = fitted(alpha=1.0)
    recognizer.save(folder)
    assert_same(load(folder), recognizer)
    assert not leftover.exists()


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "model").write_text("mine")
    with pytest.raises(ModelFileError, match="is a file; a model is a folder"):
        fitted(alpha=1.0).save(tmp_path / "model")
    assert (tmp_path / "model").read_text() == "mine"


def test_an_empty_folder_will_do(tmp_path):
    fitted(alpha=1.0).save(tmp_path)
    assert load(tmp_path).phase_ == 1


def crash_at(monkeypatch, suffix):
    """Let the disk fail when a file with that ending is put in place."""
    replace = os.replace

    def crash(source, target):
        if str(target).endswith(suffix):
            raise OSError("disk full")
        replace(source, target)

    monkeypatch.setattr(os, "replace", crash)


@pytest.mark.parametrize("suffix", ["model.json", ".safetensors"])
def test_a_crash_while_saving_leaves_the_old_model(folder, suffix, monkeypatch):
    old = load(folder)
    new = fitted(QUICK_MLP, alpha=1.0)
    with monkeypatch.context() as patch:
        crash_at(patch, suffix)
        with pytest.raises(OSError, match="disk full"):
            new.save(folder)
    assert_same(load(folder), old)
    assert not [file for file in folder.iterdir() if file.suffix == ".tmp"]
    new.save(folder)
    assert_same(load(folder), new)
    assert len(snapshot(folder)) == 3


@pytest.mark.parametrize("suffix", ["model.json", ".safetensors"])
def test_after_a_crash_at_the_first_save_one_can_save_again(tmp_path, suffix, monkeypatch):
    recognizer = fitted(alpha=1.0)
    with monkeypatch.context() as patch:
        crash_at(patch, suffix)
        with pytest.raises(OSError, match="disk full"):
            recognizer.save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="no model"):
        load(tmp_path / "model")
    recognizer.save(tmp_path / "model")
    assert_same(load(tmp_path / "model"), recognizer)
    assert len(snapshot(tmp_path / "model")) == 3


# ---------------------------------------------------------------- loading something else


def test_a_file_instead_of_a_folder(folder):
    with pytest.raises(ModelFileError, match="is a file; a model is a folder"):
        load(folder / "model.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not a JSON document"),
        (b"{", "not a JSON document"),
        (b'{"format": "opengcd"', "not a JSON document"),
        (b"\xff\xfe\x00", "not a JSON document"),
        (b"\x80", "not a JSON document"),
        (b"[" * 100_000, "not a JSON document"),
        (b'{"a":' * 100_000, "not a JSON document"),
        (b'{"format": ' + b"1" * 5000 + b"}", "not a JSON document"),
        (b"[]", "not written by OpenGCD"),
        (b"null", "not written by OpenGCD"),
        (b'"opengcd"', "not written by OpenGCD"),
        (b"{}", "not written by OpenGCD"),
        (b'{"format": "layers-model"}', "not written by OpenGCD"),
        (b'{"format": "opengcd"}', "format version None"),
        (b'{"format": "opengcd", "format_version": 2}', "does not name its parts"),
        (b'{"format": "opengcd", "format_version": 1, "kind": "OpenWorldRecognizer"}', "does not name its parts"),
    ],
    ids=lambda value: value[:30] if isinstance(value, bytes) else None,
)
def test_a_header_that_is_none(folder, text, message):
    (folder / "model.json").write_bytes(text)
    with pytest.raises(ModelFileError, match=message):
        load(folder)


@pytest.mark.parametrize("version", [0, 3, "1", None, [1]])
def test_another_format_version(folder, version):
    write_header(folder, {**header_of(folder), "format_version": version})
    with pytest.raises(ModelFileError, match=r"format version .* reads 1 to 2; load it with the version that wrote it"):
        load(folder)


def test_a_model_of_the_first_format_is_read(folder):
    """There the header was in model.json itself."""
    expected, header = load(folder), header_of(folder)
    part_of(folder, "header").unlink()
    del header["parts"]["header"]
    (folder / "model.json").write_text(json.dumps(header | {"format_version": 1}))
    assert_same(load(folder), expected)


def test_a_model_of_another_class_is_refused(folder):
    write_header(folder, {**header_of(folder), "kind": "SemiSupervisedKMeans"})
    with pytest.raises(ModelFileError, match="contains a 'SemiSupervisedKMeans', not a 'OpenWorldRecognizer'"):
        load(folder)


def paths_of(tree, above=()):
    """Every key of a JSON document, as a path."""
    for key, value in tree.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from paths_of(value, (*above, key))


def holder(header, path):
    for key in path[:-1]:
        header = header[key]
    return header


# Neither is needed to restore the model: who wrote it, and the arguments that have defaults.
OPTIONAL = {("opengcd_version",), ("classifier", "settings", "C"), ("classifier", "settings", "folds")}


@pytest.fixture(scope="module")
def needed(folders):
    """What a header must hold."""
    return [path for path in paths_of(header_of(folders / "svm")) if path not in OPTIONAL]


def test_every_missing_key_is_noticed(folders, needed, tmp_path):
    assert ("memory", "seed", "entropy") in needed
    folder = Path(shutil.copytree(folders / "svm", tmp_path / "model"))
    accepted = []
    for path in needed:
        header = header_of(folders / "svm")
        del holder(header, path)[path[-1]]
        write_header(folder, header)
        try:
            load(folder)
        except ModelFileError:
            continue
        accepted.append(path)
    # A recogniser can be made without an argument, but not one that goes on as the saved one would have.
    assert accepted == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("alpha",), float("nan")),
        (("alpha",), -1.0),
        (("alpha",), float("inf")),
        (("alpha",), None),
        (("alpha",), []),
        (("phase",), 0),
        (("phase",), -3),
        (("phase",), "one"),
        (("phase",), float("inf")),
        (("classes",), [0, 1]),
        (("classes",), [0, 1, 2, 3]),
        (("classes",), [0, 1, 1]),
        (("classes",), [0, 1, -1]),
        (("classes",), [0, 1, "a"]),
        (("classes",), [0.0, 1.0, 2.0]),
        (("classes",), [0, 1, 10**30]),
        (("classes",), []),
        (("classes",), None),
        (("classes",), {"0": 0, "1": 1, "2": 2}),
        (("memory", "size"), 0),
        (("memory", "size"), "many"),
        (("memory", "size"), float("inf")),
        (("memory", "updates"), float("inf")),
        (("memory", "updates"), -1),
        (("memory",), []),
        (("seed", "entropy"), "-1"),
        (("seed", "entropy"), "x"),
        (("seed", "key"), "ab"),
        (("seed", "key"), [-1]),
        (("classifier",), None),
        (("classifier", "name"), "tree"),
        (("classifier", "name"), "mlp"),
        (("classifier", "name"), "xgb"),
        (("classifier", "name"), ["svm"]),
        (("classifier", "settings"), {"c": 1}),
        (("classifier", "settings"), None),
        (("parameters",), []),
        (("parameters", "preset"), "nope"),
        (("parameters", "preset"), {"name": "mine"}),
        (("parameters", "preset"), 3),
        (("parameters", "selector"), "nope"),
        (("parameters", "selector"), 3),
        (("parameters", "memory_size"), "many"),
        (("parameters", "max_classes"), "many"),
        (("parameters", "max_classes"), 1),
        (("parameters", "alpha"), "nope"),
        (("parameters", "n_jobs"), 2),
        (("parts",), None),
        (("parts",), []),
        (("parts",), {}),
        (("parts", "arrays"), "arrays.safetensors"),
        (("parts", "arrays", "sha256"), None),
        (("parts", "arrays", "sha256"), "0" * 64),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else repr(value)[:20],
)
def test_a_header_with_a_wrong_value(folder, path, value):
    header = header_of(folder)
    holder(header, path)[path[-1]] = value
    write_header(folder, header)
    with pytest.raises(ModelFileError):
        load(folder)


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "../model/model.json",
        "/etc/passwd",
        "model.json",
        "",
        ".",
        None,
        5,
        ["arrays-0123456789abcdef.safetensors"],
        "arrays-0123456789abcdef.safetensors/../../x",
        "arrays-0123456789abcdef.safetensors\n",
        "arrays-0123456789abcdef.pkl",
    ],
    ids=repr,
)
def test_a_part_cannot_lie_elsewhere(folder, name):
    outside = folder.parent / "x"
    outside.write_bytes(part_of(folder).read_bytes())
    header = header_of(folder)
    header["parts"]["arrays"]["file"] = name
    write_header(folder, header)
    with pytest.raises(ModelFileError, match="is not a part of a model"):
        load(folder)


@pytest.mark.parametrize("classifier", ["svm", "xgb"])
def test_a_missing_part(folders, classifier, tmp_path):
    for name in header_of(folders / classifier)["parts"]:
        copy = Path(shutil.copytree(folders / classifier, tmp_path / name))
        part_of(copy, name).unlink()
        with pytest.raises(ModelFileError, match=f"incomplete.*{name}-"):
            load(copy)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "longer"])
@pytest.mark.parametrize("name", ["arrays", "classifier"])
def test_a_damaged_part(old_trees, name, damage, tmp_path):
    copy = Path(shutil.copytree(old_trees, tmp_path / "model"))
    raw = bytearray(part_of(copy, name).read_bytes())
    if damage == "flipped":
        raw[len(raw) // 2] ^= 1
    part_of(copy, name).write_bytes(
        {"truncated": raw[: len(raw) // 2], "flipped": raw, "empty": b"", "longer": raw + b"\0"}[damage]
    )
    with pytest.raises(ModelFileError, match="checksum does not match"):
        load(copy)


@pytest.mark.parametrize("cut", [0, 4, 100, -1])
def test_arrays_cut_short_before_the_checksum_was_taken(folder, cut):
    replace_part(folder, part_of(folder).read_bytes()[:cut])
    with pytest.raises(ModelFileError, match="arrays cannot be read"):
        load(folder)


def stored_trees(folder):
    arrays = safetensors.numpy.load(part_of(folder).read_bytes())
    found = {k.removeprefix("classifier."): v for k, v in arrays.items() if k.startswith("classifier.")}
    return Trees(**found), arrays["memory.X"]


def old_format(folder):
    """The trees of a model in XGBoost's binary format."""
    model = XGB(device="cpu")
    model.restore(stored_trees(folder)[0]._asdict())
    return bytes(model.booster_.save_raw("ubj"))


@pytest.fixture(scope="module")
def old_trees(folders, tmp_path_factory):
    """A model whose trees are in XGBoost's binary format, as older versions saved them."""
    folder = Path(shutil.copytree(folders / "xgb", tmp_path_factory.mktemp("old") / "model"))
    raw = old_format(folder)
    arrays = safetensors.numpy.load(part_of(folder).read_bytes())
    rest = {name: array for name, array in arrays.items() if not name.startswith("classifier.")}
    replace_part(folder, safetensors.numpy.save(rest))
    header = header_of(folder)
    header["parts"]["classifier"] = {"file": "classifier-0123456789abcdef.ubj", "sha256": ""}
    write_header(folder, header)
    replace_part(folder, raw, "classifier")
    return folder


def test_trees_as_older_versions_saved_them(old_trees, folders, tmp_path):
    loaded = load(old_trees)
    assert_same(loaded, load(folders / "xgb"))
    loaded.save(tmp_path / "new")
    assert part_of(tmp_path / "new").read_bytes() == part_of(folders / "xgb").read_bytes()


@pytest.mark.parametrize("raw", [b"", b"{}", b"\0" * 100, b"not trees"])
def test_old_trees_that_are_none(old_trees, raw, tmp_path):
    copy = Path(shutil.copytree(old_trees, tmp_path / "model"))
    replace_part(copy, raw, "classifier")
    with pytest.raises(ModelFileError, match="XGBoost cannot read the trees"):
        load(copy)


def test_old_trees_that_keep_their_reader_busy(old_trees, monkeypatch):
    monkeypatch.setattr(xgb_module, "SECONDS", 0)
    with pytest.raises(ModelFileError, match="does not read the trees within 0 seconds"):
        load(old_trees)


def test_old_trees_are_not_read_in_this_process(old_trees, monkeypatch):
    """Not even the damaged ones that would crash it."""
    import xgboost

    began = []
    make = xgboost.Booster.__init__
    monkeypatch.setattr(
        xgboost.Booster,
        "__init__",
        lambda self, *args, **options: began.append(options.get("model_file")) or make(self, *args, **options),
    )
    load(old_trees)
    documents = [document for document in began if document is not None]
    assert len(documents) == 1
    assert json.loads(documents[0])["learner"]["gradient_booster"]["model"]["trees"]


def test_trees_come_back_bit_for_bit(folders):
    trees, _ = stored_trees(folders / "xgb")
    values = np.random.default_rng(0).integers(0, 2**32, len(trees.value), dtype=np.uint32).view(np.float32)
    trees = trees._replace(value=np.where(np.isfinite(values), values, np.float32(-0.0)))
    model = XGB(device="cpu")
    model.restore(trees._asdict())
    for name, array in model.arrays().items():
        assert array.tobytes() == getattr(trees, name).tobytes(), name


WRONG_TREES = {
    "a type": lambda t: t._replace(left=t.left.astype(np.int64)),
    "two rows": lambda t: t._replace(value=np.stack([t.value, t.value])),
    "three sizes": lambda t: t._replace(shape=np.array([5, 6, 1])),
    "no class": lambda t: t._replace(shape=np.array([0, 6])),
    "other classes": lambda t: t._replace(shape=np.array([2, 6])),
    "no tree": lambda t: t._replace(nodes=t.nodes[:0]),
    "a tree too few": lambda t: t._replace(nodes=t.nodes[:-1]),
    "an empty tree": lambda t: t._replace(nodes=np.r_[0, t.nodes[0] + t.nodes[1], t.nodes[2:]]),
    "a node too few": lambda t: t._replace(right=t.right[:-1]),
    "a start too few": lambda t: t._replace(start=t.start[:-1]),
    "a start that is no number": lambda t: t._replace(start=t.start * np.float32(np.nan)),
    "a threshold that is no number": lambda t: t._replace(value=np.r_[np.float32(np.inf), t.value[1:]]),
    "a default": lambda t: t._replace(missing_left=t.missing_left + np.uint8(2)),
    "one child": lambda t: t._replace(right=np.r_[np.int32(-1), t.right[1:]]),
    "itself as a child": lambda t: t._replace(left=np.r_[np.int32(0), t.left[1:]]),
    "a child twice": lambda t: t._replace(left=np.r_[t.right[0], t.left[1:]]),
    "a child beyond": lambda t: t._replace(right=np.r_[np.int32(t.nodes[0]), t.right[1:]]),
    "a child before": lambda t: t._replace(right=np.r_[np.int32(-2), t.right[1:]]),
    "a feature too many": lambda t: t._replace(feature=np.r_[np.int32(6), t.feature[1:]]),
    "a feature before": lambda t: t._replace(feature=np.r_[np.int32(-1), t.feature[1:]]),
}


@pytest.mark.parametrize("wrong", WRONG_TREES)
def test_trees_that_are_wrong(folders, wrong):
    trees, _ = stored_trees(folders / "xgb")
    assert trees.left[0] != -1
    check_trees(trees)
    with pytest.raises(ValueError, match="tree"):
        check_trees(WRONG_TREES[wrong](trees))


def test_trees_that_pass_the_check_never_crash_xgboost(folders):
    """Random changes of the arrays; if XGBoost were handed something wrong, it would crash this process."""
    trees, rows = stored_trees(folders / "xgb")
    rng = np.random.default_rng(0)
    good = 0
    for _ in range(400):
        name = str(rng.choice([name for name in Trees._fields if name != "shape"]))
        array = getattr(trees, name).copy()
        place = rng.integers(len(array))
        array[place] = rng.choice([array[rng.integers(len(array))], array[place] + 1, 0, 1, 5, 100, 2**7 - 1])
        changed = trees._replace(**{name: array})
        try:
            check_trees(changed)
        except ValueError:
            continue
        good += 1
        model = XGB(device="cpu")
        model.restore(changed._asdict())
        assert np.isfinite(model.infer(rows).probabilities).all()
    assert good > 50


def without(name):
    return lambda arrays: arrays.pop(name)


def change(name, function):
    return lambda arrays: arrays.update({name: function(arrays[name])})


@pytest.mark.parametrize(
    "damage",
    [
        without("memory.X"),
        without("memory.codes"),
        without("classifier.mean_"),
        without("alpha.grid"),
        change("memory.X", lambda a: a[:-1]),
        change("memory.X", lambda a: a * np.nan),
        change("memory.X", lambda a: a[:0]),
        change("memory.X", lambda a: a[0]),
        change("memory.codes", lambda a: a + 1),
        change("memory.codes", lambda a: a * 0),
        change("memory.codes", lambda a: a.astype(float)),
        change("memory.codes", lambda a: a[:, None]),
        change("memory.X", lambda a: a[:, :-1].copy()),
        change("classifier.mean_", lambda a: a[:-1]),
        change("classifier.support_vectors_", lambda a: a[:-1]),
    ],
    ids=range(15),
)
def test_arrays_that_do_not_fit_together(folder, damage):
    arrays = safetensors.numpy.load(part_of(folder).read_bytes())
    damage(arrays)
    replace_part(folder, safetensors.numpy.save({k: np.ascontiguousarray(v) for k, v in arrays.items()}))
    with pytest.raises(ModelFileError):
        load(folder)


@pytest.mark.parametrize(
    ("name", "value"), [("value", "x"), ("value", float("nan")), ("hna", []), ("known_rejected", None)]
)
def test_a_threshold_that_is_no_number(tmp_path, name, value):
    OpenWorldRecognizer(random_state=0, device="cpu").fit(X[Y < 3], Y[Y < 3]).save(tmp_path)
    header = header_of(tmp_path)
    header["threshold"][name] = value
    write_header(tmp_path, header)
    with pytest.raises(ModelFileError, match="threshold"):
        load(tmp_path)


@pytest.mark.parametrize("name", ["mean_", "scale_", "support_vectors_"])
def test_a_classifier_with_a_number_that_is_none(folder, name):
    arrays = safetensors.numpy.load(part_of(folder).read_bytes())
    arrays[f"classifier.{name}"].ravel()[0] = np.nan
    replace_part(folder, safetensors.numpy.save(arrays))
    with pytest.raises(ModelFileError, match="do not fit together"):
        load(folder)


@pytest.mark.parametrize("other", ["mlp", "other svm", "two classes"])
def test_parts_of_another_model_under_the_old_name(folders, folder, other):
    part_of(folder).write_bytes(part_of(folders / other).read_bytes())
    with pytest.raises(ModelFileError, match="checksum does not match"):
        load(folder)


@pytest.mark.parametrize("other", ["mlp", "two classes"])
def test_a_header_that_names_the_parts_of_another_model(folders, folder, other):
    replace_part(folder, part_of(folders / other).read_bytes())
    with pytest.raises(ModelFileError, match="damaged"):
        load(folder)


def test_old_trees_of_another_model(old_trees, folders, tmp_path):
    copy = Path(shutil.copytree(old_trees, tmp_path / "model"))
    replace_part(copy, old_format(folders / "narrow xgb"), "classifier")
    with pytest.raises(ModelFileError, match="do not fit together"):
        load(copy)


@pytest.mark.parametrize("shape", [[5, 7], [5, 2**62], [2**62, 6], [1, 6]])
def test_trees_for_other_features_or_classes(folders, shape, tmp_path):
    copy = Path(shutil.copytree(folders / "xgb", tmp_path / "model"))
    arrays = safetensors.numpy.load(part_of(copy).read_bytes())
    replace_part(copy, safetensors.numpy.save(arrays | {"classifier.shape": np.array(shape)}))
    with pytest.raises(ModelFileError, match="do not fit together"):
        load(copy)


# ---------------------------------------------------------------- chance


@pytest.fixture(scope="module")
def scratch(folders, tmp_path_factory):
    """One folder that every example overwrites."""
    return Path(shutil.copytree(folders / "svm", tmp_path_factory.mktemp("scratch") / "model"))


def loads_or_says_why(folder):
    with contextlib.suppress(ModelFileError):
        load(folder)


edits = st.lists(
    st.tuples(st.sampled_from(["set", "insert", "delete"]), st.integers(0, 2**16), st.integers(0, 255)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=300, deadline=None)
@given(edits=edits)
def test_a_header_with_random_bytes_changed(folders, scratch, edits):
    raw = bytearray((folders / "svm" / "model.json").read_bytes())
    for what, place, byte in edits:
        at = place % len(raw)
        if what == "delete":
            del raw[at]
        elif what == "insert":
            raw.insert(at, byte)
        else:
            raw[at] = byte
    (scratch / "model.json").write_bytes(raw)
    try:
        load(scratch)
    except ModelFileError:
        return
    assert index_of(scratch) == index_of(folders / "svm")  # white space, at most


AWKWARD = [float("inf"), float("nan"), 10**30, -1, 0, "", None, [], {}]
values = st.sampled_from(AWKWARD) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["svm", "xgb"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


@settings(max_examples=60, deadline=None)
@given(value=values)
def test_a_header_with_any_value_changed(folders, scratch, needed, value):
    for path in needed:
        header = header_of(folders / "svm")
        holder(header, path)[path[-1]] = value
        write_header(scratch, header)
        loads_or_says_why(scratch)
