"""Labels as records of biodiversity: Camtrap DP, Darwin Core and iNaturalist."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.exports.labels import ExportLabels, Part, certainty, has_class
from opengcd.workspace.exports.pictures import media_type, picture_name
from opengcd.workspace.exports.places import Place
from opengcd.workspace.exports.standards import (
    CAMTRAP,
    DEPLOYMENTS,
    INATURALIST,
    INATURALIST_ENCODING,
    MEDIA,
    OBSERVATIONS,
    OCCURRENCE,
    TERMS,
    TYPES,
)
from opengcd.workspace.exports.tables import document, plain_csv
from opengcd.workspace.labels import BY_PERSON, Labelled
from opengcd.workspace.outgoing import Source

NO_NAME = "it has no class, or none of its ranks is sure; this format has names only"


class Named(NamedTuple):
    """What an organism is called."""

    name: str
    rank: str = ""
    """Empty without a taxonomy."""
    above: tuple[str, ...] = ()
    """The broader taxa, the broadest first."""
    probability: float | None = None
    """None if a person gave or confirmed the name."""


def named(labels: ExportLabels, one: Labelled) -> Named | None:
    """Return the class of an item, or with a taxonomy the deepest taxon that is sure; None if it has neither.

    Parameters
    ----------
    labels : ExportLabels
    one : Labelled
        An item of them.

    Returns
    -------
    Named or None

    """
    if labels.taxa is None or (one.source == "grouped" and has_class(one)):  # a person has named its group
        return Named(one.label, probability=certainty(one)) if has_class(one) else None
    answer = labels.taxa.get(one.item)
    if answer is None:
        return None
    taxon = answer.taxon
    return Named(taxon.name, taxon.rank, taxon.path[:-1], None if one.source in BY_PERSON else answer.probability)


def _all_named(labels: ExportLabels) -> Iterator[tuple[Labelled, Named]]:
    """Yield the items that have a name; others are noted as left out."""
    for one in labels.found:
        found = named(labels, one)
        if found is None:
            labels.left_out.append((one.paths[0] if one.paths else one.hash, NO_NAME))
        else:
            yield one, found


def as_camtrap_dp(labels: ExportLabels) -> Iterator[Part]:
    """Make a Camtrap DP 1.0.2 package: images whose deployment and time are known, one observation for each."""
    if labels.places is None:
        raise WorkspaceError(
            "Camtrap DP needs the place of each camera: give a table with --deployments; the guide to exports "
            "describes it."
        )
    media: list[dict[str, str]] = []
    observations: list[dict[str, str]] = []
    for one, source in labels.pictures():
        place, time = labels.place_of(one), labels.time_of(one)
        if place is None:
            labels.left_out.append((source.path, "no deployment of the table has its folder"))
            continue
        if time is None:
            labels.left_out.append((source.path, "it is not known when it was taken; see opengcd recognize --times"))
            continue
        picture, observation = _camtrap_rows(one, named(labels, one), source, place, time)
        if (frame := labels.frame_of(one)) is not None:
            picture["mediaComments"] = f"{frame.seconds:.3f} s of {_base(frame.path)}"
        yield Part(picture["filePath"], source)
        media.append(picture)
        observations.append(observation)
    places = labels.places.all()
    times = {
        place.id: (place.start.isoformat(timespec="seconds"), place.end.isoformat(timespec="seconds"))
        for place in places
    }
    deployments = [
        {**place.row, "deploymentStart": times[place.id][0], "deploymentEnd": times[place.id][1]} for place in places
    ]
    for name, columns, rows in (
        ("deployments", DEPLOYMENTS, deployments),
        ("media", MEDIA, media),
        ("observations", OBSERVATIONS, observations),
    ):
        yield Part(f"{name}.csv", plain_csv(columns, ([row.get(c, "") for c in columns] for row in rows)))
    taxa = sorted({row["scientificName"] for row in observations if row["scientificName"]})
    yield Part("datapackage.json", document(_camtrap_package(labels, places, taxa)))


def _camtrap_rows(
    one: Labelled, found: Named | None, source: Source, place: Place, time: datetime
) -> tuple[dict[str, str], dict[str, str]]:
    """Return an image's row of the media, and that of its observation."""
    moment = time.isoformat()
    label = one.label.casefold()
    kind = label if label in TYPES else "animal" if found else "unclassified" if one.source == "waiting" else "unknown"
    probability = found and found.probability
    by_person = one.source in BY_PERSON
    folder = re.sub(r"[^A-Za-z0-9_-]", "_", place.id)
    name = picture_name(source)
    suffix = name.rpartition(".")[2]
    ids = {"deploymentID": place.id, "mediaID": one.hash}
    media = ids | {
        "timestamp": moment,
        "filePath": f"media/{folder}/{one.hash[:32]}.{suffix}",
        "filePublic": "false",
        "fileName": name,
        "fileMediatype": media_type(source),
    }
    classified = kind != "unclassified"
    observation = ids | {
        "observationID": one.hash,
        "eventStart": moment,
        "eventEnd": moment,
        "observationLevel": "media",
        "observationType": kind,
        "scientificName": found.name if found and kind == "animal" else "",
        "classificationMethod": "" if not classified else "human" if by_person else "machine",
        "classifiedBy": "OpenGCD" if classified and not by_person else "",
        "classificationProbability": "" if probability is None else f"{probability:.6f}",
        "observationComments": one.label if one.provisional else "",
    }
    return media, observation


