"""Questions about groups in the terminal, answered with one key each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from opengcd.cli.failures import report_errors
from opengcd.cli.output import echo

if TYPE_CHECKING:
    from opengcd import Workspace
    from opengcd.workspace.questions import AskedQuestion

OTHER_KEYS = "s skip, u undo, q quit"


def ask_questions(workspace: Path) -> None:
    """Ask until no question is worth asking, or the person quits.

    Parameters
    ----------
    workspace : Path
        The folder of the workspace.

    """
    from opengcd import Workspace
    from opengcd.workspace.verbs import VERBS

    answered, skipped = 0, set[tuple[int, ...]]()
    with report_errors(), Workspace(workspace) as opened:
        while True:
            asked = opened.questions.ask(100)
            left = [question for question in asked.questions if tuple(question.groups) not in skipped]
            if not left:
                break
            question, key = left[0], ""
            _show(opened, question, len(left))
            edits = {answer.key: answer.edit for answer in question.answers}
            while key not in (*edits, "s", "u", "q"):
                key = typer.getchar()
            if key == "q":
                break
            if key == "s":
                skipped.add(tuple(question.groups))
            elif key == "u" and not answered:
                echo("No question has been answered yet.")
            elif key == "u":
                opened.undo()
                answered -= 1
            else:
                parameters = dict(edits[key])
                opened.apply(VERBS[parameters.pop("act")](**parameters, on=asked.edit))
                answered += 1
        echo(f"{answered} answered. `opengcd discover {workspace}` groups the other images again.")


def _show(workspace: Workspace, question: AskedQuestion, left: int) -> None:
    """Print a question, the files to look at, and the keys."""
    from opengcd.workspace import readable

    echo(f"\n{question.text} ({left} {'question' if left == 1 else 'questions'} left, about one second each)")
    for name, items in zip("ab", question.shown, strict=True):
        paths = [workspace.views.item(item)[0].paths for item in items]
        echo(f"  {name}: " + "  ".join(readable(os.fspath(files[0])) for files in paths if files))
    echo("  " + ", ".join(f"{answer.key} {answer.text}" for answer in question.answers) + f"; {OTHER_KEYS}")
