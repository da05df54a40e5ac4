"""What can be wrong with a workspace."""

from __future__ import annotations


class WorkspaceError(ValueError):
    """A workspace cannot do what was asked; the message says what to do."""


class UnavailableError(WorkspaceError):
    """The database or the disk cannot be used at the moment; the same request may succeed later."""


class MissingError(WorkspaceError):
    """There is no such item, group, version or job."""
