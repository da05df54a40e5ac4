"""Records of biodiversity, read back by the published schemas."""

import csv
import io
import json
import shutil
import zipfile
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from opengcd import Workspace
from opengcd.taxonomy import Taxon, Taxonomy
from opengcd.workspace import WorkspaceError
from opengcd.workspace.exports import read_places
from opengcd.workspace.exports.biodiversity import Named, named
from opengcd.workspace.exports.labels import ExportLabels
from opengcd.workspace.image_lists import read_known
from opengcd.workspace.labels import Labelled
from opengcd.workspace.taxonomies import Answer
from tests.helpers import pictures
from tests.helpers.camtrap import table_of, validate
from tests.helpers.reviewing import novel

HEADER = "folder,deploymentID,locationName,latitude,longitude,deploymentStart,deploymentEnd,cameraHeight\n"
ROWS = "known,cam/1,Käfertal,49.5050,8.5170,2024-05-01T00:00:00+02:00,2024-06-01T00:00:00+02:00,1.2\n"


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Cameras "known" and "stream"; all images but one have a time; the blue group is named and the yellow one not."""
    folder = tmp_path_factory.mktemp("traps")
    known, stream = pictures.paint_world(folder)
    lines = [f"{file.relative_to(folder)},2024-05-10T06:30:{n % 60:02d}" for n, file in enumerate(known.rglob("*.png"))]
    files = sorted(stream.glob("*.png"))[1:]
    lines += [f"{file.relative_to(folder)},2024-05-11T07:{n % 60:02d}:00" for n, file in enumerate(files)]
    (folder / "times.csv").write_text("file,time\n" + "\n".join(lines) + "\n")
    with Workspace.create(folder / "workspace", "pixels", recognizer=pictures.RECOGNIZER) as workspace:
        workspace.fit(known)
        assert len(list(workspace.recognize([stream]))) == 48
        workspace.set_times(folder / "times.csv")
        workspace.discover(k=6)
        workspace.name(novel(workspace)["blue"].id, "Cyanistes caeruleus", confirm=True)
    return folder


@pytest.fixture
def traps(template, tmp_path):
    shutil.copytree(template / "workspace", tmp_path / "workspace")
    (tmp_path / "deployments.csv").write_text(
        HEADER.replace("folder", "folder", 1)
        + ROWS.replace("known", f"{template}/known", 1)
        + f"{template}/stream,cam2,,-12,30,2024-05-02T08:00:00Z,2024-05-20T08:00:00Z,\n"
    )
    with Workspace(tmp_path / "workspace", who="ann") as opened:
        yield opened


def test_camtrap_dp_is_valid_by_the_published_schemas(traps, template, tmp_path):
    left_out = traps.export("camtrap-dp", tmp_path / "out", deployments=tmp_path / "deployments.csv")
    assert [(Path(path).name, reason) for path, reason in left_out] == [
        ("black100.png", "it is not known when it was taken; see opengcd recognize --times")
    ]
    validate(tmp_path / "out")
    media = table_of((tmp_path / "out" / "media.csv").read_text())
    observations = table_of((tmp_path / "out" / "observations.csv").read_text())
    assert len(media) == len(observations) == 79
    assert [one["mediaID"] for one in media] == [one["mediaID"] for one in observations]
    assert {one["deploymentID"] for one in media} == {"cam/1", "cam2"}
    for one in media:
        assert (tmp_path / "out" / one["filePath"]).is_file()
        assert (one["fileMediatype"], one["filePublic"]) == ("image/png", "false")
        assert one["timestamp"].endswith("+02:00" if one["deploymentID"] == "cam/1" else "+00:00")
    assert media[0]["timestamp"].startswith("2024-05-10T06:30:")
    by_name = {one["fileName"]: two for one, two in zip(media, observations, strict=True)}
    blue, yellow, red, learnt = (by_name[f"{name}.png"] for name in ("blue100", "yellow100", "red100", "red0"))
    assert (blue["observationType"], blue["scientificName"], blue["classificationMethod"]) == (
        ("animal", "Cyanistes caeruleus", "human")
    )
    assert (yellow["observationType"], yellow["scientificName"]) == ("unknown", "")
    assert yellow["observationComments"].startswith("group ")
    assert (red["scientificName"], red["classificationMethod"], red["classifiedBy"]) == ("red", "machine", "OpenGCD")
    assert 0 < float(red["classificationProbability"]) <= 1
    assert (learnt["classificationMethod"], learnt["classificationProbability"]) == ("human", "")
    deployments = table_of((tmp_path / "out" / "deployments.csv").read_text())
    assert deployments[0]["locationName"] == "Käfertal"
    assert "folder" not in deployments[0]
    package = json.loads((tmp_path / "out" / "datapackage.json").read_text())
    assert package["temporal"] == {"start": "2024-05-01", "end": "2024-06-01"}
    assert {"scientificName": "Cyanistes caeruleus"} in package["taxonomic"]
    assert package["contributors"] == [{"title": "ann", "role": "contributor"}]


def test_camtrap_dp_is_read_as_known_images(traps, tmp_path):
    """Animals by their names; what is unknown has no label."""
    traps.export("camtrap-dp", tmp_path / "out", deployments=tmp_path / "deployments.csv")
    for source in (tmp_path / "out", tmp_path / "out" / "datapackage.json"):
        classes, bad = read_known(source)
        assert {label: len(files) for label, files in classes.items()} == {
            "red": 16, "green": 16, "white": 16, "black": 15, "Cyanistes caeruleus": 8
        }  # fmt: skip
        assert {reason for _, reason in bad} == {"the list gives it no label"}
        assert len(bad) == 8
        assert all(not file.reason for files in classes.values() for file in files)


def test_metadata_of_camtrap_dp(traps, tmp_path):
    given = {"title": "Tits", "project": {"samplingDesign": "targeted", "title": "T"}, "created": "no", "resources": []}
    traps.export("camtrap-dp", tmp_path / "out", deployments=tmp_path / "deployments.csv", metadata=given)
    validate(tmp_path / "out")
    package = json.loads((tmp_path / "out" / "datapackage.json").read_text())
    assert (package["title"], package["project"]["samplingDesign"]) == ("Tits", "targeted")
    assert package["project"]["observationLevel"] == ["media"]


def test_camtrap_dp_needs_places(traps, tmp_path):
    with pytest.raises(WorkspaceError, match="give a table with --deployments"):
        traps.export("camtrap-dp", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("deploymentID\n", "has no column 'latitude'"),
        (HEADER, "has no deployment"),
        (HEADER + ROWS.replace("49.5050", "95"), "row 2: latitude '95' is not a number from -90 to 90"),
        (HEADER + ROWS.replace("8.5170", "nan"), "longitude 'nan'"),
        (HEADER + ROWS.replace("2024-05-01T00:00:00+02:00", "2024-05-01T00:00:00"), "is not a time with a zone"),
        (HEADER + ROWS.replace("cam/1", ""), "deploymentID is empty"),
        (HEADER + ROWS + ROWS.replace("1.2", "1.3"), "row 3: there are two different deployments 'cam/1'"),
        (HEADER + ROWS + ROWS.replace("cam/1", "b"), "row 3: the folder .* belongs to the deployment 'cam/1'"),
    ],
)
def test_tables_of_deployments_that_cannot_be_used(tmp_path, text, told):
    (tmp_path / "table.csv").write_text(text)
    with pytest.raises(WorkspaceError, match=told):
        read_places(tmp_path / "table.csv")


def test_the_innermost_folder_counts(tmp_path):
    inner = ROWS.replace("known", "known/b/../c", 1).replace("cam/1", "inner")
    (tmp_path / "table.csv").write_text(HEADER + ROWS + inner)
    places = read_places(tmp_path / "table.csv")
    at = {name: places.of_files([str(tmp_path / name)]) for name in ("known/a.png", "known/c/d/a.png", "other/a.png")}
    assert [place and place.id for place in at.values()] == ["cam/1", "inner", None]
    assert at["known/a.png"].start == datetime.fromisoformat("2024-04-30T22:00:00Z")


def read_archive(raw):
    """Read a Darwin Core Archive by its meta.xml, as the text guide of Darwin Core says."""
    archive = zipfile.ZipFile(io.BytesIO(raw))
    space = {"": "http://rs.tdwg.org/dwc/text/"}
    (core,) = ElementTree.fromstring(archive.read("meta.xml"))
    assert core.tag == "{http://rs.tdwg.org/dwc/text/}core"
    assert core.get("rowType") == "http://rs.tdwg.org/dwc/terms/Occurrence"
    settings = {"fieldsTerminatedBy": ",", "linesTerminatedBy": "\\n", "fieldsEnclosedBy": '"', "encoding": "UTF-8"}
    assert settings.items() <= core.attrib.items()
    terms = {int(one.get("index")): one.get("term").rpartition("/")[2] for one in core.findall("field", space)}
    text = archive.read(core.find("files/location", space).text).decode()
    rows = list(csv.reader(io.StringIO(text, newline="")))[int(core.get("ignoreHeaderLines")) :]
    assert all(len(row) == len(terms) for row in rows)
    return {row[int(core.find("id", space).get("index"))]: {terms[i]: v for i, v in enumerate(row)} for row in rows}


def test_darwin_core(traps, tmp_path):
    left_out = traps.export("darwin-core", tmp_path / "a.zip", deployments=tmp_path / "deployments.csv")
    assert len(left_out) == 8
    found = read_archive((tmp_path / "a.zip").read_bytes())
    assert len(found) == 72
    rows = {row["associatedMedia"]: row for row in found.values()}
    blue = rows["blue100.png"]
    assert {
        "scientificName": "Cyanistes caeruleus",
        "identificationVerificationStatus": "verified",
    }.items() <= blue.items()
    assert (blue["decimalLatitude"], blue["decimalLongitude"], blue["geodeticDatum"]) == ("-12", "30", "EPSG:4326")
    assert blue["eventDate"].startswith("2024-05-11T07:")
    assert rows["red100.png"]["identificationVerificationStatus"] == "unverified"
    assert rows["red100.png"]["identificationRemarks"].startswith("recognized, probability ")
    assert rows["black100.png"]["eventDate"] == ""
    assert rows["red0.png"]["locality"] == "Käfertal"
    without = read_archive(traps.formats.export_bytes("darwin-core"))
    assert {row["decimalLatitude"] for row in without.values()} == {""}


def test_names_at_the_deepest_sure_rank_by_hand():
    """Of a jay only the genus is sure; a new bird is of a family; nothing is sure of the last one."""
    genus = Answer(Taxon("Cyanocitta", "genus", ("Corvidae", "Cyanocitta"), False), 0.97)
    family = Answer(Taxon("Corvidae", "family", ("Corvidae",), False), 0.99)
    species = Answer(Taxon("Corvus corax", "species", ("Corvidae", "Corvus", "Corvus corax"), True), 1.0)

    def item(number, label, source, provisional=False):
        return Labelled(number, "", [], 1, 1, label, source, None, [(label, 0.6)], None, provisional)

    jay, new, learnt = item(1, "jay", "recognized"), item(2, "unknown", "rejected"), item(3, "raven", "learnt")
    lost, group = item(4, "jay", "recognized"), item(5, "Pica pica", "grouped")
    labels = ExportLabels("birds", "ann", [jay, new, learnt, lost, group], taxa={1: genus, 2: family, 3: species})
    assert [named(labels, one) for one in labels.found] == [
        Named("Cyanocitta", "genus", ("Corvidae",), 0.97), Named("Corvidae", "family", (), 0.99),
        Named("Corvus corax", "species", ("Corvidae", "Corvus")), None, Named("Pica pica", probability=0.6),
    ]  # fmt: skip
    bare = ExportLabels("birds", "ann", [jay, new])
    assert [named(bare, one) for one in bare.found] == [Named("jay", probability=0.6), None]


def test_records_have_the_deepest_sure_rank(traps, tmp_path):
    """No image is called by a name that is not sure, and those of new classes are named, if above the classes only."""
    table = "hue,colour\ncoloured,red\ncoloured,green\ngrey,black\ngrey,white\n"
    traps.taxonomies.set(Taxonomy.read(table), 0.2)
    answers = traps.taxonomies.answers()
    expected = {}
    for item, answer in answers.items():
        (path,) = traps.views.paths(item)
        expected[Path(path).name] = (answer.taxon.name, answer.taxon.rank, " | ".join(answer.taxon.path[:-1]))
    expected |= {
        f"blue{i}.png": ("Cyanistes caeruleus", "colour", "") for i in range(100, 108)
    }  # a person confirmed it
    rows = read_archive(traps.formats.export_bytes("darwin-core")).values()
    terms = "scientificName", "taxonRank", "higherClassification"
    assert {row["associatedMedia"]: tuple(row[term] for term in terms) for row in rows} == expected
    assert expected["red100.png"] == ("red", "colour", "coloured")
    names = [row[0] for row in csv.reader(traps.formats.export_bytes("inaturalist").decode("iso-8859-1").splitlines())]
    assert sorted(names[1:]) == sorted(name for name, *_ in expected.values())
    traps.export("camtrap-dp", tmp_path / "out", deployments=tmp_path / "deployments.csv")
    validate(tmp_path / "out")
    media, found = (table_of((tmp_path / "out" / f"{name}.csv").read_text()) for name in ("media", "observations"))
    for one, two in zip(media, found, strict=True):
        name = expected.get(one["fileName"], ("",))[0]
        assert (two["scientificName"], two["observationType"]) == (name, "animal" if name else "unknown")


def test_inaturalist(traps, tmp_path):
    traps.export("inaturalist", tmp_path / "a.csv", images="new", deployments=tmp_path / "deployments.csv")
    raw = (tmp_path / "a.csv").read_bytes().decode("iso-8859-1")
    rows = list(csv.reader(io.StringIO(raw, newline="")))
    assert rows[0][0] == "Taxon name"
    assert len(rows) == 9
    assert all(len(row) == 8 and row[0] == "Cyanistes caeruleus" and row[4:6] == ["-12", "30"] for row in rows[1:])
    assert datetime.fromisoformat(rows[1][1]).date().isoformat() == "2024-05-11"
    assert rows[1][2].startswith("blue100.png (reviewed; ")
