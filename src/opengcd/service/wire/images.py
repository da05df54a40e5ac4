"""Images: in groups, in lists, on the map, and one by one."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field

from opengcd.service.wire.values import ABOUT_EDIT, ABOUT_TOP, ABOUT_UNKNOWN, Model, Top

if TYPE_CHECKING:
    from opengcd.workspace.taxonomies import Answer

_ABOUT_PROBABILITY = "How likely the image belongs to its group, from 0 to 1; null if a person put it there."

_ABOUT_SOURCE = "Where its label comes from, as in the `counts` of the status."

_ABOUT_DOUBT = (
    "How likely the label is wrong, from 0 to 1; null if it was learnt, decided by a person, or there is none yet."
)

_ABOUT_DATE = (
    "When the image was taken, by the camera's clock, or else when its file was last changed; null if unknown."
)

_ABOUT_NAMER = "The person who gave the label; null if nobody did."

_ABOUT_COPIES = "How many images of the stack are in the group, this one included."


class Item(Model):
    """An image."""

    id: int = Field(description="Its number.")
    name: str = Field(description="The name of its file.")
    probability: float | None = Field(description=_ABOUT_PROBABILITY)
    unknown: float | None = Field(description=ABOUT_UNKNOWN)
    label: str | None = Field(description="Its label; null if the image is unknown.")
    top: Top = Field(description=ABOUT_TOP)
    stack: int | None = Field(
        description="The number of its stack of near copies, such as a burst; null if no other image of a stack is in "
        "the group."
    )
    copies: int = Field(description=_ABOUT_COPIES)


class ItemPage(Model):
    """Some of the images of a group."""

    edit: int = Field(description=ABOUT_EDIT)
    total: int = Field(description="How many images there are in all, or stacks if `stacked` was asked for.")
    items: list[Item] = Field(description="The images.")


class Origin(Model):
    """Where a crop is from."""

    name: str = Field(description="The name of the file of the whole image.")
    size: tuple[int, int] = Field(description="Width and height of the whole image in pixels.")
    box: tuple[int, int, int, int] = Field(description="Left, top, width and height of the crop in pixels.")
    confidence: float = Field(description="How sure the detector is.")
    category: str = Field(description="What the detector takes it for.")


class VideoFrame(Model):
    """Which frame of a video an image is."""

    name: str = Field(description="The name of the file of the video.")
    path: str = Field(description="The video, where it was when the frame was taken.")
    seconds: float = Field(description="The time of the frame, from the start of the video.")


Source = Literal["learnt", "reviewed", "returned", "grouped", "removed", "recognized", "rejected", "waiting"]


class Image(Model):
    """An image with its label, in a list of all images."""

    id: int = Field(description="Its number.")
    name: str = Field(description="The name of its file.")
    label: str = Field(description="Its present label, the name of a class or group, or `unknown`.")
    source: Source = Field(description=_ABOUT_SOURCE)
    group: int | None = Field(description="The number of its group; null if it is in none, or learnt.")
    unknown: float | None = Field(description=ABOUT_UNKNOWN)
    doubt: float | None = Field(description=_ABOUT_DOUBT)
    date: datetime | None = Field(description=_ABOUT_DATE)
    who: str | None = Field(description=_ABOUT_NAMER)
    stack: int | None = Field(description="The number of its stack of near copies; null if it is in none.")
    copies: int = Field(description=_ABOUT_COPIES)


class ImagePage(Model):
    """A page of a list of images."""

    edit: int = Field(description=ABOUT_EDIT)
    images: list[Image] = Field(description="The images, in the order that was asked for.")
    next: str | None = Field(description="Send it as `after` to get the next page; null if this is the last one.")


class ImageStarts(Model):
    """How long a list of images is, and where its pages begin."""

    edit: int = Field(description=ABOUT_EDIT)
    total: int = Field(description="How many images the list has.")
    cursors: list[str] = Field(description="For each page but the first, what to send as `after` to get it.")


class FolderCount(Model):
    """How many files of the workspace are in a folder."""

    folder: str = Field(description="The folder, on the machine of the workspace.")
    count: int = Field(description="The number of files.")


class Count(Model):
    """How many images of a class there are."""

    label: str = Field(description="The name of the class.")
    count: int = Field(description="The number of images.")


class ImageChoices(Model):
    """What the list of images can be filtered by, as far as there are such images."""

    labels: list[Count] = Field(description="All labels with their numbers of images, sorted by label.")
    folders: list[FolderCount] = Field(description="The folders with the most files, sorted by folder.")
    people: list[str] = Field(description="Who has given labels.")


class File(Model):
    """A file of an image."""

    path: str = Field(description="Where it is, on the machine of the workspace.")
    state: Literal["present", "missing", "changed"] = Field(
        description="Whether it is still there with the content of the image, is missing, or has other content now."
    )


class LabelledNeighbour(Model):
    """A learnt image that looks like another one."""

    id: int = Field(description="Its number.")
    distance: float = Field(description="How different it looks: 1 minus the cosine of the angle between both vectors.")
    label: str = Field(description="Its class.")


class Taxon(Model):
    """A class, or a group of classes in the taxonomy."""

    name: str = Field(description="Its name.")
    rank: str = Field(description="Its rank, such as `genus`.")
    path: list[str] = Field(description="The names from the broadest taxon to this one.")
    probability: float = Field(description="How likely it is; 1 if a person gave the label.")
    error: float = Field(description="The largest share of images with a wrong name, as it was chosen.")

    @classmethod
    def of(cls, answer: Answer | None, error: float) -> Self | None:
        """Return the deepest sure taxon of an item; None if there is none.

        Parameters
        ----------
        answer : Answer or None
        error : float
            The largest share of images with a wrong name, as it was chosen.

        """
        if answer is None:
            return None
        taxon = answer.taxon
        path = list(taxon.path)
        return cls(name=taxon.name, rank=taxon.rank, path=path, probability=answer.probability, error=error)


class ImageTaxon(Model):
    """The deepest sure rank of an image."""

    id: int = Field(description="The number of the image.")
    taxon: Taxon = Field(description="The deepest rank that is sure.")


class ImageTaxa(Model):
    """The deepest sure ranks of some images."""

    state: Literal["none", "calibrating", "ready"] = Field(
        description="`none`: no known class has a rank above it. `calibrating`: the ranks are not known yet; ask again "
        "in a moment. `ready`: they are known."
    )
    taxa: list[ImageTaxon] = Field(description="Without images of which not even the broadest rank is sure.")


class Reasons(Model):
    """Why an image has been recognised as a class, or rejected."""

    score: float | None = Field(
        description="Its unknown score: the higher, the less it looks like any known class; null if the version in use "
        "has not recognised it."
    )
    threshold: float | None = Field(
        description="The threshold in use now, which follows the stream: images with a higher score are rejected; null "
        "if the recogniser has none."
    )
    rejected: bool | None = Field(description="Whether the image was rejected; null if it was not recognised.")
    nearest: list[LabelledNeighbour] = Field(description="The most similar exemplars, with their classes.")
    taxon: Taxon | None = Field(description="The deepest rank that is sure; null if none is, or without a taxonomy.")


class Camera(Model):
    """What the camera wrote down about an image (EXIF); null where it did not."""

    taken: str | None = Field(description="When it was taken, by the camera's clock, as in 2026-05-01 06:30:12.")
    camera: str | None = Field(description="The make and model of the camera.")
    lens: str | None = Field(description="The model of the lens.")
    exposure: float | None = Field(description="The exposure time in seconds.")
    aperture: float | None = Field(description="The f-number.")
    iso: float | None = Field(description="The sensitivity.")
    focal_length: float | None = Field(description="The focal length in millimetres.")
    latitude: float | None = Field(description="Degrees north.")
    longitude: float | None = Field(description="Degrees east.")


class ItemDetails(Item):
    """An image with its details."""

    group: int | None = Field(description="The number of its group; null if it is in none.")
    paths: list[str] = Field(description="The names of its files: several if copies of it were added.")
    width: int = Field(description="Its width in pixels.")
    height: int = Field(description="Its height in pixels.")
    source: str = Field(description=_ABOUT_SOURCE)
    files: list[File] = Field(description="Its files, with their folders.")
    doubt: float | None = Field(description=_ABOUT_DOUBT)
    date: datetime | None = Field(description=_ABOUT_DATE)
    who: str | None = Field(description=_ABOUT_NAMER)
    origin: Origin | None = Field(
        description="Where it was cut out, if it is a crop of another image; null otherwise. `/items/{id}/origin` is "
        "the whole image."
    )
    video: VideoFrame | None = Field(description="Which frame of a video it is; null if it is not one.")


class Neighbour(Model):
    """An image that looks like another one."""

    id: int = Field(description="Its number.")
    distance: float = Field(description="How different it looks: 1 minus the cosine of the angle between both vectors.")
    group: int | None = Field(description="The number of its group; null if it is in none, or learnt.")
    label: str = Field(description='Its present label, or "unknown".')


class Similar(Model):
    """The images of a group, those first that look more like one of them than like the whole group."""

    items: list[int] = Field(
        description="The numbers of the image itself and then of the others; of a stack of near copies only one."
    )
    number: int = Field(description="How many of them look more like the image than like the group, itself included.")


class Map(Model):
    """All images under review as points of a plane: similar images lie close together. All lists have one order."""

    items: list[int] = Field(description="The numbers of the images.")
    x: list[float] = Field(description="Horizontal places, from 0 to 1.")
    y: list[float] = Field(description="Vertical places, from 0 to 1.")
    group: list[int] = Field(description="The numbers of their groups.")
    drawn: bool = Field(description="False while a better map is being drawn; the event `map` tells when it is ready.")
