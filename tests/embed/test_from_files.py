"""From files to vectors: where an embedder allows it, images are prepared by the decoder processes, to the same bit."""

import io
import json

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from sqlalchemy import select

from opengcd import Workspace
from opengcd._internal.images import Square
from opengcd.bench import make_features
from opengcd.embed import EmbedderError, Pixels, TakesPrepared, embed_files, load_embedder, read_image
from opengcd.embed.backbone import square_of
from opengcd.workspace import schema
from tests.helpers.pictures import KNOWN, RECOGNIZER, paint
from tests.helpers.places import SHARED

NETWORK = SHARED / "models" / "vit-s14"
SIZES = [
    (500, 375),
    (375, 500),
    (224, 224),
    (256, 256),
    (17, 900),
    (31, 23),
    (1, 1),
    (640, 427),
    (1300, 1100),
    (3, 200),
]
CROPPED = {"height": 32, "width": 32}
WHOLE = Square(40, 32, 3, whole=True)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """A tiny network that takes the centre of images, in a folder."""
    folder = tmp_path_factory.mktemp("network")
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=32, patch_size=8,
        initializer_range=0.5,
    )  # fmt: skip
    transformers.ViTModel(config, add_pooling_layer=False).save_pretrained(folder)
    preparation = {
        "image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 37}, "crop_size": CROPPED,
        "resample": 3, "image_mean": [0.5] * 3, "image_std": [0.5] * 3,
    }  # fmt: skip
    (folder / "preprocessor_config.json").write_text(json.dumps(preparation))
    return folder


def encoded(image, format="PNG", **options):
    stream = io.BytesIO()
    image.save(stream, format, **options)
    return stream.getvalue()


def photos(sizes=SIZES):
    rng = np.random.default_rng(0)
    images = [Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8)) for width, height in sizes]
    return [encoded(image, "JPEG" if row % 2 else "PNG") for row, image in enumerate(images)]


def embedded(embedder, files):
    notes = []

    def note(source, found):
        notes.append((source, found if isinstance(found, str) else found.size))

    parts = list(embed_files(embedder, range(len(files)), files.__getitem__, note))
    return np.concatenate(parts) if parts else None, notes


# What a processor does.


@pytest.mark.parametrize(
    ("processor", "square"),
    [
        (transformers.BitImageProcessorPil(size={"shortest_edge": 37}, crop_size=CROPPED), Square(37, 32, 3)),
        (transformers.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=CROPPED), Square(32, 32, 3)),
        (transformers.ViTImageProcessorPil(size=CROPPED), Square(32, 32, 2, whole=True)),
        (transformers.DeiTImageProcessorPil(size={"height": 40, "width": 40}, crop_size=CROPPED), WHOLE),
        # More than a square: filled up with black, not resized, not square, limited in length, or by a rule of its own.
        (transformers.BitImageProcessorPil(size={"shortest_edge": 30}, crop_size=CROPPED), None),
        (transformers.BitImageProcessorPil(size={"shortest_edge": 37}, crop_size=CROPPED, do_resize=False), None),
        (transformers.ViTImageProcessorPil(size={"height": 32, "width": 48}), None),
        (transformers.BitImageProcessorPil(size={"shortest_edge": 37, "longest_edge": 60}, crop_size=CROPPED), None),
        (transformers.ConvNextImageProcessorPil(size={"shortest_edge": 32}), None),
        (lambda images, return_tensors: {}, None),
    ],
    ids=["bit", "clip", "vit", "deit", "filled up", "not resized", "not square", "longest", "convnext", "foreign"],
)  # fmt: skip
def test_only_what_gives_the_same_pixels_is_a_square(processor, square):
    assert square_of(processor) == square


def test_a_processor_that_does_more_than_it_says_is_found_out():
    class Mirrored(transformers.BitImageProcessorPil):
        def resize(self, image, **settings):
            return np.ascontiguousarray(super().resize(image, **settings)[..., ::-1])

    assert square_of(Mirrored(size={"shortest_edge": 37}, crop_size=CROPPED)) is None


# The same vectors.


def test_vectors_are_the_same_to_the_bit(network):
    files = photos() * 3
    embedder = load_embedder(str(network), device="cpu", batch_size=8)
    assert isinstance(embedder, TakesPrepared)
    assert embedder.prepares == Square(37, 32, 3)
    found, notes = embedded(embedder, files)
    np.testing.assert_array_equal(found, embedder(read_image(io.BytesIO(file)) for file in files))
    assert notes == list(enumerate(SIZES * 3))


@pytest.mark.skipif(not NETWORK.is_dir(), reason="the reference network is not part of the repository")
@pytest.mark.parametrize("precision", ["full", "half"])
def test_vectors_of_a_real_network_are_the_same_to_the_bit(precision):
    birds = sorted((SHARED / "images" / "birds").rglob("*.jpg"))[:10]
    files = photos() + [bird.read_bytes() for bird in birds]
    embedder = load_embedder(str(NETWORK), device="cpu", precision=precision)
    assert embedder.prepares == Square(256, 224, 3)
    found, _ = embedded(embedder, files)
    np.testing.assert_array_equal(found, embedder(read_image(io.BytesIO(file)) for file in files))


