"""Labels as a data package of camera traps: Camtrap DP."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from opengcd.workspace.crops import Origin
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.exports.biodiversity import named
from opengcd.workspace.exports.labels import ExportLabels, Part, local_time
from opengcd.workspace.exports.pictures import media_type, picture_name
from opengcd.workspace.exports.places import Place
from opengcd.workspace.exports.standards import CAMTRAP, DEPLOYMENTS, MEDIA, OBSERVATIONS, TYPES
from opengcd.workspace.exports.tables import document, plain_csv
from opengcd.workspace.labels import BY_PERSON, Labelled
from opengcd.workspace.outgoing import Source

NO_PLACE = "no deployment of the table has its folder"
NO_TIME = "it is not known when it was taken; see opengcd recognize --times"
Row = dict[str, str]


def as_camtrap_dp(labels: ExportLabels) -> Iterator[Part]:
    """Make a Camtrap DP 1.0.2 package: images whose deployment and time are known, with their observations.

    Crops are observations with a box in their images; an image in which a detector has found nothing is blank.
    """
    if labels.places is None:
        raise WorkspaceError(
            "Camtrap DP needs the place of each camera: give a table with --deployments; the guide to exports "
            "describes it."
        )
    media: dict[str, Row] = {}
    observations: list[Row] = []
    for one, source in labels.pictures(whole=True):
        origin = labels.origin_of(one)
        medium = _medium(
            labels, one.hash if origin is None else origin.hash, source, labels.place_of(one), labels.time_of(one)
        )
        if medium is None:
            continue
        if (frame := labels.frame_of(one)) is not None:
            medium["mediaComments"] = f"{frame.seconds:.3f} s of {os.path.basename(frame.path)}"
        if medium["mediaID"] not in media:
            yield Part(medium["filePath"], source)
        media.setdefault(medium["mediaID"], medium)
        observations.append(_observation(labels, one, medium) | ({} if origin is None else _place_in_image(origin)))
    for image, source in labels.empty_pictures():
        place = labels.place_at([image.path])
        medium = _medium(labels, image.hash, source, place, local_time(image.taken, place))
        if medium is not None:
            yield Part(medium["filePath"], source)
            media[image.hash] = medium
            observations += [_detected(medium, category) for category in image.label.split(", ")]
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
        ("media", MEDIA, media.values()),
        ("observations", OBSERVATIONS, observations),
    ):
        yield Part(f"{name}.csv", plain_csv(columns, ([row.get(c, "") for c in columns] for row in rows)))
    taxa = sorted({row["scientificName"] for row in observations if row.get("scientificName")})
    yield Part("datapackage.json", document(_package(labels, places, taxa)))


def _medium(
    labels: ExportLabels, content: str, source: Source, place: Place | None, time: datetime | None
) -> Row | None:
    """Return the row of an image in the media; None if its place or time is not known, which is noted."""
    if place is None or time is None:
        labels.left_out.append((source.path, NO_PLACE if place is None else NO_TIME))
        return None
    name = picture_name(source)
    folder = re.sub(r"[^A-Za-z0-9_-]", "_", place.id)
    return {
        "mediaID": content,
        "deploymentID": place.id,
        "timestamp": time.isoformat(),
        "filePath": f"media/{folder}/{content[:32]}.{name.rpartition('.')[2]}",
        "filePublic": "false",
        "fileName": name,
        "fileMediatype": media_type(source),
    }


def _observed(medium: Row, id: str, kind: str) -> Row:
    """Return what all observations in an image say."""
    return {
        "observationID": id,
        "deploymentID": medium["deploymentID"],
        "mediaID": medium["mediaID"],
        "eventStart": medium["timestamp"],
        "eventEnd": medium["timestamp"],
        "observationLevel": "media",
        "observationType": kind,
    }


def _observation(labels: ExportLabels, one: Labelled, medium: Row) -> Row:
    """Return the observation of an item."""
    found = named(labels, one)
    kind = TYPES.get(one.label.casefold())
    if kind is None:
        kind = "animal" if found else "unclassified" if one.source == "waiting" else "unknown"
    probability = found and found.probability
    by_person, classified = one.source in BY_PERSON, kind != "unclassified"
    return _observed(medium, one.hash, kind) | {
        "scientificName": found.name if found and kind == "animal" else "",
        "classificationMethod": "" if not classified else "human" if by_person else "machine",
        "classifiedBy": "OpenGCD" if classified and not by_person else "",
        "classificationProbability": "" if probability is None else f"{probability:.6f}",
        "observationComments": one.label if one.provisional else "",
    }


def _place_in_image(origin: Origin) -> Row:
    """Return the columns of a box, in shares of the image from its top left corner."""
    (width, height), (x, y, w, h) = origin.size, origin.box
    shares = {"bboxX": x / width, "bboxY": y / height, "bboxWidth": w / width, "bboxHeight": h / height}
    return {column: f"{share:.6f}" for column, share in shares.items()}


def _detected(medium: Row, category: str) -> Row:
    """Return the observation of what a detector has found in an image from which nothing was cut out."""
    kind = TYPES.get(category.casefold(), "unknown")
    machine = {"classificationMethod": "machine", "classifiedBy": "a detector"}
    comments = category if kind == "unknown" else ""
    return _observed(medium, f"{medium['mediaID']}-{kind}", kind) | machine | {"observationComments": comments}


def _package(labels: ExportLabels, places: list[Place], taxa: list[str]) -> dict[str, Any]:
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
