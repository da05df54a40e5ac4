"""Download a network from the Hugging Face hub, and tell how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from opengcd.embed import EmbedderError, GivenVectors, Pixels
from opengcd.service.home.backbones import cached_backbones
from opengcd.workspace import CancelledError

PATIENCE = 10.0
"""Seconds to wait for the hub's list of files."""
SMALL = ("config.json", "preprocessor_config.json", "processor_config.json")
WHOLE, INDEX, PART = "model.safetensors", "model.safetensors.index.json", "model-*.safetensors"
"""The weights: one file, or an index and parts."""


def fetch_backbone(name: str, progress: Callable[[int, int], object]) -> None:
    """Download what is needed of a network, unless it is on this machine.

    If the hub does not have it, nothing is done: loading it then says what is wrong.

    Parameters
    ----------
    name : str
        As for :func:`opengcd.embed.load_embedder`.
    progress : callable
        Called with the bytes that have arrived and with all bytes; it may raise CancelledError to end the download.

    Raises
    ------
    EmbedderError
        If the hub cannot be reached, or the download breaks off.

    """
    if name in (Pixels.name, GivenVectors.name) or name.endswith(".onnx") or Path(name).is_dir():
        return
    if any(one.name == name for one in cached_backbones()):
        return
    try:
        from huggingface_hub import HfApi, try_to_load_from_cache
        from huggingface_hub.errors import HfHubHTTPError

        from opengcd.embed.backbone import unusable_network
    except ImportError:  # loading says what is to be installed
        return
    try:
        found = HfApi().model_info(name, files_metadata=True, timeout=PATIENCE)
    except (HfHubHTTPError, ValueError):  # there is no such network: loading says so
        return
    except Exception as error:
        if isinstance(try_to_load_from_cache(name, SMALL[0]), str):
            return
        raise unusable_network(name, local=False, error=error) from error  # loading would try for half a minute
    sizes = {one.rfilename: one.size or 0 for one in found.siblings or ()}
    try:
        _download(name, {file: sizes[file] for file in needed_files(sizes)}, progress)
    except CancelledError:
        raise
    except Exception as error:  # of the connection, the hub or the disk
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise EmbedderError(
            f"{name} could not be downloaded from the Hugging Face hub: {reason}. "
            "Check the network connection and the space on the disk, then try again."
        ) from error


def needed_files(files: Iterable[str]) -> list[str]:
    """Return those files of a network that are needed to load it: the settings and the weights.

    Parameters
    ----------
    files : iterable of str
        All files; many networks have their weights in several formats.

    Returns
    -------
    list of str

    """
    there = sorted(files)
    weights = [WHOLE] if WHOLE in there else [file for file in there if file == INDEX or Path(file).match(PART)]
    return [*(file for file in SMALL if file in there), *weights]


def _download(name: str, sizes: dict[str, int], progress: Callable[[int, int], object]) -> None:
    from huggingface_hub import hf_hub_download

    total, before = sum(sizes.values()), 0
    for file, size in sizes.items():

        def tell(done: int, before: int = before) -> None:
            progress(min(before + done, total), total)

        tell(0)
        hf_hub_download(name, file, tqdm_class=_counter(tell))
        before += size


def _counter(tell: Callable[[int], object]) -> Any:
    """Return a class that the hub's library uses like a progress bar of tqdm; it tells the bytes of a file."""

    class Counter:
        def __init__(self, *_: Any, initial: int = 0, **options: Any) -> None:
            self.done = initial

        def __enter__(self) -> Counter:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def update(self, more: float = 1) -> None:
            self.done += int(more)
            tell(self.done)

        def ignore(self, *_: Any, **options: Any) -> None:
            pass

        # What the hub's storage sends is told beside what is written: only the latter adds up to the size.
        close = update_transfer = set_postfix_str = set_transfer_postfix_str = ignore

    return Counter
