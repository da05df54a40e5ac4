"""Labels as files: CSV, JSON, COCO and folders."""

import csv
import io
import json
from collections import Counter

import pytest

from opengcd.workspace import WorkspaceError
from tests.helpers.pictures import KNOWN
from tests.helpers.reviewing import novel


def test_export(workspace, tmp_path):
    workspace.name(novel(workspace)["blue"].id, "a/b: .", confirm=True)
    rows = list(csv.DictReader(io.StringIO(workspace.formats.export_bytes("csv").decode())))
    assert len(rows) == 80
    assert Counter((row["label"], row["source"]) for row in rows) == {
        **{(colour, "learnt"): 8 for colour in KNOWN},
        **{(colour, "recognized"): 8 for colour in KNOWN},
        ("a/b: .", "reviewed"): 8,
        (novel(workspace)["yellow"].label, "grouped"): 8,
    }
    document = json.loads(workspace.formats.export_bytes("json"))
    assert [one["hash"] for one in document] == [row["hash"] for row in rows]
    coco = json.loads(workspace.formats.export_bytes("coco"))
    assert len(coco["images"]) == len(coco["annotations"]) == 80
    assert [one["sha256"] for one in coco["images"]] == [row["hash"] for row in rows]
    assert {c["name"] for c in coco["categories"]} == {row["label"] for row in rows}
    assert coco["annotations"][0]["bbox"] == [0, 0, 12, 12]
    assert workspace.export("folders", tmp_path / "out") == []
    found = Counter(file.parent.name for file in (tmp_path / "out").rglob("*.png"))
    assert found["a%2Fb%3A %2E"] == 8
    assert found["red"] == 16
    workspace.export("csv", tmp_path / "labels.csv")
    assert (tmp_path / "labels.csv").read_bytes() == workspace.formats.export_bytes("csv")
    with pytest.raises(WorkspaceError, match="not empty"):
        workspace.export("folders", tmp_path / "out", copy=True)


def test_rejected_items_have_no_coco_label(workspace):
    workspace.undo()
    coco = json.loads(workspace.formats.export_bytes("coco"))
    assert (len(coco["images"]), len(coco["annotations"])) == (80, 64)
    assert "unknown" not in {category["name"] for category in coco["categories"]}
