"""Labels out, in the formats of other tools: one :class:`Format` each, from which everything else follows."""

from opengcd.workspace.exports.labels import IMAGES, ExportLabels, collect
from opengcd.workspace.exports.places import Place, Places, places_from, read_places
from opengcd.workspace.exports.registry import FORMATS, Format, format_named
from opengcd.workspace.exports.tables import csv_line
from opengcd.workspace.exports.writing import as_bytes, as_zip, write

__all__ = [
    "FORMATS",
    "IMAGES",
    "ExportLabels",
    "Format",
    "Place",
    "Places",
    "as_bytes",
    "as_zip",
    "collect",
    "csv_line",
    "format_named",
    "places_from",
    "read_places",
    "write",
]
