"""Routes for the status, versions and history of a workspace."""

from __future__ import annotations

import os
from typing import Annotated

from fastapi import HTTPException, Query

from opengcd.service import wire as api
from opengcd.service.authentication import MISSING, guarded
from opengcd.service.job_runner import as_job
from opengcd.service.review_routes import as_entry
from opengcd.service.state import Service, UserWorkspace
from opengcd.taxonomy import Taxonomy, TaxonomyError
from opengcd.workspace import DiscoverDetails, Entry, WorkspaceError, readable
from opengcd.workspace.groups import NOVEL

reading = guarded("read", "records")
writing = guarded("write", "records")


@reading.get("/status", summary="Describe the workspace", response_description="The state of the workspace.")
def status(workspace: UserWorkspace) -> api.Status:
    """Return the state of the workspace in numbers: versions, images, groups, jobs, and what can be undone."""
    edit, undo, redo = workspace.review.undo_state()  # read first: the rest may be newer, but not older
    found = workspace.status()
    to_learn = workspace.views.learnable().total() + workspace.views.corrected().total()
    return api.Status(
        name=workspace.path.resolve().name,
        embedder=os.path.basename(found.embedder) if os.path.isabs(found.embedder) else found.embedder,
        version=found.version and api.Version.model_validate(found.version),
        versions=found.versions,
        counts=found.counts,
        discovered=DiscoverDetails(**found.discovered) if found.discovered else api.Nothing(),
        failures=found.failures,
        without_crop=dict(found.without_crop),
        edit=edit,
        groups=len(found.groups),
        to_review=sum(group.size for group in found.groups if group.kind == NOVEL and not group.confirmed),
        to_learn=to_learn,
        memory=api.Memory(**found.version.report["memory"]) if found.version and found.version.report else None,
        can_undo=_act(undo),
        can_redo=_act(redo),
        jobs=[as_job(job) for job in workspace.jobs.latest(unfinished=True)],
        next=api.NextStep.model_validate(workspace.views.next_step()),
    )


@reading.get("/versions", summary="List the versions", response_description="The versions, the oldest first.")
def versions(workspace: UserWorkspace) -> list[api.Version]:
    """Return all versions of the recogniser, the oldest first."""
    return [api.Version.model_validate(version) for version in workspace.models.versions()]


@reading.get("/phases", summary="List the phases", response_description="The versions, the oldest first.")
def phases(workspace: UserWorkspace) -> list[api.Phase]:
    """Return how many images each version of the recogniser learnt and rejected, and how accurate it is."""
    found, held_out = [], workspace.held_out.accuracies()
    for version, learnt, asked, rejected in workspace.views.phases():
        right = (version.report or {}).get("after")
        found.append(
            api.Phase(
                version=version.id,
                phase=version.phase,
                at=version.at,
                in_use=version.in_use,
                classes=len(version.classes),
                learnt=learnt,
                asked=asked,
                rejected=rejected,
                unknown_rate=rejected / asked if asked else None,
                accuracy=right and api.Accuracy(**right),
                held_out=held_out.get(version.id),
            )
        )
    return found


@reading.get("/classes", summary="List the known classes", response_description="The known classes.")
def classes(workspace: UserWorkspace) -> list[api.Class]:
    """Return the known classes with their exemplars."""
    learnt = workspace.views.learnt()
    return [
        api.Class(label=label, learnt=learnt[label], exemplars=items)
        for label, items in workspace.exemplars.by_class().items()
    ]


@writing.post("/rollback", summary="Switch to another version", response_description="The edit.", responses=MISSING)
def rollback(workspace: UserWorkspace, service: Service, wanted: api.Rollback) -> api.EditMade:
    """Switch to another version of the recogniser. Images that it has not learnt go back to review."""
    done = workspace.rollback(wanted.version, on=wanted.on)
    service.recognition.renew()
    return api.EditMade(edit=done.id)


@reading.get("/rejection", summary="Show the rejection limit", response_description="The limit and its alternatives.")
def rejection(workspace: UserWorkspace) -> api.Rejection:
    """Return the limit on the rejection of known images, and what other limits would have rejected so far."""
    found = workspace.models.rejection()
    choices = [
        api.RejectionChoice(**one._asdict(), share=one.rejected_stream / found.seen if found.seen else None)
        for one in found.choices
    ]
    return api.Rejection(**found._asdict() | {"choices": choices})


@writing.put("/rejection", summary="Set the rejection limit", response_description="The edit.")
def limit_rejection(workspace: UserWorkspace, service: Service, wanted: api.RejectionLimit) -> api.EditMade:
    """Reject at most this share of known images from now on. Images that were already recognised keep their labels."""
    done = workspace.models.limit_rejection(wanted.max_known_rejected, on=wanted.on)
    service.recognition.renew()
    return api.EditMade(edit=done.id)


