"""The folders of birds that the tutorials use, from a small dataset in CUB's layout."""

import csv
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from opengcd.bench import RawDatasetError
from opengcd.bench.birds import KNOWN, NEW, main, write_birds
from tests.helpers.needed import missing
from tests.helpers.places import SHARED

# The numbers of the classes in CUB, and how many test images each has; all have 30 training images.
CUB = {
    2: ("Laysan_Albatross", 30), 10: ("Red_winged_Blackbird", 30), 16: ("Painted_Bunting", 28), 17: ("Cardinal", 27),
    42: ("Vermilion_Flycatcher", 30), 47: ("American_Goldfinch", 30), 48: ("European_Goldfinch", 30),
    53: ("Western_Grebe", 30), 67: ("Anna_Hummingbird", 30), 73: ("Blue_Jay", 30), 75: ("Green_Jay", 27),
    81: ("Pied_Kingfisher", 30), 87: ("Mallard", 30), 100: ("Brown_Pelican", 30), 101: ("White_Pelican", 20),
    106: ("Horned_Puffin", 30), 118: ("House_Sparrow", 30), 136: ("Barn_Swallow", 30), 139: ("Scarlet_Tanager", 30),
    186: ("Cedar_Waxwing", 30), 192: ("Downy_Woodpecker", 30),
}  # fmt: skip
SIZE = 16, 18


def picture(number, training):
    """A grey that tells the class, and beside it white for a training image or black for a test image."""
    image = Image.new("L", SIZE, 12 * list(CUB).index(number))
    image.paste(255 if training else 0, (8, 0, *SIZE))
    return image


@pytest.fixture(scope="module")
def cub(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw") / "CUB_200_2011"
    lists = {"images": [], "image_class_labels": [], "train_test_split": [], "classes": []}
    rng, image = np.random.default_rng(0), 0
    for number, (name, tested) in CUB.items():
        lists["classes"].append(f"{number} {number:03}.{name}")
        inside = folder / "images" / f"{number:03}.{name}"
        inside.mkdir(parents=True)
        for training in rng.permutation([1] * 30 + [0] * tested):
            image += 1
            file = inside / f"{name}_{rng.integers(9999):04}_{image}.jpg"
            picture(number, training).save(file)
            lists["images"].append(f"{image} {inside.name}/{file.name}")
            lists["image_class_labels"].append(f"{image} {number}")
            lists["train_test_split"].append(f"{image} {training}")
    for name, lines in lists.items():
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def birds(cub, tmp_path_factory):
    out = tmp_path_factory.mktemp("birds") / "images"
    assert write_birds(cub, out) == (360, 822)
    return out


def seen(file):
    """The class and the part of the dataset that an image shows."""
    with Image.open(file) as image:
        grey, right = (image.convert("L").getpixel((x, 8)) for x in (3, 12))
    return list(CUB.values())[round(grey / 12)][0], right > 127


def truth_of(folder):
    with open(folder / "stream_truth.csv", newline="") as table:
        return list(csv.DictReader(table))


def test_known_folders_hold_the_training_images_of_their_class(birds, cub):
    folders = sorted((birds / "known").iterdir())
    assert [folder.name for folder in folders] == sorted(KNOWN)
    for folder in folders:
        files = list(folder.iterdir())
        assert len(files) == 30
        assert {seen(file) for file in files} == {(folder.name, True)}
        assert {file.name for file in files} <= {file.name for file in cub.glob(f"images/*.{folder.name}/*")}


def test_the_stream_holds_what_its_table_says(birds):
    rows = truth_of(birds)
    assert [row["file"] for row in rows] == sorted(file.name for file in (birds / "stream").iterdir())
    shown = [(row["class"], row["known"], *seen(birds / "stream" / row["file"])) for row in rows]
    assert all(told == real for told, _, real, _ in shown)
    assert {told for told, known, *_ in shown if known == "1"} == set(KNOWN)
    assert {told for told, known, *_ in shown if known == "0"} == set(NEW)
    assert not any(training for _, known, _, training in shown if known == "1")
    assert Counter(training for _, known, _, training in shown if known == "0") == {True: 240, False: 230}


def test_the_stream_is_shuffled(birds):
    classes = [row["class"] for row in truth_of(birds)]
    assert len(set(classes[:60])) > 15


def test_the_stream_has_the_order_of_the_published_numbers(birds):
    there = SHARED / "images" / "birds"
    if not there.is_dir():
        missing(f"{there} is not there")
    assert (birds / "stream_truth.csv").read_text() == (there / "stream_truth.csv").read_text()


@pytest.mark.parametrize(("size", "scaled"), [((300, 600), (256, 512)), ((512, 400), (328, 256)), ((200, 700), None)])
def test_the_shorter_side_is_256_pixels_at_most(size, scaled, cub, tmp_path):
    file = next(cub.glob("images/*.Blue_Jay/*"))
    before = file.read_bytes()
    try:
        Image.new("L", size).save(file)
        write_birds(cub, tmp_path / "images")
    finally:
        file.write_bytes(before)
    sizes = set()
    for written in (tmp_path / "images").rglob("*.jpg"):
        with Image.open(written) as image:
            assert image.mode == "RGB"
            sizes.add(image.size)
    assert sizes == {SIZE, scaled or size}


def test_a_folder_that_is_not_empty_is_left_alone(cub, tmp_path):
    (tmp_path / "mine").write_text("kept")
    for out in (tmp_path, tmp_path / "mine"):
        with pytest.raises(RawDatasetError, match="not an empty folder"):
            write_birds(cub, out)
    assert [file.name for file in tmp_path.iterdir()] == ["mine"]


def test_the_command_says_what_it_wrote_or_what_is_wrong(cub, tmp_path, capsys):
    main([str(cub.parent), str(tmp_path / "images")])
    assert "360 images of 12 known classes, 822 in the stream" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([str(tmp_path), str(tmp_path / "more")])
    assert "no images.txt" in capsys.readouterr().err
    assert not (tmp_path / "more").exists()


def test_another_dataset_in_its_layout_is_refused(cub, tmp_path):
    classes = cub / "classes.txt"
    before = classes.read_text()
    try:
        classes.write_text(before.replace("Mallard", "Gadwall"))
        with pytest.raises(RawDatasetError, match="no class Mallard"):
            write_birds(cub, tmp_path / "images")
    finally:
        classes.write_text(before)
