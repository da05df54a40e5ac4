"""What can be wrong with a workspace."""

from __future__ import annotations


class WorkspaceError(ValueError):
    """A workspace cannot do what was asked; the message says what to do."""
