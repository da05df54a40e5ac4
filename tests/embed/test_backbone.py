import contextlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from opengcd.embed import EmbedderError, Pixels, backbone, load_embedder
from opengcd.embed import batches as batches_module
from tests.helpers.networks import PREPARATION, TINY, save_vit, saved
from tests.helpers.places import SHARED
from tests.helpers.resizing import watch_sizes


def noise(n, side=32, seed=0):
    rng = np.random.default_rng(seed)
    return [Image.fromarray(rng.integers(0, 256, (side, side, 3), dtype=np.uint8)) for _ in range(n)]


def ready(images):
    """What PREPARATION makes of images that need no resizing."""
    stacked = np.stack([np.asarray(image) for image in images]).transpose(0, 3, 1, 2)
    return torch.from_numpy(stacked.astype(np.float32) / 255 * 2 - 1)


def cosines(a, b):
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


@pytest.fixture(scope="module")
def vit(tmp_path_factory):
    return save_vit(tmp_path_factory.mktemp("vit"))


def copied(vit, folder):
    for file in Path(vit[1]).iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


# Pixels.


def test_pixels_by_hand():
    image = Image.fromarray(np.array([[[0, 51, 102], [255, 0, 0]], [[0, 0, 0], [153, 204, 255]]], dtype=np.uint8))
    rows = Pixels(side=2)([image])
    np.testing.assert_allclose(rows, [[0, 0.2, 0.4, 1, 0, 0, 0, 0, 0, 0.6, 0.8, 1]], rtol=1e-6)
    assert rows.dtype == np.float32


def test_pixels_take_images_of_any_size_and_mode():
    embedder = load_embedder("pixels")
    palette = Image.new("P", (9, 4))
    palette.info["transparency"] = b"\x00\x80"
    modes = [Image.new(mode, (40, 3)) for mode in ("1", "L", "LA", "RGB", "RGBA", "CMYK", "YCbCr", "I", "F")]
    assert embedder([palette, *modes]).shape == (10, 192)
    assert embedder.name == "pixels"


def test_progress_is_reported():
    steps = []
    Pixels(1)(iter(noise(150)), total=150, progress=lambda *step: steps.append(step))
    assert steps == [("embedding images", done, 150) for done in (0, 100, 150)]


def test_no_images():
    with pytest.raises(EmbedderError, match="no images"):
        load_embedder("pixels")([])


# Networks.


def test_the_class_token_is_what_the_network_computes(vit):
    model, folder = vit
    images = noise(3)
    with torch.inference_mode():
        tokens = model(ready(images)).last_hidden_state
    embedder = load_embedder(folder, device="cpu")
    np.testing.assert_allclose(embedder(images), tokens[:, 0], atol=1e-5)
    assert embedder.name == folder
    mean = load_embedder(folder, device="cpu", pooling="mean")(images)
    np.testing.assert_allclose(mean, tokens[:, 1:].mean(1), atol=1e-5)


def test_batches_change_neither_vectors_nor_their_order(vit):
    images = noise(11) + noise(8, side=50, seed=1)
    one, eight = (load_embedder(vit[1], device="cpu", batch_size=size)(iter(images)) for size in (1, 8))
    assert one.shape == (19, 16)
    assert one.dtype == np.float32
    np.testing.assert_allclose(one, eight, atol=1e-5)
    backwards = load_embedder(vit[1], device="cpu", batch_size=8)(images[::-1])
    np.testing.assert_allclose(backwards[::-1], eight, atol=1e-5)
    assert np.linalg.norm(one[0] - one[1]) > 0.1  # or the order could not be seen


def test_images_are_read_as_they_are_needed(vit):
    read, steps = [], []

    def images():
        for number, image in enumerate(noise(40)):
            read.append(number)
            yield image

    def progress(_, done, total):
        steps.append((done, total, len(read)))

    load_embedder(vit[1], device="cpu", batch_size=4)(images(), 40, progress)
    assert [(done, total) for done, total, _ in steps] == [(done, 40) for done in range(0, 41, 4)]
    assert all(ahead <= done + 4 * 4 for done, _, ahead in steps)


