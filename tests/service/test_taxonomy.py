"""The taxonomy over HTTP."""

import pytest

from opengcd.taxonomy import Taxonomy
from tests.helpers.pictures import KNOWN
from tests.helpers.serving import API, eventually, png

WANTED = {
    "ranks": ["hue"],
    "class_rank": "colour",
    "lineages": {"red": ["coloured"], "green": ["coloured"], "black": ["grey"], "white": ["grey"]},
    "error": 0.1,
}


def test_a_taxonomy_is_set_shown_and_used(client, workspace):
    assert client.get("/api/v1/taxonomy").json()["lineages"] == {}
    assert client.get("/api/v1/items/1/reasons").json()["taxon"] is None
    seen = client.get("/api/v1/status").json()["edit"]
    answer = client.put("/api/v1/taxonomy", json=WANTED | {"on": seen})
    assert answer.status_code == 200, answer.text
    assert client.get("/api/v1/taxonomy").json() == WANTED
    label = client.get("/api/v1/items/1").json()["label"]
    taxon = client.get("/api/v1/items/1/reasons").json()["taxon"]
    assert taxon == {
        "name": label, "rank": "colour", "path": [*WANTED["lineages"][label], label], "probability": 1.0,
        "error": 0.1,
    }  # fmt: skip
    assert client.put("/api/v1/taxonomy", json=WANTED | {"on": seen}).status_code == 409


def test_the_sure_ranks_of_listed_images(client, workspace):
    """They are those that each image has by itself; nobody waits for a calibration."""
    asked = {"items": [1, 40, 79, 80, 9999]}
    assert client.get(f"{API}/images/taxa", params=asked).json() == {"state": "none", "taxa": []}
    seen = client.get(f"{API}/status").json()["edit"]
    assert client.put(f"{API}/taxonomy", json=WANTED | {"on": seen}).status_code == 200
    eventually(lambda: client.get(f"{API}/images/taxa", params=asked).json()["state"] == "ready")
    shown = {one["id"]: one["taxon"] for one in client.get(f"{API}/images/taxa", params=asked).json()["taxa"]}
    alone = {id: client.get(f"{API}/items/{id}/reasons").json()["taxon"] for id in asked["items"][:-1]}
    assert shown == {id: taxon for id, taxon in alone.items() if taxon}
    assert shown[1]["rank"] == "colour"
    assert client.get(f"{API}/images/taxa", params={"items": [1] * 501}).status_code == 422


def test_what_is_sure_of_a_group_that_was_returned_to_a_class(client, workspace):
    workspace.discover(k=4)  # no room for a new class
    group = max(workspace.groups(), key=len)
    asked = f"{API}/groups/{group.id}/taxa"
    assert client.get(asked).json()["taxa"] == []
    workspace.taxonomies.set(Taxonomy(["hue"], {label: ["a hue"] for label in KNOWN}, "colour"), 0.1)
    workspace.taxonomies.thresholds()
    found = client.get(asked).json()
    assert (found["images"], found["error"]) == (len(group), 0.1)
    assert [(one["name"], one["rank"]) for one in found["taxa"]] == [("a hue", "hue"), (group.label, "colour")]
    assert found["taxa"][0]["images"] == len(group)
    assert client.get(f"{API}/groups/9999/taxa").status_code == 404


def test_recognize_answers_with_the_deepest_sure_rank(client, workspace):
    """Images that are kept and those that are not, and vectors."""
    files = {"files": ("green.png", png("green", 4711))}
    assert client.post(f"{API}/recognize", files=files).json()[0]["taxon"] is None
    seen = client.get(f"{API}/status").json()["edit"]
    assert client.put(f"{API}/taxonomy", json=WANTED | {"on": seen}).status_code == 200
    eventually(lambda: client.post(f"{API}/recognize", files=files).json()[0]["taxon"])
    (shown,) = client.post(f"{API}/recognize", files=files).json()
    assert (shown["label"], shown["taxon"]["path"], shown["taxon"]["error"]) == ("green", ["coloured", "green"], 0.1)
    (kept,) = client.post(f"{API}/recognize", params={"keep": True}, files=files).json()
    told = client.get(f"{API}/items/{kept['id']}/reasons").json()["taxon"]
    assert kept["taxon"] | {"probability": None} == told | {"probability": None}
    assert kept["taxon"]["probability"] == pytest.approx(told["probability"], abs=1e-4)
    X, _ = workspace.recognition.embed([png("green", 4711)])
    (vector,) = client.post(f"{API}/recognize", json={"vectors": X.tolist()}).json()
    assert vector["taxon"]["path"] == shown["taxon"]["path"]


def test_a_taxonomy_that_cannot_be_used(client):
    seen = client.get("/api/v1/status").json()["edit"]
    for wrong in ({"error": 0}, {"lineages": {"red": "coloured"}}):
        assert client.put("/api/v1/taxonomy", json=WANTED | wrong | {"on": seen}).status_code == 422, wrong
    for wrong in ({"ranks": ["a", "b"]}, {"ranks": ["colour"]}):
        answer = client.put("/api/v1/taxonomy", json=WANTED | wrong | {"on": seen})
        assert answer.status_code == 409, wrong
        assert "taxonomy cannot be used" in answer.json()["detail"]
    assert client.get("/api/v1/taxonomy").json()["lineages"] == {}
