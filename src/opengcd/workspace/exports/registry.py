"""The formats of exports: choices of the command line, of the HTTP API and of the page follow from these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.exports.biodiversity import as_darwin_core, as_inaturalist
from opengcd.workspace.exports.camtrap import as_camtrap_dp
from opengcd.workspace.exports.datasets import as_fiftyone, as_folders, as_imagefolder, as_yolo
from opengcd.workspace.exports.detections import as_crops
from opengcd.workspace.exports.labels import ExportLabels, Part
from opengcd.workspace.exports.tables import as_coco, as_csv, as_json


class Format(NamedTuple):
    """A format of exports."""

    name: str
    title: str
    about: str
    """What it holds or is for, in a sentence."""
    suffix: str
    """Of its file; empty for a folder."""
    media_type: str
    """Of its file; that of a zip for a folder."""
    parts: Callable[[ExportLabels], Iterator[Part]]
    """Makes its files, one after the other."""
    needs_places: bool = False
    """Whether it cannot do without a table of deployments."""
    uses_places: bool = False
    """Whether it tells where images were taken if there is such a table."""
    needs_images: bool = False
    """Whether it cannot be made of vectors that have no images."""

    @property
    def is_folder(self) -> bool:
        """Whether the export is a folder."""
        return not self.suffix

    @property
    def is_text(self) -> bool:
        """Whether it is a file that a terminal can show."""
        return not self.is_folder and self.media_type != ZIP


CSV, JSON, ZIP = "text/csv; charset=utf-8", "application/json", "application/zip"
_ALL = (
    Format("csv", "CSV", "A table with one line for each file, for spreadsheets.", "csv", CSV, as_csv),
    Format("json", "JSON", "One object for each image, with all its files.", "json", JSON, as_json),
    Format(
        "coco",
        "COCO",
        "COCO's format; the box is that of a crop, or else the whole image.",
        "json",
        JSON,
        as_coco,
        needs_images=True,
    ),
    Format(
        "crops",
        "Crops",
        "The boxes of a detector with the labels of their crops, as MegaDetector writes.",
        "json",
        JSON,
        as_crops,
        needs_images=True,
    ),
    Format("folders", "Folders", "A folder of images for each label.", "", ZIP, as_folders, needs_images=True),
    Format(
        "yolo",
        "YOLO classification",
        "Folders of classes in train and val, for Ultralytics.",
        "",
        ZIP,
        as_yolo,
        needs_images=True,
    ),
    Format(
        "imagefolder",
        "Hugging Face ImageFolder",
        "Images with metadata.jsonl, which load_dataset reads.",
        "",
        ZIP,
        as_imagefolder,
        needs_images=True,
    ),
    Format(
        "fiftyone",
        "FiftyOne",
        "Images with labels.json, which FiftyOne opens.",
        "",
        ZIP,
        as_fiftyone,
        needs_images=True,
    ),
    Format(
        "camtrap-dp",
        "Camtrap DP",
        "A data package of camera traps (version 1.0.2); needs a table of deployments.",
        "",
        ZIP,
        as_camtrap_dp,
        needs_places=True,
        uses_places=True,
        needs_images=True,
    ),
    Format(
        "darwin-core",
        "Darwin Core Archive",
        "Occurrences, for GBIF and other collections of biodiversity data.",
        "dwca.zip",
        ZIP,
        as_darwin_core,
        uses_places=True,
    ),
    Format(
        "inaturalist",
        "iNaturalist CSV",
        "A table for the CSV import of iNaturalist, without the images.",
        "csv",
        "text/csv; charset=iso-8859-1",
        as_inaturalist,
        uses_places=True,
    ),
)
FORMATS = {one.name: one for one in _ALL}
"""The formats by their names."""


def format_named(name: str) -> Format:
    """Return a format by its name; raise an error if there is none.

    Parameters
    ----------
    name : str
        A key of :data:`FORMATS`.

    Returns
    -------
    Format

    """
    if name not in FORMATS:
        raise WorkspaceError(f"Unknown format {name!r}; choose from {', '.join(FORMATS)}.")
    return FORMATS[name]
