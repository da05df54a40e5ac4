"""Files of vectors that were uploaded: what they name must have been uploaded, too."""

from __future__ import annotations

import os
from pathlib import Path

from opengcd.workspace import WorkspaceError
from opengcd.workspace.vector_files import VectorRows, read_vectors


def read_inside(file: Path, root: Path) -> VectorRows:
    """Read a file of vectors, and refuse it if it names pictures elsewhere on the server's machine.

    Parameters
    ----------
    file : Path
    root : Path
        The folder of the upload.

    Returns
    -------
    VectorRows

    Raises
    ------
    WorkspaceError
        If the file cannot be used.

    """
    rows = read_vectors(file)
    for picture in rows.pictures:
        if isinstance(picture, str) and not Path(os.path.abspath(picture)).is_relative_to(root.absolute()):
            raise WorkspaceError(
                f"{file.name} names pictures that were not uploaded, for example {os.path.basename(picture)!r}; put "
                "them beside it, with paths relative to it."
            )
    return rows
