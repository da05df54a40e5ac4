"""The command that sets a taxonomy, and shows how many images are sure at which rank."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from opengcd.cli.failures import report_errors
from opengcd.cli.options import Folder
from opengcd.cli.output import echo


def taxonomy(
    workspace: Folder,
    table: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="CSV whose first line names the ranks, such as family,genus,species, with a line for each class.",
        ),
    ] = None,
    error: Annotated[
        float | None,
        typer.Option(help="Largest share of images that may get a wrong name (default: 0.05)."),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the taxonomy.")] = False,
) -> None:
    """Set the ranks above the classes, and show how many images are sure at which rank.

    Where the class of an image is in doubt, it is named by the deepest rank that is sure. Class names that are paths,
    such as Corvidae/Corvus/corax, need no file.
    """
    from opengcd import Workspace
    from opengcd._internal import terminal
    from opengcd.taxonomy import NO_TAXONOMY, Taxonomy
    from opengcd.workspace.tables import read_text

    if remove and (table is not None or error is not None):
        raise typer.BadParameter("give either FILE and --error, or --remove")
    with report_errors(), Workspace(workspace) as opened:
        taxonomies = opened.taxonomies
        taxonomy, allowed = taxonomies.setting()
        if remove:
            taxonomies.set(NO_TAXONOMY)
        elif table is not None or error is not None:
            if table is not None:
                taxonomy = Taxonomy.read(read_text(table), taxonomies.classes())
            taxonomies.set(taxonomy, allowed if error is None else error)
        with terminal.progress_bar() as progress:
            counts = taxonomies.summary(progress=progress)
        missing = taxonomies.missing()
        echo(f"The deepest rank at which images are sure, with at most {taxonomies.setting().error:.1%} wrong names:")
        for kind, ranks in counts.items():
            shown = ", ".join(f"{number:,} {rank or 'none'}" for rank, number in ranks.most_common())
            echo(f"{kind:>9} images: {shown or 'there are none'}")
        if missing:
            echo(f"Without a rank above them: {', '.join(missing)}.", err=True)
