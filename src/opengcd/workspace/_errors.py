"""What can be wrong with a workspace."""

from __future__ import annotations


class WorkspaceError(ValueError):
    """A workspace cannot do what was asked; the message says what to do."""


class MissingError(WorkspaceError):
    """There is no such item, group, version or job."""


class TooLargeError(WorkspaceError):
    """More was given at a time than is worked on at a time."""
