"""Exports."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from opengcd.service.wire.values import Model


class ExportFormat(Model):
    """A format of exports."""

    name: str = Field(description="The name of the format, as `/export` takes it.")
    title: str = Field(description="Its name for people.")
    about: str = Field(description="What it holds or is for.")
    suffix: str = Field(description="The suffix of the file: `zip` for a folder.")
    places: Literal["none", "used", "needed"] = Field(
        description="Whether a table of deployments is of use, or needed; `POST /export` takes it."
    )


class ExportWanted(Model):
    """An export with places."""

    format: str = Field(max_length=100, description="The name of the format.")
    images: Literal["all", "reviewed", "new"] = Field("all", description="Which images.")
    deployments: str | None = Field(
        None,
        max_length=4_000_000,
        description="A table of deployments in CSV, with the columns of Camtrap DP and `folder`: the end of the path "
        "of the images, such as `cam1`.",
    )
    metadata: dict[str, Any] | None = Field(None, description="Fields of the `datapackage.json` of Camtrap DP.")
