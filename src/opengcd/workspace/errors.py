"""The errors of a workspace."""

from __future__ import annotations


class WorkspaceError(ValueError):
    """A request to a workspace failed; the message says why, and what to do."""


class UnavailableError(WorkspaceError):
    """The database or the disk cannot be used at the moment; the same request may succeed later."""


class MissingError(WorkspaceError):
    """There is no such item, group, version or job."""


class DamagedError(WorkspaceError):
    """A file of the workspace is missing or does not have the content that was written.

    Parameters
    ----------
    message : str
        What is damaged, and what to do.
    reason : str
        What shows the damage.

    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


class ReadOnlyError(WorkspaceError):
    """The workspace cannot be changed: its folder is read-only."""


class TooLargeError(WorkspaceError):
    """A request is too large to be processed at once."""
