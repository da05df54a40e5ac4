"""Training: reproducible, resumable, and with less memory if need be."""

import numpy as np
import pytest
import torch

from opengcd.adapt import AdaptError, AdaptSettings, embed_crops, kept_out, train_network
from opengcd.adapt.adaptation import training_rows
from opengcd.adapt.sources import kept_views
from opengcd.adapt.trainable import TrainableNetwork
from opengcd.adapt.training import Trainer

SETTINGS = AdaptSettings(epochs=4, batch_size=16, learning_rate=0.01, rank=4, blocks=1)


class StoppedError(Exception):
    """Ends a training as an interruption would."""


def weights(network):
    return {name: value.clone() for name, value in network.model.state_dict().items()}


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


def separation(X, codes):
    """Return by how much rows are more alike within classes than between them."""
    Z = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosines, equal = Z @ Z.T, codes[:, None] == codes[None]
    np.fill_diagonal(equal, False)
    return cosines[equal].mean() - cosines[codes[:, None] != codes[None]].mean()


@pytest.mark.parametrize("method", ["lora", "blocks"])
def test_training_separates_the_classes(backbone, images, method):
    settings = AdaptSettings(method=method, epochs=6, batch_size=16, learning_rate=0.01, blocks=1)
    found = train_network(backbone, images, settings)
    before, after = (embed_crops(network, images.crops) for network in (backbone, found.network))
    out = ~found.trained
    assert separation(after[out], images.codes[out]) > separation(before[out], images.codes[out])
    assert found.curve[-1].loss < found.curve[0].loss
    assert np.array_equal(out, kept_out(images.keys, images.codes, settings.kept_out))


def test_the_same_seed_gives_the_same_weights(backbone, images):
    one, same_seed = (train_network(backbone, images, SETTINGS, random_state=3) for _ in range(2))
    other = train_network(backbone, images, SETTINGS, random_state=4)
    assert same(weights(one.network), weights(same_seed.network))
    assert one.curve == same_seed.curve
    assert not same(weights(one.network), weights(other.network))


@pytest.mark.parametrize("after", [1, 3])
@pytest.mark.parametrize("blocks", [1, 2])
def test_an_interrupted_training_goes_on(backbone, images, tmp_path, after, blocks):
    settings = AdaptSettings(epochs=4, batch_size=16, learning_rate=0.01, blocks=blocks)
    whole = train_network(backbone, images, settings)

    def stop(point):
        if point.epoch == after:
            raise StoppedError

    with pytest.raises(StoppedError):
        train_network(backbone, images, settings, scratch=tmp_path / "scratch", on_epoch=stop)
    epochs = []
    resumed = train_network(
        backbone, images, settings, scratch=tmp_path / "scratch", on_epoch=lambda p: epochs.append(p.epoch)
    )
    assert epochs == list(range(after + 1, 5))
    assert same(weights(resumed.network), weights(whole.network))
    assert resumed.curve == whole.curve


def test_a_damaged_checkpoint_starts_again(backbone, images, tmp_path):
    scratch = tmp_path / "scratch"
    whole = train_network(backbone, images, SETTINGS, scratch=scratch)
    (scratch / "training.safetensors").write_bytes(b"nothing of the kind")
    assert same(weights(train_network(backbone, images, SETTINGS, scratch=scratch).network), weights(whole.network))


def test_kept_activations_of_other_images_are_not_used(backbone, images, tmp_path):
    scratch = tmp_path / "scratch"
    train_network(backbone, images, SETTINGS, scratch=scratch)
    (scratch / "training.safetensors").unlink()
    others = images._replace(crops=images.crops[::-1].copy())
    again = train_network(backbone, others, SETTINGS, scratch=scratch)
    assert same(weights(again.network), weights(train_network(backbone, others, SETTINGS).network))


def test_too_little_memory_halves_the_batch(backbone, images, monkeypatch):
    sizes = []
    through = TrainableNetwork.features_from

    def narrow(network, activations, side):
        sizes.append(len(activations))
        if len(activations) > 16 and torch.is_grad_enabled():
            raise torch.OutOfMemoryError
        return through(network, activations, side)

    monkeypatch.setattr(TrainableNetwork, "features_from", narrow)
    found = train_network(backbone, images, SETTINGS)
    assert [point.epoch for point in found.curve] == [1, 2, 3, 4]
    assert 32 in sizes
    assert 16 in sizes


