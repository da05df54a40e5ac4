"""Vision networks in the Hugging Face format. Weights must be safetensors; code of a model is never executed."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from opengcd._internal.images import EmbedderError, Prepared, Square
from opengcd._internal.kernels import resolve_device
from opengcd._internal.progress import Progress, silent
from opengcd._internal.validation import check_integer
from opengcd.embed.batches import gather, made_ahead, prepared

if TYPE_CHECKING:
    from PIL.Image import Image

BATCH = {"cpu": 16, "cuda": 128}
"""Images per batch."""
PREPARERS = {"cpu": 1, "cuda": 8}
"""Threads that preprocess batches: one keeps up with a CPU, but not with a GPU."""
CLASS_TOKENS = {"cls_token", "class_token", "class_embedding"}
LEADING_TOKENS = CLASS_TOKENS | {"distillation_token", "register_tokens"}
"""Parameters that are prepended as tokens to those of the patches."""
UNUSED = ("pooler", "mask_token")
"""Parameters that the class token and the mean do not depend on; many published files lack them."""

BESIDE_WEIGHTS = ("model_type", "num_attention_heads", "hidden_act", "layer_norm_eps", "image_size", "patch_size")
"""Settings of a network that change its output but not its weights."""
RAW = {"do_rescale": False, "do_normalize": False}
"""Preprocessing without scaling and normalisation of pixel values."""
PREPARATION = ("do_", "size", "crop", "resample", "rescale", "image_mean", "image_std", "pad")
"""Prefixes of those preprocessing settings that change an image."""

TRIED = ((1, 1), (1.37, 1.03), (0.71, 1.9), (2.57, 1.43), (1.1, 3.3), (0.013, 0.04), (0.3, 0.11), (0.01, 0.4), (3, 0.1))
"""Widths and heights of images that a preparation is tried on, as multiples of the side that it resizes to."""


class Execution(NamedTuple):
    """How a network is run."""

    device: torch.device
    half: bool
    """Whether it computes in 16 bits."""
    batch_size: int


class Backbone:
    """A network with its image preprocessing."""

    def __init__(self, name: str, model: Any, processor: Any, pooling: str, execution: Execution) -> None:
        self.name = name
        self.model = model
        self.processor = processor
        self.pooling = pooling
        self.device, self.half, self.batch_size = execution
        self.lacking: frozenset[str] = frozenset()
        """Parameters that the file of the weights lacks; the vectors do not depend on them."""
        scaling = channel_scaling(processor)
        self._scaling = None if scaling is None else tuple(part.to(self.device) for part in scaling)

    def __call__(self, images: Iterable[Image], total: int | None = None, progress: Progress = silent) -> np.ndarray:
        """Return one row per image."""
        return gather(self.stream(images), total, progress)

    def stream(self, images: Iterable[Image]) -> Generator[np.ndarray]:
        """Yield rows batch by batch; the next batches are decoded and preprocessed while the network computes."""
        threads = PREPARERS[self.device.type]
        with closing(prepared(images, self.batch_size, self._prepare, _concatenate, threads)) as batches:
            for batch in batches:
                yield self._vectors(batch)

    @cached_property
    def prepares(self) -> Square | None:
        """How images become squares for :meth:`stream_prepared`; None if the preparation is more than that."""
        return None if self._scaling is None else square_of(self.processor)

    def stream_prepared(self, images: Iterable[Prepared]) -> Generator[np.ndarray]:
        """Yield the rows of images that were made into squares already; the next batches are read meanwhile."""
        shape = self.prepares
        if shape is None:
            raise EmbedderError(f"{self.name} prepares images in a special way; give it whole images.")
        room = (self.batch_size, shape.crop, shape.crop, 3)
        source = iter(images)

        def stack() -> Tensor | None:
            batch = torch.empty(room, dtype=torch.uint8, pin_memory=self.device.type == "cuda")
            rows, number = batch.numpy(), 0
            for number, image in enumerate(islice(source, self.batch_size), start=1):
                rows[number - 1] = image.pixels
            return batch[:number] if number else None

        with closing(made_ahead(stack)) as batches:
            for batch in batches:
                # Contiguous, as the processor returns it: another layout in memory could change the last bits.
                pixels = batch.to(self.device, non_blocking=True).permute(0, 3, 1, 2).contiguous()
                yield self._vectors({"pixel_values": pixels})

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the weights and of all other settings that determine the vector of an image."""
        # Not the whole configuration: it depends on the version of transformers and the location of the files.
        config, preparation = self.model.config.to_dict(), self.processor.to_dict()
        settings = {
            "network": {key: config.get(key) for key in BESIDE_WEIGHTS},
            "preparation": {key: value for key, value in preparation.items() if key.startswith(PREPARATION)},
            "pooling": self.pooling,
        }
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
        for key, value in sorted(self.model.state_dict().items()):
            if self.pooling != "pooled" and any(part in key for part in UNUSED):
                continue  # if the file lacks them, they are initialised at random
            digest.update(key.encode())
            digest.update(value.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def _prepare(self, images: list[Image]) -> Any:
        return self.processor(images=images, return_tensors="pt", **(RAW if self._scaling else {}))

    def features(self, pixels: Tensor) -> Tensor:
        """Return the features of prepared images; gradients flow through them unless they are disabled.

        Parameters
        ----------
        pixels : Tensor of shape (n, 3, height, width)
            On the device of the network, with values from 0 to 255.

        Returns
        -------
        float32 Tensor of shape (n, d)

        """
        if self._scaling is None:
            raise EmbedderError(f"{self.name} prepares images in a special way; use another network.")
        scale, offset = self._scaling
        return self._forward({"pixel_values": pixels * scale + offset})

    def copy(self) -> Backbone:
        """Return a copy whose network can be changed without changing this one."""
        other = copy.copy(self)
        other.model = copy.deepcopy(self.model)
        other.__dict__.pop("fingerprint", None)
        return other

    def _vectors(self, batch: Any) -> np.ndarray:
        inputs = {name: value.to(self.device) for name, value in batch.items()}
        if self._scaling:
            scale, offset = self._scaling
            inputs["pixel_values"] = inputs["pixel_values"] * scale + offset
        with torch.inference_mode():
            return self._forward(inputs).cpu().numpy()

    def _forward(self, inputs: dict[str, Tensor]) -> Tensor:
        old_gpu = self.device.type == "cuda" and not torch.cuda.is_bf16_supported()
        sixteen = torch.float16 if old_gpu else torch.bfloat16
        with torch.autocast(self.device.type, sixteen, enabled=self.half):
            output = self.model(**inputs)
        return self.pooled(output).float()

    def pooled(self, output: Any) -> Tensor:
        """Return one vector per image from the output of the network.

        Parameters
        ----------
        output : ModelOutput

        Returns
        -------
        Tensor of shape (n, d)

        """
        if self.pooling == "pooled":
            if getattr(output, "pooler_output", None) is None:
                raise EmbedderError(f"{self.name} has no pooled output; use pooling='cls' or 'mean'.")
            return output.pooler_output.flatten(1)
        tokens: Tensor = output.last_hidden_state
        if tokens.ndim == 3:
            if self.pooling == "cls":
                return tokens[:, 0]
            return tokens[:, _count_tokens(self.model, LEADING_TOKENS) :].mean(1)
        if self.pooling == "cls":
            raise _no_class_token(self.name)
        return tokens.flatten(2).mean(2)  # a map of channels × height × width


def _concatenate(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def load_backbone(name: str, device: str, pooling: str, precision: str, batch_size: int | None) -> Backbone:
    """Load a network from a folder or the Hugging Face hub; see :func:`opengcd.embed.load_embedder`."""
    target = resolve_device(device)
    size = BATCH[target.type] if batch_size is None else check_integer(batch_size, "batch_size")
    transformers = _transformers(name)
    local = Path(name).is_dir()
    try:
        with _quiet(transformers, local):
            config = transformers.AutoConfig.from_pretrained(name, trust_remote_code=False)
            if hasattr(config, "mask_ratio"):
                config.mask_ratio = 0.0  # a masked autoencoder would use a random quarter of each image
            processor = _load_processor(transformers, name, config)
            model, report = transformers.AutoModel.from_pretrained(
                name,
                config=config,
                dtype=torch.float32,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
            )
    except Exception as error:  # the files can be invalid in any way
        raise unusable_network(name, local=local, error=error) from error
    lacking = [key for key in report["missing_keys"] if pooling == "pooled" or not any(part in key for part in UNUSED)]
    if lacking:
        raise EmbedderError(
            f"The weights of {name} lack {len(lacking)} parameters of its network, {min(lacking)!r} among them; "
            + ("use pooling='cls' or 'mean'." if "pooler" in min(lacking) else "download the whole model.")
        )
    if hasattr(model, "vision_model"):  # CLIP and SigLIP also have a text encoder
        model = model.vision_model
    elif model.main_input_name != "pixel_values":
        raise EmbedderError(f"{name} is not a vision network: it takes {model.main_input_name}, not images.")
    if pooling == "cls" and not _count_tokens(model, CLASS_TOKENS):
        raise _no_class_token(name)
    half = precision == "half" or (precision == "auto" and target.type == "cuda")
    backbone = Backbone(name, model.to(target).eval(), processor, pooling, Execution(target, half, size))
    backbone.lacking = frozenset(report["missing_keys"])
    return backbone


def _load_processor(transformers: Any, name: str, config: Any) -> Any:
    """Return the preprocessing with Pillow even if torchvision is installed: features must not depend on that."""
    if config.model_type.startswith("dinov3"):
        # Its own processor needs torchvision. That of ViT takes the same steps, but rounds pixels to 8 bits in between.
        return transformers.ViTImageProcessorPil.from_pretrained(name)
    # Imported from its module: before version 5.18, transformers hides it if torchvision is missing.
    from transformers.models.auto.image_processing_auto import AutoImageProcessor

    return AutoImageProcessor.from_pretrained(name, backend="pil", trust_remote_code=False)


def channel_scaling(processor: Any) -> tuple[Tensor, Tensor] | None:
    """Return scale and offset of each channel that map 8-bit pixels to the input of the network.

    This step is done on the network's device, because numpy would block the other threads that preprocess images. None
    if the preprocessing is more than such a map.
    """
    from PIL import Image

    black, white = (np.full((32, 32, 3), shade, dtype=np.uint8) for shade in (0, 255))
    shades = np.arange(32 * 32 * 3, dtype=np.uint32).reshape(32, 32, 3).astype(np.uint8)
    images = [Image.fromarray(pixels) for pixels in (black, white, shades)]
    try:
        raw, ready = (processor(images=images, return_tensors="pt", **how)["pixel_values"] for how in (RAW, {}))
    except (TypeError, ValueError, KeyError):  # the processor has no such steps
        return None
    if raw.dtype != torch.uint8 or raw.shape != ready.shape or ready.ndim != 4:
        return None
    offset = ready[:1, :, :1, :1]
    scale = (ready[1:2, :, :1, :1] - offset) / 255
    same = torch.allclose(raw * scale + offset, ready, atol=1e-5)
    return (scale, offset) if same else None


def square_of(processor: Any) -> Square | None:
    """Return the square of an image that a processor makes, before it scales pixel values; None if it does more.

    It follows from the settings of the processor and is verified on images of various sizes.
    """
    from PIL import Image

    rng = np.random.default_rng(0)
    try:
        square = _described_square(processor)
        sides = [(max(1, round(a * square.resize)), max(1, round(b * square.resize))) for a, b in TRIED]
        images = [Image.fromarray(rng.integers(0, 256, (b, a, 3), dtype=np.uint8)) for a, b in sides]
        raw = processor(images=images, return_tensors="np", **RAW)
        expected = np.stack([np.asarray(square.of(image)).transpose(2, 0, 1) for image in images])
        same = set(raw) == {"pixel_values"} and np.array_equal(raw["pixel_values"], expected)
    except (TypeError, ValueError, KeyError, AttributeError):  # the processor has no such settings
        return None
    return square if same else None


def _described_square(processor: Any) -> Square:
    size, crop_size = dict(processor.size), dict(getattr(processor, "crop_size", None) or {})
    whole = not size.get("shortest_edge")
    resize = int(size["height"] if whole else size["shortest_edge"])
    crop = int(crop_size["height"]) if getattr(processor, "do_center_crop", False) else resize
    return Square(resize, crop, int(processor.resample), whole)


def _count_tokens(model: Any, names: set[str]) -> int:
    """Return the number of tokens of these names."""
    found = (p for key, p in model.named_parameters() if key.rpartition(".")[2] in names)
    return sum(parameter.numel() // parameter.shape[-1] for parameter in found)


def _no_class_token(name: str) -> EmbedderError:
    return EmbedderError(f"{name} has no class token; use pooling='pooled' or 'mean'.")


def unusable_network(name: str, *, local: bool, error: Exception) -> EmbedderError:
    """Return the error that says why a network cannot be loaded.

    Parameters
    ----------
    name : str
    local : bool
        Whether it is a folder.
    error : Exception
        The reason.

    Returns
    -------
    EmbedderError

    """
    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    if local:
        return EmbedderError(
            f"The folder {name} does not contain a usable network: {reason}. It needs config.json, "
            "preprocessor_config.json and weights in model.safetensors, in the Hugging Face format."
        )
    return EmbedderError(
        f"There is no folder {name}, and the network could not be downloaded from the Hugging Face hub: {reason}. "
        "Check the name and the network connection, or give a local folder that holds the model."
    )


def _transformers(name: str) -> Any:
    try:
        import PIL  # noqa: F401
        import transformers
    except ImportError as error:  # missing, or incompatible with another installed package
        raise ImportError(
            f'The embedder {name!r} needs transformers and Pillow ({error}): pip install "opengcd[embed]".'
        ) from error
    return transformers


@contextmanager
def _quiet(transformers: Any, local: bool) -> Iterator[None]:
    """Suppress the report on unused weights, and progress bars unless something may be downloaded."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    if local:
        logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if local and bars:
            logging.enable_progress_bar()