def watch_parts(embedder, monkeypatch):
    """Return a list that gets the number of images that are prepared together, each time."""
    parts, prepare = [], embedder.processor
    monkeypatch.setattr(
        embedder, "processor", lambda images, **options: parts.append(len(images)) or prepare(images=images, **options)
    )
    return parts


def test_of_large_images_few_are_held_at_a_time(vit, monkeypatch):
    """They are prepared in parts, and the batch is the same."""
    images = noise(19)
    embedder = load_embedder(vit[1], device="cpu", batch_size=8)
    expected = embedder(images)
    monkeypatch.setattr(batches_module, "PIXELS", 3 * images[0].width * images[0].height)
    monkeypatch.setattr(batches_module, "USUAL", 1)
    parts, batches = watch_parts(embedder, monkeypatch), []
    embedder.model.register_forward_pre_hook(
        lambda _, __, inputs: batches.append(len(inputs["pixel_values"])), with_kwargs=True
    )
    np.testing.assert_array_equal(embedder(images), expected)
    assert batches == [8, 8, 3]
    assert parts == [3, 3, 2, 3, 3, 2, 3]


SHORTEST = {"size": {"shortest_edge": 36}, "do_center_crop": True, "crop_size": {"height": 32, "width": 32}}


@pytest.fixture(params=["CLIPImageProcessor", "BitImageProcessor"])
def cropping(request, vit, tmp_path):
    """A network for the middle of images, whose shorter side is resized."""
    config = json.dumps(PREPARATION | SHORTEST | {"image_processor_type": request.param})
    (copied(vit, tmp_path) / "preprocessor_config.json").write_text(config)
    return load_embedder(str(tmp_path), device="cpu")


