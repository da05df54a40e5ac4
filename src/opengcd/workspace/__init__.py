"""A user's project on disk: images in, labels out, with a review in between that nothing is lost of."""

from opengcd.workspace._errors import WorkspaceError
from opengcd.workspace._files import find_files, readable
from opengcd.workspace._folders import Changes
from opengcd.workspace._labels import SOURCES, Labelled
from opengcd.workspace._log import Entry
from opengcd.workspace._loop import Discovered
from opengcd.workspace._models import Version
from opengcd.workspace._recognition import Result
from opengcd.workspace._review import Group, GroupSize
from opengcd.workspace._workspace import Status, Workspace

__all__ = [
    "SOURCES",
    "Changes",
    "Discovered",
    "Entry",
    "Group",
    "GroupSize",
    "Labelled",
    "Result",
    "Status",
    "Version",
    "Workspace",
    "WorkspaceError",
    "find_files",
    "readable",
]
