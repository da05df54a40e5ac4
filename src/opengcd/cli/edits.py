"""Commands that edit groups: one for each verb of the review, made from the verb's record."""

from __future__ import annotations

import inspect
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from opengcd.cli.display import show_groups
from opengcd.cli.failures import report_errors
from opengcd.cli.options import Folder
from opengcd.cli.output import echo

if TYPE_CHECKING:
    from opengcd.workspace.verb import Parameter, Verb


OF_LEARNT = ("merge_classes", "relabel", "discard")
"""Verbs that the recogniser must learn again for."""


class _VerbCommands(TyperGroup):
    """The commands of all verbs, made when they are asked for: importing the workspace takes a second."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the verbs."""
        from opengcd.workspace.verbs import VERBS

        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a verb; None if there is no such verb."""
        from opengcd.workspace.verbs import VERBS

        return _command(VERBS[cmd_name]) if cmd_name in VERBS else None


edit = typer.Typer(
    cls=_VerbCommands,
    help="Edit groups. `opengcd status` lists the numbers of groups, and `opengcd export DIR --format json` those of "
    "images.",
    no_args_is_help=True,
)


def _command(verb: type[Verb]) -> Any:
    """Return the command that applies a verb."""
    from opengcd.workspace.verb import descriptions, parameters, summary

    def run(workspace: Path, **given: Any) -> None:
        from opengcd import Workspace

        with report_errors(), Workspace(workspace) as opened:
            before = opened.review.last_edit()
            done = opened.apply(verb(**given))
            echo(f"Edit {done.id}: {verb.act}." if done.id != before else "Nothing changed.")
            show_groups(group for group in opened.status().groups if group.id in done.groups)
            if done.id != before and verb.act in OF_LEARNT and (number := opened.views.corrected().total()):
                images = "1 image that was" if number == 1 else f"{number} images that were"
                echo(f"Next: opengcd learn {workspace} learns the new labels of {images} learnt before.")

    taken = [inspect.Parameter("workspace", inspect.Parameter.KEYWORD_ONLY, annotation=Folder)]
    taken += [
        _argument(one, descriptions(verb).get(one.name, f"{one.kind.value.capitalize()}.")) for one in parameters(verb)
    ]
    run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in taken}
    run.__doc__ = summary(verb)
    single = typer.Typer(add_completion=False)
    single.command(verb.act)(run)
    return typer.main.get_command(single)


def _argument(given: Parameter, described: str) -> inspect.Parameter:
    """Return a parameter of a verb as an argument, or as an option where it has a default."""
    from opengcd.workspace.verb import Kind

    types: dict[Kind, Any] = {
        Kind.GROUP: int,
        Kind.TARGET: int,
        Kind.ITEMS: list[int],
        Kind.SEEN: list[int],
        Kind.LABEL: str,
        Kind.CLASS: str,
        Kind.GROUP_OR_LABEL: str,
        Kind.PARTS: int,
        Kind.FLAG: bool,
        Kind.PERSON: str,
        Kind.TEXT: str,
    }
    parser = _group_or_label if given.kind is Kind.GROUP_OR_LABEL else None
    info: Any = typer.Argument if given.default is MISSING else typer.Option
    kind = types[given.kind] | None if given.default is None else types[given.kind]
    return inspect.Parameter(
        given.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind, info(help=described, parser=parser)],
        default=inspect.Parameter.empty if given.default is MISSING else given.default,
    )


def _group_or_label(text: str) -> int | str:
    return int(text) if text.isdecimal() else text