@pytest.mark.parametrize("size", [(1, 60_000), (60_001, 1), (79_000_000, 1)])
def test_a_long_image_is_not_blown_up(cropping, size, monkeypatch):
    """A file of a few kilobytes could take gigabytes; of what is resized, all but the middle is thrown away."""
    long = Image.new("RGB", size, "red")
    middle = tuple(max(0, side // 2 - 50) for side in size)
    long.paste("blue", (*middle, middle[0] + min(100, size[0]), middle[1] + min(100, size[1])))
    resized = watch_sizes(monkeypatch)
    np.testing.assert_allclose(cropping([long]), cropping([Image.new("RGB", (40, 40), "blue")]), atol=1e-4)
    assert max(resized) <= 36 * 36 * 101


def test_only_very_long_images_lose_their_ends():
    for size, seen in {(1, 100): (1, 100), (700, 7): (700, 7), (1, 102): (1, 100), (1007, 10): (1001, 10)}.items():
        ramp = Image.fromarray(np.arange(size[0] * size[1], dtype=np.uint32).reshape(size[::-1]).astype(np.uint8))
        left, top = (size[0] - seen[0]) // 2, (size[1] - seen[1]) // 2
        middle = np.asarray(ramp.convert("RGB"))[top : top + seen[1], left : left + seen[0]]
        np.testing.assert_array_equal(np.asarray(batches_module.rgb_center(ramp)), middle)


def test_of_images_that_grow_few_are_held_at_a_time(vit, monkeypatch):
    """A batch of tiny images, each of which is large when its shorter side has been resized."""
    embedder = load_embedder(vit[1], device="cpu", batch_size=8)
    parts = watch_parts(embedder, monkeypatch)
    assert embedder([Image.new("RGB", (1, 100))] * 9).shape == (9, 16)
    assert parts == [3, 3, 2, 1]


def test_an_image_that_cannot_be_prepared_is_told_of(vit, monkeypatch):
    embedder = load_embedder(vit[1], device="cpu")
    monkeypatch.setattr(embedder, "processor", lambda images, **_: bytes(2**62))
    with pytest.raises(EmbedderError, match=r"An image of 32 × 32 cannot be prepared .*: it takes more memory"):
        embedder(noise(2))
    with pytest.raises(EmbedderError, match=r"An image of 0 × .* cannot be prepared"):
        embedder([Image.new("RGB", (0, 5))])


def test_pixels_of_a_long_image_take_little_memory(monkeypatch):
    """Pillow has a weight for each pixel of a row: to resize one of 79 million took more than a gigabyte."""
    resized = watch_sizes(monkeypatch)
    Pixels()([Image.new("RGB", (1_000_000, 1)), Image.new("RGB", (1, 1_000_000))])
    assert resized == [100] * 2


def test_errors_of_the_reader_come_through(vit, tmp_path):
    def broken():
        yield from noise(5)
        raise RuntimeError("the disk is gone")

    embedder = load_embedder(vit[1], device="cpu", batch_size=2)
    with pytest.raises(RuntimeError, match="the disk is gone"):
        embedder(broken())
    noise(1, side=200)[0].save(tmp_path / "cut.png")
    file = tmp_path / "cut.png"
    file.write_bytes(file.read_bytes()[:2000])
    with Image.open(file) as image, pytest.raises(EmbedderError, match=r"cut\.png cannot be read"):
        embedder([*noise(3), image])
    with pytest.raises(EmbedderError, match="no images"):
        embedder([])


def test_clip_gives_its_vision_tower(tmp_path):
    from transformers import CLIPConfig, CLIPModel

    text = TINY | {"vocab_size": 20, "bos_token_id": 0, "eos_token_id": 1}
    config = CLIPConfig(text_config=text, vision_config=TINY, projection_dim=8)
    model, folder = saved(tmp_path, CLIPModel(config))
    images = noise(2)
    with torch.inference_mode():
        output = model.vision_model(ready(images))
    np.testing.assert_allclose(load_embedder(folder, device="cpu")(images), output.last_hidden_state[:, 0], atol=1e-5)
    pooled = load_embedder(folder, device="cpu", pooling="pooled")(images)
    np.testing.assert_allclose(pooled, output.pooler_output, atol=1e-5)


def test_networks_without_a_class_token(tmp_path):
    from transformers import ConvNextConfig, ConvNextModel, SiglipConfig, SiglipModel

    siglip = SiglipModel(SiglipConfig(text_config=TINY | {"vocab_size": 20}, vision_config=TINY))
    convnext = ConvNextModel(ConvNextConfig(hidden_sizes=[4, 4, 6, 8], depths=[1, 1, 1, 1], image_size=64))
    large = {"size": {"height": 64, "width": 64}}
    for name, model, preparation in (("siglip", siglip, {}), ("convnext", convnext, large)):
        model, folder = saved(tmp_path / name, model, preparation)
        with pytest.raises(EmbedderError, match=r"no class token; use pooling='pooled' or 'mean'"):
            load_embedder(folder, device="cpu")
        side = 64 if preparation else 32
        images = noise(2, side)
        with torch.inference_mode():
            output = getattr(model, "vision_model", model)(ready(images))
        pooled, mean = (load_embedder(folder, device="cpu", pooling=p)(images) for p in ("pooled", "mean"))
        np.testing.assert_allclose(pooled, output.pooler_output, atol=1e-5)
        states = output.last_hidden_state
        by_hand = states.mean(1) if states.ndim == 3 else states.mean((2, 3))
        np.testing.assert_allclose(mean, by_hand, atol=1e-5)


def test_registers_are_no_patches_and_dinov3_needs_no_torchvision(tmp_path):
    from transformers import DINOv3ViTConfig, DINOv3ViTModel

    model = DINOv3ViTModel(DINOv3ViTConfig(**TINY, num_register_tokens=3))
    model, folder = saved(tmp_path, model, {"image_processor_type": "DINOv3ViTImageProcessorFast"})
    images = noise(2)
    with torch.inference_mode():
        tokens = model(ready(images)).last_hidden_state
    assert tokens.shape[1] == 1 + 3 + 16
    mean = load_embedder(folder, device="cpu", pooling="mean")(images)
    np.testing.assert_allclose(mean, tokens[:, 4:].mean(1), atol=1e-5)


def test_a_masked_autoencoder_sees_whole_images(tmp_path):
    from transformers import ViTMAEConfig, ViTMAEModel

    embedder = load_embedder(saved(tmp_path, ViTMAEModel(ViTMAEConfig(**TINY)))[1], device="cpu")
    np.testing.assert_allclose(embedder(noise(2)), embedder(noise(2)), atol=1e-4)


def test_a_network_for_text_is_refused(tmp_path):
    from transformers import BertConfig, BertModel

    text = {key: TINY[key] for key in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")}
    _, folder = saved(tmp_path, BertModel(BertConfig(**text, vocab_size=20)))
    with pytest.raises(EmbedderError, match="not a vision network: it takes input_ids"):
        load_embedder(folder, device="cpu")


def test_weights_that_a_file_lacks_are_not_drawn_at_random(vit, tmp_path):
    from transformers import ViTConfig, ViTModel

    with pytest.raises(EmbedderError, match=r"lack 2 parameters .* use pooling='cls' or 'mean'"):
        load_embedder(vit[1], device="cpu", pooling="pooled")
    _, folder = saved(tmp_path, ViTModel(ViTConfig(**TINY | {"num_hidden_layers": 1}), add_pooling_layer=False))
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 2}))
    with pytest.raises(EmbedderError, match="download the whole model"):
        load_embedder(folder, device="cpu")


