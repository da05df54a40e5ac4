"""Images of a dataset as squares in one array."""

import json

import numpy as np
import pytest
from PIL import Image

from opengcd.bench import ImageDatasetError, RawDatasetError, has_images, load_images, make_images, read_raw
from opengcd.embed import load_embedder
from tests.helpers.networks import save_vit
from tests.helpers.raw_images import write_cifar10


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """A network that resizes the shorter side to 40 pixels and takes the middle 32, as many published ones do."""
    folder = tmp_path_factory.mktemp("network") / "tiny"
    preparation = {"image_processor_type": "BitImageProcessor", "size": {"shortest_edge": 40}, "resample": 3}
    crop = {"do_center_crop": True, "crop_size": {"height": 32, "width": 32}, "do_convert_rgb": True}
    return load_embedder(save_vit(folder, preparation | crop)[1], device="cpu")


@pytest.fixture
def birds(tmp_path):
    """Six images of different sizes, two for each of three classes: one to train on, one to test on."""
    folder, rng = tmp_path / "raw" / "CUB_200_2011", np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    for i, (height, width) in enumerate([(60, 80), (80, 61), (40, 40), (31, 45), (90, 200), (41, 43)], 1):
        Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8)).save(folder / f"images/{i}.png")
    numbers = range(1, 7)
    lists = {
        "images": [f"{i} {i}.png" for i in numbers],
        "image_class_labels": [f"{i} {(i + 1) // 2}" for i in numbers],
        "train_test_split": [f"{i} {i % 2}" for i in numbers],
        "classes": [f"{c} 00{c}.Bird_{c}" for c in (1, 2, 3)],
    }
    for name, lines in lists.items():
        (folder / f"{name}.txt").write_text("\n".join(lines))
    return tmp_path / "raw"


def test_training_images_come_first_as_the_network_would_crop_them(birds, network, tmp_path):
    steps = []
    make_images(birds, "cub", network, tmp_path / "out", lambda *step: steps.append(step))
    images = load_images(tmp_path / "out", "cub", network.name)
    assert images.crops.shape == (6, 40, 40, 3)
    assert isinstance(images.crops, np.memmap)
    assert steps[-1] == ("reading images", 6, 6)
    for crop, i in zip(images.crops, [1, 3, 5, 2, 4, 6], strict=True):
        with Image.open(birds / "CUB_200_2011" / "images" / f"{i}.png") as image:
            whole = network.processor(image, return_tensors="np", do_rescale=False, do_normalize=False)["pixel_values"]
        np.testing.assert_array_equal(crop[4:36, 4:36].transpose(2, 0, 1), whole[0])


def test_small_images_of_one_size_are_not_made_larger(network, tmp_path):
    write_cifar10(tmp_path)
    make_images(tmp_path, "cifar10", network, tmp_path / "out")
    crops = load_images(tmp_path / "out", "cifar10", network.name).crops
    assert crops.shape == (300, 32, 32, 3)
    for crop, image in zip(crops, read_raw(tmp_path, "cifar10").images, strict=True):
        np.testing.assert_array_equal(crop, np.asarray(image))


def test_what_is_interrupted_is_not_there(birds, network, tmp_path):
    out = tmp_path / "out"
    image = birds / "CUB_200_2011" / "images" / "6.png"
    content = image.read_bytes()
    image.write_bytes(content[:50])
    with pytest.raises(RawDatasetError, match=r"6\.png cannot be read"):
        make_images(birds, "cub", network, out)
    assert list(out.iterdir()) == []
    assert not has_images(out, "cub")
    with pytest.raises(ImageDatasetError, match=r"no images of 'cub' in .*give --raw and --embedder"):
        load_images(out, "cub", network.name)
    image.write_bytes(content)
    make_images(birds, "cub", network, out)
    assert has_images(out, "cub")
    assert sorted(file.name for file in out.iterdir()) == ["cub.images.json", "cub.images.npy"]


def test_images_and_networks_are_told_apart(birds, network, tmp_path):
    out, again, other = (tmp_path / name for name in ("out", "again", "other"))
    for folder in (out, again):
        make_images(birds, "cub", network, folder)
    one, same = (load_images(folder, "cub", network.name).source for folder in (out, again))
    assert one == same
    assert (one.network, one.network_fingerprint) == ("tiny", network.fingerprint)  # no folder of this machine
    Image.fromarray(np.zeros((50, 50, 3), dtype=np.uint8)).save(birds / "CUB_200_2011" / "images" / "6.png")
    make_images(birds, "cub", network, again)
    assert load_images(again, "cub", network.name).source.images != one.images
    assert load_images(out, "cub", network.name).load_network().fingerprint == network.fingerprint
    stranger = save_vit(other, seed=1)[1]
    with pytest.raises(ImageDatasetError, match=r"prepared for the network tiny, and .* is another one"):
        load_images(out, "cub", stranger).load_network()
    for name in ("pixels", "network.onnx"):
        with pytest.raises(ValueError, match=r"pixels|onnx"):
            load_images(out, "cub", name).load_network()


def test_damaged_files_are_reported(birds, network, tmp_path):
    make_images(birds, "cub", network, tmp_path)
    note, array = tmp_path / "cub.images.json", tmp_path / "cub.images.npy"
    good = note.read_bytes()
    for wrong in (b"", b"[]", json.dumps({"network": "x"}).encode()):
        note.write_bytes(wrong)
        with pytest.raises(ImageDatasetError, match="cannot be read"):
            load_images(tmp_path, "cub", network.name)
    note.write_bytes(good)
    array.write_bytes(array.read_bytes()[:1000])
    with pytest.raises(ImageDatasetError, match="cannot be read"):
        load_images(tmp_path, "cub", network.name)
