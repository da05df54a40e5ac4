"""How commands show groups, the number of classes, the threshold and entries of the history."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from opengcd.cli.output import echo

if TYPE_CHECKING:
    from pathlib import Path

    from opengcd import Workspace
    from opengcd.workspace import Adapted, Entry, GroupSize, Measured
    from opengcd.workspace.agreement import Agreement


TOLD, MOST = 0.05, 5
"""The least change of the accuracy of a class that is shown, and the largest number of classes or pairs."""
WORDS = {
    "adapted_hca": "adapted HCA",
    "adapted_hna": "adapted HNA",
    "bad": "unusable files",
    "frozen_hca": "present HCA",
    "frozen_hna": "present HNA",
    "hidden": "hidden classes",
    "into": "into group",
    "left_alone": "left unchanged",
    "max_known_rejected": "known images rejected at most",
    "missing": "missing files",
    "one": "the rest is a class",
    "other": "the part is a class",
    "returned": "returned to known classes",
    "same": "same class",
    "seen": "images looked at",
    "started": "new groups",
    "switched": "adapted network in use",
    "trusted": "reliable",
}
"""What the history calls details whose names do not say it."""


def show_threshold(source: str, known_rejected: float, known_share: float | None, **_: Any) -> None:
    """Show what the threshold was estimated from, and what it rejects; the arguments are the fields of a Threshold."""
    grounds = {"bound": "for the limit that was set", "labelled": "from labelled images", "stream": "from the stream"}
    share = "" if known_share is None else f"; about {known_share:.0%} of the stream is of known classes"
    echo(f"threshold estimated {grounds[source]}: rejects about {known_rejected:.0%} of known images{share}")


def show_class_number(k: int, interval: Sequence[int] | None) -> None:
    """Show the estimated number of classes with its interval."""
    likely = f", very likely {interval[0]} to {interval[1]}" if interval and interval[0] < interval[1] else ""
    echo(f"k         {k} classes, known ones included{likely}")


def show_groups(groups: Iterable[GroupSize]) -> None:
    """Show each group with its size, its name and its state."""
    for group in groups:
        state = "confirmed" if group.confirmed else "named" if group.named and group.kind == "novel" else group.kind
        facts = [state]
        if group.kind == "novel" and group.spread is not None:
            facts.append(f"spread {group.spread:.2f}")
        if group.doubtful:
            facts.append(f"doubtful: a class with probability {group.probability:.2f}")
        if group.confirmed_by:
            facts[0] += f" by {' and '.join(group.confirmed_by)}"
        if group.assignee is not None:
            facts.append(f"assigned to {group.assignee}")
        echo(f"{group.size:9,} in group {group.id}, {group.label} ({', '.join(facts)})")


def show_agreement(found: Sequence[Agreement]) -> None:
    """Show how often each two people agree."""
    for one in found:
        kappa = "" if one.kappa is None else f", kappa {one.kappa:.2f}"
        share = f"{one.same / one.images:.0%} got the same name"
        echo(f"{' and '.join(one.people)}: {count(one.images, 'image')} named by both, {share}{kappa}")
    if not found:
        echo("No two people have named the same images.")


def command(verb: str, *more: str | Path) -> str:
    """Return a command as one types it in a shell."""
    return shlex.join(["opengcd", verb, *map(str, more)])


def show_next_step(workspace: Workspace) -> None:
    """Show the command to run next, in one line."""
    found, path = workspace.views.next_step(), workspace.path
    learnable = f"; {command('learn', path)} learns {count(found.learnable, 'reviewed image')}"
    texts = {
        "init": f"{command('init', path)} --known FOLDER, to learn the first classes.",
        "view": f"{command('export', path)} --format csv. This workspace is read-only here: to change it, make its "
        "folder writable, or use a copy.",
        "adapt": f"{command('adapt', path)} with the same options as before, to continue the adaptation that was "
        "interrupted.",
        "review": f"{command('review', path)}, to name the groups that are classes ({count(found.groups, 'group')} of "
        f"{count(found.images, 'image')} to look at{learnable if found.learnable else ''}).",
        "learn": f"{command('learn', path)}, to learn {count(found.images, 'reviewed image')}.",
        "discover": f"{command('discover', path)}, to group {count(found.images, 'image')} of classes that may be new.",
        "recognize": f"{command('recognize', path)} IMAGES, with files or folders of new images.",
        "export": f"{command('recognize', path)} IMAGES for more images, or {command('export', path)} --format csv.",
    }
    echo(f"Next: {texts[found.step]}")


def count(number: int, word: str) -> str:
    """Return a number with a noun."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def show_same_names(workspace: Path, classes: Sequence[str], groups: Sequence[GroupSize]) -> None:
    """Show names that exist in more than one spelling, and how to make one class of them."""
    from opengcd.workspace.names import same_names

    named = {group.label: group.id for group in groups if group.named and group.kind == "novel"}
    for spellings in same_names([*classes, *named]):
        first, *others = spellings
        joins = [
            command("edit", "name", workspace, str(named[one]), first)
            if first in classes
            else command("edit", "merge", workspace, str(named[one]), str(named[first]))
            for one in others
            if one not in classes
        ]
        joins += [command("edit", "merge_classes", workspace, one, first) for one in others if one in classes]
        remedy = f"to join them: {', '.join(joins)}"
        echo(f"two spellings: {', '.join(spellings)}; {remedy}")