def test_bad_files_leave_batches_as_they_would_be_without_them(network):
    embedder = load_embedder(str(network), device="cpu", batch_size=4)
    good = photos()
    files = [b"", *good[:3], b"no image", good[3][:300], *good[3:]]
    found, notes = embedded(embedder, files)
    np.testing.assert_array_equal(found, embedded(embedder, good)[0])
    assert [row for row, _ in notes] == list(range(len(files)))
    assert {row for row, what in notes if isinstance(what, str)} == {0, 4, 5}
    assert [what for _, what in notes if not isinstance(what, str)] == SIZES


def test_no_image_is_prepared_twice(network, monkeypatch):
    embedder = load_embedder(str(network), device="cpu")
    assert embedder.prepares is not None
    monkeypatch.setattr(embedder, "processor", None)
    assert embedded(embedder, photos())[0].shape == (len(SIZES), 16)


@pytest.mark.parametrize("kind", ["pixels", "own preparation"])
def test_other_embedders_are_given_whole_images(kind, network, monkeypatch):
    embedder = Pixels() if kind == "pixels" else load_embedder(str(network), device="cpu")
    if kind != "pixels":
        processor = transformers.BitImageProcessorPil(size={"shortest_edge": 30}, crop_size=CROPPED)
        monkeypatch.setattr(embedder, "processor", processor)
        with pytest.raises(EmbedderError, match="give it whole images"):
            next(embedder.stream_prepared([]))
    found, notes = embedded(embedder, photos())
    np.testing.assert_array_equal(found, embedder(read_image(io.BytesIO(file)) for file in photos()))
    assert [size for _, size in notes] == SIZES


def test_nothing_to_embed(network):
    for embedder in (load_embedder(str(network), device="cpu"), Pixels()):
        assert embedded(embedder, []) == (None, [])
        assert embedded(embedder, [b""]) == (None, [(0, "the file is empty")])


def test_what_a_reader_raises_comes_through(network):
    def broken(_):
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError, match="the disk is gone"):
        list(embed_files(load_embedder(str(network), device="cpu"), [1], broken, lambda *_: None))


# Where it is used.


def test_a_workspace_stores_vectors_and_sizes_of_whole_images(network, tmp_path):
    for colour in KNOWN:
        paint(tmp_path / "known" / colour, colour, range(5))
    embedder = load_embedder(str(network), device="cpu")
    (tmp_path / "stream").mkdir()
    for row, file in enumerate(photos()):
        (tmp_path / "stream" / f"{row}.img").write_bytes(file)
    with Workspace.create(tmp_path / "w", embedder, recognizer=RECOGNIZER) as workspace:
        workspace.fit(tmp_path / "known")
        items = [result.item for result in sorted(workspace.recognize([tmp_path / "stream"]))]
        with workspace.store.database.reading() as connection:
            stored = {row.id: (row.width, row.height) for row in connection.execute(select(schema.items))}
        assert [stored[item] for item in items] == SIZES
        X, reasons = workspace.recognition.embed([*photos(), b"no image"])
        assert [bool(reason) for reason in reasons] == [False] * len(SIZES) + [True]
    expected = embedder(read_image(io.BytesIO(file)) for file in photos())
    np.testing.assert_allclose(X, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)


@pytest.fixture
def cub(tmp_path):
    """Six photographs in the layout of CUB, one of which says that it should be turned."""
    folder = tmp_path / "CUB_200_2011"
    lists = {"images": [], "image_class_labels": [], "train_test_split": [], "classes": ["1 001.One", "2 002.Two"]}
    exif = Image.Exif()
    exif[0x0112] = 6
    rng = np.random.default_rng(0)
    for number in range(1, 7):
        path = f"{'001.One' if number < 4 else '002.Two'}/{number}.jpg"
        (folder / "images" / path).parent.mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(rng.integers(0, 256, (60, 50 + number, 3), dtype=np.uint8))
        image.save(folder / "images" / path, **({"exif": exif} if number == 2 else {}))
        lists["images"].append(f"{number} {path}")
        lists["image_class_labels"].append(f"{number} {1 if number < 4 else 2}")
        lists["train_test_split"].append(f"{number} {number % 3 and 1}")
    for name, lines in lists.items():
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return folder


def test_features_of_a_dataset_are_the_same(cub, network, tmp_path, monkeypatch):
    embedder = load_embedder(str(network), device="cpu")
    used, stream = [], embedder.stream_prepared
    monkeypatch.setattr(embedder, "stream_prepared", lambda images: used.append(1) or stream(images))
    with np.load(make_features(cub, "cub", embedder, tmp_path / "new")) as new:
        monkeypatch.setitem(embedder.__dict__, "prepares", None)
        with np.load(make_features(cub, "cub", embedder, tmp_path / "old")) as old:
            assert new.files == old.files
            for name in old.files:
                np.testing.assert_array_equal(new[name], old[name])
    assert used == [1]
    monkeypatch.undo()
    (cub / "images" / "002.Two" / "5.jpg").write_bytes(b"no image")
    with pytest.raises(
        ValueError, match=r"The image .*5\.jpg cannot be read: not a readable image.*unpack the archive"
    ):
        make_features(cub, "cub", embedder, tmp_path / "bad")
