"""Frames of videos as items of their own: they are taken once, as files of the workspace.

The frames of a video are in a folder that is named after its content, so that those taken before are found again. A
record beside the folder, which is written when all frames are, says which video they are of, and which belong to which
rate. Frames know when they were taken.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from opengcd._internal.durable_files import make_folder, replace_file
from opengcd._internal.progress import Progress
from opengcd._internal.videos import MISSING, VideoError, read_video
from opengcd.workspace.errors import WorkspaceError
from opengcd.workspace.files import Found, look_at
from opengcd.workspace.named_times import named_time

FOLDER = "frames"
SEEN = "seen"
"""The folder in it that remembers the content of videos by path, size and time."""
FPS = 1.0
"""Default rate, in frames per second: what is seen in the next second is mostly a near copy."""
MOST_FPS = 1000.0
STAGE = "taking frames of videos (MiB)"
STEM = 40
"""Characters of the name of a video that begin the names of its frames."""
BLOCK = 2**20
"""Bytes that are read at once."""
CHANGED = "the file changed while it was read; try again when it is complete"


class VideoFrame(NamedTuple):
    """Where a frame is from."""

    path: str
    """The video, where it was when the frame was taken."""
    seconds: float
    """Its time from the start of the video."""


class _Taken(NamedTuple):
    files: list[Path]
    """The frames at one rate, in order."""
    damage: str
    """What of the video is damaged; empty if nothing is."""


class Frames:
    """The frames of videos of a workspace.

    Parameters
    ----------
    folder : path
        The folder of the workspace.

    """

    def __init__(self, folder: Path) -> None:
        self._folder = (folder / FOLDER).absolute()

    def expand(self, files: Sequence[Found], fps: float, progress: Progress) -> Iterator[list[Found]]:
        """Replace the videos among some files by their frames; those taken before are not taken again.

        Parameters
        ----------
        files : sequence of Found
        fps : float
            Frames per second.
        progress : callable
            Called with a stage, the steps done and their total.

        Yields
        ------
        list of Found
            For each file in order: of a video its frames, and any other file itself. A video that cannot be read stays,
            with the reason; so does a damaged one, behind its frames.

        """
        if not 0 < fps <= MOST_FPS:
            raise WorkspaceError(f"Take more than 0 and at most {MOST_FPS:.0f} frames per second, not {fps}.")
        whole = max(1, sum(found.size for found in files if found.is_video) >> 20)
        done = 0

        def reached(place: int) -> None:
            progress(STAGE, min((done + place) >> 20, whole - 1), whole)

        for found in files:
            if not found.is_video or found.reason:
                yield [found]
                continue
            reached(0)
            try:
                taken = self._take(found, fps, reached)
            except VideoError as error:
                yield [found._replace(reason=str(error))]
            else:
                reason = f"{taken.damage}; the frames that can be decoded were taken"
                yield [*map(look_at, map(str, taken.files)), *([found._replace(reason=reason)] if taken.damage else [])]
            done += found.size
        if done:
            progress(STAGE, whole, whole)

    def has(self, found: Found, fps: float) -> bool:
        """Return whether the frames of a video were taken at some rate, and the file has not changed since.

        Parameters
        ----------
        found : Found
        fps : float

        Returns
        -------
        bool

        """
        content = self._seen(found)
        return content is not None and self._taken(self._record(content), content, fps) is not None

    def of(self, paths: Iterable[str]) -> VideoFrame | None:
        """Return where a frame is from, by its files; None for an image that is not a frame.

        Parameters
        ----------
        paths : iterable of str

        Returns
        -------
        VideoFrame or None

        """
        for path in map(Path, paths):
            if path.parent.parent.parent == self._folder and (record := self._record(path.parent.name)):
                return VideoFrame(record["path"], _seconds(path.name))
        return None

    def all(self) -> dict[str, VideoFrame]:
        """Return where all frames are from, by their files.

        Returns
        -------
        dict of str to VideoFrame

        """
        return {
            str(self._home(record["sha256"]) / name): VideoFrame(record["path"], _seconds(name))
            for record in self._records()
            for name in _names(record)
        }

    def with_frames(self, times: Mapping[str, float]) -> dict[str, float]:
        """Return times of files together with those of the frames of the videos among them.

        Parameters
        ----------
        times : mapping of str to float
            Seconds since 1970, by path; of a video, when it begins.

        Returns
        -------
        dict of str to float

        """
        frames = {file: times[one.path] + one.seconds for file, one in self.all().items() if one.path in times}
        return dict(times) | frames

    def _take(self, video: Found, fps: float, reached: Callable[[int], None]) -> _Taken:
        """Return the frames of a video; an error leaves none behind that were not there before."""
        with _opened(video) as file:
            content = self._content(video, file, reached)
            record = self._record(content)
            taken = self._taken(record, content, fps)
            if taken is None:
                return self._decode(video, file, content, record, fps, reached)
            if record["path"] != video.path:  # it was moved
                self._write(record | {"path": video.path})
        return taken

    def _decode(
        self,
        video: Found,
        file: BinaryIO,
        content: str,
        before: Mapping[str, Any],
        fps: float,
        reached: Callable[[int], None],
    ) -> _Taken:
        """Write the frames at some rate that are not there yet, and then the record."""
        home, stem = self._home(content), before.get("name") or _stem(video.path)
        make_folder(home)
        names: list[str] = []
        new: list[Path] = []

        def keep(seconds: float, jpeg: bytes) -> None:
            names.append(f"{stem}@{seconds:09.3f}s.jpg")
            if not (frame := home / names[-1]).exists():
                new.append(frame)
                replace_file(frame, jpeg)

        try:
            facts = read_video(file, fps, before.get("taken", named_time(video.path)), keep, reached)
            _refuse_change(video, file)
        except BaseException:
            for frame in new:
                frame.unlink(missing_ok=True)
            with suppress(OSError):  # unless it has frames at other rates
                home.rmdir()
            raise
        names = list(dict.fromkeys(names))
        rate = {"frames": names, "damage": facts.damage}
        record = {"path": video.path, "sha256": content, "name": stem, "taken": facts.taken}
        record["rates"] = dict(before.get("rates", {})) | {repr(float(fps)): rate}
        self._write(record)
        return _Taken([home / name for name in names], facts.damage)

    def _write(self, record: Mapping[str, Any]) -> None:
        replace_file(self._home(record["sha256"]).with_suffix(".json"), json.dumps(record, indent=1).encode())

    def _taken(self, record: Mapping[str, Any], content: str, fps: float) -> _Taken | None:
        """Return the frames that a record has of a rate; None if it has none, or some were deleted."""
        if (rate := record.get("rates", {}).get(repr(float(fps)))) is None:
            return None
        files = [self._home(content) / name for name in rate["frames"]]
        return _Taken(files, rate["damage"]) if all(file.exists() for file in files) else None

    def _content(self, video: Found, file: BinaryIO, reached: Callable[[int], None]) -> str:
        """Return the SHA-256 of the content of a video; it is computed once."""
        if (content := self._seen(video)) is None:
            if importlib.util.find_spec("av") is None:
                raise VideoError(MISSING)  # before gigabytes are read
            digest = hashlib.sha256()
            while block := file.read(BLOCK):
                digest.update(block)
                reached(0)
            content = digest.hexdigest()
            _refuse_change(video, file)
            note = self._note(video)
            make_folder(note.parent)
            replace_file(note, content.encode())
        return content

    def _seen(self, video: Found) -> str | None:
        try:
            return self._note(video).read_text()
        except FileNotFoundError:
            return None

    def _note(self, video: Found) -> Path:
        """Return the file that remembers the content of a video as long as its path, size and time are the same."""
        facts = f"{video.size} {video.mtime} ".encode() + os.fsencode(video.path)
        return self._folder / SEEN / hashlib.sha256(facts).hexdigest()

    def _home(self, content: str) -> Path:
        return self._folder / content[:2] / content

    def _record(self, content: str) -> dict[str, Any]:
        try:
            return dict(json.loads(self._home(content).with_suffix(".json").read_bytes()))
        except FileNotFoundError:
            return {}

    def _records(self) -> Iterator[dict[str, Any]]:
        for file in sorted(self._folder.glob("*/*.json")):
            yield self._record(file.stem)


def with_labels(
    files: Iterable[tuple[Found, str]], parts: Iterable[Sequence[Found]]
) -> tuple[dict[Found, str], list[tuple[str, str]]]:
    """Give labels to what files were replaced by.

    Parameters
    ----------
    files : iterable of (Found, str)
        Files with their labels.
    parts : iterable of sequence of Found
        What :meth:`Frames.expand` has made of each.

    Returns
    -------
    labels : dict of Found to str
    bad : list of (str, str)
        Files that have another label elsewhere, with reasons.

    """
    labels: dict[Found, str] = {}
    bad = []
    for (found, label), made in zip(files, parts, strict=True):
        other = next((labels[one] for one in made if labels.get(one, label) != label), None)
        if other is None:
            labels |= dict.fromkeys(made, label)
        else:
            bad.append((found.path, f"the same file has the label {other!r}, too; keep one of them"))
    return labels, bad


def _opened(video: Found) -> BinaryIO:
    try:
        return open(video.path, "rb")
    except OSError as error:
        raise VideoError(f"it cannot be read: {error.strerror or error}") from None


def _refuse_change(video: Found, file: BinaryIO) -> None:
    status = os.fstat(file.fileno())
    if (status.st_size, status.st_mtime_ns) != (video.size, video.mtime):
        raise VideoError(CHANGED)


def _stem(path: str) -> str:
    """Return the name of a video without its suffix, as far as any file can be named so."""
    stem = os.path.splitext(os.path.basename(path))[0]
    return re.sub(r"[^\w()+. -]", "_", stem)[:STEM].strip(". ") or "video"


def _seconds(name: str) -> float:
    """Return the time of a frame by the name of its file."""
    return float(name.rpartition("@")[2].removesuffix("s.jpg"))


def _names(record: Mapping[str, Any]) -> list[str]:
    """Return the names of all frames of a video, in order."""
    return sorted({name for rate in record["rates"].values() for name in rate["frames"]}, key=_seconds)
