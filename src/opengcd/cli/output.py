"""Output of commands, escaped so that a name cannot control the terminal or forge another line."""

from __future__ import annotations

import sys

import typer

from opengcd._internal.text import printable


def echo(text: str, *, err: bool = False) -> None:
    """Print one line."""
    typer.echo(printable(text), err=err)


def echo_lines(text: str, *, err: bool = False) -> None:
    """Print text of several lines."""
    for line in text.split("\n"):
        echo(line, err=err)


def write_out(content: bytes) -> None:
    """Write data to standard output: unchanged to a file or a program, escaped to a terminal."""
    if sys.stdout.isatty():
        echo_lines(content.decode("utf-8", "backslashreplace").removesuffix("\n"))
    else:
        typer.echo(content, nl=False)