def test_memory_for_nothing_is_said(backbone, images, monkeypatch):
    def none(network, activations, side):
        if torch.is_grad_enabled():
            raise torch.OutOfMemoryError
        return torch.randn(len(activations), 16)

    monkeypatch.setattr(TrainableNetwork, "features_from", none)
    with pytest.raises(AdaptError, match="train fewer blocks"):
        train_network(backbone, images, SETTINGS)


def test_training_stops_early_and_keeps_its_best_epoch(backbone, images, monkeypatch):
    # The loss on images kept out is best after epoch 2, and worse from then on.
    losses = iter([3.0, 2.0, 2.5, 2.6, 2.7, 2.8])
    states = []

    def evaluate(trainer, prototypes):
        states.append({name: p.detach().clone() for name, p in trainer.network.parameters().items()})
        return 0.5, next(losses)

    monkeypatch.setattr(Trainer, "evaluate", evaluate)
    settings = AdaptSettings(epochs=6, batch_size=16, patience=3, method="blocks", blocks=1)
    found = train_network(backbone, images, settings)
    assert [point.epoch for point in found.curve] == [1, 2, 3, 4, 5]
    state = found.network.model.state_dict()
    assert all(torch.equal(state[name], value) for name, value in states[1].items())
    assert not all(torch.equal(state[name], value) for name, value in states[4].items())


def test_images_without_a_label_take_part_only_if_asked(images):
    codes = images.codes.copy()
    codes[::2] = -1
    some = images._replace(codes=codes)
    labelled, both = (training_rows(some, AdaptSettings(unlabelled=u)) for u in (False, True))
    assert not len(labelled.unlabelled)
    # Images kept out are treated as those without a label.
    assert set(both.unlabelled) == set(np.flatnonzero(codes < 0)) | set(both.kept_out)
    assert not set(both.labelled) & set(both.unlabelled)


def test_training_with_images_without_a_label(backbone, images):
    codes = np.where(np.arange(80) % 2, images.codes, -1)
    found = train_network(
        backbone, images._replace(codes=codes), AdaptSettings(epochs=2, batch_size=16, unlabelled=True)
    )
    assert len(found.curve) == 2
    assert not found.trained[codes < 0].any()


def test_one_class_is_too_few(backbone, images):
    with pytest.raises(AdaptError, match="at least two classes"):
        train_network(backbone, images._replace(codes=np.zeros(80, dtype=int)), SETTINGS)


def test_a_divergent_training_is_said(backbone, images, monkeypatch):
    through = TrainableNetwork.features_from

    def endless(network, activations, side):
        return through(network, activations, side) * (torch.nan if torch.is_grad_enabled() else 1)

    monkeypatch.setattr(TrainableNetwork, "features_from", endless)
    with pytest.raises(AdaptError, match="diverged"):
        train_network(backbone, images, SETTINGS)


def test_as_many_views_are_kept_as_fit():
    assert kept_views(360, 261, 384) == 8
    assert kept_views(9000, 261, 384) == 3
    assert kept_views(100_000, 261, 384) == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "magic"}, "choose from lora, blocks"),
        ({"blocks": 0}, "blocks must be"),
        ({"epochs": 1.5}, "epochs must be"),
        ({"kept_out": 0.9}, "between 0 and 0.5"),
        ({"learning_rate": 3}, "learning_rate"),
    ],
)
def test_unusable_settings(settings, message):
    with pytest.raises(AdaptError, match=message):
        AdaptSettings(**settings)


def test_epochs_and_batch_follow_from_the_number_of_images():
    settings = AdaptSettings()
    assert [settings.epochs_for(n) for n in (100, 2400, 8000, 20_000, 10**6)] == [15, 15, 10, 4, 4]
    assert [settings.batch_for(n) for n in (100, 360, 2400, 10**6)] == [32, 45, 256, 256]
