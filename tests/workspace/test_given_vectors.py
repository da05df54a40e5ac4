"""Workspaces whose items are vectors, of sounds, texts or anything else."""

import json
import shutil
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcd import Workspace
from opengcd.adapt import AdaptError
from opengcd.embed import EmbedderError
from opengcd.service import create_app
from opengcd.workspace import WorkspaceError
from opengcd.workspace.cards import card
from opengcd.workspace.vector_files import read_vectors
from tests.helpers.needed import needed_module
from tests.helpers.pictures import RECOGNIZER, picture
from tests.helpers.serving import API, connect

KINDS = ("owl", "wren", "rook", "dove", "crane", "stork")


def sounds(kinds, n, seed, start=0):
    """Vectors around one axis for each kind, with their ids."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([3 * np.eye(8)[KINDS.index(kind)] + rng.normal(0, 0.15, (n, 8)) for kind in kinds])
    return X.astype(np.float32), [f"{kind}-{start + i}" for kind in kinds for i in range(n)]


def save(file, X, ids, **more):
    if file.suffix == ".npz":
        np.savez(file, X=X, ids=ids, **more)
    elif file.suffix == ".parquet":
        arrow = needed_module("pyarrow")
        needed_module("pyarrow.parquet").write_table(
            arrow.table({"embedding": X.tolist(), "id": ids} | {k: list(v) for k, v in more.items()}), file
        )
    else:
        columns = {"embedding": X.tolist(), "id": ids} | {k: list(v) for k, v in more.items()}
        needed_module("datasets").Dataset.from_dict(columns).save_to_disk(file)
    return file


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Four kinds are known; the stream has two new ones. One row of the known ones has no label."""
    folder = tmp_path_factory.mktemp("sounds")
    X, ids = sounds(KINDS[:4], 12, 0)
    labels = [id.partition("-")[0] for id in ids]
    labels[5] = ""
    known = save(folder / "known.npz", X, ids, labels=labels)
    stream = save(folder / "stream.npz", *sounds(KINDS, 10, 1, 100), texts=["call <b>&amp; song</b>"] * 60)
    with Workspace.create(folder / "workspace", "vectors", recognizer=RECOGNIZER) as workspace:
        assert workspace.fit(known) == [(f"{known}#owl-5", "the list gives it no label")]
        results = list(workspace.recognize([stream]))
        assert [one.reason for one in results] == [""] * 60
        workspace.discover(k=6)
    return folder


@pytest.fixture
def calls(template, tmp_path):
    shutil.copytree(template / "workspace", tmp_path / "workspace")
    with Workspace(tmp_path / "workspace", who="ann") as opened:
        yield opened


def kind_of(workspace, item):
    return workspace.views.paths(item)[0].partition("#")[2].partition("-")[0]


def test_the_loop(calls, template, tmp_path):
    assert calls.status().version.classes == sorted(KINDS[:4])
    assert calls.status().counts["learnt"] == 47
    found = {kind_of(calls, group.items[0]): group for group in calls.groups() if group.kind == "novel"}
    assert {kind: len(group.items) for kind, group in found.items()} == {"crane": 10, "stork": 10}
    for kind, group in found.items():
        assert {kind_of(calls, item) for item in group.items} == {kind}
        calls.name(group.id, kind, confirm=True)
    neighbours = calls.similarity.neighbours(found["crane"].items[0], 5)
    assert {kind_of(calls, one.id) for one in neighbours} == {"crane"}
    assert sorted(calls.learn().classes) == sorted(KINDS)
    again = save(tmp_path / "again.npz", *sounds(KINDS[4:], 5, 2))
    assert {one.label for one in calls.recognize([again])} == {"crane", "stork"}
    assert calls.undo().entry.verb == "learn"
    assert calls.status().version.classes == sorted(KINDS[:4])
    assert calls.redo().entry.verb == "learn"
    assert calls.check() == []
    lines = calls.formats.export_bytes("csv").decode().splitlines()
    assert len(lines) == 1 + 47 + 60 + 10
    assert any(f"{template / 'known.npz'}#owl-3" in line and ",owl,learnt," in line for line in lines)
    for format in ("coco", "yolo", "camtrap-dp"):
        with pytest.raises(WorkspaceError, match="needs images, and this workspace has vectors"):
            calls.export(format, tmp_path / "out")


