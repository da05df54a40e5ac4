"""Errors of commands: one line that says what to do, and a separate exit status if some images are unusable."""

from __future__ import annotations

import errno
import importlib.util
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os.path import basename, splitext

import typer

from opengcd.cli.output import echo

SOME_IMAGES_BAD = 3
"""Exit status of a command that finished but could not use some images."""
STDOUT = 1
OUTPUT_CLOSED = 141
"""Exit status of a command whose output nobody reads any more, as in ``opengcd export DIR | head``: that of other
programs, which the signal SIGPIPE ends."""
REMEDIES = {
    errno.ENOSPC: "Free some space, and run the command again: finished work is kept",
    errno.EDQUOT: "Free some space, and run the command again: finished work is kept",
    errno.EACCES: "Check who may read and write there, or choose another folder",
    errno.EPERM: "Check who may read and write there, or choose another folder",
    errno.EROFS: "Choose a folder that can be written to",
    errno.ENAMETOOLONG: "Choose a shorter name",
    errno.EMFILE: "Close other programs, or raise the limit (ulimit -n)",
}
"""What to do about errors of the system, by their number."""


@contextmanager
def report_errors() -> Iterator[None]:
    """Report errors of the input, and an interruption by the user, in one line instead of a traceback, and exit."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)  # so that Python's own last write does not fail, too
        echo("The output was closed, so the command ended early. Finished work is kept.", err=True)
        raise typer.Exit(OUTPUT_CLOSED) from None
    except OSError as error:
        echo(f"Error: {explained(error)}", err=True)
        raise typer.Exit(1) from None
    except (ValueError, ImportError) as error:
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


def explained(error: OSError) -> str:
    """Return what an error of the system says, without its number, and what to do."""
    if error.errno is None or error.strerror is None:
        return str(error)
    where = "" if error.filename is None else f": {os.fsdecode(error.filename)}"
    remedy = f". {REMEDIES[error.errno]}" if error.errno in REMEDIES else ""
    return f"{error.strerror}{where}{remedy}."


def report_skipped(paths: Sequence[str]) -> None:
    """Say in one line how many files were skipped, since by their names they are not images."""
    if paths:
        kinds = Counter(splitext(basename(path))[1].lower() or basename(path) for path in paths)
        shown = ", ".join(kind for kind, _ in kinds.most_common(5)) + (", ..." if len(kinds) > 5 else "")
        what = "file that is not an image" if len(paths) == 1 else "files that are not images"
        echo(f"Skipped {len(paths):,} {what} ({shown}).", err=True)


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
