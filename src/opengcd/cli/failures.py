"""Errors of commands: one line that says what to do, and a separate exit status if some images are unusable."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from opengcd.cli.output import echo

SOME_IMAGES_BAD = 3
"""Exit status of a command that finished but could not use some images."""


@contextmanager
def report_errors() -> Iterator[None]:
    """Report errors of the input, and an interruption by the user, in one line instead of a traceback, and exit."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        echo(f"Error: {error}", err=True)
        raise typer.Exit(1) from None
    except MemoryError:
        echo("Error: There is not enough memory; use fewer images at a time, or a machine with more memory.", err=True)
        raise typer.Exit(1) from None
    except (RecursionError, OverflowError) as error:
        echo(f"Error: The input is too large or too deeply nested ({error}).", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        echo("Interrupted. Finished work is kept; run the same command again to continue.", err=True)
        raise typer.Exit(130) from None


def report_bad_file(path: str, reason: str) -> None:
    """Say that a file could not be used."""
    from opengcd.workspace import readable

    echo(f"{readable(path)}: {reason}", err=True)


def exit_for_bad_files(number: int) -> None:
    """End with an exit status of its own if any files could not be used."""
    if number:
        echo(f"{number} {'file' if number == 1 else 'files'} could not be used; all others were processed.", err=True)
        raise typer.Exit(SOME_IMAGES_BAD)


def report_bad_files(bad: Sequence[tuple[str, str]]) -> None:
    """List files that could not be used, and end with an exit status that says so; do nothing if there are none."""
    for path, reason in bad:
        report_bad_file(path, reason)
    exit_for_bad_files(len(bad))


def require(extra: str, *packages: str) -> None:
    """End with the command that installs an extra, if one of its packages is missing."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            echo(f'This command needs {package}: pip install "opengcd[{extra}]"', err=True)
            raise typer.Exit(1)