def test_the_same_rows_are_the_same_items(calls, template, tmp_path):
    before = calls.status().counts
    shutil.copy(template / "stream.npz", tmp_path / "copy.npz")
    assert len(list(calls.recognize([tmp_path / "copy.npz", template / "stream.npz"]))) == 120
    assert calls.status().counts == before
    X, ids = sounds(KINDS, 10, 1, 100)
    save(tmp_path / "signs.npz", np.where(X == 0, -0.0, X).astype(np.float64), ids)
    list(calls.recognize([tmp_path / "signs.npz"]))
    assert calls.status().counts == before


@pytest.mark.parametrize("name", ["rows.npz", "rows.parquet", "rows"])
def test_all_kinds_of_files_say_the_same(tmp_path, name):
    X, ids = sounds(KINDS[:2], 3, 0)
    labels = ["owl", "owl", "owl", "wren", "wren", "wren"]
    rows = read_vectors(save(tmp_path / name, X, ids, label=labels, text=[f"call {i}" for i in range(6)]))
    assert rows.X.dtype == np.float32
    assert np.array_equal(rows.X, X)
    assert rows.labels == labels
    assert rows.names[1] == f"{tmp_path / name}#owl-1: call 1"
    assert len(set(rows.hashes)) == 6


def test_a_dataset_with_class_names_and_pictures(tmp_path):
    datasets = needed_module("datasets")
    X, _ = sounds(KINDS[:2], 2, 0)
    images = [picture("red", i) for i in range(4)]
    made = datasets.Dataset.from_dict(
        {"vector": X.tolist(), "label": [0, 0, 1, -1], "image": images},
        features=datasets.Features(
            {
                "vector": datasets.List(datasets.Value("float32")),
                "label": datasets.ClassLabel(names=["owl", "wren"]),
                "image": datasets.Image(),
            }
        ),
    )
    made.save_to_disk(tmp_path / "data", num_shards=2)
    rows = read_vectors(tmp_path / "data")
    assert rows.labels == ["owl", "owl", "wren", None]
    assert all(isinstance(one, bytes) for one in rows.pictures)
    with Workspace.create(tmp_path / "workspace", "vectors", recognizer=RECOGNIZER) as workspace:
        assert len(workspace.fit(tmp_path / "data")) == 1
        assert workspace.views.thumbnail(1).startswith(b"\xff\xd8")
        assert len(list(workspace.recognize([tmp_path]))) == 4


def test_pictures_and_cards(calls, tmp_path):
    picture("red", 1).save(tmp_path / "red.png")
    X, ids = sounds(KINDS[:1], 3, 5, 500)
    save(tmp_path / "rows.npz", X, ids, thumbnails=["red.png", "gone.png", ""])
    first, second, third = (one.item for one in calls.recognize([tmp_path / "rows.npz"]))
    (tmp_path / "red.png").unlink()
    assert calls.views.image(first)[1] == "image/jpeg"
    for item, name in ((second, "owl-501"), (third, "owl-502")):
        content, kind = calls.views.image(item)
        assert kind == "image/svg+xml"
        assert name in content.decode()


def test_over_http(calls):
    app = create_app(calls)
    with connect(app, calls.access.make("ann")) as client:
        item = calls.groups()[0].items[0]
        answer = client.get(f"{API}/items/{item}/thumbnail")
        assert answer.headers["content-type"].startswith("image/svg+xml")
        assert "<b>" not in answer.text
        assert "&lt;b&gt;" in answer.text
        assert client.get(f"{API}/items/{item}/neighbours").status_code == 200
        assert client.get(f"{API}/items/{item}").json()["width"] == 0
        refused = client.post(f"{API}/recognize", files={"files": ("a.png", b"x")}, params={"keep": True})
        assert refused.status_code == 422
        assert "takes vectors, not images" in refused.json()["detail"]
        assert not (calls.path / "uploads").exists()
        rows = client.post(f"{API}/recognize", json={"vectors": sounds(["owl"], 1, 3)[0].tolist()}).json()
        assert rows[0]["label"] == "owl"
        names = [one["name"] for one in client.get(f"{API}/export/formats").json()]
        assert names == ["csv", "json", "darwin-core", "inaturalist"]
        assert not client.get(f"{API}/adaptation").json()["possible"]


