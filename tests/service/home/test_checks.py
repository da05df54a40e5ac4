"""Checking a backbone that is downloaded: progress, cancelling, and one check at a time."""

import json
import shutil

import pytest

from opengcd.service.home.fetching import needed_files
from tests.helpers.homing import home_client
from tests.helpers.hub import serving_hub
from tests.helpers.networks import save_vit
from tests.helpers.serving import eventually, get, send

NAME = "ann/tiny"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("networks") / "tiny"
    save_vit(folder)
    (folder / "pytorch_model.bin").write_bytes(b"the same weights again")
    return folder


@pytest.fixture
def hub(tiny, tmp_path, monkeypatch):
    with serving_hub({NAME: tiny, "ann/other": tiny}, tmp_path / "hub", monkeypatch) as found:
        yield found


@pytest.fixture
def home(tmp_path):
    with home_client(tmp_path / "projects") as client:
        yield client


def check(home, name=NAME, **more):
    return send(home, "POST", "backbones/check", {"name": name, **more}, 202)


def now(home):
    return get(home, "backbones/check")["checking"]


def ended(home):
    eventually(lambda: now(home)["state"] != "running")
    return now(home)


def half_way(home):
    eventually(lambda: now(home)["done"] > now(home)["total"] / 3)
    return now(home)


def test_a_download_tells_how_far_it_is(hub, home, tiny):
    assert now(home) is None
    begun = check(home)
    half = half_way(home)
    needed = ("config.json", "model.safetensors", "preprocessor_config.json")
    assert half["total"] == sum((tiny / name).stat().st_size for name in needed)
    assert (half["id"], half["stage"], half["state"]) == (begun["id"], "downloading", "running")
    assert half["done"] < half["total"]
    # A page that is loaded again goes on with it; how the output is used may change meanwhile.
    assert check(home, pooling="mean")["id"] == begun["id"]
    hub.go_on.set()
    done = ended(home)
    assert (done["state"], done["result"]["usable"], done["result"]["pooling"]) == ("done", True, "mean")
    assert set(needed) <= set(hub.sent)
    assert "pytorch_model.bin" not in hub.sent
    assert NAME in [one["name"] for one in get(home, "backbones")["backbones"] if one["where"] == "downloaded before"]
    assert check(home)["id"] != begun["id"]
    assert ended(home)["result"]["usable"]
    assert hub.sent.count("model.safetensors") == 1


def test_it_can_be_cancelled_and_begun_again(hub, home, tmp_path):
    check(home)
    half_way(home)
    assert send(home, "POST", "backbones/check/cancel")["checking"]["state"] == "cancelled"
    hub.go_on.set()
    eventually(lambda: not list((tmp_path / "hub").rglob("*.incomplete")))
    assert ended(home)["result"] is None
    assert not list((tmp_path / "hub").rglob("*.safetensors"))
    check(home)
    assert ended(home)["result"]["usable"]


def test_the_backbone_that_is_chosen_last_counts(hub, home):
    first = check(home)
    half_way(home)
    second = check(home, "ann/other")
    assert second["id"] != first["id"]
    hub.go_on.set()
    done = ended(home)
    assert (done["id"], done["result"]["name"], done["result"]["usable"]) == (second["id"], "ann/other", True)


def test_what_cannot_be_downloaded_is_explained(hub, home, tiny, tmp_path, monkeypatch):
    check(home, "ann/none")
    assert "There is no folder ann/none, and the network could not be downloaded" in ended(home)["result"]["problem"]
    broken = shutil.copytree(tiny, tmp_path / "broken")
    (broken / "config.json").write_text(json.dumps({"model_type": "none"}))
    hub.networks["ann/broken"] = broken
    hub.go_on.set()
    check(home, "ann/broken")
    assert not ended(home)["result"]["usable"]

    def full(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("huggingface_hub.hf_hub_download", full)
    check(home)
    assert "No space left on device. Check" in ended(home)["result"]["problem"]
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    check(home)
    assert "Check the name and the network connection" in ended(home)["result"]["problem"]


def test_only_the_files_that_are_loaded_are_downloaded():
    single = ["README.md", "config.json", "flax_model.msgpack", "model.fp16.safetensors", "model.safetensors"]
    assert needed_files(single) == ["config.json", "model.safetensors"]
    parts = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"]
    assert needed_files(["preprocessor_config.json", *parts, "onnx/model.onnx"]) == ["preprocessor_config.json", *parts]