@pytest.mark.parametrize(
    ("file", "own"),
    [
        ("config.json", {"model_type": "own", "auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"}}),
        ("preprocessor_config.json", {"image_processor_type": "Own", "auto_map": {"AutoImageProcessor": "own.Own"}}),
    ],
    ids=["model", "preparation"],
)
def test_code_in_a_model_is_never_executed(vit, tmp_path, file, own):
    marker = tmp_path / "executed"
    copied(vit, tmp_path)
    (tmp_path / "own.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    content = json.loads((tmp_path / file).read_text())
    (tmp_path / file).write_text(json.dumps(content | own))
    with contextlib.suppress(EmbedderError):  # or the network's own preparation is taken
        load_embedder(str(tmp_path), device="cpu")
    assert not marker.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "config.json").unlink(), "needs config.json"),
        (lambda folder: (folder / "config.json").write_text("{"), "does not contain a"),
        (lambda folder: (folder / "preprocessor_config.json").unlink(), "preprocessor_config.json"),
        (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"), "model.safetensors"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"no weights"), "does not contain a"),
    ],
    ids=range(5),
)
def test_folders_that_hold_no_model(vit, tmp_path, change, message):
    change(copied(vit, tmp_path))
    with pytest.raises(EmbedderError, match=message):
        load_embedder(str(tmp_path), device="cpu")


@pytest.mark.parametrize("name", ["opengcd-tests/no-such-model", "./no/such/folder"])
def test_names_that_lead_nowhere(monkeypatch, name):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(EmbedderError, match=r"There is no folder .* or give a local folder"):
        load_embedder(name, device="cpu")


def test_wrong_settings(vit, monkeypatch):
    with pytest.raises(EmbedderError, match="Unknown pooling 'max'; choose from cls, mean, pooled"):
        load_embedder("pixels", pooling="max")
    with pytest.raises(EmbedderError, match="Unknown precision '8'; choose from auto, half, full"):
        load_embedder("pixels", precision="8")
    with pytest.raises(ValueError, match="use 'auto', 'cpu' or 'cuda'"):
        load_embedder(vit[1], device="tpu")
    with pytest.raises(ValueError, match="batch_size must be an integer from 1"):
        load_embedder(vit[1], device="cpu", batch_size=0)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"pip install \"opengcd\[embed\]\""):
        load_embedder(vit[1], device="cpu")


@pytest.mark.skipif(not SHARED.is_dir(), reason="the reference network and images are not part of the repository")
@pytest.mark.parametrize(("precision", "least", "most"), [("auto", 0.9999, 1.1), ("half", 0.999, 0.99999)])
def test_a_real_network_gives_the_reference_vectors(precision, least, most):
    with np.load(SHARED / "images" / "birds_features.npz") as reference:
        rows = np.linspace(0, len(reference["files"]) - 1, 24).astype(int)
        files, expected = reference["files"][rows], reference["features"][rows]

    def images():
        for file in files:
            with Image.open(SHARED / "images" / "birds" / file) as image:
                yield image

    found = load_embedder(str(SHARED / "models" / "vit-s14"), device="cpu", precision=precision)(images(), len(files))
    assert least <= cosines(found, expected).min() < most


