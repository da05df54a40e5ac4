"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the workspace.")]
Adapt = Annotated[
    bool,
    typer.Option(
        "--adapt", help="Afterwards train the network on these images, and use it if that helps; see opengcd adapt."
    ),
]
Copy = Annotated[bool, typer.Option(help="Copy the images instead of linking to them.")]
