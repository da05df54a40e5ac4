"""Routes for lists of all images."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Annotated, Literal

from fastapi import Depends, Query

from opengcd.service import wire as api
from opengcd.service.authentication import MISSING, guarded
from opengcd.service.state import UserWorkspace
from opengcd.workspace.browsing import SORTS, Order, Wanted

MOST = 1000
"""Images of a page."""
MOST_TAXA = 500
"""Images whose ranks are asked for at once: as many as are on a large screen."""
DAY = r"^[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$"
SHOWN = r"^[^\u0000]*$"
By = Literal["added", "name", "date", "label", "doubt", "unknown"]

reading = guarded("read", "review")


def _wanted(
    label: Annotated[
        str | None,
        Query(max_length=200, pattern=SHOWN, description="The present label: of a class or group, or `unknown`."),
    ] = None,
    group: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="The number of the group.")] = None,
    source: Annotated[
        list[api.Source] | None, Query(max_length=8, description="Where the label comes from; several may be given.")
    ] = None,
    unknown_min: Annotated[
        float | None, Query(ge=0, le=1, description="The smallest probability that the image is of no known class.")
    ] = None,
    unknown_max: Annotated[float | None, Query(ge=0, le=1, description="The largest one.")] = None,
    doubt_min: Annotated[
        float | None, Query(ge=0, le=1, description="The smallest probability that the label is wrong.")
    ] = None,
    doubt_max: Annotated[float | None, Query(ge=0, le=1, description="The largest one.")] = None,
    since: Annotated[
        str | None,
        Query(
            pattern=DAY, description="The first day on which the image was taken or its file changed, as 2026-05-01."
        ),
    ] = None,
    until: Annotated[str | None, Query(pattern=DAY, description="The last such day.")] = None,
    folder: Annotated[
        str | None,
        Query(max_length=1000, pattern=SHOWN, description="A folder in which, or below which, the file is."),
    ] = None,
    who: Annotated[
        str | None, Query(max_length=200, pattern=SHOWN, description="The person who gave the label.")
    ] = None,
    name: Annotated[
        str | None, Query(max_length=200, pattern=SHOWN, description="Part of the name of the file.")
    ] = None,
) -> Wanted:
    shares = unknown_min, unknown_max, doubt_min, doubt_max
    return Wanted(label, group, tuple(source or ()), *shares, _day(since), _day(until), folder, who, name)


def _order(
    sort: Annotated[
        By,
        Query(description="What to sort by: " + "; ".join(f"`{name}`: {told}" for name, told in SORTS.items()) + "."),
    ] = "added",
    descending: Annotated[bool, Query(description="Whether the largest, or the newest, comes first.")] = False,
) -> Order:
    return Order(sort, descending)


Filters = Annotated[Wanted, Depends(_wanted)]
Sorted = Annotated[Order, Depends(_order)]


@reading.get("/images", summary="List all images", response_description="A page of images.", responses=MISSING)
def images(
    workspace: UserWorkspace,
    wanted: Filters,
    order: Sorted,
    after: Annotated[
        str | None,
        Query(
            max_length=2000, description="The field `next` of the page before; without it, the first page is returned."
        ),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MOST, description="The largest number of images to return.")] = 100,
) -> api.ImagePage:
    """Return the images that all the given filters let pass, page by page.

    This includes images that are not under review. A page costs the same wherever it is in the list.
    """
    found = workspace.browsing.images(wanted, order, after=after, limit=limit)
    return api.ImagePage.model_validate(found)


@reading.get("/images/starts", summary="Count images", response_description="The pages.")
def starts(
    workspace: UserWorkspace,
    wanted: Filters,
    order: Sorted,
    every: Annotated[int, Query(ge=10, le=MOST, description="How many images a page has.")] = 100,
) -> api.ImageStarts:
    """Return how many images the filters let pass, and the cursors by which to go to any page directly."""
    return api.ImageStarts.model_validate(workspace.browsing.starts(wanted, order, every=every))


@reading.get("/images/taxa", summary="Show the sure ranks of images", response_description="The ranks.")
def taxa(
    workspace: UserWorkspace,
    items: Annotated[list[api.Id], Query(min_length=1, max_length=MOST_TAXA, description="The numbers of the images.")],
) -> api.ImageTaxa:
    """Return the deepest rank that is sure of each image; those that are not there are left out."""
    taxonomies = workspace.taxonomies
    if not taxonomies.in_use():
        return api.ImageTaxa(state="none", taxa=[])
    if taxonomies.thresholds(wait=False) is None:
        return api.ImageTaxa(state="calibrating", taxa=[])
    error = taxonomies.setting().error
    found = ((id, api.Taxon.of(one, error)) for id, one in taxonomies.answers(set(items), wait=False).items())
    sure = [api.ImageTaxon(id=id, taxon=taxon) for id, taxon in sorted(found) if taxon is not None]
    return api.ImageTaxa(state="ready", taxa=sure)


@reading.get("/images/choices", summary="List what to filter images by", response_description="The choices.")
def choices(workspace: UserWorkspace) -> api.ImageChoices:
    """Return the labels, folders and people that images can be filtered by."""
    labels, folders, people = workspace.browsing.choices()
    return api.ImageChoices(
        labels=[api.Count(label=label, count=n) for label, n in labels.items()],
        folders=[api.FolderCount(folder=folder, count=n) for folder, n in folders.items()],
        people=people,
    )


def _day(text: str | None) -> date | None:
    """Return a day; 2026-02-31 is the day that many days into February, the third of March."""
    if text is None:
        return None
    year, month, day = map(int, text.split("-"))
    return date(year, month, 1) + timedelta(days=day - 1)