@pytest.mark.parametrize("name", ["more.npz", "more.parquet", "more"])
def test_labelled_vectors_are_taught(calls, tmp_path, name):
    """Rows of a known kind and of new ones; those of the stream get their label, and a row without one is told."""
    X, ids = sounds(KINDS, 10, 1, 100)  # the stream
    more, others = sounds(["owl", "crane"], 3, 7, 200)
    chosen = slice(40, 50)  # cranes
    labels = ["crane"] * 10 + ["owl"] * 3 + ["crane"] * 2 + [""]
    file = save(tmp_path / name, np.concatenate([X[chosen], more]), [*ids[chosen], *others], labels=labels)
    taught = calls.teach(file)
    assert (taught.images, taught.classes) == (15, {"crane": 12, "owl": 3})
    assert [reason for _, reason in taught.bad] == ["the list gives it no label"]
    calls.learn()
    assert "crane" in calls.status().version.classes
    with pytest.raises(WorkspaceError, match="leave out the list of labels"):
        calls.teach(file, tmp_path / "labels.csv")
    with pytest.raises(WorkspaceError, match="labelled vectors of a class"):
        calls.teach(save(tmp_path / "bare.npz", more, others))


def test_what_vectors_cannot_do_says_so(calls, tmp_path):
    with pytest.raises(AdaptError, match="A workspace of vectors has no network that could be trained"):
        calls.adapt()
    picture("red", 1).save(tmp_path / "red.png")
    (one,) = calls.recognize([tmp_path / "red.png"])
    assert "not a file of vectors" in one.reason
    with pytest.raises(EmbedderError, match="takes vectors, not images"):
        calls.recognition.embed([b"x"])
    with Workspace.create(tmp_path / "images", "pixels") as other, pytest.raises(WorkspaceError, match="vectors"):
        other.fit(save(tmp_path / "rows.npz", *sounds(KINDS, 2, 0)))


TRACE = Path(tempfile.gettempdir()) / "opengcd-trap"
ROW = np.ones((2, 8), np.float32)


class Trap:
    """Its unpickling would leave a trace."""

    def __reduce__(self):
        return (open, (str(TRACE), "w"))


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"X": ROW * np.nan}, "2 vectors are not finite in 32 bits, the first in row 0"),
        ({"X": np.array([ROW[0], ROW[1] * np.inf])}, "1 vectors are not finite in 32 bits, the first in row 1"),
        ({"X": ROW.astype(float) * 1e300}, "not finite in 32 bits"),
        ({"X": ROW * 0}, "2 vectors are all zeros"),
        ({"X": ROW.astype(str)}, "they must be numbers"),
        ({"X": ROW.astype(complex)}, "they must be numbers"),
        ({"X": ROW[0]}, "the vectors have the shape (8,)"),
        ({"X": ROW[:0]}, "has no rows"),
        ({"X": ROW[:, :5]}, "have 5 dimensions, and those of this workspace 8"),
        ({"Y": ROW}, "has no vectors; they must be called"),
        ({"X": ROW, "ids": ["a", "a"]}, "the id 'a' occurs twice"),
        ({"X": ROW, "ids": ["a"]}, "has 2 vectors, but 1 ids"),
        ({"X": ROW, "thumbnails": ["a"]}, "has 2 vectors, but 1 thumbnails"),
        ({"X": ROW, "labels": [0.5, 1.5]}, "labels must be text or whole numbers"),
        ({"X": np.array([Trap(), Trap()], object)}, "cannot be read: Object arrays cannot be loaded"),
    ],
)
def test_bad_files_are_refused_whole_and_nothing_is_stored(calls, tmp_path, columns, told):
    np.savez(tmp_path / "bad.npz", **columns)
    before = calls.status().counts
    (one,) = calls.recognize([tmp_path / "bad.npz"])
    assert told in one.reason
    assert calls.status().counts == before
    with (
        Workspace.create(tmp_path / "new", "vectors", recognizer=RECOGNIZER) as new,
        pytest.raises(WorkspaceError),
    ):
        new.fit(tmp_path / "bad.npz")
    assert sum(new.status().counts.values()) == 0
    assert not TRACE.exists()


@pytest.mark.parametrize("name", ["bad.npz", "bad.npy", "bad.parquet", "state.json"])
def test_damaged_files(calls, tmp_path, name):
    for content in (b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"{}", b"[]", b"PAR1PAR1"):
        (tmp_path / name).write_bytes(content)
        (one,) = calls.recognize([tmp_path / name])
        assert "cannot be read" in one.reason, (content, one.reason)


def test_a_dataset_may_not_name_files_elsewhere(calls, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "state.json").write_text(json.dumps({"_data_files": [{"filename": "../secret.arrow"}]}))
    (tmp_path / "data" / "dataset_info.json").write_text("{}")
    (one,) = calls.recognize([tmp_path / "data"])
    assert "names a file outside of its folder" in one.reason


@given(st.text(min_size=1, max_size=400))
def test_any_name_makes_a_card(name):
    root = ElementTree.fromstring(card(name))
    lines = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert 1 <= len(lines) <= 7
    assert all(len(line) <= 16 for line in lines)
