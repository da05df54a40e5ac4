import numpy as np
import pytest
import torch

from opengcd import OpenWorldRecognizer
from opengcd._internal import kernels
from opengcd.discover import JointDiscovery, joint_discovery, joint_mixture
from opengcd.discover.mixture import MixtureSettings, StreamTensors, labelled_classes, mixtures
from opengcd.metrics import clustering_accuracy
from opengcd.osr import NoveltyRejection
from opengcd.presets import Preset
from tests.helpers.devices import DEVICES


def world(seed=0, known=3, novel=2, labelled=40, of_known=30, of_novel=60, d=10, noise=0.25):
    """Unit vectors around orthogonal directions: labelled rows, and a stream of known and novel ones."""
    rng = np.random.default_rng(seed)

    def draw(classes):
        X = np.eye(d)[classes] + noise * rng.normal(size=(len(classes), d))
        return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)

    codes = np.repeat(np.arange(known), labelled)
    truth = np.concatenate(
        [np.repeat(np.arange(known), of_known), np.repeat(np.arange(known, known + novel), of_novel)]
    )
    return draw(codes), codes, draw(truth), truth


def test_known_rows_return_and_novel_ones_are_grouped():
    L, codes, U, truth = world()
    # The rejection is poor: half of all rows, whatever they are.
    rejected = np.random.default_rng(1).random(len(U)) < 0.5
    found = joint_mixture(L, codes, U, rejected, 5, random_state=0, device="cpu")
    is_known = truth < 3
    assert (found.labels[is_known] == truth[is_known]).mean() > 0.97
    assert clustering_accuracy(truth[~is_known], found.labels[~is_known]) > 0.97
    assert (found.labels[~is_known] >= 3).mean() > 0.97
    np.testing.assert_allclose(found.sizes, [30, 30, 30, 60, 60], atol=6)
    np.testing.assert_allclose(np.linalg.norm(found.centers, axis=1), 1, rtol=1e-5)


def test_one_step_by_hand():
    # Two classes on the axes, one novel group that starts at its only rejected row.
    L, codes = np.eye(3, dtype=np.float32)[:2], np.array([0, 1])
    U = np.eye(3, dtype=np.float32)
    settings, rejected = MixtureSettings(concentration=2.0, steps=1, balance=0.0), np.array([False, False, True])
    found = joint_mixture(L, codes, U, rejected, 3, settings=settings, restarts=1, device="cpu", random_state=0)
    # Responsibilities e² : 1 : 1 around; so c_0 is (1 + a, b, b) with a = e²/(e²+2), b = 1/(e²+2), scaled.
    a, b = np.exp(2) / (np.exp(2) + 2), 1 / (np.exp(2) + 2)
    expected = np.array([[1 + a, b, b], [b, 1 + a, b], [b, b, a]])
    np.testing.assert_allclose(found.centers, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
    assert found.labels.tolist() == [0, 1, 2]


def test_a_penalty_on_size_keeps_groups_apart():
    L, codes, U, _ = world(of_known=0, of_novel=50, novel=3, noise=0.35)
    rejected = np.ones(len(U), dtype=bool)

    def smallest(balance):
        settings = MixtureSettings(balance=balance)
        return joint_mixture(L, codes, U, rejected, 6, settings=settings, random_state=0, device="cpu").sizes[3:].min()

    assert smallest(1.0) >= smallest(-1.0)
    assert smallest(1.0) > 30


def test_the_same_seed_gives_the_same_mixture_and_blocks_do_not_show(monkeypatch):
    L, codes, U, _ = world()
    rejected = np.ones(len(U), dtype=bool)
    first = joint_mixture(L, codes, U, rejected, 6, random_state=3, device="cpu")
    second = joint_mixture(L, codes, U, rejected, 6, random_state=3, device="cpu")
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.centers, second.centers)
    monkeypatch.setitem(kernels.BLOCK_BYTES, "cpu", 256)
    blocked = joint_mixture(L, codes, U, rejected, 6, random_state=3, device="cpu")
    np.testing.assert_allclose(blocked.centers, first.centers, atol=1e-3)


@pytest.mark.parametrize("device", DEVICES)
def test_mixtures_of_parts_of_the_rows_are_those_of_these_rows_alone(device):
    L, codes, U, _ = world(noise=0.4)
    rejected = np.random.default_rng(1).random(len(U)) < 0.7
    part = np.random.default_rng(2).random((3, len(U))) < 0.5
    settings = MixtureSettings(label_weight=0.1, steps=5, tries=2, start_steps=10)
    labelled, rows, rejects, parts = (
        labelled_classes(L, codes, device),
        *(kernels.to_tensor(array, device) for array in (U, rejected, part)),
    )
    centers, penalties = mixtures(labelled, StreamTensors(rows, rejects, parts), 4, [0, 1, 2], settings)
    for p in range(3):
        here = parts[p]
        alone = mixtures(labelled, StreamTensors(rows[here], rejects[here]), 4, [p], settings)
        torch.testing.assert_close(centers[p], alone[0][0], atol=1e-4, rtol=0)
        torch.testing.assert_close(penalties[p], alone[1][0], atol=1e-3, rtol=0)


@pytest.mark.parametrize("concentration", [5.0, 15.0])
def test_probabilities_of_known_classes_follow_the_concentration_of_the_mixture(concentration, monkeypatch):
    L, codes, U, truth = world()
    found_mixtures = []

    def with_concentration(*rows, settings, **options):
        settings = settings._replace(concentration=concentration)
        found_mixtures.append(joint_mixture(*rows, settings=settings, **options))
        return found_mixtures[-1]

    monkeypatch.setattr(joint_discovery, "joint_mixture", with_concentration)
    preset = Preset("mixture", "logistic", rejection=NoveltyRejection(), discovery=JointDiscovery(head=False))
    recognizer = OpenWorldRecognizer(preset=preset, random_state=0, device="cpu").fit(L, codes)
    found = recognizer.discover(U, k=5, rejected=truth >= 3)
    (mixture,) = found_mixtures
    assert mixture.concentration == concentration
    of_known = ~found.novel
    assert of_known.any()
    weights = np.exp(concentration * recognizer.in_metric(U)[of_known] @ mixture.centers.T)
    fused = recognizer.predict_proba(U)[of_known] * weights[:, :3]
    expected = weights[:, :3].sum(1) / weights.sum(1) * fused.max(1) / fused.sum(1)
    np.testing.assert_allclose(found.probabilities[of_known], expected, rtol=1e-4)


def test_bad_numbers_of_groups():
    L, codes, U, _ = world()
    with pytest.raises(ValueError, match="leaves no new group"):
        joint_mixture(L, codes, U, np.ones(len(U), bool), 3)
    with pytest.raises(ValueError, match="of 1 rejected rows"):
        joint_mixture(L, codes, U, np.arange(len(U)) == 0, 5)