@reading.get("/taxonomy", summary="Show the taxonomy", response_description="The taxonomy.")
def taxonomy(workspace: UserWorkspace) -> api.TaxonomyTable:
    """Return the ranks above the classes, and how sure a rank must be."""
    found, error = workspace.taxonomies.setting()
    lineages = {name: list(taxa) for name, taxa in found.lineages.items()}
    return api.TaxonomyTable(ranks=list(found.ranks), class_rank=found.class_rank, lineages=lineages, error=error)


@writing.put("/taxonomy", summary="Set the taxonomy", response_description="The edit.")
def set_taxonomy(workspace: UserWorkspace, wanted: api.TaxonomyWanted) -> api.EditMade:
    """Set the ranks above the classes, and the largest share of images that may get a wrong name."""
    try:
        given = Taxonomy(wanted.ranks, wanted.lineages, wanted.class_rank)
    except TaxonomyError as error:
        raise WorkspaceError(f"The taxonomy cannot be used: {error}") from None
    return api.EditMade(edit=workspace.taxonomies.set(given, wanted.error, on=wanted.on).id)


@writing.put("/taxonomy/table", summary="Set the taxonomy by a table", response_description="The edit.")
def set_taxonomy_table(workspace: UserWorkspace, wanted: api.TaxonomyFile) -> api.EditMade:
    """Set the ranks above the classes as `opengcd taxonomy` does; the share of wrong names stays as it is."""
    taxonomies = workspace.taxonomies
    try:
        given = Taxonomy.read(wanted.table, taxonomies.classes())
    except TaxonomyError as error:
        raise WorkspaceError(f"The table cannot be used: {error}") from None
    return api.EditMade(edit=taxonomies.set(given, taxonomies.setting().error, on=wanted.on).id)


@reading.get("/history", summary="List the history", response_description="The edits, the latest first.")
def history(
    workspace: UserWorkspace,
    limit: Annotated[int, Query(ge=1, le=1000, description="The largest number of edits to return.")] = 100,
    before: Annotated[
        int | None, Query(ge=1, le=2**31 - 1, description="Return only edits before the one of this number.")
    ] = None,
) -> list[api.Entry]:
    """Return who did what and when, the latest first."""
    return [as_entry(entry) for entry in workspace.history(limit, before)]


@reading.get("/agreement", summary="Show how often people agree", response_description="Each two people.")
def agreement(workspace: UserWorkspace) -> list[api.Agreement]:
    """Return how often each two people gave the same images the same name. They see each other's names."""
    return [
        api.Agreement(**one._asdict() | {"people": list(one.people)}, share=one.same / one.images)
        for one in workspace.views.agreement()
    ]


@reading.get("/k", summary="Show the number of classes", response_description="The number.", responses=MISSING)
def class_number(workspace: UserWorkspace) -> api.ClassNumber:
    """Return how many classes the last discovery found, with the score of each number that it tried."""
    status = workspace.status()
    if not status.discovered or status.version is None:
        raise HTTPException(404, "Nothing has been discovered yet; start the job discover.")
    found = DiscoverDetails(**status.discovered)
    return api.ClassNumber(
        k=found.k,
        interval=None if found.k_interval is None else (found.k_interval[0], found.k_interval[1]),
        trusted=found.trusted,
        reason=found.reason,
        known=len(status.version.classes),
        curve=[(int(k), score) for k, score in found.curve or ()],
        confirmed=sum(group.confirmed and group.kind == "novel" for group in status.groups),
    )


@reading.get("/learnable", summary="Show what can be learnt", response_description="The images by class.")
def learnable(workspace: UserWorkspace) -> api.Learnable:
    """Return how many images of each class the job `learn` would learn."""
    version = workspace.status().version
    known = set(version.classes if version else ())
    counts = workspace.views.learnable()
    new, more = (
        [api.Count(label=label, count=n) for label, n in sorted(counts.items()) if (label in known) == old]
        for old in (False, True)
    )
    corrected = workspace.views.corrected()
    forgotten = corrected.pop(None, 0)
    again = corrected.total()
    total = counts.total() + again + forgotten
    return api.Learnable(new=new, known=more, corrected=again, forgotten=forgotten, total=total)


@reading.get("/failures", summary="List unusable files", response_description="The files.")
def failures(workspace: UserWorkspace) -> list[api.Failure]:
    """Return the files that could not be used."""
    return [
        api.Failure(name=readable(os.path.basename(path)), reason=reason) for path, reason in workspace.views.failures()
    ]


def _act(entry: Entry | None) -> api.Act | None:
    return None if entry is None else api.Act.model_validate(entry)
