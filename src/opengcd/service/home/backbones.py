"""Backbones, the networks that turn images into vectors: those on this machine, and whether one can be used."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from opengcd._internal.limited_reading import read_limited
from opengcd.embed import EmbedderError, Pixels
from opengcd.service.home import wire as api
from opengcd.workspace import WorkspaceError

VARIABLE = "OPENGCD_BACKBONES"
"""The environment variable that names more folders to look for networks in."""
MOST_CONFIG = 2**20
DEEP = 2
"""Levels of folders below a place that are looked at."""
MOST_FOLDERS = 500
"""Folders per place that are looked at."""
SUGGESTED = {"facebook/dinov2-small": 90, "facebook/dinov2-base": 350, "facebook/dino-vitb16": 350}
"""Networks that can be downloaded, with their megabytes."""
FAMILIES = {
    "dinov3": "DINOv3, trained on photographs without labels. A very good choice for most images.",
    "dinov2": "DINOv2, trained on photographs without labels. A very good choice for most images.",
    "dino": "DINO, trained on photographs without labels. A good choice for most images.",
    "siglip": "SigLIP, trained on images with captions. Good for things that captions name.",
    "clip": "CLIP, trained on images with captions. Good for things that captions name.",
    "mae": "A masked autoencoder. Usually needs to be adapted before it tells classes apart well.",
    "convnext": "ConvNeXt, a convolutional network. Good for classes like those that it was trained on.",
    "swin": "Swin, a vision transformer. Good for classes like those that it was trained on.",
    "resnet": "ResNet, a convolutional network. Older and fast; newer networks tell similar classes apart better.",
    "vit": "A vision transformer (ViT). Good for photographs.",
}
"""Descriptions of networks by a part of the name or of the type; the first that fits."""
OTHER = "A network for images in the Hugging Face format."
ONNX = "A network in an ONNX file."
TOY = (
    "A toy for tests: it compares raw pixels without any network, so it tells apart only tiny images of plain things. "
    "Do not use it for photographs."
)
DOWNLOAD = "Not on this machine yet: choosing it downloads about {size} MB from the Hugging Face hub."
POOLINGS = ("cls", "pooled", "mean")
"""How a network's output may become one vector; the first that fits is used."""
_loading = threading.Lock()
"""One network is loaded at a time; two would need twice the memory."""


def find_backbones(used: Iterable[str], places: Iterable[Path]) -> list[api.Backbone]:
    """Return the networks on this machine, then some that can be downloaded, then the toy.

    Parameters
    ----------
    used : iterable of str
        Embedders of other projects.
    places : iterable of Path
        Folders to look for networks in.

    Returns
    -------
    list of Backbone

    """
    found: dict[str, api.Backbone] = {}
    for name in used:
        if name != Pixels.name and (found_here := _describe(name)) is not None:
            found.setdefault(name, found_here.model_copy(update={"where": "used by another project"}))
    for one in (*cached_backbones(), *_in_places(places)):
        found.setdefault(one.name, one)
    for name, size in SUGGESTED.items():
        about = f"{_about(name, '')} {DOWNLOAD.format(size=size)}"
        found.setdefault(name, api.Backbone(name=name, title=name, about=about, where="to download"))
    toy = api.Backbone(name=Pixels.name, title="pixels (no network)", about=TOY, where="built in", toy=True)
    return [*found.values(), toy]


def check_backbone(name: str, pooling: str | None = None) -> api.BackboneCheck:
    """Load a network and embed one picture by it.

    Parameters
    ----------
    name : str
        As for :func:`opengcd.embed.load_embedder`.
    pooling : str or None
        How its output becomes one vector; None for the first way that fits.

    Returns
    -------
    BackboneCheck
        How it is used best here, or why it cannot be.

    """
    from PIL import Image

    from opengcd.embed import load_embedder

    picture = Image.new("RGB", (320, 240), (120, 130, 110))
    problem = ""
    with _loading:
        for way in [pooling] if pooling else POOLINGS if name != Pixels.name else POOLINGS[:1]:
            try:
                embedder = load_embedder(name, pooling=way)
                embedder([picture])  # the first image takes longer
                began = time.perf_counter()
                (vector,) = embedder([picture])
                took = time.perf_counter() - began
            except (EmbedderError, ImportError, OSError, ValueError) as error:
                problem = problem or str(error)
                if "pooling" not in str(error):
                    return api.BackboneCheck(name=name, usable=False, problem=str(error))
            else:
                width = len(vector)
                return api.BackboneCheck(name=name, usable=True, problem="", pooling=way, width=width, seconds=took)
    return api.BackboneCheck(name=name, usable=False, problem=problem)


