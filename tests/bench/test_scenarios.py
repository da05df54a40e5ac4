"""Streams other than the paper's."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from opengcd._internal.numpy_json import plain
from opengcd.bench import (
    SCENARIOS,
    Cell,
    PhaseResult,
    RecognizerMethod,
    commands,
    make_cells,
    make_method,
    read_results,
    run_protocol,
    scenario_tables,
    settings_of,
    tidy_csv,
)
from opengcd.bench.drip import whole_groups
from opengcd.bench.scenarios import StreamClasses, bursts, find_scenario, other_camera, without_copies
from opengcd.cli import app
from tests.helpers.bench import blob_dataset, save_features

GROUPS = np.split(np.arange(8), [4, 6])
KNOWN, NEW = np.array([0, 1]), np.array([2, 3, 4])
Y = np.repeat(np.arange(5), [10, 20, 40, 40, 40])


def unit(X):
    """Scale rows to unit length."""
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def blobs():
    """Return a dataset of unit vectors, as feature files are read."""
    data = blob_dataset()
    return dataclasses.replace(data, x_train=unit(data.x_train), x_test=unit(data.x_test))


def shown(name, seed=0):
    """Return the number of items of each class in a stream."""
    keep = SCENARIOS[name].select(StreamClasses(Y, KNOWN, NEW), np.random.default_rng(seed))
    return np.bincount(Y[keep], minlength=5).tolist()


def test_the_usual_stream_shows_all():
    assert shown("usual") == [10, 20, 40, 40, 40]


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("new-double", [10, 20, 30, 30, 30]),  # a known class has 15 items in the median
        ("new-half", [10, 20, 8, 8, 8]),
        ("new-fifth", [10, 20, 3, 3, 3]),
        ("new-five", [10, 20, 5, 5, 5]),
        ("no-known", [0, 0, 40, 40, 40]),
    ],
)
def test_sizes_of_classes(name, sizes):
    assert shown(name) == sizes


def test_a_long_tail_falls_to_a_tenth_in_a_random_order():
    sizes = np.array(shown("tail-10"))
    assert sorted(sizes[2:]) == [4, 13, 40]  # 40 / 10, 40 / sqrt(10), 40
    assert sorted(sizes[:2] / [10, 20]) == [0.1 if sizes[1] == 2 else 0.2, 1.0]
    assert len({tuple(shown("tail-10", seed)) for seed in range(20)}) > 5


def test_the_rarest_class_of_a_long_tail_keeps_two_items():
    assert min(shown("tail-100")) == 2


def test_one_or_no_new_class():
    assert SCENARIOS["one-new"].shown(NEW).tolist() == [2]
    assert SCENARIOS["no-new"].shown(NEW).tolist() == []
    assert SCENARIOS["usual"].shown(NEW).tolist() == [2, 3, 4]


def test_bursts_are_near_copies_one_after_the_other():
    rng = np.random.default_rng(0)
    X = unit(rng.normal(size=(50, 16)))
    y = np.repeat(np.arange(5), 10)
    burst, original = bursts(X, y, rng)
    assert np.array_equal(np.unique(original), np.arange(50))
    assert (np.diff(original) >= 0).all(), "copies follow their original, and originals keep their order"
    counts = np.bincount(original) - 1
    assert counts.min() >= 0
    assert counts.max() <= 30
    assert 10 < counts.mean() < 20
    first = np.flatnonzero(np.diff(original, prepend=-1))
    assert np.array_equal(burst[first], X), "the first of a burst is the item itself"
    same = original[1:] == original[:-1]
    assert (burst[1:] * burst[:-1]).sum(1)[same].min() > 0.99
    assert np.allclose(np.linalg.norm(burst, axis=1), 1)


def test_long_bursts_thin_out_the_items_but_keep_every_class(monkeypatch):
    monkeypatch.setattr("opengcd.bench.scenarios.BURST_ITEMS", 160)
    X = np.eye(60)
    burst, original = bursts(X, np.repeat(np.arange(6), 10), np.random.default_rng(0))
    assert len(burst) < 400
    assert np.bincount(np.unique(original) // 10).tolist() == [2] * 6
    alone, items = without_copies(X, np.repeat(np.arange(6), 10), np.random.default_rng(0))
    assert np.array_equal(items, np.unique(original)), "the same items"
    assert np.array_equal(alone, X[items])


def test_in_a_drip_new_classes_appear_one_after_the_other():
    y = np.repeat(np.arange(7), 200)
    classes = StreamClasses(y, np.array([0, 1]), np.arange(2, 7))
    order = SCENARIOS["drip"].order(classes, np.random.default_rng(0))
    assert sorted(order) == list(range(1400))
    first = np.sort([np.flatnonzero(y[order] == c)[0] for c in range(2, 7)])
    assert first[0] < 20
    assert (np.diff(first) > 50).all(), "each has a start of its own"
    assert first[-1] < 1400 * 0.8, "the last one is there before the last discovery"
    assert (np.array([np.flatnonzero(y[order] == c)[-1] for c in range(7)]) > 1300).all(), "and all stay"


def test_a_drip_says_what_each_discovery_found():
    method = make_method("best", memory_size=200, random_state=0)
    result, detail = next(run_protocol(method, blobs(), GROUPS, scenario="drip", random_state=0))
    assert [point.seen for point in result.drips] == [round(len(detail.stream.y) * i / 5) for i in range(1, 6)]
    true = [point.true for point in result.drips]
    assert true == sorted(true)
    assert true[-1] == 2
    assert result.drips[-1].found == result.k - 4
    assert result.drips[0].steady is None
    assert 0.5 < result.steady <= 1, "these classes are easy to tell apart"
    assert PhaseResult.from_json(json.loads(json.dumps(result.to_json(), default=plain))).drips == result.drips


def test_confirmed_groups_that_stay_whole_are_counted():
    confirmed = np.array([7, 7, 8, 8, 9, 9])
    assert whole_groups(confirmed, np.array([0, 0, 1, 1, 2, 2])) == 3
    assert whole_groups(confirmed, np.array([0, 0, 1, 3, 2, 2])) == 2, "8 was split"
    assert whole_groups(confirmed, np.array([0, 0, 0, 0, 2, 2])) == 1, "7 and 8 were merged"
    assert whole_groups(confirmed, np.array([0, 0, 0, 1, 2, 2])) == 1, "7 got an item of 8"
    assert whole_groups(confirmed, np.array([0, 0, 1, 1, -1, -1])) == 2, "9 was returned to known classes"
    assert whole_groups(confirmed[:0], confirmed[:0]) == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 5)), max_size=30), st.permutations(range(6)))
def test_only_what_is_kept_is_whole(pairs, names):
    confirmed, labels = np.array(pairs, dtype=int).reshape(-1, 2).T
    number = len(np.unique(confirmed))
    assert 0 <= whole_groups(confirmed, labels) <= number
    assert whole_groups(confirmed, np.array(names)[confirmed]) == number, "what groups are called does not matter"


@pytest.mark.parametrize("method", ["best", "opengcd-svm"])
def test_in_a_drip_confirmed_groups_stay(method):
    method = make_method(method, memory_size=200, random_state=0)
    result, _ = next(run_protocol(method, blobs(), GROUPS, scenario="drip", random_state=0))
    assert result.drips[0].confirmed == 0
    assert result.drips[-1].confirmed > 0
    assert all(point.whole == point.confirmed for point in result.drips)
    assert result.confirmed_whole == 1


def test_a_method_that_ignores_what_was_confirmed_is_found_out():
    class Forgetful(RecognizerMethod):
        def discover_again(self, X, rejected, confirmed, *, progress):
            rows, found = self.discover_in_stream(X, rejected, progress=progress)
            return rows, dataclasses.replace(found, novel=np.zeros(len(rows), dtype=bool))

    method = Forgetful(make_method("best", memory_size=200, random_state=0).recognizer)
    result, _ = next(run_protocol(method, blobs(), GROUPS, scenario="drip", random_state=0))
    assert result.drips[-1].confirmed > 0
    assert result.confirmed_whole == 0


def test_without_a_drip_nothing_is_confirmed():
    assert PhaseResult(1, 5, [], 0.0).confirmed_whole is None
    older = PhaseResult.from_json(
        {"phase": 1, "known": 5, "accuracy": [], "accuracy_all": 0, "drips": [[9, 2, 2, None]]}
    )
    assert older.confirmed_whole is None


def test_another_camera_moves_all_features_alike():
    data = blobs()
    moved, original = other_camera(data.x_test, data.y_test, np.random.default_rng(0))
    assert original.tolist() == list(range(len(moved)))
    assert np.allclose(np.linalg.norm(moved, axis=1), 1)
    assert np.linalg.norm(moved.mean(0) - data.x_test.mean(0)) > 0.1
    neighbours = (moved @ moved.T - 2 * np.eye(len(moved))).argmax(1)
    assert (data.y_test[neighbours] == data.y_test).mean() > 0.9, "what is alike stays alike"


def test_an_unknown_scenario_is_an_error():
    with pytest.raises(ValueError, match="choose from usual, tail-10"):
        find_scenario("rain", takes_images=False)
    with pytest.raises(ValueError, match="rain"):
        make_cells(["cub"], ["best"], [0], scenarios=["rain"])


def test_images_cannot_be_changed_as_features_are():
    with pytest.raises(ValueError, match="best-adapted takes images"):
        make_cells(["cub"], ["best-adapted"], [0], scenarios=["shifted"])
    assert make_cells(["cub"], ["best-adapted"], [0], scenarios=["tail-10", "bursts"])


@pytest.mark.parametrize("name", list(SCENARIOS))
def test_every_scenario_runs_through_all_phases(name):
    method = make_method("best", memory_size=200, random_state=0)
    results = [result for result, _ in run_protocol(method, blobs(), GROUPS, scenario=name, random_state=0)]
    assert len(results) == 3
    first = results[0]
    new = {"one-new": 1, "no-new": 0}.get(name, 2)
    assert first.k_true == 4 + new
    assert first.k_interval[0] <= first.k <= first.k_interval[1]
    assert first.k_covered == (first.k_interval[0] <= first.k_true <= first.k_interval[1])
    if name in ("no-new", "no-known"):
        assert np.isnan(first.hna)
    else:
        assert 0 <= first.hna <= 1
    if name == "no-new":
        assert first.new_k_error is None
        assert first.learnt_share is None


def test_a_scenario_is_the_same_for_every_method_and_differs_between_seeds():
    data = blobs()

    def stream(method, seed):
        run = run_protocol(make_method(method, random_state=0), data, GROUPS, scenario="tail-10", random_state=seed)
        return next(run)[1].stream.row

    assert np.array_equal(stream("best", 0), stream("opengcd-svm", 0))
    assert not np.array_equal(stream("best", 0), stream("best", 1))


def test_the_usual_scenario_changes_nothing():
    data = blobs()
    detail = next(run_protocol(make_method("best", random_state=0), data, GROUPS, random_state=0))[1]
    assert sorted(detail.stream.row) == sorted(
        np.concatenate([data.test_rows(np.arange(6)), data.train_rows(np.arange(4, 6))])
    )


def test_a_scenario_is_part_of_the_setting_and_of_the_file_name():
    usual, tail = Cell("cub", "best", 3), Cell("cub", "best", 3, scenario="tail-10")
    assert usual.file == "cub--best--paper--discovered--full--3.json"
    assert tail.file == "cub--best--tail-10--paper--discovered--full--3.json"
    assert str(tail.setting) == "protocol paper, scenario tail-10"
    assert str(tail) == "cub best scenario tail-10 seed 3"
    assert usual.setting != tail.setting


def test_results_of_scenarios_are_kept_apart(tmp_path):
    features = save_features(tmp_path / "features")
    run = [
        "bench",
        "run",
        "--datasets",
        "blobs",
        "--methods",
        "best",
        "--features",
        features,
        "--out",
        tmp_path / "out",
    ]
    done = CliRunner().invoke(app, [str(word) for word in [*run, "--scenario", "usual,new-five"]])
    assert done.exit_code == 0, done.output
    results = read_results(tmp_path / "out")
    assert [str(setting) for setting in settings_of(results)] == ["protocol paper", "protocol paper, scenario new-five"]
    assert "--scenario new-five" in commands(results, settings_of(results)[1])
    assert "--scenario" not in commands(results, settings_of(results)[0])
    assert tidy_csv(results).startswith("protocol,learn,memory,scenario,dataset")
    tables = [table for table in scenario_tables(results) if table.title.startswith("blobs")]
    assert [row[0] for row in tables[0].rows] == ["usual", "new-five"]


@pytest.mark.parametrize(("k", "near"), [(18, True), (20, True), (16, True), (15, False), (21, False), (36, False)])
def test_trust_is_right_if_the_number_of_new_classes_is_near(k, near):
    # Of 10 new classes, 20 % are two; 21 for 18 is 13 new classes for 10.
    phase = PhaseResult(1, 8, [], 0.0, k=k, k_true=18, k_trusted=True, k_interval=[16, 20])
    assert phase.trust_right is near
    assert dataclasses.replace(phase, k_trusted=False).trust_right is not near
    assert phase.k_covered


def test_one_class_off_is_near_however_few_there_are():
    phase = PhaseResult(1, 8, [], 0.0, k=10, k_true=9, k_trusted=True)
    assert phase.trust_right
    assert not dataclasses.replace(phase, k=11).trust_right


def test_the_interval_covers_its_ends():
    phase = PhaseResult(1, 8, [], 0.0, k=14, k_true=16, k_interval=[12, 16])
    assert phase.k_covered
    assert dataclasses.replace(phase, k_true=17).k_covered is False
