"""People edit while discover and learn run: edits are never lost, and what the long command did can be undone."""

import contextlib
import random
import threading

import pytest
from sqlalchemy import select

from opengcd import Workspace
from opengcd.workspace import ConflictError, WorkspaceError
from opengcd.workspace.schema import assignments, groups, meta
from tests.helpers.pictures import truth


def by_colour(workspace):
    return {truth(workspace.views.paths(group.items[0])[0]): group for group in workspace.groups()}


def rows(workspace):
    """All that an undo can restore."""
    with workspace.store.database.reading() as connection:
        return [
            sorted(
                tuple(row) for row in connection.execute(select(table)) if row[0] not in ("schema", "id", "revision")
            )
            for table in (meta, groups, assignments)
        ]


def homes(workspace):
    """Each item under review, with its group as a person sees it."""
    return {
        item: (group.id, group.kind, group.label, group.confirmed)
        for group in workspace.groups()
        for item in group.items
    }


def at_every_step(act):
    """A progress callback that acts whenever the command reports."""
    return lambda stage, done, total: act()


def when_computed(act):
    """A progress callback that acts right before the result is stored."""

    def progress(stage, done, total):
        if stage == "storing the groups" or (stage == "storing the version" and done == 1):
            act()

    return progress


# By hand.


@pytest.mark.parametrize(
    ("act", "left_alone"),
    [
        (lambda w, g: w.name(g["blue"].id, "sky"), 8),
        (lambda w, g: w.name(g["blue"].id, "red"), 8),
        (lambda w, g: w.name(g["blue"].id, "sky", confirm=True), 8),
        (lambda w, g: w.remove(g["blue"].items[:2]), 8),
        (lambda w, g: w.separate(g["blue"].items[:3]), 8),
        (lambda w, g: w.move(g["blue"].items[:3], "red"), 8),
        (lambda w, g: w.split(g["blue"].id, 2), 8),
        (lambda w, g: w.merge(g["blue"].id, g["yellow"].id), 16),
    ],
)
def test_an_edit_made_while_discover_runs_stays(workspace, act, left_alone):
    found = by_colour(workspace)
    states = [rows(workspace)]

    def meddle():
        act(workspace, found)
        states.append(rows(workspace))
        states.append(homes(workspace))

    done = workspace.discover(k=5, progress=when_computed(meddle))
    assert (done.items, done.left_alone) == (16, left_alone)
    entry = workspace.history()[0]
    assert (entry.verb, entry.details["left_alone"]) == ("discover", left_alone)
    now = homes(workspace)
    assert {item: now[item] for item in found["blue"].items} == {item: states[2][item] for item in found["blue"].items}
    workspace.undo()
    assert rows(workspace) == states[1]
    workspace.redo()
    assert homes(workspace) == now
    workspace.undo()
    workspace.undo()
    assert rows(workspace) == states[0]


def test_a_grouping_undone_while_discover_runs_stays_undone(workspace):
    assert workspace.discover(k=5, progress=when_computed(workspace.undo)).left_alone == 16
    assert workspace.groups() == []
    assert workspace.redo().entry.verb == "discover"


def test_discovery_without_edits_leaves_nothing_alone(workspace):
    assert workspace.discover(k=5).left_alone == 0
    assert "left_alone" not in workspace.history()[0].details


def test_discovery_by_a_version_that_is_no_longer_in_use_is_refused(workspace):
    workspace.name(by_colour(workspace)["blue"].id, "sky", confirm=True)
    workspace.learn()
    before = workspace.review.last_edit()
    with pytest.raises(WorkspaceError, match="Version 1 was put into use while discover ran with version 2; nothing"):
        workspace.discover(k=6, progress=when_computed(lambda: workspace.rollback(1)))
    assert workspace.review.last_edit() == before + 1


@pytest.mark.parametrize(
    "act",
    [
        lambda w, g: w.remove(g["blue"].items[:1]),
        lambda w, g: w.unconfirm(g["blue"].id),
        lambda w, g: w.merge(g["blue"].id, g["yellow"].id),
        lambda w, g: w.undo(),
    ],
)
def test_learning_from_what_is_taken_back_meanwhile_is_refused(workspace, act):
    found = by_colour(workspace)
    workspace.name(found["blue"].id, "sky", confirm=True)
    states = []

    def meddle():
        act(workspace, found)
        states.append(rows(workspace))

    with pytest.raises(WorkspaceError, match=r"(1|8) of the 8 images to learn were moved, renamed or unconfirmed"):
        workspace.learn(progress=when_computed(meddle))
    assert [version.id for version in workspace.models.versions()] == [1]
    assert rows(workspace) == states[0]


def test_learning_by_a_version_that_is_no_longer_in_use_is_refused(workspace):
    found = by_colour(workspace)
    workspace.name(found["blue"].id, "sky", confirm=True)
    workspace.learn()
    workspace.name(found["yellow"].id, "sun", confirm=True)
    with pytest.raises(WorkspaceError, match="Version 1 was put into use while learn ran with version 2"):
        workspace.learn(progress=when_computed(lambda: workspace.rollback(1)))
    assert [(version.id, version.in_use) for version in workspace.models.versions()] == [(1, True), (2, False)]


def test_other_edits_do_not_matter_to_learning(workspace):
    found = by_colour(workspace)
    workspace.name(found["blue"].id, "sky", confirm=True)

    def meddle():
        workspace.name(found["yellow"].id, "sun", confirm=True)
        workspace.move(found["yellow"].items[:1], found["blue"].id)

    assert "sky" in workspace.learn(progress=when_computed(meddle)).classes
    assert workspace.status().counts["learnt"] == 32 + 8
    assert workspace.views.learnable() == {"sun": 7, "sky": 1}  # what came later is learnt next
    assert workspace.learn().phase == 3


