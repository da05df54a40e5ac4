"""How commands show groups, the number of classes, the threshold and entries of the history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from opengcd.cli.output import echo

if TYPE_CHECKING:
    from opengcd.workspace import Entry, GroupSize


def show_threshold(source: str, known_rejected: float, known_share: float | None, **_: Any) -> None:
    """Show what the threshold was estimated from, and what it rejects; the arguments are the fields of a Threshold."""
    grounds = {"bound": "from the limit that was set", "labelled": "from labelled images", "stream": "from the stream"}
    share = "" if known_share is None else f"; about {known_share:.0%} of the stream are of known classes"
    echo(f"threshold {grounds[source]}: rejects about {known_rejected:.0%} of known images{share}")


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
        if group.kind == "novel" and group.probability is not None:
            facts.append(f"a class with probability {group.probability:.2f}")
        if group.doubtful:
            facts.append("doubtful")
        echo(f"{group.size:9,} in group {group.id}, {group.label} ({', '.join(facts)})")


def show_entry(title: str, entry: Entry | None) -> None:
    """Show an entry of the history."""
    assert entry is not None
    echo(f"{title}: {entry.verb} of {entry.at[:19]} by {entry.who} ({as_text(entry.details)})")


def as_text(details: dict[str, Any]) -> str:
    """Return the details of an entry of the history as text."""
    shown = {key: value for key, value in details.items() if key != "curve"}  # dozens of numbers are for a plot
    return ", ".join(
        f"{key.replace('_', ' ')} {', '.join(map(str, value)) if isinstance(value, list) else value}"
        for key, value in shown.items()
    )
