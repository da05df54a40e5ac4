"""Exports over HTTP: the same files as on disk, for everybody who may read."""

import io
import zipfile

import pytest

from opengcd.workspace import FORMATS
from tests.helpers.serving import API, connect

OFFERED = {name: one for name, one in FORMATS.items() if not one.needs_places}


def test_all_formats_are_offered(client):
    told = client.get(f"{API}/export/formats").json()
    assert {one["name"]: one["suffix"] for one in told} == {name: one.suffix or "zip" for name, one in FORMATS.items()}
    places = {one["name"]: one["places"] for one in told}
    assert places["camtrap-dp"] == "needed"
    assert {name for name, used in places.items() if used == "used"} == {"darwin-core", "inaturalist"}
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


DEPLOYMENTS = (
    "folder,deploymentID,latitude,longitude,deploymentStart,deploymentEnd\n"
    "{folder},cam1,49.5,8.5,2024-05-01T00:00:00Z,2024-05-31T00:00:00Z\n"
)


def test_places_come_with_the_request(client, workspace, world, tmp_path):
    """The folder of a camera is the end of its path; a table that cannot be used is refused in words."""
    times = tmp_path / "times.csv"
    files = sorted(world[1].glob("*.png"))
    times.write_text("file,time\n" + "".join(f"{file},2024-05-02T08:00:00\n" for file in files))
    workspace.set_times(times)

    def export(code=200, **wanted):
        answer = client.post(f"{API}/export", json={"format": "camtrap-dp", **wanted})
        assert answer.status_code == code, answer.text
        return answer

    given = DEPLOYMENTS.format(folder=world[1].name)
    answer = export(deployments=given, metadata={"title": "Night"})
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    assert "cam1" in archive.read("deployments.csv").decode()
    assert len(archive.read("media.csv").decode().splitlines()) == 1 + len(files)
    assert b"Night" in archive.read("datapackage.json")
    assert answer.headers["content-disposition"].endswith("workspace-camtrap-dp.zip")
    assert b"8.5" in export(format="inaturalist", deployments=DEPLOYMENTS.format(folder=".")).content
    assert "cannot be exported" in export(409).json()["detail"]
    assert "no column 'deploymentID'" in export(409, deployments="folder\n").json()["detail"]
    assert "Unknown format" in export(409, format="xml").json()["detail"]
