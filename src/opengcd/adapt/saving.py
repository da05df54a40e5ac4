"""Adapted networks as files: in the Hugging Face layout, or as an ONNX file."""

from __future__ import annotations

import os
import shutil
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from opengcd._internal.durable_files import make_folder, replacement, sync_folder
from opengcd.adapt.settings import AdaptError
from opengcd.embed.backbone import Backbone, load_backbone

LARGEST_DIFFERENCE = 0.01
"""Of 1 − cosine, between the vectors of a network and of its ONNX file."""
_exporting = threading.Lock()
"""torch writes one ONNX file at a time: what it notes of an export is global."""


def save_network(backbone: Backbone, folder: Path) -> None:
    """Write a network with its preparation, as :func:`opengcd.embed.load_embedder` reads it.

    The folder appears when it is complete, so an interruption leaves nothing under its name.

    Parameters
    ----------
    backbone : Backbone
    folder : Path
        It must not exist.

    Raises
    ------
    AdaptError
        If the folder exists, or the written network differs from the given one when it is read back.

    """
    if folder.exists():
        raise AdaptError(f"{folder} already exists; choose another name for the adapted network.")
    make_folder(folder.parent)
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    model = whole(backbone)
    # Parameters that the original file lacks were initialised at random, and nobody must take them for trained ones.
    state = {name: value for name, value in model.state_dict().items() if name not in backbone.lacking}
    with _without_progress_bars():
        model.save_pretrained(partial, state_dict=state)
    backbone.processor.save_pretrained(partial)
    written = load_backbone(str(partial), "cpu", backbone.pooling, "full", None)
    if written.fingerprint != backbone.fingerprint:
        raise AdaptError(f"{backbone.name} changes when it is written to a file and read back; use another network.")
    for file in partial.iterdir():
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
    sync_folder(partial)
    partial.rename(folder)
    sync_folder(folder.parent)


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def whole(backbone: Backbone) -> Any:
    """Return the model of a backbone as it is published: a vision encoder may be a part of a larger one.

    Parameters
    ----------
    backbone : Backbone

    Returns
    -------
    PreTrainedModel

    """
    import transformers

    config = transformers.AutoConfig.from_pretrained(backbone.name, trust_remote_code=False)
    if not hasattr(config, "vision_config"):
        return backbone.model
    model = transformers.AutoModel.from_pretrained(
        backbone.name, dtype=torch.float32, trust_remote_code=False, use_safetensors=True
    )
    model.vision_model.load_state_dict(backbone.model.state_dict())
    return model


def export_onnx(folder: str | os.PathLike[str], file: str | os.PathLike[str], *, pooling: str = "cls") -> None:
    """Write a network as an ONNX file, which :func:`opengcd.embed.load_embedder` runs by onnxruntime.

    Parameters
    ----------
    folder : path
        A network in the Hugging Face layout.
    file : path
        The file to write; its name must end in ``.onnx``.
    pooling : str
        As the network is used, see :func:`opengcd.embed.load_embedder`.

    Raises
    ------
    AdaptError
        If the file computes other vectors than the network, for example because the network prepares images in another
        way than :class:`opengcd.embed` does for ONNX files.

    """
    from PIL import Image

    from opengcd.embed import load_embedder

    target = Path(file)
    if target.suffix != ".onnx":
        raise AdaptError(f"The name of an ONNX file must end in .onnx, not {target.name!r}.")
    backbone = load_backbone(os.fspath(folder), "cpu", pooling, "full", None)
    square = backbone.prepares
    side = 224 if square is None else square.crop
    with _exporting, replacement(target) as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Pooled(backbone),
            (torch.zeros(1, 3, side, side),),
            str(temporary),
            input_names=["pixel_values"],
            output_names=["features"],
            dynamic_axes={"pixel_values": {0: "batch"}, "features": {0: "batch"}},
            dynamo=False,
        )
        shades = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        image = Image.fromarray(shades).resize((300, 260))
        checked = temporary.with_name(f"{temporary.name}.onnx")
        os.link(temporary, checked)
        try:
            (one,), (other,) = backbone([image]), load_embedder(str(checked), device="cpu", pooling="pooled")([image])
        finally:
            checked.unlink()
        cosine = float(one @ other / (np.linalg.norm(one) * np.linalg.norm(other)))
        if not 1 - cosine < LARGEST_DIFFERENCE:
            raise AdaptError(
                f"The vectors of the ONNX file differ from those of the network (cosine {cosine:.3f}): the network "
                "prepares images in another way than is usual for ONNX files. Use the network itself."
            )


class _Pooled(nn.Module):
    """A network that returns one vector per image."""

    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone_model = backbone.model
        self._backbone = [backbone]  # in a list: it is not a module

    def forward(self, pixel_values: Tensor) -> Tensor:
        return self._backbone[0].pooled(self.backbone_model(pixel_values=pixel_values))
