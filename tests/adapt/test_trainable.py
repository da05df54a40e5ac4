"""Networks with parts that can be trained."""

import numpy as np
import pytest
import torch

from opengcd.adapt import AdaptError, AdaptSettings, trainable
from opengcd.adapt.trainable import TrainableNetwork, find_blocks
from opengcd.embed.backbone import load_backbone
from tests.helpers.networks import saved

PIXELS = torch.from_numpy(np.random.default_rng(0).uniform(0, 255, (3, 3, 32, 32)).astype(np.float32))


def full(backbone, **settings):
    """Return a network to be trained that computes in 32 bits, so that results can be compared."""
    network = TrainableNetwork(backbone, AdaptSettings(**settings), 0)
    network.backbone.half = False
    return network


@pytest.mark.parametrize("method", ["lora", "blocks"])
def test_before_training_nothing_differs(backbone, method):
    network = full(backbone, method=method, blocks=1)
    assert torch.allclose(network.features(PIXELS), backbone.features(PIXELS), atol=1e-5)


def test_low_rank_updates_are_few_and_in_the_last_blocks(backbone):
    network = full(backbone, blocks=1, rank=2)
    names = list(network.parameters())
    assert names
    assert all("lora" in name and ".1." in name for name in names)
    assert network.below == 1


def test_last_blocks_and_final_norm_are_trained(backbone):
    network = full(backbone, method="blocks", blocks=1)
    names = list(network.parameters())
    assert any("layernorm" in name for name in names)
    assert not any("embeddings" in name or "layers.0." in name or "layer.0." in name for name in names)


@pytest.mark.parametrize("method", ["lora", "blocks"])
def test_features_follow_from_activations(backbone, method):
    network = full(backbone, method=method, blocks=1)
    with torch.no_grad():
        for parameter in network.parameters().values():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0)))
    expected = network.features(PIXELS)
    found = network.features_from(network.activations(PIXELS), 32)
    assert torch.allclose(found, expected, atol=1e-5)
    assert torch.allclose(network.features(PIXELS), expected, atol=1e-5), "the blocks are back in their places"


@pytest.mark.parametrize("method", ["lora", "blocks"])
def test_a_finished_network_is_an_ordinary_one(backbone, method):
    network = full(backbone, method=method)
    with torch.no_grad():
        for parameter in network.parameters().values():
            parameter.add_(0.1)
    trained = network.features(PIXELS).detach()
    names = set(backbone.model.state_dict())
    finished = network.finished()
    assert set(finished.model.state_dict()) == names
    assert torch.allclose(finished.features(PIXELS), trained, atol=1e-4)
    assert finished.fingerprint != backbone.fingerprint
    assert not any(parameter.requires_grad for parameter in finished.model.parameters())


def test_the_given_network_is_not_changed(backbone):
    before = backbone.fingerprint
    network = full(backbone, method="blocks")
    with torch.no_grad():
        for parameter in network.parameters().values():
            parameter.zero_()
    del backbone.__dict__["fingerprint"]
    assert backbone.fingerprint == before


def test_a_network_of_convolutions(tmp_path):
    from transformers import ResNetConfig, ResNetModel

    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], layer_type="basic")
    _, folder = saved(tmp_path / "resnet", ResNetModel(config))
    backbone = load_backbone(folder, "cpu", "mean", "full", None)
    network = full(backbone)
    assert network.parameters()
    network.features(PIXELS).sum().backward()
    assert all(parameter.grad is not None for name, parameter in network.parameters().items() if "lora_B" in name)
    assert all("stages.1" in name for name in full(backbone, method="blocks", blocks=1).parameters())


def test_without_blocks_none_can_be_trained(backbone, monkeypatch):
    monkeypatch.setattr(trainable, "find_blocks", lambda model: None)
    with pytest.raises(AdaptError, match="use method 'lora'"):
        full(backbone, method="blocks")
    assert full(backbone).parameters()


def test_blocks_are_the_longest_list_of_equals(backbone):
    blocks = find_blocks(backbone.model)
    assert blocks is not None
    assert len(blocks) == 2
    assert find_blocks(torch.nn.Linear(2, 2)) is None


@pytest.mark.parametrize("method", ["lora", "blocks"])
def test_what_is_not_trained_can_be_stored_in_16_bits_meanwhile(backbone, method):
    network = TrainableNetwork(backbone, AdaptSettings(method=method, blocks=1), 0)
    network.backbone.half = True
    before, weights = network.features(PIXELS), {k: v.clone() for k, v in backbone.model.state_dict().items()}
    exact = trainable.store_in_16_bits(network.backbone.model)
    assert exact
    assert all(p.dtype == torch.float32 for p in network.parameters().values())
    assert all(p.dtype == torch.bfloat16 for p in exact)
    short = network.features(PIXELS)
    assert torch.nn.functional.cosine_similarity(short, before).min() > 0.99
    short.sum().backward()
    assert any(p.grad is not None and p.grad.abs().max() > 0 for p in network.parameters().values())
    trainable.restore_exact(network.backbone.model, exact)
    assert torch.equal(network.features(PIXELS), before)
    finished = network.finished().model.state_dict()
    assert all(torch.equal(finished[name], value) for name, value in weights.items()), "nothing was trained"