def usable_backbone(name: str, pooling: str | None) -> str:
    """Return the pooling by which a network is used.

    Parameters
    ----------
    name : str
    pooling : str or None
        The one that was chosen.

    Returns
    -------
    str

    Raises
    ------
    WorkspaceError
        If the network cannot be used.

    """
    checked = check_backbone(name, pooling)
    if not checked.usable or checked.pooling is None:
        raise WorkspaceError(f"The backbone cannot be used. {checked.problem}")
    return checked.pooling


def backbone_places(folder: Path) -> list[Path]:
    """Return the folders to look for networks in: those that were named, and ``backbones`` beside the projects."""
    named = [Path(one) for one in os.environ.get(VARIABLE, "").split(os.pathsep) if one]
    return [*named, folder / "backbones", folder.parent / "backbones"]


def cached_backbones() -> Iterator[api.Backbone]:
    """Yield the networks in the cache of the Hugging Face hub that are complete and take images.

    Yields
    ------
    Backbone

    """
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface"
    )
    hub = Path(os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub"))
    with suppress(OSError):
        for entry in sorted(hub.glob("models--*")):
            name = entry.name.removeprefix("models--").replace("--", "/")
            for snapshot in (entry / "snapshots").glob("*"):
                if (found := _described_folder(snapshot, name, name)) is not None:
                    yield found.model_copy(update={"where": "downloaded before"})
                    break


def _in_places(places: Iterable[Path]) -> Iterator[api.Backbone]:
    """Networks in folders and ONNX files."""
    for place in places:
        waiting, seen = [(place, 0)], 0
        while waiting and seen < MOST_FOLDERS:
            folder, depth = waiting.pop(0)
            seen += 1
            with suppress(OSError):
                if (found := _describe(str(folder))) is not None:
                    yield found
                    continue
                for entry in sorted(folder.iterdir()):
                    if entry.suffix == ".onnx" and entry.is_file():
                        yield _onnx(str(entry))
                    elif depth < DEEP and entry.is_dir() and not entry.name.startswith("."):
                        waiting.append((entry, depth + 1))


def _describe(name: str) -> api.Backbone | None:
    """Describe a network without loading it; None if it is not here."""
    path = Path(name)
    if name.endswith(".onnx"):
        return _onnx(name) if path.is_file() else None
    return _described_folder(path, name, path.name) if path.is_dir() else None


def _described_folder(folder: Path, name: str, title: str) -> api.Backbone | None:
    config = _read_json(folder / "config.json")
    if config is None or not (folder / "preprocessor_config.json").exists():
        return None
    if not any(folder.glob("*.safetensors")) and not (folder / "model.safetensors.index.json").exists():
        return None
    kind = str(config.get("model_type", ""))
    return api.Backbone(name=name, title=title, about=_about(title, kind), where=str(folder.parent))


def _onnx(name: str) -> api.Backbone:
    return api.Backbone(name=name, title=Path(name).name, about=ONNX, where=str(Path(name).parent))


def _about(name: str, kind: str) -> str:
    text = f"{name} {kind}".lower()
    return next((about for part, about in FAMILIES.items() if part in text), OTHER)


def _read_json(file: Path) -> dict[str, Any] | None:
    with suppress(OSError, ValueError, RecursionError):
        raw = read_limited(file, MOST_CONFIG)
        found = None if raw is None else json.loads(raw)
        return found if isinstance(found, dict) else None
    return None
