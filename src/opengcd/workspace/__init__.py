"""A user's project on disk: images in, labels out, with a review in between that nothing is lost of."""

from opengcd.workspace._access import SCOPES, Grant, Token, check_name
from opengcd.workspace._check import Finding
from opengcd.workspace._conflicts import ConflictError
from opengcd.workspace._errors import (
    DamagedError,
    MissingError,
    ReadOnlyError,
    TooLargeError,
    UnavailableError,
    WorkspaceError,
)
from opengcd.workspace._export import csv_line
from opengcd.workspace._files import find_files, readable
from opengcd.workspace._folders import Changes
from opengcd.workspace._jobs import CancelledError, Job
from opengcd.workspace._labels import SOURCES, Labelled
from opengcd.workspace._log import Edited, Entry
from opengcd.workspace._looks import Map, Neighbour
from opengcd.workspace._loop import Discovered
from opengcd.workspace._models import Version
from opengcd.workspace._recognition import Result
from opengcd.workspace._review import Group, GroupSize, check_label
from opengcd.workspace._views import Choice, Item, Member, Page, Phase, Rejection
from opengcd.workspace._workspace import Status, Workspace

__all__ = [
    "SCOPES",
    "SOURCES",
    "CancelledError",
    "Changes",
    "Choice",
    "ConflictError",
    "DamagedError",
    "Discovered",
    "Edited",
    "Entry",
    "Finding",
    "Grant",
    "Group",
    "GroupSize",
    "Item",
    "Job",
    "Labelled",
    "Map",
    "Member",
    "MissingError",
    "Neighbour",
    "Page",
    "Phase",
    "ReadOnlyError",
    "Rejection",
    "Result",
    "Status",
    "Token",
    "TooLargeError",
    "UnavailableError",
    "Version",
    "Workspace",
    "WorkspaceError",
    "check_label",
    "check_name",
    "csv_line",
    "find_files",
    "readable",
]
