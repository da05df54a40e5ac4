"""Recognising images and vectors, and the settings of it: the limit on rejection and the taxonomy."""

from __future__ import annotations

from typing import Annotated

from pydantic import FailFast, Field

from opengcd.service.wire.images import Taxon
from opengcd.service.wire.values import ABOUT_TOP, ABOUT_UNKNOWN, MOST_VECTORS, Model, Number, OnEdit, Top
from opengcd.service.wire.versions import Threshold


class Vectors(Model):
    """Feature vectors of the workspace's embedder."""

    vectors: Annotated[
        list[Annotated[list[Number], Field(min_length=1), FailFast()]],
        Field(
            min_length=1, max_length=MOST_VECTORS, description="One list of numbers per image, all of the same length."
        ),
        FailFast(),  # a message for each of a million wrong values would take longer than the values
    ]


class Recognized(Model):
    """What the recogniser says about a vector or an image."""

    label: str = Field(description='A known class, or "unknown"; empty if the image cannot be used.')
    unknown: float = Field(description=ABOUT_UNKNOWN)
    top: Top = Field(description=ABOUT_TOP)
    id: int | None = Field(description="The number of the image, if it was kept; null otherwise.")
    exemplars: list[int] = Field(
        description="The numbers of the exemplars that look most like the image; empty for vectors."
    )
    taxon: Taxon | None = Field(
        description="The deepest rank that is sure; null if none is, without a taxonomy, or in the moments after a "
        "change while this is being calibrated."
    )
    name: str | None = Field(description="The name of the file; null for vectors.")
    reason: str | None = Field(description="Why the image cannot be used; null if it can.")


class RejectionChoice(Model):
    """A limit on the rejection of known images, and its effect on what was seen so far."""

    max_known_rejected: float | None = Field(
        description="The largest share of known images to reject; null lets the threshold follow the stream."
    )
    rejected_known: float = Field(description="The share of held-out known images that it rejects.")
    rejected_stream: int = Field(description="How many images of the stream it would have rejected.")
    share: float | None = Field(description="The same as a share of the stream; null before the first image.")


class Rejection(Model):
    """The limit on the rejection of known images, and the other limits that could be chosen."""

    max_known_rejected: float | None = Field(
        description="The largest share of known images to reject; null if the threshold follows the stream."
    )
    threshold: Threshold | None = Field(description="The threshold in use; null if the recogniser's preset has none.")
    seen: int = Field(description="How many images of the stream were seen so far.")
    choices: list[RejectionChoice] = Field(description="Empty if the recogniser's preset has no threshold.")


class RejectionLimit(OnEdit):
    """The limit on the rejection of known images."""

    max_known_rejected: Annotated[float, Field(ge=0, le=1)] | None = Field(
        description="The largest share of known images to reject; null lets the threshold follow the stream."
    )


class TaxonomyTable(Model):
    """The ranks above the classes."""

    ranks: list[str] = Field(description="The ranks, the broadest first, without that of the classes.", max_length=50)
    class_rank: str = Field(min_length=1, max_length=200, description="The rank of the classes, such as `species`.")
    lineages: dict[str, list[Annotated[str, Field(max_length=200)]]] = Field(
        description="The taxon of each class at each rank; empty where it has none."
    )
    error: Annotated[float, Field(gt=0, lt=1)] = Field(description="The largest share of images with a wrong name.")


class TaxonomyWanted(TaxonomyTable, OnEdit):
    """The taxonomy to set."""


class TaxonomyFile(OnEdit):
    """The taxonomy to set, as a CSV file."""

    table: str = Field(
        max_length=4_000_000,
        description="CSV whose first line names the ranks, such as `family,genus,species`, with a line for each class.",
    )