def show_entry(title: str, entry: Entry | None) -> None:
    """Show an entry of the history."""
    assert entry is not None
    echo(f"{title}: {entry.verb} of {entry.at[:19]} by {entry.who} ({as_text(entry.details)})")


def show_measured(measured: Measured | None) -> None:
    """Show the accuracy on held-out images, the classes that changed most, and the pairs that are mixed up most."""
    if measured is None:
        return
    before = "" if measured.accuracy_before is None else f" (before: {measured.accuracy_before:.1%})"
    note = ", too optimistic, since the network was trained on some of them" if measured.trained else ""
    echo(f"held-out  {measured.accuracy:.1%} of {measured.images:,} labelled images recognised{before}{note}")
    changes = [(one.accuracy - one.before, one.label) for one in measured.classes if one.before is not None]
    for title, sign in (("better", 1), ("worse", -1)):
        told = sorted((-sign * change, label) for change, label in changes if sign * change >= TOLD)[:MOST]
        if told:
            echo(f"{title:9} " + ", ".join(f"{label} {100 * abs(change):.0f} points" for change, label in told))
    if measured.pairs:
        pairs = ", ".join(f"{one.label} as {one.predicted} {one.images}" for one in measured.pairs[:MOST])
        echo(f"mixed up  {pairs}")


def as_text(details: dict[str, Any]) -> str:
    """Return the details of an entry of the history as text."""
    # Dozens of numbers are for a plot, and a hash says nothing to a person.
    shown = {key: value for key, value in details.items() if key not in ("curve", "run") and value not in ("", None)}
    return ", ".join(f"{WORDS.get(key, key.replace('_', ' '))} {_value_as_text(value)}" for key, value in shown.items())


def show_adapted(adapted: Adapted, workspace: Path, previous: int | None) -> None:
    """Show what the rehearsal found, the decision, and what to do next."""
    from opengcd.workspace.adaptation import DRY_RUN

    rehearsed = adapted.report.rehearsed
    if adapted.missing:
        echo(f"{adapted.missing} images were left out, because their files are gone or have changed.", err=True)
    if rehearsed is None:
        echo("There was no rehearsal: it needs more known classes, to hide some of them.")
    else:
        echo(f"Rehearsal with {rehearsed.hidden} hidden classes, first the present network, then the adapted one:")
        echo(f"  HNA {rehearsed.frozen_hna:6.1%} {rehearsed.adapted_hna:6.1%}")
        echo(f"  HCA {rehearsed.frozen_hca:6.1%} {rehearsed.adapted_hca:6.1%}")
    if adapted.switched:
        echo(
            f"Version {adapted.version} uses the adapted network. To return to the previous network, run "
            f"{command('undo', workspace)}, or after further edits {command('rollback', workspace, str(previous))}."
        )
    else:
        hint = "" if adapted.reason == DRY_RUN else " To use the adapted network anyway, add --force."
        echo(f"Nothing was changed: {adapted.reason}.{hint}")


def as_duration(seconds: float) -> str:
    """Return an approximate time, such as "about 12 minutes"."""
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds >= 2 * length or (unit == "minute" and seconds >= 90):
            return f"about {round(seconds / length)} {unit}s"
    return f"about {round(seconds)} seconds" if seconds >= 5 else "a few seconds"


def _value_as_text(value: Any) -> str:
    if isinstance(value, dict):
        return f"({as_text(value)})"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
