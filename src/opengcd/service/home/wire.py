"""Records of the API of the home page; those of a project are in :mod:`opengcd.service.wire`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from opengcd.service.wire import KnownImages, Model

Path = Field(min_length=1, max_length=4000, description="A path on the machine of the server.")
Pooling = Literal["cls", "mean", "pooled"] | None
POOLING = Field(
    default=None,
    description="Which output of the network is the vector: its class token (`cls`), the mean over all patches "
    "(`mean`), or what it returns for a whole image (`pooled`); null for the first of them that it has.",
)


class Project(Model):
    """A project of the list."""

    key: str = Field(description="Its name in addresses: `/projects/KEY/`.")
    name: str = Field(description="The name of its folder.")
    path: str = Field(description="Its folder.")
    elsewhere: bool = Field(description="Whether it lies outside of the folder of projects.")
    problem: str | None = Field(default=None, description="Why it cannot be opened; null if it can.")
    images: int = Field(description="How many images it has.")
    classes: int = Field(description="How many classes it knows.")
    groups: int = Field(description="How many groups are to be reviewed.")
    to_review: int = Field(description="How many images are in them.")
    to_learn: int = Field(description="How many images are ready to be learnt.")
    rejected: int = Field(description="How many images are to be grouped.")
    job: str | None = Field(default=None, description="The verb of the job that runs or waits; null if there is none.")
    changed_at: str | None = Field(default=None, description="When it was last changed, in UTC; null if never.")
    changed_by: str | None = Field(default=None, description="Who changed it.")
    changed_verb: str | None = Field(default=None, description="The verb of that change.")
    next: Literal["wait", "init", "view", "adapt", "review", "learn", "discover", "recognize", "export"] = Field(
        description="What to do next: `wait` for a job, or the step that the status of the project names."
    )


class Home(Model):
    """The folder of projects."""

    folder: str = Field(description="Where new projects are made.")
    local: bool = Field(description="Whether folders of this machine may be named.")
    projects: list[Project] = Field(description="All projects, sorted by name.")


class AddProject(Model):
    """A project that lies elsewhere."""

    path: str = Path


class Added(Model):
    """A project that was added."""

    key: str = Field(description="Its name in addresses.")


class Backbone(Model):
    """A network that turns images into vectors."""

    name: str = Field(description="How it is chosen.")
    title: str = Field(description="What to call it.")
    about: str = Field(description="What it is good for.")
    where: str = Field(description="Where it is.")
    toy: bool = Field(default=False, description="Whether it is for tests only.")


class Backbones(Model):
    """The networks to choose from."""

    backbones: list[Backbone] = Field(description="Those on this machine first.")


class CheckBackbone(Model):
    """A network to try."""

    name: str = Field(
        min_length=1,
        max_length=4000,
        description="The name of a network on the Hugging Face hub, or a folder or an `.onnx` file of this machine.",
    )
    pooling: Pooling = POOLING


class BackboneCheck(Model):
    """Whether a network can be used here."""

    name: str = Field(description="The network.")
    usable: bool = Field(description="Whether it can be used.")
    problem: str = Field(description="Why it cannot; empty if it can.")
    pooling: str | None = Field(default=None, description="How its output becomes one vector.")
    width: int | None = Field(default=None, description="How many numbers a vector has.")
    seconds: float | None = Field(default=None, description="Seconds per image on this machine, one image at a time.")


class Checking(Model):
    """The check of a network that runs, or the last one."""

    id: str = Field(description="Tells checks apart.")
    state: Literal["running", "done", "cancelled"] = Field(description="How it is.")
    request: CheckBackbone = Field(description="What was asked for.")
    stage: Literal["starting", "downloading", "loading"] = Field(description="What it does now, while it runs.")
    done: int = Field(description="Bytes that have been downloaded.")
    total: int = Field(description="Bytes to download; 0 while nothing is downloaded.")
    seconds_left: float | None = Field(
        description="Estimated seconds that the download will still take; null if unknown."
    )
    result: BackboneCheck | None = Field(default=None, description="What it has found; null unless it is done.")


class CheckingState(Model):
    """The check of a network that runs, or the last one."""

    checking: Checking | None = Field(description="Null if there is none.")


class ProjectSettings(Model):
    """Settings of a new project that have good defaults."""

    preset: Literal["best", "paper", "robust", "authors"] = Field(
        default="best", description="The methods of all steps."
    )
    classifier: Literal["svm", "mlp", "xgb", "logistic"] | None = Field(
        default=None, description="The classifier; null for that of the preset."
    )
    memory: int | None = Field(
        default=None, ge=1, le=10_000_000, description="The largest number of exemplars; null for the default."
    )
    max_known_rejected: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="The largest share of known images that may be rejected; null to follow the images that arrive.",
    )
    pooling: Pooling = POOLING
    precision: Literal["auto", "half", "full"] = Field(
        default="auto", description="16-bit arithmetic on GPUs only (auto), on all devices (half), or never (full)."
    )
    seed: int = Field(default=0, ge=0, le=2**32 - 1, description="The seed of the random number generator.")

    def options(self) -> dict[str, Any]:
        """Return the parameters of the recogniser."""
        given = {
            "preset": self.preset,
            "classifier": self.classifier,
            "memory_size": self.memory,
            "max_known_rejected": self.max_known_rejected,
        }
        return {"random_state": self.seed} | {name: value for name, value in given.items() if value is not None}


class NewProject(Model):
    """A project to create."""

    name: str = Field(max_length=200, description="Its name.")
    known: KnownImages = Field(description="Images of the classes that it knows from the start.")
    backbone: str = Field(
        min_length=1,
        max_length=4000,
        description="The network that turns images into vectors; it is not used if vectors are given.",
    )
    settings: ProjectSettings = Field(default_factory=ProjectSettings, description="What may be left as it is.")


class Creation(Model):
    """The project that is being created, or the last one."""

    id: str = Field(description="Tells creations apart.")
    state: Literal["running", "done", "failed", "cancelled"] = Field(description="How it is.")
    request: NewProject = Field(description="What was asked for.")
    stage: str = Field(description="What it does now.")
    done: int = Field(description="Steps of the stage that are done.")
    total: int = Field(description="Steps of the stage; 0 if that is not known.")
    seconds_left: float | None = Field(description="Estimated seconds that the stage will still take; null if unknown.")
    error: str | None = Field(default=None, description="Why it failed; null unless it did.")
    key: str | None = Field(default=None, description="The project, once it is done.")
    images: int = Field(description="How many images it has learnt, once it is done.")
    unusable: int = Field(description="How many files could not be used, once it is done.")
    reasons: list[str] = Field(description="Some of them, with reasons.")


class CreationState(Model):
    """The project that is being created, or the last one that nobody has closed."""

    creation: Creation | None = Field(description="Null if there is none.")


def plain(record: Model) -> dict[str, Any]:
    """Return a record as JSON."""
    return record.model_dump(mode="json")
