"""The reference of the command line as Markdown, from the commands themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

HEAD = """# Command line

Every command, with its arguments, options and defaults, as `opengcd COMMAND --help` prints them. How the commands work
together is explained in [the workspace](../how-to/workspace.md); `bench` belongs to [the benchmark](benchmark.md).

What the exit status means is listed under [limits](limits.md#exit-status).
"""


def page() -> str:
    """Return the page: an overview, and a section for each command."""
    from opengcd.cli import app

    commands = list(_commands(typer.main.get_command(app), "opengcd"))
    rows = [f"| [`{path}`](#{_anchor(path)}) | {_summary(command)} |" for path, command in commands[1:]]
    overview = ["| command | what it does |", "| --- | --- |", *rows]
    return "\n\n".join([HEAD, "\n".join(overview), *(_section(path, command) for path, command in commands)]) + "\n"


def _commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, command
    if hasattr(command, "list_commands"):
        context = command.context_class(command, info_name=path)
        for name in command.list_commands(context):
            yield from _commands(command.get_command(context, name), f"{path} {name}")


def _section(path: str, command: Any) -> str:
    context = command.context_class(command, info_name=path)
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    level = "###" if path.count(" ") > 1 else "##"
    parts = [f"{level} {path} {{#{_anchor(path)}}}", command.help or "", f"```text\n{usage}\n```"]
    records = [one.get_help_record(context) for one in command.get_params(context) if "--help" not in one.opts]
    if rows := [_row(*record) for record in records if record]:
        parts.append("\n".join(["| argument or option | meaning | default, or limits |", "| --- | --- | --- |", *rows]))
    return "\n\n".join(part for part in parts if part)


def _row(names: str, text: str) -> str:
    meaning, _, more = text.partition("  [")
    shown = ", ".join(f"`{more}`" for more in more.removesuffix("]").split("; ") if more)
    shown = shown.replace("`default: ", "`").replace("`required`", "required")
    return f"| `{names}` | {' '.join(meaning.split()).replace('|', '&#124;')} | {shown} |"


def _summary(command: Any) -> str:
    return " ".join((command.help or "").partition("\n\n")[0].split())


def _anchor(path: str) -> str:
    return path.replace(" ", "-")
