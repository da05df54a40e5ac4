"""From an empty machine to exported labels with one command: by mouse, by keyboard, and by touch on a phone."""

import csv
import json
import shutil
import zipfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.hands import Finger, Keyboard, Mouse
from tests.helpers.homing import home_process
from tests.helpers.journey import UP, Journey
from tests.helpers.pictures import COLOURS, KNOWN, truth
from tests.helpers.places import SHARED

PIXELS = "pixels (no network)"


@pytest.fixture
def journey(browser, world, tmp_path):
    """A home folder with images and nothing else, and a person who begins with the command."""

    @contextmanager
    def begun(hand, pictures=world[0].parent, name_of=truth, **patience):
        home = tmp_path / "home"
        shutil.copytree(pictures, home / "pictures")
        one = Journey(browser, hand, name_of, **patience)
        with home_process(tmp_path / "projects", HOME=str(home)) as (_, link):
            one.begin(link, "Project")
            yield one, home / "pictures"
            one.end()

    return begun


def phase(one):
    """From images that were added to a recogniser that knows them."""
    one.said("48 images were added")
    one.discover()
    one.review()
    one.take_out_strangers()
    one.review()
    one.learn()


def check(labels, colours):
    """Each image has its own colour as its label, and so many have each."""
    assert all(label == truth(name) for name, label in labels)
    assert Counter(label for _, label in labels) == colours


ALL = dict.fromkeys(KNOWN, 16) | dict.fromkeys(set(COLOURS) - set(KNOWN), 8)


def test_by_mouse_from_folders_of_the_machine(journey, tmp_path):
    with journey(Mouse) as (one, _):
        one.hand.press(one.button("Choose a folder"))
        one.choose_folder("pictures", "known", submit="Use this folder")
        one.choose_network(PIXELS)
        one.create("32 images of 4 classes")
        one.hand.press(one.button("From this machine"))
        one.choose_folder(UP, "stream", submit="Add this folder")
        phase(one)
        file = one.export("CSV", "All images", tmp_path)
    with file.open(newline="") as lines:
        check([(row["path"], row["label"]) for row in csv.DictReader(lines)], ALL)


def test_by_keyboard_from_uploaded_folders(journey, tmp_path):
    with journey(Keyboard) as (one, pictures):
        one.hand.pick(one.page.get_by_role("radio", name="Upload"))
        one.choose_files("Choose a folder", pictures / "known")
        one.choose_network(PIXELS)
        one.create("32 images of 4 classes")
        one.choose_files("Choose a folder", pictures / "stream")
        phase(one)
        file = one.export("JSON", "New classes", tmp_path)
    check([(row["paths"][0], row["label"]) for row in json.loads(file.read_bytes())], {"blue": 8, "yellow": 8})


def test_by_touch_from_zips_on_a_phone(journey, tmp_path):
    with journey(Finger) as (one, pictures):
        known, stream = (shutil.make_archive(str(tmp_path / n), "zip", pictures / n) for n in ("known", "stream"))
        one.hand.pick(one.page.get_by_role("radio", name="Upload"))
        one.choose_files("Choose files or a zip", known)
        one.choose_network(PIXELS)
        one.create("32 images of 4 classes")
        one.choose_files("Choose files", stream)
        phase(one)
        file = one.export("Hugging Face ImageFolder", "All images", tmp_path)
    with zipfile.ZipFile(file) as archive:
        rows = [json.loads(line) for line in archive.read("train/metadata.jsonl").splitlines()]
        assert {f"train/{row['file_name']}" for row in rows} < set(archive.namelist())
    check([(row["file_name"], row["label"]) for row in rows], ALL)


@pytest.mark.slow
@pytest.mark.parametrize("hand", [Mouse, Keyboard, Finger])
def test_birds(journey, tmp_path, hand):
    """Real images and a real network: twelve birds are known, and most images of eight new ones get their names."""
    birds, network = SHARED / "images" / "birds", SHARED / "models" / "vit-s14"
    if not (birds.is_dir() and network.is_dir()):
        pytest.skip(f"{birds} and {network} are not there")
    with open(birds / "stream_truth.csv", newline="") as lines:
        truths = {row["file"]: row for row in csv.DictReader(lines)}

    def name_of(shown):
        return truths[shown.partition(",")[0]]["class"]

    with journey(hand, birds, name_of, patience=1_200_000) as (one, pictures):
        known, stream = (shutil.make_archive(str(tmp_path / n), "zip", pictures / n) for n in ("known", "stream"))
        one.hand.pick(one.page.get_by_role("radio", name="Upload"))
        one.choose_files("Choose files or a zip", known)
        one.name_network(network)
        one.create("360 images of 12 classes")
        one.choose_files("Choose files", stream)
        one.said("822 images were added")
        one.discover()
        one.review()
        one.learn()
        file = one.export("CSV", "All images", tmp_path)
    with file.open(newline="") as lines:
        rows = [(Path(row["path"]).name, row["label"]) for row in csv.DictReader(lines)]
    labels = {name: label for name, label in rows if name in truths}
    assert labels.keys() == truths.keys()
    assert set(labels.values()) >= {row["class"] for row in truths.values()}
    right = Counter(labels[file] == row["class"] for file, row in truths.items() if row["known"] == "0")
    print(f"{hand.__name__}: {right[True]} of {right.total()} images of new birds have their names")
    assert right[True] > 0.7 * right.total()
