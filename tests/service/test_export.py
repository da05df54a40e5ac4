"""Exports over HTTP: the same files as on disk, for everybody who may read."""

import io
import zipfile

import pytest

from opengcd.workspace import FORMATS
from tests.helpers.serving import API, connect

OFFERED = {name: one for name, one in FORMATS.items() if not one.needs_places}


def test_all_formats_are_offered(client):
    told = client.get(f"{API}/export/formats").json()
    assert {one["name"]: one["suffix"] for one in told} == {name: one.suffix or "zip" for name, one in OFFERED.items()}
    document = client.get(f"{API}/openapi.json").json()["paths"][f"{API}/export"]["get"]
    schemas = {one["name"]: one["schema"] for one in document["parameters"]}
    assert schemas["format"]["enum"] == list(OFFERED)
    assert schemas["images"]["enum"] == ["all", "reviewed", "new"]


@pytest.mark.parametrize("format", OFFERED)
def test_a_download_is_what_is_written_to_disk(client, workspace, format):
    answer = client.get(f"{API}/export", params={"format": format, "images": "reviewed"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == FORMATS[format].media_type
    suffix = FORMATS[format].suffix or "zip"
    assert answer.headers["content-disposition"] == f"attachment; filename*=utf-8''workspace-{format}.{suffix}"
    if FORMATS[format].is_folder:
        archive = zipfile.ZipFile(io.BytesIO(answer.content))
        assert archive.testzip() is None
        assert sum(name.endswith(".png") for name in archive.namelist()) == 32
    else:
        assert answer.content == workspace.formats.export_bytes(format, images="reviewed")


def test_what_may_read_may_export_and_nobody_else(app, workspace):
    with connect(app, workspace.access.make("bob", scope="read")) as reader:
        assert reader.get(f"{API}/export", params={"format": "yolo"}).status_code == 200
        reader.headers["Authorization"] = "Bearer nothing"
        assert reader.get(f"{API}/export", params={"format": "yolo"}).status_code == 401
        assert reader.get(f"{API}/export/formats").status_code == 401


@pytest.mark.parametrize("query", [{"format": "camtrap-dp"}, {"format": "xml"}, {"images": "some"}])
def test_unknown_choices_are_refused(client, query):
    answer = client.get(f"{API}/export", params=query)
    assert answer.status_code == 422
    assert "choose from" in answer.json()["detail"]


def test_too_many_zip_files_at_a_time_are_refused_and_places_are_given_back(app, client):
    limit = app.state.service.exports
    limit.present += 10
    answer = client.get(f"{API}/export", params={"format": "folders"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert client.get(f"{API}/export", params={"format": "csv"}).status_code == 200
    limit.present -= 10
    assert client.get(f"{API}/export", params={"format": "folders"}).status_code == 200
    assert limit.present == 0