def _camtrap_package(labels: ExportLabels, places: list[Place], taxa: list[str]) -> dict[str, Any]:
    """Return the descriptor; what the person says about the dataset has precedence."""
    given = dict(labels.metadata)
    project = {
        "title": labels.title,
        "samplingDesign": "opportunistic",
        "captureMethod": ["activityDetection"],
        "individualAnimals": False,
    }
    return {
        "name": re.sub(r"[^a-z0-9._-]+", "-", labels.title.lower()).strip("-") or "images",
        "title": labels.title,
        "contributors": [{"title": labels.author, "role": "contributor"}],
        **given,
        "project": project | dict(given.get("project") or {}) | {"observationLevel": ["media"]},
        "profile": f"{CAMTRAP}camtrap-dp-profile.json",
        "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "spatial": {"type": "MultiPoint", "coordinates": [[place.longitude, place.latitude] for place in places]},
        "temporal": {
            "start": min(place.start for place in places).date().isoformat(),
            "end": max(place.end for place in places).date().isoformat(),
        },
        "taxonomic": [{"scientificName": name} for name in taxa],
        "resources": [
            {
                "name": name,
                "path": f"{name}.csv",
                "profile": "tabular-data-resource",
                "format": "csv",
                "mediatype": "text/csv",
                "encoding": "utf-8",
                "schema": f"{CAMTRAP}{name}-table-schema.json",
            }
            for name in ("deployments", "media", "observations")
        ],
    }


def as_darwin_core(labels: ExportLabels) -> Iterator[Part]:
    """Make a Darwin Core Archive with one occurrence for each image that has a name."""
    rows = []
    for one, found in _all_named(labels):
        place, time, p = labels.place_of(one), labels.time_of(one), found.probability
        row = {
            "occurrenceID": one.hash,
            "basisOfRecord": "MachineObservation",
            "occurrenceStatus": "present",
            "eventDate": "" if time is None else time.isoformat(),
            "scientificName": found.name,
            "taxonRank": found.rank,
            "higherClassification": " | ".join(found.above),
            "verbatimIdentification": one.label if has_class(one) else "",
            "identificationVerificationStatus": "verified" if one.source in BY_PERSON else "unverified",
            "identificationRemarks": one.source if p is None else f"{one.source}, probability {p:.3f}",
            "associatedMedia": " | ".join(dict.fromkeys(_base(path) for path in one.paths)),
        }
        if place is not None:
            row |= {
                "locationID": place.row.get("locationID") or place.id,
                "locality": place.row.get("locationName", ""),
                "decimalLatitude": place.row["latitude"],
                "decimalLongitude": place.row["longitude"],
                "geodeticDatum": "EPSG:4326",
                "coordinateUncertaintyInMeters": place.row.get("coordinateUncertainty", ""),
            }
        rows.append([row.get(term, "") for term in OCCURRENCE])
    archive = io.BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as files:
        for name, content in (("meta.xml", _meta_xml().encode()), ("occurrence.csv", plain_csv(OCCURRENCE, rows))):
            files.writestr(ZipInfo(name), content, ZIP_DEFLATED)
    yield Part("", archive.getvalue())


def _meta_xml() -> str:
    """Return the description of the archive, by the Darwin Core text guide."""
    fields = "\n".join(f'    <field index="{i}" term={quoteattr(TERMS + term)}/>' for i, term in enumerate(OCCURRENCE))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<archive xmlns="http://rs.tdwg.org/dwc/text/">\n'
        '  <core encoding="UTF-8" fieldsTerminatedBy="," linesTerminatedBy="\\n" fieldsEnclosedBy="&quot;" '
        f'ignoreHeaderLines="1" rowType="{TERMS}Occurrence">\n'
        "    <files><location>occurrence.csv</location></files>\n"
        '    <id index="0"/>\n'
        f"{fields}\n"
        "  </core>\n"
        "</archive>\n"
    )


def as_inaturalist(labels: ExportLabels) -> Iterator[Part]:
    """Make a table for the CSV import of iNaturalist, which takes no images."""
    rows = []
    for one, found in _all_named(labels):
        place, time = labels.place_of(one), labels.time_of(one)
        rows.append(
            [
                found.name,
                "" if time is None else time.strftime("%Y-%m-%d %H:%M:%S"),
                f"{', '.join(dict.fromkeys(_base(path) for path in one.paths))} ({one.source}; {one.hash[:12]})",
                "" if place is None else place.row.get("locationName", ""),
                "" if place is None else place.row["latitude"],
                "" if place is None else place.row["longitude"],
                "opengcd",
                "",
            ]
        )
    yield Part("", plain_csv(INATURALIST, rows, INATURALIST_ENCODING))


def _base(path: str) -> str:
    return path.rpartition("/")[2]
