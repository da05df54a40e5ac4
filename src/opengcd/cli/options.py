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
Boxes = Annotated[
    Path | None,
    typer.Option(
        help="Boxes that a detector has found, a JSON file from MegaDetector or in COCO's format: each box is cut out "
        "and becomes an image of its own."
    ),
]
MinConfidence = Annotated[float, typer.Option(min=0, max=1, help="With --boxes: the lowest confidence of a box.")]
BoxLabels = Annotated[
    bool,
    typer.Option(
        "--box-labels",
        help="With --boxes: the class of each crop is that of its box, not of its image: its category in COCO's "
        "format, or what a classifier has said in MegaDetector's. Then the images need no folders of classes.",
    ),
]
Fps = Annotated[
    float,
    typer.Option(
        help="Frames per second that are taken of videos; each becomes an image of its own. More frames of the same "
        "scene are near copies, which count once."
    ),
]
Copy = Annotated[bool, typer.Option(help="Copy the images instead of linking to them.")]