def test_a_version_that_cannot_be_read_is_not_put_to_use(workspace):
    found = by_colour(workspace)
    workspace.name(found["blue"].id, "sky", confirm=True)
    workspace.learn()
    for file in (workspace.path / "models" / "0001").iterdir():
        file.write_bytes(b"damaged")
    before, history = rows(workspace), len(workspace.history())
    for step in (workspace.undo, lambda: workspace.rollback(1)):
        with pytest.raises(WorkspaceError, match="Version 1 of the recogniser cannot be read, so nothing was changed"):
            step()
    assert (rows(workspace), len(workspace.history())) == (before, history)
    assert workspace.status().version.id == 2


def test_rollback_and_the_limit_on_rejection_take_part_in_conflicts(workspace):
    found = by_colour(workspace)
    workspace.name(found["blue"].id, "sky", confirm=True)
    workspace.learn()
    seen = workspace.review.last_edit()
    bob = workspace.by("bob")
    bob.name(found["yellow"].id, "sun")
    workspace.rollback(1, on=seen)  # what bob did elsewhere does not matter
    with pytest.raises(ConflictError, match=r"ann has changed this meanwhile \(rollback\)"):
        bob.rollback(2, on=seen)
    with pytest.raises(ConflictError, match=r"ann has changed this meanwhile \(rollback\)"):
        bob.name(found["yellow"].id, "moon", on=seen)


# Any edits, at any time.


class NothingToDiscoverError(Exception):
    """Everything is reviewed already."""


def discover(workspace, k, progress):
    try:
        workspace.discover(k, progress=progress)
    except WorkspaceError as error:
        if "nothing to discover" in str(error):
            raise NothingToDiscoverError from None
        raise


def some_edit(workspace, rng):
    """Do something to some group; what is refused changes nothing."""
    acts = [workspace.undo, workspace.redo]
    if shown := workspace.groups():
        group, other = rng.choice(shown), rng.choice(shown)
        some = rng.sample(group.items, rng.randint(1, len(group)))
        acts += [
            lambda: workspace.name(group.id, rng.choice(["sky", "sun", "red"]), confirm=rng.random() < 0.5),
            lambda: workspace.move(some, other.id),
            lambda: workspace.move(some, rng.choice(["sea", "green"])),
            lambda: workspace.separate(some),
            lambda: workspace.remove(some),
            lambda: workspace.merge(group.id, other.id),
            lambda: workspace.split(group.id, 2),
            lambda: (workspace.unconfirm if group.confirmed else workspace.confirm)(group.id),
        ]
    with contextlib.suppress(WorkspaceError):
        rng.choice(acts)()


@pytest.mark.parametrize("seed", range(40))
def test_any_edits_while_discover_runs(workspace, seed):
    """What anyone changed since the discovery looked is as they left it; undo leads back to the start."""
    rng = random.Random(seed)
    for _ in range(rng.randint(0, 4)):
        some_edit(workspace, rng)
    looked_at, last = homes(workspace), {}

    def meddle():
        if rng.random() < 0.4:
            some_edit(workspace, rng)
        last.update(homes=homes(workspace), rows=rows(workspace))

    with contextlib.suppress(NothingToDiscoverError):
        discover(workspace, rng.randint(4, 7), at_every_step(meddle))
        now = homes(workspace)
        edited = {item: home for item, home in last["homes"].items() if looked_at.get(item) != home}
        assert {item: now.get(item) for item in edited} == edited
        if workspace.review.can_undo() and workspace.review.can_undo().id == workspace.history()[0].id:
            workspace.undo()
            assert rows(workspace) == last["rows"]
            workspace.redo()
            assert homes(workspace) == now
    undo_all(workspace)


def undo_all(workspace):
    """Undo step by step to the start, where nothing was grouped."""
    consistent(workspace)
    while workspace.review.can_undo() is not None:
        workspace.undo()
        consistent(workspace)
    assert rows(workspace) == [[("model", "1")], [], []]


def consistent(workspace):
    with workspace.store.database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").first() is None
        novel = select(groups.c.name).where(groups.c.kind == "novel", groups.c.name.is_not(None))
        named = list(connection.scalars(novel))
    assert len(named) == len(set(named))


def edit_until(stop, path, number, acknowledged):
    """What one of several people does, in a thread."""
    rng = random.Random(number)
    with Workspace(path, who=f"person {number}") as opened:
        acts = [opened.separate, opened.remove, lambda items: opened.move(items, "sea")]
        while not stop.is_set():
            for group in rng.sample(shown := opened.groups(), min(1, len(shown))):
                with contextlib.suppress(WorkspaceError):  # someone else was faster
                    acknowledged.append(rng.choice(acts)(group.items[: rng.randint(1, 2)]).id)
                    if rng.random() < 0.7:
                        acknowledged.append(opened.undo().id)


def test_people_in_threads_while_discover_runs_again_and_again(workspace):
    """No discovery fails because of an edit, and no edit that was acknowledged is missing."""
    stop, acknowledged, refusals = threading.Event(), [], []
    people = [
        threading.Thread(target=edit_until, args=[stop, workspace.path, number, acknowledged]) for number in range(3)
    ]
    for person in people:
        person.start()
    for _ in range(12):
        try:
            workspace.discover(k=6)
        except ValueError as error:
            refusals.append(str(error))
    stop.set()
    for person in people:
        person.join()
    # People may have decided on all images, or on all but fewer than there are new classes to look for.
    allowed = ("nothing to discover", "unlabelled rows; lower it")
    assert [told for told in refusals if not any(text in told for text in allowed)] == []
    assert len(refusals) < 12
    assert acknowledged
    assert set(acknowledged) <= {entry.id for entry in workspace.history()}
    undo_all(workspace)
