"""A tiny network, and a training of it that takes no time; the same input gives the same network."""

import hashlib
import json
import shutil
from pathlib import Path

import torch
from transformers import ViTConfig, ViTModel

from opengcd.adapt import AdaptReport, EpochPoint, Rehearsed
from opengcd.embed.backbone import Backbone
from tests.helpers.networks import TINY, saved

EPOCHS = 3


def save_network(folder):
    """Write a network with random weights."""
    torch.manual_seed(0)
    return saved(folder, ViTModel(ViTConfig(**TINY), add_pooling_layer=False))[1]


class Trainer:
    """Stands in for :func:`opengcd.adapt.adapt_network`: changes the weights a little, by a hash of the input."""

    def __init__(self, *, helps=True, rehearses=True):
        self.helps, self.rehearses = helps, rehearses
        self.changes = True
        self.calls = []
        self.epochs = 0
        """Epochs that were trained, in all calls."""

    def __call__(
        self, network, images, labels, out, *, keys, known_before, pooling, settings, force, dry_run, scratch, device,
        random_state, progress, on_epoch,
    ):  # fmt: skip
        self.calls.append({"network": str(network), "labels": dict(zip(keys, labels, strict=True)), "dry_run": dry_run})
        self.calls[-1]["known_before"] = list(known_before)
        assert [hashlib.sha256(Path(image).read_bytes()).hexdigest() for image in images] == list(keys)
        assert not Path(out).exists()
        scratch.mkdir(parents=True, exist_ok=True)
        curve = [EpochPoint(epoch, 1 / (1 + epoch), float("nan")) for epoch in range(EPOCHS)]
        for point in curve:
            progress("training", point.epoch, EPOCHS)
            kept = scratch / f"epoch{point.epoch}"
            if not kept.exists():
                self.epochs += 1
                kept.touch()
                on_epoch("training", point)
        progress("training", EPOCHS, EPOCHS)
        better = 0.1 if self.helps else -0.1
        rehearsed = Rehearsed(0.6, 0.5, 0.6 + better, 0.5 + better, 2) if self.rehearses else None
        written = not dry_run and (force or (rehearsed is not None and rehearsed.helps))
        used = [label is not None or settings.unlabelled for label in labels]
        trained = [yes and int(key[:8], 16) % 4 > 0 for key, yes in zip(keys, used, strict=True)]
        if written:
            model = ViTModel.from_pretrained(network, add_pooling_layer=False)
            if self.changes:
                seed = hashlib.sha256(json.dumps([list(keys), list(labels), settings.method]).encode()).digest()
                noise = torch.Generator().manual_seed(int.from_bytes(seed[:4], "big"))
                with torch.no_grad():
                    for weight in model.parameters():
                        weight += 0.003 * torch.randn(weight.shape, generator=noise)
            model.save_pretrained(out)
            shutil.copy(Path(network) / "preprocessor_config.json", Path(out))
        return AdaptReport(rehearsed, curve, [], {"training": 0.5}, written, trained, {})


class Embedded:
    """Counts the images that networks embed."""

    def __init__(self, monkeypatch):
        self.images = 0
        for name in ("stream", "stream_prepared"):
            monkeypatch.setattr(Backbone, name, self._counting(getattr(Backbone, name)))

    def _counting(self, stream):
        def counting(backbone, images):
            for rows in stream(backbone, images):
                self.images += len(rows)
                yield rows

        return counting

    def since(self):
        """Return how many were embedded since this was asked last."""
        found, self.images = self.images, 0
        return found
