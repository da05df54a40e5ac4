"""Projects of vectors on the home page: each kind of file, with or without thumbnails, through the whole loop."""

import io

import numpy as np
import pytest
from PIL import Image

from opengcd import Workspace
from tests.helpers.homing import home_client
from tests.helpers.needed import needed_module
from tests.helpers.pictures import picture
from tests.helpers.serving import API, eventually, get, send, upload
from tests.workspace.test_given_vectors import KINDS, save, sounds

INSIDE = f"/projects/calls{API}"
OLD, NEW = KINDS[:4], KINDS[4:]


@pytest.fixture
def home(tmp_path):
    with home_client(tmp_path / "projects") as client:
        yield client


def contents(file):
    """A file, or all files of a folder, by their names."""
    files = [one for one in file.rglob("*") if one.is_file()] if file.is_dir() else [file]
    return {one.relative_to(file.parent).as_posix(): one.read_bytes() for one in files}


def run(home, path, body):
    answer = home.post(f"{INSIDE}/{path}", json=body)
    assert answer.status_code == 202, answer.text
    job = answer.json()["id"]
    eventually(lambda: home.get(f"{INSIDE}/jobs/{job}").json()["state"] not in ("waiting", "running"))
    job = home.get(f"{INSIDE}/jobs/{job}").json()
    assert job["state"] == "done", job["error"]
    return job["result"]


def with_pictures(file, X, ids, labels):
    """A dataset of Hugging Face with labels and thumbnails, which holds its images itself."""
    datasets = needed_module("datasets")
    columns = {"embedding": X.tolist(), "id": ids, "label": labels}
    columns["image"] = [picture("red", n, 16) for n in range(len(ids))]
    datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image()).save_to_disk(file)
    return file


@pytest.mark.parametrize("name", ["known.npz", "known.parquet", "known", "pictures"])
def test_from_files_of_vectors_to_labels(home, tmp_path, name):
    X, ids = sounds(OLD, 12, 0)
    labels = [id.partition("-")[0] for id in ids]
    file = with_pictures(tmp_path / name, X, ids, labels) if name == "pictures" else save(
        tmp_path / name, X, ids, labels=labels
    )  # fmt: skip
    one = upload(home, contents(file))
    seen = send(home, "POST", "known", {"upload": one})
    known = {"upload": one, "table": seen["vectors"][0]}
    assert {each["label"]: each["files"] for each in send(home, "POST", "known", known)["classes"]} == dict.fromkeys(
        OLD, 12
    )
    send(home, "POST", "creation", {"name": "calls", "known": known, "backbone": "vectors"}, 202)
    eventually(lambda: get(home, "creation")["creation"]["state"] != "running")
    assert get(home, "creation")["creation"]["state"] == "done", get(home, "creation")
    stream = save(tmp_path / f"stream-{name}", *sounds(KINDS, 10, 1, 100))
    added = run(home, "images", {"upload": upload(home, contents(stream), INSIDE)})
    assert (added["images"], added["bad"]) == (60, 0)
    assert run(home, "jobs", {"verb": "discover"})["items"] >= 20
    more = save(tmp_path / f"more-{name}", *sounds(NEW, 3, 7, 200), labels=[kind for kind in NEW for _ in range(3)])
    one = upload(home, contents(more), INSIDE)
    seen = home.post(f"{INSIDE}/known", json={"upload": one}).json()
    assert run(home, "taught-files", {"upload": one, "table": seen["vectors"][0]})["classes"] == dict.fromkeys(NEW, 3)
    assert set(NEW) <= set(run(home, "jobs", {"verb": "learn"})["classes"])
    shown = home.get(f"{INSIDE}/items/1/thumbnail")
    assert shown.status_code == 200
    if name == "pictures":
        red, green, blue = Image.open(io.BytesIO(shown.content)).convert("RGB").resize((1, 1)).getpixel((0, 0))
        assert red > max(green, blue)
    else:
        assert "svg" in shown.headers["content-type"]  # a card with the name
    with Workspace(tmp_path / "projects" / "calls") as workspace:
        assert workspace.check() == []
        found = {path.rpartition("#")[2]: label.label for label in workspace.views.labels() for path in label.paths}
    assert np.mean([found[f"{kind}-{100 + n}"] == kind for kind in OLD for n in range(10)]) > 0.9
