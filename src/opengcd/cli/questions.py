"""Questions about groups in the terminal, answered with one key each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from opengcd.cli.display import command
from opengcd.cli.failures import report_errors
from opengcd.cli.output import echo

if TYPE_CHECKING:
    from opengcd import Workspace
    from opengcd.workspace.questions import AskedQuestion

OTHER_KEYS = "s skip, u undo, q quit"


def ask_questions(workspace: Path) -> None:
    """Ask until no useful question is left or the person quits; then offer to regroup the images by the answers.

    Parameters
    ----------
    workspace : Path
        The folder of the workspace.

    """
    from opengcd import Workspace
    from opengcd.workspace.verbs import VERBS

    done, skipped = list[str](), set[tuple[int, ...]]()
    with report_errors(), Workspace(workspace) as opened:
        while True:
            asked = opened.questions.ask(100)
            left = [question for question in asked.questions if tuple(question.groups) not in skipped]
            if not left:
                if not (asked.answered and _wants_regrouping()):
                    break
                moved = opened.regroup(on=asked.edit).images
                echo(f"{moved} {'image' if moved == 1 else 'images'} moved.")
                done.append("regroup")
                continue
            question = left[0]
            _show(opened, question, len(left))
            edits = {answer.key: answer.edit for answer in question.answers}
            key = _key(*edits, "s", "u", "q")
            if key == "q":
                break
            if key == "s":
                skipped.add(tuple(question.groups))
            elif key == "u" and not done:
                echo("No question has been answered yet.")
            elif key == "u":
                opened.undo()
                done.pop()
            else:
                parameters = dict(edits[key])
                verb = VERBS[parameters.pop("act")]
                opened.apply(verb(**parameters, on=asked.edit))
                done.append(verb.act)
        answered = len(done) - done.count("regroup")
        echo(f"{answered} {'question' if answered == 1 else 'questions'} answered.")
        if asked.answered:
            echo(f"Next: {command('edit', 'regroup', workspace)}, to regroup the images by your answers.")


def _wants_regrouping() -> bool:
    echo("")
    echo("No question is left. Regroup the images by your answers? y yes, n no")
    return _key("y", "n") == "y"


def _key(*possible: str) -> str:
    """Wait for one of the possible keys, and return it."""
    key = ""
    while key not in possible:
        key = typer.getchar()
    return key


def _show(workspace: Workspace, question: AskedQuestion, left: int) -> None:
    """Print a question, the files to look at, and the keys."""
    from opengcd.workspace import readable

    echo("")
    echo(f"{question.text} ({left} {'question' if left == 1 else 'questions'} left, about one second each)")
    for name, items in zip("ab", question.shown, strict=True):
        paths = [workspace.views.item(item)[0].paths for item in items]
        echo(f"  {name}: " + "  ".join(readable(os.fspath(files[0])) for files in paths if files))
    echo("  " + ", ".join(f"{answer.key} {answer.text}" for answer in question.answers) + f"; {OTHER_KEYS}")