def test_fingerprints_tell_embedders_apart(vit, tmp_path):
    one = load_embedder(vit[1], device="cpu")
    moved = load_embedder(str(copied(vit, tmp_path)), device="cpu")
    assert one.fingerprint == moved.fingerprint
    assert one.fingerprint != load_embedder(vit[1], device="cpu", pooling="mean").fingerprint
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(PREPARATION | {"resample": 3}))
    assert one.fingerprint != load_embedder(str(tmp_path), device="cpu").fingerprint
    with torch.no_grad():
        moved.model.embeddings.cls_token += 1e-6
    del moved.__dict__["fingerprint"]
    assert one.fingerprint != moved.fingerprint
    assert Pixels(8).fingerprint != Pixels(4).fingerprint


def test_a_batch_is_not_changed_by_its_use(vit, monkeypatch):
    embedder = load_embedder(vit[1], device="cpu")
    images, prepare, batches = noise(3), embedder.processor, []

    def prepare_once(**options):
        batches.append(batches[0] if batches else prepare(**options))
        return batches[-1]

    monkeypatch.setattr(embedder, "processor", prepare_once)
    np.testing.assert_array_equal(embedder(images), embedder(images))
    assert len(batches) == 2


def test_a_network_in_16_bits_is_the_same_embedder(vit):
    images = noise(6)
    full, half = (load_embedder(vit[1], device="cpu", precision=precision) for precision in ("full", "half"))
    exact, rounded = full(images), half(images)
    assert rounded.dtype == np.float32
    assert not np.array_equal(exact, rounded)
    assert cosines(exact, rounded).min() > 0.99  # of a network of 16 units, with large weights
    assert half.fingerprint == full.fingerprint


def test_colours_are_scaled_beside_the_network_where_that_is_the_same(vit, monkeypatch):
    class Gamma:
        """A preparation that is no straight line."""

        def __init__(self, processor):
            self.processor = processor

        def __call__(self, images, do_rescale=True, do_normalize=True, **options):
            batch = self.processor(images=images, do_rescale=False, do_normalize=False, **options)
            if do_rescale:
                batch["pixel_values"] = (batch["pixel_values"] / 255) ** 2
            return batch

    embedder = load_embedder(vit[1], device="cpu")
    processor, given = embedder.processor, []
    scale, offset = backbone.channel_scaling(processor)
    np.testing.assert_allclose(scale.flatten(), [2 / 255] * 3, rtol=1e-5)
    np.testing.assert_allclose(offset.flatten(), [-1] * 3)
    monkeypatch.setattr(embedder, "processor", lambda **options: given.append(processor(**options)) or given[-1])
    embedder(noise(2))
    assert [batch["pixel_values"].dtype for batch in given] == [torch.uint8]
    assert backbone.channel_scaling(Gamma(processor)) is None
    assert backbone.channel_scaling(lambda images, return_tensors: {}) is None


def test_a_stream_gives_the_same_rows(vit):
    images = noise(10)
    for embedder in (load_embedder(vit[1], device="cpu", batch_size=4), Pixels()):
        parts = list(embedder.stream(iter(images)))
        np.testing.assert_array_equal(np.concatenate(parts), embedder(images))
        assert list(embedder.stream([])) == []


def test_shades_of_16_bits_are_scaled():
    ramp = np.array([[0, 0x40FF, 0x8000, 0xFFFF]], dtype=np.uint16)
    for image in (Image.fromarray(ramp), Image.fromarray(ramp.astype(np.int32))):
        np.testing.assert_allclose(
            Pixels(1)([image.crop((i, 0, i + 1, 1)) for i in range(4)])[:, 0] * 255, [0, 64, 128, 255]
        )
    assert Pixels(1)([Image.fromarray(np.full((1, 1), 77, dtype=np.int32))])[0, 0] * 255 == pytest.approx(77)
