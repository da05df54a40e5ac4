"""Files that come in: uploads, folders of the machine, images to add."""

from __future__ import annotations

from pydantic import Field

from opengcd.service.wire.values import Model


class Upload(Model):
    """An upload that was begun."""

    id: str = Field(description="Its name, which the other requests about it need.")
    piece: int = Field(description="The largest number of bytes in one piece.")


class UploadedFile(Model):
    """A file of an upload."""

    path: str = Field(description="Its name, with folders.")
    received: int = Field(description="Bytes that have arrived; sending goes on there.")
    size: int = Field(description="Bytes of the whole file.")


class Received(Model):
    """How much of a file has arrived."""

    received: int = Field(description="Where the next piece begins; the size of the file if it is complete.")


class Finished(Model):
    """An upload that is complete."""

    files: int = Field(description="How many files it has, after zips were unpacked.")


class Place(Model):
    """A folder to begin at."""

    name: str = Field(description="What it is called.")
    path: str = Field(description="Where it is.")


class FolderListing(Model):
    """What is in a folder of this machine."""

    path: str = Field(description="The folder.")
    parent: str | None = Field(description="The folder that holds it; null for the outermost one.")
    folders: list[str] = Field(description="The folders in it.")
    files: list[str] = Field(description="Tables, networks and zips in it.")
    images: int = Field(description="How many images are in it, by their names.")
    videos: int = Field(description="How many videos are in it, by their names.")
    more: bool = Field(description="Whether there is more in it than is listed.")
    places: list[Place] = Field(description="Folders to begin at.")


class AddImages(Model):
    """Images to add: an upload, or a folder of the server's machine."""

    upload: str | None = Field(None, pattern="^[0-9a-f]{16}$", description="An upload that is complete.")
    folder: str | None = Field(
        None,
        min_length=1,
        max_length=1000,
        description="A folder, or a list of images; only a person at the server's machine may name one.",
    )
    fps: float | None = Field(
        None, gt=0, le=1000, description="Frames per second that are taken of videos; null for one."
    )
    boxes: str | None = Field(
        None,
        min_length=1,
        max_length=1000,
        description="A file of boxes in it, from MegaDetector or in COCO's format: each box becomes an image.",
    )
    min_confidence: float = Field(0.2, ge=0, le=1, description="The lowest confidence of a box that is used.")
    times: str | None = Field(
        None,
        min_length=1,
        max_length=1000,
        description="A CSV file in it, with the columns file and time: when images were taken, and videos begin.",
    )


class LabelledFiles(Model):
    """Where labelled images or vectors are, and how they are labelled."""

    folder: str | None = Field(default=None, max_length=1000, description="A folder of this machine.")
    upload: str | None = Field(default=None, pattern="^[0-9a-f]{16}$", description="Or an upload that is complete.")
    table: str | None = Field(
        default=None,
        max_length=1000,
        description="The list of files with labels (CSV with the columns file and label, JSON lines, COCO) or the file "
        "of labelled vectors (.npz, .parquet, or state.json of a dataset on disk), relative to the folder or the "
        "upload, or a path of this machine; null if each class has a folder.",
    )


class KnownImages(LabelledFiles):
    """The labelled images or vectors of a new project."""

    boxes: str | None = Field(
        default=None,
        max_length=1000,
        description="A file of boxes from MegaDetector or in COCO's format, named like the list: each box becomes an "
        "image of its own; null for whole images.",
    )
    min_confidence: float = Field(default=0.2, ge=0, le=1, description="The lowest confidence of a box that is used.")
    box_labels: bool = Field(
        default=False,
        description="Whether the class of each box is that which the file of boxes gives to it: its category in COCO's "
        "format, or what a classifier has said in MegaDetector's. Then folders and `table` are not used.",
    )
    fps: float = Field(default=1.0, gt=0, le=1000, description="Frames per second that are taken of videos.")


class TeachFiles(LabelledFiles):
    """Labelled images or vectors to teach."""

    fps: float = Field(default=1.0, gt=0, le=1000, description="Frames per second that are taken of videos.")
    replace: bool = Field(
        default=False, description="Whether images that a person has given another label get the new one."
    )


class KnownClass(Model):
    """A class of labelled images."""

    label: str = Field(description="The name of the class.")
    files: int = Field(description="How many files it has, or boxes if these have the labels.")


class KnownPreview(Model):
    """The classes of some labelled images."""

    classes: list[KnownClass] = Field(description="The classes, sorted by name.")
    files: int = Field(description="How many files they have together.")
    videos: int = Field(description="How many of them are videos.")
    notes: list[str] = Field(description="What is left out, and why.")
    tables: list[str] = Field(description="Lists among them that could hold the labels.")
    vectors: list[str] = Field(description="Files of vectors among them.")
    boxes: list[str] = Field(description="JSON files among them that could hold boxes.")
    problem: str = Field(description="Why they cannot be used; empty if they can.")


class WatchFolder(Model):
    """A folder to watch."""

    folder: str = Field(min_length=1, max_length=1000, description="A folder of the server's machine.")
    fps: float = Field(default=1.0, gt=0, le=1000, description="Frames per second that are taken of videos.")


class Watch(Model):
    """The folder whose new images are recognised as they appear."""

    local: bool = Field(description="Whether you may name folders of the server's machine.")
    folder: str | None = Field(description="The folder that is watched; null if there is none.")
    fps: float | None = Field(description="Frames per second that are taken of videos; null if no folder is watched.")
    images: int = Field(description="How many images were added since the watch began.")
    problem: str = Field(description="Why nothing can be added at the moment; empty if it can.")
    home: bool = Field(description="Whether this is one of several projects, which are listed at `../../`.")


class Uploaded(Model):
    """An image that was uploaded."""

    id: int | None = Field(description="Its number; null if it cannot be used.")
    name: str = Field(description="The name of the file.")
    reason: str | None = Field(description="Why it cannot be used; null if it can.")
