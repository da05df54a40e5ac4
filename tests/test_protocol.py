import numpy as np
import pytest

from opengcd import OpenWorldRecognizer
from opengcd.bench import Dataset, class_groups, run_protocol
from opengcd.discover import Discovery, Group


def line_world(n=6):
    """Class c lies at (c, 0), (c, 1), ...: the first n rows for training, the next n for testing."""
    y = np.repeat(np.arange(8), n)
    X = np.stack([y, np.tile(np.arange(n), 8)], axis=1).astype(np.float32)
    return Dataset("line", X, y, X + np.float32([0, 100]), y.copy(), [str(c) for c in range(8)])


class Oracle:
    """Reads the class off the first feature; knows what it was taught; forgets to reject class ``blind``."""

    unknown_label_ = -1

    def __init__(self, blind=None):
        self.blind = blind
        self.taught = []

    def fit(self, X, y, *, progress=None):
        self.classes_ = set(y.tolist())
        self.taught.append((X, y))

    def learn(self, X, y, *, progress=None):
        self.classes_ |= set(y.tolist())
        self.taught.append((X, y))

    def predict(self, X):
        c = X[:, 0].astype(int)
        known = np.isin(c, list(self.classes_))
        return np.where(known, c, np.where(c == self.blind, 0, -1))

    def predict_closed(self, X):
        return X[:, 0].astype(int)

    def unknown_score(self, X):
        return (self.predict(X) == -1).astype(float)

    def discover(self, X, *, progress=None):
        c = X[:, 0].astype(int)
        groups = [Group(g, np.flatnonzero(c == g), X[:1], 0.0) for g in np.unique(c)]
        return Discovery(c, len(self.classes_) + len(groups), [], groups, np.ones(len(c), bool), True)


def test_a_perfect_method_scores_perfectly_and_never_sees_a_test_row():
    data, groups = line_world(), [np.arange(4), np.array([4, 5]), np.array([6, 7])]
    oracle = Oracle()
    results = [result for result, _ in run_protocol(oracle, data, groups, random_state=0)]
    assert [r.phase for r in results] == [1, 2, 3]
    assert all(r.accuracy == [1.0] * r.phase for r in results)
    for r in results[:2]:
        assert (r.hna, r.hca, r.auroc, r.acc, r.learnt_share, r.missing_classes) == (1, 1, 1, 1, 1, 0)
        # Stream: 6 test rows of each known class; 12 rows of two new classes: all rejected.
        assert (r.rejected, r.k, r.k_true) == (24, r.known + 2, r.known + 2)
        assert r.actions == 4  # two names, two confirmations
    assert results[2].hna is None
    for X, _ in oracle.taught:
        assert (X[:, 1] < 100).all()
    assert [sorted(set(y.tolist())) for _, y in oracle.taught] == [[0, 1, 2, 3], [4, 5], [6, 7]]


def test_a_class_never_discovered_is_reported_and_breaks_nothing():
    data, groups = line_world(), [np.arange(4), np.array([4, 5]), np.array([6, 7])]
    results = [result for result, _ in run_protocol(Oracle(blind=5), data, groups, random_state=0)]
    assert (results[0].missing_classes, results[0].learnt_share) == (1, 0.5)
    assert results[0].osr_parts.aus == 0.5
    # In phase 2 class 5 counts as known, and as an error: 5 of 6 known classes right.
    assert results[1].osr_parts.aks == pytest.approx(5 / 6)
    assert len(results) == 3


def test_groups_are_never_taken_for_classes():
    # The oracle numbers its groups like the true classes; HCA must not profit where labels happen to agree.
    class Swapped(Oracle):
        def discover(self, X, *, progress=None):
            found = super().discover(X)
            return Discovery(found.labels * 0, found.k, [], found.groups, found.novel, True)

    data, groups = line_world(), [np.arange(4), np.array([4, 5])]
    first = next(iter(run_protocol(Swapped(), data, groups, random_state=0)))[0]
    # All novel rows in one group that bears the number of known class 0: one of two classes is matched.
    assert first.gcd_parts.ans == 0.5


def test_class_groups():
    groups = class_groups(10, (4, 2, 2, 2), 0)
    assert [len(g) for g in groups] == [4, 2, 2, 2]
    assert sorted(np.concatenate(groups).tolist()) == list(range(10))
    assert any((a != b).any() for a, b in zip(groups, class_groups(10, (4, 2, 2, 2), 1), strict=True))
    with pytest.raises(ValueError, match="need 12 classes"):
        class_groups(10, (4, 8), 0)


def test_the_recogniser_follows_the_protocol_reproducibly():
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(8, 6)) * 6
    y = np.repeat(np.arange(8), 30)
    train, test = (centers[y] + rng.normal(size=(240, 6)) for _ in range(2))
    data = Dataset("blobs", train, y, test, y, [str(c) for c in range(8)])
    groups = class_groups(8, (4, 2, 2), 1)

    def run():
        method = OpenWorldRecognizer(max_classes=20, random_state=0)
        return [result for result, _ in run_protocol(method, data, groups, random_state=0)]

    first, second = run(), run()
    for a, b in zip(first, second, strict=True):
        a.seconds = b.seconds = {}
    assert first == second
    assert first[0].accuracy_all > 0.97
    assert first[0].hna > 0.7
