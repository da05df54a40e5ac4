"""A project on disk: images in, labels out, with a review in between; every edit is logged and can be undone."""

from opengcd.workspace.adaptation import Adapted, AdaptPlan
from opengcd.workspace.check import Finding
from opengcd.workspace.conflicts import ConflictError
from opengcd.workspace.details import DETAILS, AnyDetails, DiscoverDetails, read_details
from opengcd.workspace.errors import (
    DamagedError,
    MissingError,
    ReadOnlyError,
    TooLargeError,
    UnavailableError,
    WorkspaceError,
)
from opengcd.workspace.exports import FORMATS, IMAGES, Format, csv_line
from opengcd.workspace.facade import Workspace
from opengcd.workspace.files import find_files, readable
from opengcd.workspace.folders import Changes
from opengcd.workspace.group_discovery import Discovered
from opengcd.workspace.groups import Group, GroupSize, check_label
from opengcd.workspace.held_out import ClassAccuracy, ConfusedPair, Measured, Suspect, Suspects
from opengcd.workspace.job_queue import CancelledError, Job
from opengcd.workspace.labels import SOURCES, Labelled
from opengcd.workspace.log import Edited, Entry
from opengcd.workspace.models import Choice, Rejection
from opengcd.workspace.next_step import NextStep
from opengcd.workspace.predictions import Result
from opengcd.workspace.similarity import Map, Neighbour
from opengcd.workspace.teaching import LabelConflict, Taught
from opengcd.workspace.times import read_times
from opengcd.workspace.tokens import SCOPES, Grant, Token, check_name
from opengcd.workspace.versions import Version
from opengcd.workspace.views import Item, Member, Page, Phase, Status

__all__ = [
    "DETAILS",
    "FORMATS",
    "IMAGES",
    "SCOPES",
    "SOURCES",
    "AdaptPlan",
    "Adapted",
    "AnyDetails",
    "CancelledError",
    "Changes",
    "Choice",
    "ClassAccuracy",
    "ConflictError",
    "ConfusedPair",
    "DamagedError",
    "DiscoverDetails",
    "Discovered",
    "Edited",
    "Entry",
    "Finding",
    "Format",
    "Grant",
    "Group",
    "GroupSize",
    "Item",
    "Job",
    "LabelConflict",
    "Labelled",
    "Map",
    "Measured",
    "Member",
    "MissingError",
    "Neighbour",
    "NextStep",
    "Page",
    "Phase",
    "ReadOnlyError",
    "Rejection",
    "Result",
    "Status",
    "Suspect",
    "Suspects",
    "Taught",
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
    "read_details",
    "read_times",
    "readable",
]
