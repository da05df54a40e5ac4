"""The whole loop with the preset ``best``: rejection by novelty, discovery over the stream, a second round, saving."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from opengcd import OpenWorldRecognizer, metrics
from tests.helpers.streams import fitted, open_world

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def loop():
    with threadpool_limits(1):
        X, y, stream, truth = open_world()
        recognizer = fitted(X, y).observe(stream)
        labels = recognizer.predict(stream)
        found = recognizer.discover(stream, rejected=labels == recognizer.unknown_label_)
    return recognizer, stream, truth, labels, found


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
    for k, message in [(7, "less than the 8 known"), (3000, "lower k")]:
        with pytest.raises(ValueError, match=message):
            recognizer.discover(stream, k=k)


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
    X, y, stream, _ = open_world()
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


def test_two_known_classes_and_few_rows():
    X, y, stream, _ = open_world(known=2, labelled=6)
    recognizer = fitted(X, y).observe(stream)
    assert recognizer.threshold_ is not None
    found = recognizer.discover(stream, rejected=recognizer.predict(stream) == -1)
    assert found.k >= 2
    single = fitted(np.eye(32, dtype=np.float32)[:3].repeat(2, axis=0), np.repeat([0, 1, 2], 2))
    assert len(single.predict(stream)) == len(stream)


@pytest.mark.parametrize("classifier", ["svm", LogisticRegression(), KNeighborsClassifier()])
def test_any_classifier_can_be_plugged_in(classifier):
    X, y, stream, truth = open_world()
    recognizer = fitted(X, y, classifier=classifier).observe(stream)
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
