"""The preset ``best``: rejection by novelty, discovery over the stream, the number of classes by rehearsal."""

import dataclasses

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from opengcd import OpenWorldRecognizer, metrics
from opengcd._internal.whitening import WithinClassWhitening
from opengcd.discover import JointDiscovery, KMeansDiscovery, joint_discovery, refine
from opengcd.discover import rehearsal as rehearsal_module
from opengcd.discover.mixture import StreamTensors, labelled_classes
from opengcd.discover.refinement import imbalance
from opengcd.discover.rehearsal import Evidence, SizePrior, weigh
from opengcd.memory import ExemplarMemory
from opengcd.osr import NoveltyRejection
from opengcd.presets import PRESETS, Preset


@pytest.fixture(autouse=True)
def one_thread():
    """Small arrays; threads would only wait for each other."""
    with threadpool_limits(1):
        yield


def draw(classes, rng, d=32, spread=0.35):
    """Rows around directions that are the same in every world."""
    directions = np.random.default_rng(7).normal(size=(40, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return (directions[classes] + spread / np.sqrt(d) * 2 * rng.normal(size=(len(classes), d))).astype(np.float32)


def world(known=8, novel=4, labelled=40, of_known=20, of_novel=60, seed=0, **more):
    """Labelled rows, and a stream of known and new classes: as many rows of a class in all, whichever it is."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(known), labelled)
    truth = rng.permutation(
        np.concatenate([np.repeat(np.arange(known), of_known), np.repeat(np.arange(known, known + novel), of_novel)])
    )
    return draw(y, rng, **more), y, draw(truth, rng, **more), truth


def fitted(X, y, **settings):
    return OpenWorldRecognizer(**({"random_state": 0, "device": "cpu", "max_classes": 40} | settings)).fit(X, y)


@pytest.fixture(scope="module")
def loop():
    with threadpool_limits(1):
        X, y, stream, truth = world()
        recognizer = fitted(X, y).observe(stream)
        labels = recognizer.predict(stream)
        found = recognizer.discover(stream, rejected=labels == recognizer.unknown_label_)
    return recognizer, stream, truth, labels, found


def test_best_is_the_default():
    assert OpenWorldRecognizer().preset == "best"
    assert next(iter(PRESETS)) == "best"


def test_new_classes_are_rejected_counted_and_grouped(loop):
    _, _, truth, labels, found = loop
    assert metrics.hna(truth, labels, range(8)) > 0.9
    assert found.k == 12
    assert found.k_interval[0] <= 12 <= found.k_interval[1]
    assert metrics.hca(truth, found.labels, range(8)) > 0.95
    assert found.trusted


def test_groups_have_sizes_probabilities_and_spread(loop):
    _, stream, truth, _, found = loop
    assert [len(group) for group in found.groups] == sorted((len(group) for group in found.groups), reverse=True)
    assert sum(len(group) for group in found.groups) == found.novel.sum()
    assert found.probabilities.shape == (len(stream),)
    assert ((found.probabilities > 0) & (found.probabilities <= 1)).all()
    for group in found.groups:
        assert 0.5 < group.probability <= 1
        assert group.spread > 0
        # Most typical first: the first half is at least as close to the centre as the second.
        assert len(np.unique(truth[group.rows[:10]])) == 1
    assert [point.k for point in found.curve] == sorted(point.k for point in found.curve)


def test_the_same_seed_gives_the_same(loop):
    recognizer, stream, _, labels, found = loop
    again = recognizer.discover(stream, rejected=labels == recognizer.unknown_label_)
    assert np.array_equal(found.labels, again.labels)
    assert np.array_equal(found.probabilities, again.probabilities)
    assert found.curve == again.curve


def test_rejected_rows_alone_can_be_grouped_too(loop):
    recognizer, stream, truth, labels, _ = loop
    rejected = labels == recognizer.unknown_label_
    found = recognizer.discover(stream[rejected])
    assert abs(found.k - 12) <= 1
    novel = truth[rejected] >= 8
    assert metrics.clustering_accuracy(truth[rejected][novel], found.labels[novel]) > 0.8


def test_a_number_that_is_given_is_kept(loop):
    recognizer, stream, *_ = loop
    found = recognizer.discover(stream, k=10)
    assert (found.k, found.k_interval, found.curve) == (10, (10, 10), [])
    assert all(group.probability is None for group in found.groups)
    assert not recognizer.discover(stream, k=8).groups  # no new class: all rows are named
    for k, message in [(7, "less than the 8 known"), (3000, "lower it")]:
        with pytest.raises(ValueError, match=message):
            recognizer.discover(stream, k=k)


def test_the_threshold_follows_the_stream_and_says_so():
    X, y, stream, _ = world()
    recognizer = fitted(X, y)
    assert recognizer.threshold_.source == "labelled"
    assert recognizer.adapts
    recognizer.observe(stream[:50])
    assert recognizer.threshold_.source == "labelled"  # 50 rows say little
    recognizer.observe(stream[50:])
    assert recognizer.threshold_.source == "stream"
    assert recognizer.threshold_.known_share == pytest.approx(0.4, abs=0.1)
    recognizer.learn(stream[:20], np.full(20, 8))
    assert recognizer.threshold_.source == "labelled"


def test_a_bound_is_kept_whatever_comes():
    X, y, stream, truth = world(of_known=200)
    recognizer = fitted(X, y, max_known_rejected=0.05)
    assert not recognizer.adapts
    recognizer.observe(stream)
    assert recognizer.threshold_.source == "bound"
    known = truth < 8
    assert (recognizer.predict(stream[known]) == recognizer.unknown_label_).mean() < 0.1
    with pytest.raises(ValueError, match="share from 0 to 1"):
        fitted(X, y, max_known_rejected=5)


def test_a_bound_can_be_set_and_lifted_after_fit():
    X, y, stream, _ = world(of_known=200)
    recognizer = fitted(X, y).observe(stream)
    free, scores = recognizer.threshold_, recognizer.unknown_score(stream)
    assert recognizer.threshold_for(0.05) == fitted(X, y, max_known_rejected=0.05).threshold_
    assert recognizer.threshold_ == free
    assert recognizer.limit_rejection(0.05).threshold_ == fitted(X, y, max_known_rejected=0.05).threshold_
    assert not recognizer.adapts
    assert recognizer.threshold_for(None, scores) == free
    assert recognizer.limit_rejection(None).recall(scores).threshold_ == free
    with pytest.raises(ValueError, match="share from 0 to 1"):
        recognizer.limit_rejection(-1)
    with pytest.raises(ValueError, match="cannot be limited"):
        fitted(X, y, preset="paper", alpha=1.0).limit_rejection(0.1)


def test_settings_that_do_not_go_together():
    X, y, *_ = world()
    with pytest.raises(ValueError, match=r"'novelty' of preset 'best' has no setting alpha; .* has it: paper, robust"):
        fitted(X, y, alpha=1.0)
    with pytest.raises(ValueError, match=r"needs a rejection by a score with a threshold.*not 'uncertainty'"):
        Preset("mine", discovery=JointDiscovery())
    with pytest.raises(ValueError, match="Unknown search 'rehearsal'"):
        Preset("mine", discovery=KMeansDiscovery(search="rehearsal"))
    with pytest.raises(ValueError, match="search of joint discovery must be one of rehearsal, size, not 'paper'"):
        Preset("mine", rejection=NoveltyRejection(), discovery=JointDiscovery(search="paper"))
    with pytest.raises(ValueError, match=r"pass X\[rejected\]"):
        fitted(X, y, preset="paper").discover(X, rejected=np.zeros(len(X), dtype=bool))
    with pytest.raises(ValueError, match="rejection must be a Rejection, not 'guess'"):
        Preset("mine", rejection="guess")
    with pytest.raises(ValueError, match="discovery must be a DiscoveryStrategy, not 'guess'"):
        Preset("mine", discovery="guess")
    with pytest.raises(ValueError, match="The preset was changed after fit"):
        fitted(X, y, preset="paper", alpha=1.0).set_params(preset="best", alpha="search").discover(X)


def test_probabilities_agree_with_labels(loop):
    recognizer, stream, _, labels, _ = loop
    p = recognizer.recognize(stream).probabilities
    np.testing.assert_allclose(p.sum(1), 1)
    rejected = labels == recognizer.unknown_label_
    assert np.array_equal(rejected, p[:, 0] > 0.5)
    assert np.array_equal(recognizer.classes_[p[~rejected, 1:].argmax(1)], labels[~rejected])
    score = recognizer.unknown_score(stream)
    assert score[rejected].min() > score[~rejected].max()


def test_one_at_a_time_equals_a_batch(loop):
    recognizer, stream, _, labels, _ = loop
    assert [recognizer.predict(row)[0] for row in stream[:20]] == labels[:20].tolist()
    assert len(recognizer.predict(stream[:0])) == 0
    assert not recognizer.discover(stream[:0]).groups


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**20])
def test_the_unit_of_the_features_does_not_matter(scale, loop):
    X, y, stream, _ = world()
    recognizer, _, _, labels, found = loop
    other = fitted(X * scale, y).observe(stream * scale)
    assert np.mean(other.predict(stream * scale) == labels) > 0.999
    again = other.discover(stream * scale, rejected=labels == recognizer.unknown_label_)
    assert again.k == found.k
    assert np.mean(again.labels == found.labels) > 0.99


def test_confirmed_groups_count_as_labels_in_a_second_round(loop):
    recognizer, stream, truth, labels, found = loop
    confirmed = np.full(len(stream), -1)
    first, second = found.groups[0].rows[:15], found.groups[1].rows[:15]
    confirmed[first], confirmed[second] = 100, 101
    put_back = np.flatnonzero(truth == 3)[:5]
    confirmed[put_back] = 3
    again = recognizer.discover(stream, rejected=labels == -1, confirmed=confirmed)
    told = confirmed != -1
    assert np.array_equal(again.labels[told], confirmed[told])
    assert (again.probabilities[told] == 1).all()
    by_label = {group.label: group for group in again.groups}
    for label, rows in [(100, first), (101, second)]:
        of_class = truth == np.bincount(truth[rows]).argmax()
        assert (again.labels[of_class] == label).mean() > 0.8  # the others of the class have joined
        assert by_label[label].probability == 1
        assert again.novel[of_class].mean() > 0.9
    assert again.k == 12
    assert np.array_equal(recognizer.discover(stream, confirmed=np.full(len(stream), -1)).labels,
                          recognizer.discover(stream).labels)  # fmt: skip


def test_a_second_round_in_the_papers_preset():
    X, y, stream, _ = world()
    recognizer = fitted(X, y, preset="paper")
    rejected = stream[recognizer.predict(stream) == -1]
    confirmed = np.full(len(rejected), -1)
    confirmed[:3] = 50
    found = recognizer.discover(rejected, k=12, confirmed=confirmed)
    assert (found.labels[:3] == 50).all()
    assert found.k == 12
    for labels, message in [(confirmed[:5], "5 labels"), (np.full(len(rejected), "a"), "known classes are like")]:
        with pytest.raises(ValueError, match=message):
            recognizer.discover(rejected, confirmed=labels)
    with pytest.raises(ValueError, match="one truth value for each"):
        recognizer.discover(rejected, rejected=np.ones(3, dtype=bool))


@pytest.mark.parametrize("novel", [0, 1, 8])
def test_none_one_and_as_many_new_classes_as_known(novel):
    X, y, stream, truth = world(novel=novel)
    recognizer = fitted(X, y).observe(stream)
    found = recognizer.discover(stream, rejected=recognizer.predict(stream) == -1)
    assert abs(found.k - 8 - novel) <= 1
    known = truth < 8
    assert (found.labels[known] == truth[known]).mean() > 0.9


def test_a_short_stream_after_much_was_labelled():
    X, y, stream, truth = world(labelled=200, of_known=8, of_novel=8)  # by size in all, 0.15 new classes
    recognizer = fitted(X, y).observe(stream)
    found = recognizer.discover(stream, rejected=recognizer.predict(stream) == -1)
    assert abs(found.k - 12) <= 1
    assert metrics.hca(truth, found.labels, range(8)) > 0.75


def test_a_stream_without_any_known_row():
    X, y, stream, truth = world()
    novel = stream[truth >= 8]
    recognizer = fitted(X, y).observe(novel)
    found = recognizer.discover(novel, rejected=recognizer.predict(novel) == -1)
    assert abs(found.k - 12) <= 1
    assert found.novel.mean() > 0.95


def test_duplicates_do_no_harm():
    X, y, stream, _ = world()
    twice = np.repeat(stream, 2, axis=0)
    recognizer = fitted(X, y).observe(twice)
    found = recognizer.discover(twice, rejected=recognizer.predict(twice) == -1)
    assert (found.labels[::2] == found.labels[1::2]).mean() > 0.99


def test_a_long_tail():
    X, y, _, _ = world()
    rng = np.random.default_rng(5)
    sizes = np.geomspace(200, 20, 4).astype(int)
    truth = np.concatenate([np.repeat(np.arange(8), 20), np.repeat(np.arange(8, 12), sizes)])
    stream = draw(truth, rng)
    recognizer = fitted(X, y).observe(stream)
    found = recognizer.discover(stream, rejected=recognizer.predict(stream) == -1)
    assert abs(found.k - 12) <= 2
    assert metrics.hca(truth, found.labels, range(8)) > 0.7


@pytest.mark.parametrize("rows", [1, 3, 12])
def test_a_handful_of_rows(rows):
    X, y, stream, truth = world()
    few = stream[truth >= 8][:rows]
    found = fitted(X, y).discover(few)
    assert len(found.labels) == rows
    assert found.k in range(8, 8 + rows + 1)


def test_two_known_classes_and_few_rows():
    X, y, stream, _ = world(known=2, labelled=6)
    recognizer = fitted(X, y).observe(stream)
    assert recognizer.threshold_ is not None
    found = recognizer.discover(stream, rejected=recognizer.predict(stream) == -1)
    assert found.k >= 2
    single = fitted(np.eye(32, dtype=np.float32)[:3].repeat(2, axis=0), np.repeat([0, 1, 2], 2))
    assert len(single.predict(stream)) == len(stream)


def test_classes_of_one_row_each():
    X, y, stream, _ = world()
    first = np.unique(y, return_index=True)[1]
    with pytest.raises(ValueError, match="none can be held out; add rows"):
        fitted(X[first], y[first])
    some = np.append(first, 1)  # one class with two rows is enough
    assert len(fitted(X[some], y[some]).predict(stream)) == len(stream)


@pytest.mark.parametrize("classifier", ["svm", LogisticRegression(), KNeighborsClassifier()])
def test_any_classifier_can_be_plugged_in(classifier):
    X, y, stream, truth = world()
    recognizer = fitted(X, y, classifier=classifier).observe(stream)
    found = recognizer.discover(stream, rejected=recognizer.predict(stream) == -1)
    assert metrics.hca(truth, found.labels, range(8)) > 0.8


REDUCED = {
    "whiten": {"rejection": NoveltyRejection(whiten=False)},
    "neighbours": {"rejection": NoveltyRejection(neighbours=False)},
    "adapt": {"rejection": NoveltyRejection(adapt=False)},
    "over_stream": {"discovery": JointDiscovery(over_stream=False)},
    "search": {"discovery": JointDiscovery(search="size")},
    "head": {"discovery": JointDiscovery(head=False)},
}


@pytest.mark.parametrize("part", REDUCED)
def test_every_part_can_be_left_out(part):
    X, y, stream, truth = world()
    preset = dataclasses.replace(PRESETS["best"], **REDUCED[part])
    recognizer = fitted(X, y, preset=preset).observe(stream)
    assert recognizer.discovers_from == ("rejected" if part == "over_stream" else "stream")
    assert (recognizer.threshold_.source == "labelled") == (part == "adapt")
    found = recognizer.discover(stream, rejected=recognizer.predict(stream) == -1)
    assert metrics.hca(truth, found.labels, range(8)) > 0.8


def test_saved_and_loaded_it_says_the_same(loop, tmp_path):
    recognizer, stream, _, labels, found = loop
    recognizer.save(tmp_path / "model")
    again = OpenWorldRecognizer.load(tmp_path / "model", device="cpu")
    assert again.threshold_ == recognizer.threshold_
    assert again.get_params() == recognizer.get_params()
    assert again.memory_.seen == recognizer.memory_.seen
    assert np.array_equal(again.recognize(stream).probabilities, recognizer.recognize(stream).probabilities)
    same = again.discover(stream, rejected=labels == -1)
    assert np.array_equal(same.labels, found.labels)
    again.observe(stream)
    assert again.threshold_.source == "stream"


def test_the_loop_on_digits():
    D, truth = load_digits(return_X_y=True)
    train = np.arange(len(truth)) % 2 == 0
    start = train & (truth < 4)
    recognizer = OpenWorldRecognizer(device="cpu", random_state=0).fit(D[start], truth[start])
    for known in (4, 6, 8):
        old, new = ~train & (truth < known), train & (truth >= known) & (truth < known + 2)
        stream, answer = D[old | new], truth[old | new]
        recognizer.observe(stream)
        found = recognizer.discover(stream, rejected=recognizer.predict(stream) == -1)
        assert abs(found.k - known - 2) <= 1
        assert metrics.accuracy(truth[old], recognizer.predict_closed(D[old])) > 0.85
        assert metrics.hca(answer, found.labels, range(known)) > 0.55
        reviewed = np.flatnonzero(found.novel & (answer >= known))
        recognizer.learn(stream[reviewed], answer[reviewed])
        assert len(recognizer.memory_) <= start.sum()
    assert recognizer.phase_ == 4


# The parts.


def test_agreement_falls_when_there_are_more_groups_than_classes():
    X, y, stream, truth = world(spread=0.3)
    rejected = truth >= 8
    rows = np.argsort(y, kind="stable")
    metric = WithinClassWhitening(device="cpu").fit(X, y)
    L, U = metric.transform(X[rows]), metric.transform(stream)
    labelled = labelled_classes(L, y[rows], "cpu")
    seen = StreamTensors(torch.as_tensor(U), torch.as_tensor(rejected))
    values = {q: rehearsal_module.agreement(labelled, seen, q, 3, 0) for q in (4, 8, 16)}
    assert values[4] > 0.95
    assert values[4] > values[8] > values[16]
    assert np.isnan(rehearsal_module.agreement(labelled, StreamTensors(seen.rows[:5], seen.rejected[:5]), 10, 3, 0))


def rehearsed(agreement, beyond=float("nan")):
    return rehearsal_module.Rehearsal(agreement, beyond, np.empty(0), np.empty(0, dtype=bool))


def test_agreement_and_size_are_weighed():
    # Agreement is as rehearsed up to four groups and falls off a cliff; sizes say six.
    agreements = np.array([1.0, 1.0, 0.98, 0.4, 0.3])
    three = [rehearsed(0.98), rehearsed(0.97), rehearsed(0.99)]
    grid = [1, 2, 4, 8, 16]
    found = weigh(10, Evidence(grid, agreements, three), SizePrior(6.0, 0.5, 30))
    assert 13 <= found.k <= 15
    assert found.interval[0] <= found.k <= found.interval[1]
    # Without a rehearsal only sizes speak.
    alone = weigh(10, Evidence(grid, agreements, []), SizePrior(6.0, 0.5, 30))
    assert 15 <= alone.k <= 19
    # A flat curve says nothing either, and the estimate says how little is known.
    flat = weigh(10, Evidence(grid, np.full(5, 0.5), [rehearsed(0.5)] * 2), SizePrior(6.0, 1.0, 60))
    assert not flat.trusted
    assert "any number of classes from" in flat.reason


def test_few_classes_are_counted_by_what_one_group_too_many_does():
    # Two classes merge without disagreement (1.0), but a chance group would agree by 0.4 and not by 1.0.
    evidence = Evidence([1, 2, 3], np.array([1.0, 1.0, 0.4]), [rehearsed(1.0, 0.4)] * 2)
    found = weigh(4, evidence, SizePrior(2.0, 0.5, 3))
    log_p = {point.k: point.score for point in found.curve}
    # By hand: q = 1 has 0.6^2 / (2 * 0.16^2) = 7.031 for A(2), ln(2)^2 / 0.5 = 0.961 for size, ln 2 for 1 / q, and
    # ln 0.5 because two groups agree as well; q = 2 has ln Phi(3.75) = -0.0001.
    assert log_p[5] - log_p[6] == pytest.approx(-7.0313 - 0.9609 + 0.6931 - 0.6931, abs=1e-3)
    assert found.k == 6


@pytest.mark.parametrize(("expected", "novel"), [(1.2, 1), (1.8, 2), (3.0, 3)])
def test_of_two_numbers_as_likely_the_larger_is_taken(expected, novel):
    # By size alone, 1 and 2 have exp(-2 ln(1.8)^2) = 0.50 and exp(-2 ln(1.8 / 2)^2) / 2 = 0.49; for 1.2, 0.94 and 0.30.
    assert weigh(4, Evidence([], np.empty(0), []), SizePrior(expected, 0.5, 20)).k == 4 + novel


def test_hidden_and_new_classes_are_of_one_size():
    assert rehearsal_module.matched_sample(1000, 1000, 50.0, 80) == (1000, 50)
    assert rehearsal_module.matched_sample(1000, 1000, 50.0, 25) == (500, 25)  # the stream is thinned out
    assert rehearsal_module.matched_sample(60_000, 6000, 500.0, 80) == (6000, 50)


def test_class_probabilities_are_calibrated_on_rehearsals():
    rehearsals = [
        rehearsal_module.Rehearsal(1.0, 0.5, np.array([0.9, 0.8, 0.95, 0.2]), np.array([True, True, True, False])),
        rehearsal_module.Rehearsal(1.0, 0.5, np.array([0.85, 0.3, 0.1]), np.array([True, False, False])),
    ]
    low, high = rehearsal_module.calibrate(rehearsals)(np.array([0.1, 0.95]))
    assert low < 0.5 < high
    assert rehearsal_module.calibrate([])(np.zeros(2)).tolist() == [0.5, 0.5]
    all_real = rehearsal_module.Rehearsal(1.0, 0.5, np.full(8, 0.9), np.ones(8, dtype=bool))
    assert rehearsal_module.calibrate([all_real])(np.zeros(1)).tolist() == [0.9]


def around_axes(truth, spread, rng):
    """Unit vectors, those of a class around an axis of its own."""
    U = np.eye(8)[truth] + spread * rng.normal(size=(len(truth), 8))
    return (U / np.linalg.norm(U, axis=1, keepdims=True)).astype(np.float32)


def test_the_head_brings_stray_prototypes_to_their_rows():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 50)
    U = around_axes(truth, 0.15, rng)
    L, codes = U[::5][:20], truth[::5][:20]
    start = np.eye(8)[:4] + 0.5 * rng.normal(size=(4, 8))
    start[:2] = np.eye(8)[:2]
    start = (start / np.linalg.norm(start, axis=1, keepdims=True)).astype(np.float32)
    before = U @ start.T
    after = refine(L, codes, U, start, np.full(4, 50.0), random_state=0, device="cpu")
    own = np.arange(200), truth
    assert after[own].mean() > before[own].mean() + 0.05
    assert (after.argmax(1) == truth).mean() > 0.95
    np.testing.assert_array_equal(after, refine(L, codes, U, start, np.full(4, 50.0), random_state=0, device="cpu"))


def test_imbalance_by_hand():
    target = torch.tensor([0.5, 0.5, 1 / 3, 2 / 3])
    # Known: 0.4 KL((1/4, 3/4) || (1/2, 1/2)) = 0.4 (ln(1/2)/4 + 3 ln(3/2)/4); novel ones are as they should be.
    uneven = imbalance(torch.tensor([0.1, 0.3, 0.2, 0.4]), target, known=2)
    assert float(uneven) == pytest.approx(0.4 * 0.130812, abs=1e-5)
    # How much of the whole is known does not matter.
    assert float(imbalance(torch.tensor([0.01, 0.01, 0.98 / 3, 1.96 / 3]), target, known=2)) == pytest.approx(
        0, abs=1e-6
    )


def test_the_head_leaves_large_new_classes_large():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), [40, 40, 500, 500])
    U = around_axes(truth, 0.35, rng)
    L, codes = U[:80:2], truth[:80:2]
    sizes = np.bincount(truth)
    cosines = refine(L, codes, U, np.eye(8, dtype=np.float32)[:4], sizes, random_state=0, device="cpu")
    novel = truth >= 2
    assert (cosines.argmax(1) < 2)[novel].mean() < 0.1
    assert (cosines.argmax(1) == truth).mean() > 0.9


def test_a_head_that_empties_the_new_groups_is_not_followed(monkeypatch):
    X, y, stream, _ = world()
    headless = dataclasses.replace(PRESETS["best"], discovery=JointDiscovery(head=False))
    without = fitted(X, y, preset=headless).discover(stream, 12).labels

    def emptying(L, codes, U, centers, sizes, **_):
        return np.tile(-np.arange(len(centers)), (len(U), 1))  # the first known class wins every row

    monkeypatch.setattr(joint_discovery, "refine", emptying)
    np.testing.assert_array_equal(fitted(X, y).discover(stream, 12).labels, without)


def test_known_rows_alone_are_not_thrown_away():
    for seed in range(4):
        X, y, stream, _ = world(novel=0, of_known=40, seed=seed)
        recognizer = fitted(X, y).observe(stream)
        assert recognizer.threshold_.known_rejected < 0.2
        assert (recognizer.predict(stream) == -1).mean() < 0.25


def test_a_batch_much_smaller_than_what_was_labelled():
    X, y, _, _ = world(labelled=200)
    rng = np.random.default_rng(3)
    truth = np.repeat(np.arange(8, 12), 20)
    batch = draw(truth, rng)
    found = fitted(X, y).discover(batch)
    assert found.k > 8
    assert found.novel.mean() > 0.9


def test_a_given_number_is_kept_though_hardly_anything_was_rejected():
    X, y, stream, truth = world()
    found = fitted(X, y).discover(stream, k=12, rejected=np.zeros(len(stream), dtype=bool))
    assert metrics.hca(truth, found.labels, range(8)) > 0.8


def test_features_without_information():
    recognizer = fitted(np.ones((40, 3)), np.arange(40) % 4)
    assert recognizer.threshold_.known_rejected < 0.1
    assert np.isfinite(recognizer.threshold_.value)


def test_a_class_that_was_cut_is_only_cut_further():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 5)), np.repeat([0, 1, 2], 30)
    memory = ExemplarMemory(40, "herding", 0, "cpu", rank_once=True)
    memory.update(X[y < 2], y[y < 2])
    order = memory.X[memory.y == 0]
    memory.update(X[y == 2], y[y == 2])
    np.testing.assert_array_equal(memory.X[memory.y == 0], order[: (memory.y == 0).sum()])
    assert len(memory) == 40
    assert memory.seen == {0: 30, 1: 30, 2: 30}
    memory.update(X[:3] + 1, y[:3])  # it brought something new: chosen anew
    assert memory.seen[0] == 33
    by_order = ExemplarMemory(4, "authors", 0, "cpu", rank_once=True)  # whose most important rows come last
    by_order.update(X[:10], y[:10])
    by_order.update(X[30:40], y[30:40])
    chosen = ExemplarMemory(4, "authors", 0, "cpu")
    chosen.update(X[:10], y[:10])
    chosen.update(X[30:40], y[30:40])
    np.testing.assert_array_equal(by_order.X, chosen.X)
