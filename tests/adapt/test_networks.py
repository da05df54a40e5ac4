"""From files of images to an adapted network."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from opengcd.adapt import (
    AdaptError,
    AdaptSettings,
    Rehearsed,
    adapt_network,
    check_trainable,
    estimate_time,
    export_onnx,
    rehearsal,
)
from opengcd.embed import load_embedder
from tests.adapt.conftest import stripes
from tests.helpers.networks import save_vit

SETTINGS = AdaptSettings(epochs=2, batch_size=16, rank=4, blocks=1, learning_rate=0.01)
HELPS = Rehearsed(0.5, 0.5, 0.7, 0.7, 2)
HARMS = Rehearsed(0.5, 0.5, 0.4, 0.4, 2)


class StoppedError(Exception):
    """Ends a command as an interruption would."""


@pytest.fixture
def files(tmp_path):
    """Return files of 8 classes of 6 images, and their labels."""
    codes = np.repeat(np.arange(8), 6)
    paths = []
    for row, pixels in enumerate(stripes(codes, side=48)):
        path = tmp_path / f"{row}.png"
        Image.fromarray(pixels).save(path)
        paths.append(str(path))
    return paths, [f"class {code}" for code in codes]


@pytest.fixture
def rehearse_as(monkeypatch):
    """Let every rehearsal come to a given result."""

    def set_result(result):
        monkeypatch.setattr(rehearsal, "rehearse_adaptation", lambda *args, **named: (result, []))

    return set_result


def test_an_adapted_network_is_an_embedder(network, files, tmp_path, rehearse_as):
    rehearse_as(HELPS)
    report = adapt_network(network, *files, tmp_path / "adapted", settings=SETTINGS, device="cpu")
    assert report.written
    assert {f.name for f in (tmp_path / "adapted").iterdir()} == {
        "config.json", "model.safetensors", "preprocessor_config.json"
    }  # fmt: skip
    images = [Image.open(file) for file in files[0]]
    before, after = (load_embedder(str(f), device="cpu")(images) for f in (network, tmp_path / "adapted"))
    assert before.shape == after.shape
    assert not np.allclose(before, after)
    assert 0.5 < np.mean(report.trained) < 1


def test_the_network_stays_if_the_rehearsal_shows_no_gain(network, files, tmp_path, rehearse_as):
    rehearse_as(HARMS)
    report = adapt_network(network, *files, tmp_path / "adapted", settings=SETTINGS, device="cpu")
    assert not report.written
    assert not (tmp_path / "adapted").exists()
    forced = adapt_network(network, *files, tmp_path / "adapted", settings=SETTINGS, device="cpu", force=True)
    assert forced.written


def test_without_a_rehearsal_nothing_is_switched(network, files, tmp_path, rehearse_as):
    rehearse_as(None)
    report = adapt_network(network, *files, tmp_path / "adapted", settings=SETTINGS, device="cpu")
    assert not report.written


def test_a_dry_run_only_rehearses(network, files, tmp_path, rehearse_as):
    rehearse_as(HELPS)
    curves = []
    report = adapt_network(
        network, *files, tmp_path / "adapted", settings=SETTINGS, device="cpu", dry_run=True,
        on_epoch=lambda curve, point: curves.append(curve),
    )  # fmt: skip
    assert (report.written, report.curve, curves) == (False, [], [])
    assert not (tmp_path / "adapted").exists()


def test_a_real_rehearsal_compares_both_networks(network, files, tmp_path):
    curves = []
    report = adapt_network(
        network, *files, tmp_path / "adapted", settings=SETTINGS, device="cpu", dry_run=True,
        scratch=tmp_path / "scratch", on_epoch=lambda curve, point: curves.append(curve),
    )  # fmt: skip
    rehearsed = report.rehearsed
    assert rehearsed is not None
    assert rehearsed.hidden == 3
    assert all(0 <= share <= 1 for share in rehearsed[:4])
    assert curves == ["rehearsing"] * 2
    again = adapt_network(
        network, *files, tmp_path / "adapted", settings=SETTINGS, device="cpu", dry_run=True,
        scratch=tmp_path / "scratch", on_epoch=lambda curve, point: curves.append(curve),
    )  # fmt: skip
    assert again.rehearsed == rehearsed
    assert curves == ["rehearsing"] * 2, "a finished rehearsal is not repeated"


@pytest.mark.parametrize("stage", ["reading images", "computing the lower blocks once", "training the network"])
def test_an_interrupted_call_goes_on(network, files, tmp_path, stage):
    def run(name, scratch, progress):
        adapt_network(
            network, *files, tmp_path / name, settings=SETTINGS, device="cpu", force=True, scratch=scratch,
            progress=progress,
        )  # fmt: skip
        return (tmp_path / name / "model.safetensors").read_bytes()

    steps = 0

    def interrupt(now, done, total):
        nonlocal steps
        steps += now == stage
        if steps > 3:
            raise StoppedError

    whole = run("whole", None, lambda *_: None)
    with pytest.raises(StoppedError):
        run("broken", tmp_path / "scratch", interrupt)
    assert not (tmp_path / "broken").exists()
    assert run("resumed", tmp_path / "scratch", lambda *_: None) == whole


def test_another_call_does_not_go_on_from_there(network, files, tmp_path):
    images, labels = files

    def weights(name, labels, scratch):
        adapt_network(
            network, images, labels, tmp_path / name, settings=SETTINGS, device="cpu", force=True, scratch=scratch
        )
        return (tmp_path / name / "model.safetensors").read_bytes()

    other = [*labels[6:], *labels[:6]]
    weights("one", labels, tmp_path / "scratch")
    assert weights("two", other, tmp_path / "scratch") == weights("three", other, None)


def test_images_without_a_label_are_read_only_if_they_take_part(network, files, tmp_path, rehearse_as):
    rehearse_as(HELPS)
    images, labels = files[0], [None, None, *files[1][2:]]
    gone = [str(tmp_path / "gone.png"), *images[1:]]
    report = adapt_network(network, gone, labels, tmp_path / "one", settings=SETTINGS, device="cpu")
    assert report.unusable == {}
    assert report.trained[:2] == [False, False]
    assert any(report.trained)
    with_all = replace(SETTINGS, unlabelled=True)
    report = adapt_network(network, gone, labels, tmp_path / "two", settings=with_all, device="cpu")
    assert set(report.unusable) == {gone[0]}


def test_files_that_are_not_images_are_left_out(network, files, tmp_path, rehearse_as):
    rehearse_as(HELPS)
    bad = tmp_path / "bad.jpg"
    bad.write_text("not an image")
    images, labels = [*files[0], str(bad), str(tmp_path / "gone.png")], [*files[1], "class 0", "class 1"]
    report = adapt_network(network, images, labels, tmp_path / "adapted", settings=SETTINGS, device="cpu")
    assert set(report.unusable) == {str(bad), str(tmp_path / "gone.png")}
    assert report.trained[-2:] == [False, False]


@pytest.mark.parametrize(("name", "instead"), [("pixels", "no network"), ("some.onnx", "can be run but not trained")])
def test_what_cannot_be_trained(name, instead, files, tmp_path):
    with pytest.raises(AdaptError, match=f"{instead}.*use a network in the Hugging Face layout"):
        adapt_network(name, *files, tmp_path / "adapted")
    with pytest.raises(AdaptError):
        check_trainable(name)


def test_a_folder_that_exists_is_not_overwritten(network, files, tmp_path):
    (tmp_path / "adapted").mkdir()
    (tmp_path / "adapted" / "mine.txt").write_text("mine")
    with pytest.raises(AdaptError, match="already exists"):
        adapt_network(network, *files, tmp_path / "adapted", settings=SETTINGS)
    assert [f.name for f in (tmp_path / "adapted").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("labels", "message"), [(["a"] * 48, "at least two classes"), (["a", "b"], "48 images, but 2 labels")]
)
def test_unusable_labels(network, files, tmp_path, labels, message):
    with pytest.raises(AdaptError, match=message):
        adapt_network(network, files[0], labels, tmp_path / "adapted", settings=SETTINGS)


def test_few_classes_are_not_rehearsed(backbone, images, tmp_path):
    few = images._replace(codes=np.where(images.codes < 5, images.codes, -1))
    assert rehearsal.rehearse_adaptation(backbone, few, SETTINGS, scratch=tmp_path) == (None, [])


def test_a_gain_must_be_more_than_chance():
    assert not Rehearsed(0.5, 0.5, 0.509, 0.509, 2).helps
    assert Rehearsed(0.5, 0.5, 0.48, 0.56, 2).helps


def test_time_is_estimated_by_a_few_steps(network):
    found = estimate_time(network, 100, 50, SETTINGS, device="cpu")
    double = estimate_time(network, 100, 50, AdaptSettings(epochs=200, blocks=1), device="cpu")
    assert found.total == pytest.approx(sum(found))
    assert min(found) > 0
    assert double.training > found.training


def test_an_exported_file_computes_the_same_vectors(tmp_path):
    preparation = {
        "image_processor_type": "BitImageProcessor",
        "size": {"shortest_edge": 37},
        "resample": 3,
        "do_center_crop": True,
        "crop_size": {"height": 32, "width": 32},
        "image_mean": [0.485, 0.456, 0.406],
        "image_std": [0.229, 0.224, 0.225],
    }
    _, folder = save_vit(tmp_path / "network", preparation)
    export_onnx(folder, tmp_path / "network.onnx")
    images = [Image.fromarray(pixels) for pixels in stripes([0, 3], side=64)]
    one = load_embedder(folder, device="cpu")(images)
    other = load_embedder(str(tmp_path / "network.onnx"), device="cpu", pooling="pooled")(images)
    cosines = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    assert cosines.min() > 0.99
    assert not [f for f in Path(tmp_path).iterdir() if f.name not in ("network", "network.onnx")]
    # torch cannot write two at a time.
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: export_onnx(folder, tmp_path / f"{number}.onnx"), range(4)))
    assert {(tmp_path / f"{number}.onnx").read_bytes() for number in range(4)} == {
        (tmp_path / "network.onnx").read_bytes()
    }


def test_a_network_with_another_preparation_is_not_exported(tmp_path):
    _, folder = save_vit(tmp_path / "network", {"image_mean": [0.0, 0.9, 0.0], "image_std": [0.1, 3.0, 0.2]})
    with pytest.raises(AdaptError, match="prepares images in another way"):
        export_onnx(folder, tmp_path / "network.onnx")
    assert not (tmp_path / "network.onnx").exists()
    with pytest.raises(AdaptError, match=r"must end in \.onnx"):
        export_onnx(folder, tmp_path / "network.bin")
