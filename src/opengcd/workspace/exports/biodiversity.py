"""Labels as records of species: Darwin Core and iNaturalist."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import quoteattr
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from opengcd.workspace.exports.labels import ExportLabels, Part, certainty, has_class
from opengcd.workspace.exports.standards import INATURALIST, INATURALIST_ENCODING, OCCURRENCE, TERMS, TYPES
from opengcd.workspace.exports.tables import plain_csv
from opengcd.workspace.labels import BY_PERSON, Labelled

NO_SPECIES = "it is labelled {!r}, which is not the name of a species"
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
        if found is None or one.label.casefold() in TYPES:
            why = NO_NAME if found is None else NO_SPECIES.format(one.label)
            labels.left_out.append((one.paths[0] if one.paths else one.hash, why))
        else:
            yield one, found


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
            "associatedMedia": " | ".join(_file_names(labels, one)),
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
                f"{', '.join(_file_names(labels, one))} ({one.source}; {one.hash[:12]})",
                "" if place is None else place.row.get("locationName", ""),
                "" if place is None else place.row["latitude"],
                "" if place is None else place.row["longitude"],
                "opengcd",
                "",
            ]
        )
    yield Part("", plain_csv(INATURALIST, rows, INATURALIST_ENCODING))


def _file_names(labels: ExportLabels, one: Labelled) -> list[str]:
    return list(dict.fromkeys(map(os.path.basename, labels.files_of(one))))
