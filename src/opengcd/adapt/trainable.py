"""A network with parts that can be trained: low-rank updates, or its last blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from opengcd.adapt.settings import AdaptError, AdaptSettings
from opengcd.embed.backbone import Backbone

BLOCKS_ON_CPU = 4
"""Blocks that are trained on a processor by default."""


class TrainableNetwork:
    """A copy of the network of a backbone, of which some parameters are trained.

    Parameters
    ----------
    backbone : Backbone
        It is not changed.
    settings : AdaptSettings
    seed : int
        Of the start of the low-rank updates.

    Attributes
    ----------
    start : str
        Identifies the network before it is trained, and what of it stays as it is.
    below : int
        Number of blocks below those that are trained; their output for an image never changes.

    """

    def __init__(self, backbone: Backbone, settings: AdaptSettings, seed: int) -> None:
        self.start = f"{backbone.fingerprint}-{settings.blocks}"
        self.backbone = backbone.copy()
        self.backbone.half = computes_in_16_bits(backbone.device)
        self._blocks = find_blocks(self.backbone.model)
        depth = len(self._blocks or ())
        most = settings.blocks or (BLOCKS_ON_CPU if backbone.device.type == "cpu" else depth)
        self.below = max(0, depth - most)
        self._lora = settings.method == "lora"
        self._half = backbone.half
        for parameter in self.backbone.model.parameters():
            parameter.requires_grad_(False)
        if self._lora:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                self.backbone.model = add_updates(self.backbone.model, self._trained_prefix(), settings.rank)
        else:
            self._release_last_blocks()
        short = backbone.device.type == "cuda" and self.backbone.half
        self._exact = store_in_16_bits(self.backbone.model) if short else {}

    def parameters(self) -> dict[str, nn.Parameter]:
        """Return the parameters that are trained, by name."""
        return {name: p for name, p in self.backbone.model.named_parameters() if p.requires_grad}

    def features(self, pixels: Tensor) -> Tensor:
        """Return the features of images, for training.

        Parameters
        ----------
        pixels : Tensor of shape (n, 3, side, side)
            With values from 0 to 255.

        Returns
        -------
        Tensor of shape (n, d)

        """
        return self.backbone.features(pixels)

    @torch.no_grad()
    def activations(self, pixels: Tensor) -> Tensor:
        """Return what enters the first trained block.

        Parameters
        ----------
        pixels : Tensor of shape (n, 3, side, side)
            With values from 0 to 255.

        Returns
        -------
        Tensor of shape (n, tokens, width)
            Of another shape if the network is not a transformer.

        """
        assert self._blocks is not None
        found: list[Tensor] = []

        def keep(_: nn.Module, given: tuple[Tensor, ...], named: dict[str, Any]) -> None:
            found.append(given[0] if given else next(iter(named.values())))
            raise _ReachedError

        hook = self._blocks[self.below].register_forward_pre_hook(keep, with_kwargs=True)
        try:
            self.features(pixels)
        except _ReachedError:
            pass
        finally:
            hook.remove()
        return found[0]

    def features_from(self, activations: Tensor, side: int) -> Tensor:
        """Return the features that follow from what enters the first trained block.

        Parameters
        ----------
        activations : Tensor of shape (n, tokens, width)
            From :meth:`activations`.
        side : int
            Width and height of the images.

        Returns
        -------
        Tensor of shape (n, d)

        """
        assert self._blocks is not None
        with _without_blocks_below(self._blocks, self.below, activations):
            # Blank images pass the layers before the first block, which cost little; the result is replaced there.
            return self.features(activations.new_zeros(1, 3, side, side).expand(len(activations), -1, -1, -1))

    def finished(self) -> Backbone:
        """Return the backbone with the updates merged into its weights; the object cannot be trained further."""
        restore_exact(self.backbone.model, self._exact)
        if self._lora:
            self.backbone.model = self.backbone.model.merge_and_unload()
        for parameter in self.backbone.model.parameters():
            parameter.requires_grad_(False)
        self.backbone.model.eval()
        self.backbone.half = self._half
        return self.backbone

    def _trained_prefix(self) -> list[str] | None:
        """Return the names of the trained blocks; None if the network has no blocks: all of it is trained."""
        if self._blocks is None:
            return None
        chosen = {id(block) for block in self._blocks[self.below :]}
        return [name for name, module in self.backbone.model.named_modules() if id(module) in chosen]

    def _release_last_blocks(self) -> None:
        if self._blocks is None:
            raise AdaptError(
                f"{self.backbone.name} has no sequence of equal blocks, so its last blocks cannot be trained; "
                "use method 'lora'."
            )
        for block in self._blocks[self.below :]:
            block.requires_grad_(True)
        # What follows the blocks is trained too: the final norm.
        inside = {id(p) for block in self._blocks for p in block.parameters()}
        seen_blocks = False
        for parameter in self.backbone.model.parameters():
            if id(parameter) in inside:
                seen_blocks = True
            elif seen_blocks:
                parameter.requires_grad_(True)


def computes_in_16_bits(device: torch.device) -> bool:
    """Return whether a device computes faster in bfloat16, in which a network can be trained without scaling the loss.

    Parameters
    ----------
    device : torch.device

    Returns
    -------
    bool

    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    tests = (getattr(torch.cpu, name, None) for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"))
    return any(test() for test in tests if test is not None)


def store_in_16_bits(model: nn.Module) -> dict[nn.Parameter, Tensor]:
    """Store parameters that are not trained in bfloat16, and return their exact values.

    Moving activations, not computing them, takes most of the time of a step on a GPU. Autocast alone leaves every
    second activation in 32 bits: the sums of residual connections and the outputs of norms.

    Parameters
    ----------
    model : Module
        It is changed.

    Returns
    -------
    dict of Parameter to Tensor

    """
    exact = {p: p.data for p in model.parameters() if not p.requires_grad and p.dtype == torch.float32}
    for parameter, values in exact.items():
        parameter.data = values.to(torch.bfloat16)
    for module in model.modules():
        if type(module) is nn.LayerNorm and module.weight in exact:
            module.__class__ = _ShortLayerNorm
    return exact


def restore_exact(model: nn.Module, exact: dict[nn.Parameter, Tensor]) -> None:
    """Undo :func:`store_in_16_bits`.

    Parameters
    ----------
    model : Module
    exact : dict of Parameter to Tensor

    """
    for parameter, values in exact.items():
        parameter.data = values
    for module in model.modules():
        if type(module) is _ShortLayerNorm:
            module.__class__ = nn.LayerNorm  # type: ignore[assignment]


class _ShortLayerNorm(nn.LayerNorm):
    """A norm that returns 16 bits, which autocast does not allow; its kernel adds in 32 bits."""

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            return super().forward(x.to(self.weight.dtype))


class _ReachedError(Exception):
    """Ends a pass through the network."""


def find_blocks(model: nn.Module) -> nn.ModuleList | None:
    """Return the blocks of a transformer: the longest list of at least two modules of one class; None without one.

    Parameters
    ----------
    model : Module

    Returns
    -------
    ModuleList or None

    """
    lists = [
        m for m in model.modules() if isinstance(m, nn.ModuleList) and len(m) > 1 and len({type(b) for b in m}) == 1
    ]
    longest = max(lists, key=len, default=None)
    inner = [m for m in lists if m is not longest and len(m) == len(longest or ())]
    return None if inner else longest  # equal lists side by side are stages, not a sequence


def add_updates(model: nn.Module, blocks: list[str] | None, rank: int) -> Any:
    """Return the network with low-rank updates of its linear layers, or of its convolutions if it has none.

    Parameters
    ----------
    model : Module
    blocks : list of str or None
        Names of the modules whose layers are updated; None for all layers.
    rank : int
        Of the updates.

    Returns
    -------
    PeftModel

    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise ImportError(f'Adapting a network needs peft ({error}): pip install "opengcd[adapt]".') from error
    for kind in (nn.Linear, nn.Conv2d):
        targets = [
            name
            for name, module in model.named_modules()
            if isinstance(module, kind) and (blocks is None or any(name.startswith(f"{block}.") for block in blocks))
        ]
        if targets:
            break
    else:
        raise AdaptError("The network has no linear layer or convolution that could be trained; use another network.")
    updated = get_peft_model(model, LoraConfig(r=rank, lora_alpha=rank, target_modules=targets))
    for module in updated.modules():
        if hasattr(module, "cast_input_dtype_enabled"):
            module.cast_input_dtype_enabled = False  # autocast would change the type back at once
    return updated


@contextmanager
def _without_blocks_below(blocks: nn.ModuleList, below: int, activations: Tensor) -> Iterator[None]:
    """Replace the blocks below the trained ones by one that returns stored activations."""
    lower = [blocks[i] for i in range(below)]
    upper = [blocks[i] for i in range(below, len(blocks))]
    _fill(blocks, [_Stored(activations), *upper])
    try:
        yield
    finally:
        _fill(blocks, [*lower, *upper])


def _fill(blocks: nn.ModuleList, modules: list[nn.Module]) -> None:
    blocks._modules.clear()
    blocks._modules.update({str(i): module for i, module in enumerate(modules)})


class _Stored(nn.Module):
    """Returns stored activations, whatever it is given."""

    def __init__(self, activations: Tensor) -> None:
        super().__init__()
        self.activations = activations

    def forward(self, *_: Any, **__: Any) -> Tensor:
        return self.activations
