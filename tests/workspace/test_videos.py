"""Frames of videos as items of their own."""

import csv
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest
from PIL import Image
from sqlalchemy import select
from typer.testing import CliRunner

from opengcd import Workspace
from opengcd._internal.images import decoders
from opengcd._internal.images.captures import taken_at
from opengcd.cli import app
from opengcd.service import adding, create_app
from opengcd.workspace import WorkspaceError, find_files, videos
from opengcd.workspace.files import look_at
from opengcd.workspace.schema import captures, items
from opengcd.workspace.stacks import stacks_of
from tests.helpers.pictures import RECOGNIZER, paint, picture
from tests.helpers.serving import connect, eventually, get, send
from tests.helpers.videos import BEGINS, TAKEN, clip, film


@pytest.fixture
def birds(fitted, tmp_path):
    shutil.copytree(fitted, tmp_path / "birds")
    with Workspace(tmp_path / "birds", who="ann") as workspace:
        yield workspace


@pytest.fixture
def no_decoding(monkeypatch):
    """Call it, and no video may be decoded any more."""
    return lambda: monkeypatch.setattr(videos, "read_video", lambda *_: pytest.fail("it is decoded again"))


def recognized(workspace, *paths, **options):
    """Return labels by the names of the frames, and reasons by the names of other files."""
    results = list(workspace.recognize(list(paths), **options))
    labels = {os.path.basename(one.path): one.label for one in results if one.item is not None}
    return labels, {os.path.basename(one.path): one.reason for one in results if one.item is None}


def stored(workspace):
    """The frames that are on disk."""
    return sorted(file.name for file in (workspace.path / "frames").glob("??/*/*"))


def times_of(files):
    """When images were taken, by their EXIF data."""
    found = []
    for file in files:
        with Image.open(file) as image:
            found.append(taken_at(image))
    return found


def count(workspace):
    with workspace.store.database.reading() as connection:
        return len(list(connection.scalars(select(items.c.id))))


def test_each_frame_is_an_item(birds, tmp_path):
    paint(tmp_path / "in", "green", [900])
    clip(tmp_path / "in" / "deer.mp4", "red", "blue", creation_time=f"{TAKEN}Z")
    (tmp_path / "in" / "notes.txt").write_text("nothing")
    skipped = []
    results = list(birds.recognize([tmp_path / "in"], on_skipped=skipped.append))
    assert [os.path.basename(path) for path in skipped] == ["notes.txt"]
    assert {os.path.basename(one.path): one.label for one in results} == {
        "green900.png": "green", "deer@00000.000s.jpg": "red", "deer@00001.000s.jpg": "red",
        "deer@00002.000s.jpg": "unknown", "deer@00003.000s.jpg": "unknown",
    }  # fmt: skip
    late = next(one for one in results if "3.000" in one.path)
    assert birds.views.video_of([late.path]) == (str(tmp_path / "in" / "deer.mp4"), 3.0)
    assert birds.views.video_of([str(tmp_path / "in" / "green900.png")]) is None
    assert times_of([late.path]) == [BEGINS + 3]
    assert birds.check() == []
    with birds.store.database.reading() as connection:
        times = dict(connection.execute(select(captures.c.item_id, captures.c.taken)).all())
    assert times[late.item] == BEGINS + 3


def test_frames_are_taken_once(birds, tmp_path, no_decoding):
    file = clip(tmp_path / "a.mp4", "red", "blue")
    first = recognized(birds, file)
    before = count(birds)
    no_decoding()
    assert recognized(birds, file) == recognized(birds, file, fps=1) == first
    os.utime(file, (1, 1))  # its content is the same
    assert recognized(birds, file) == first
    moved = file.rename(tmp_path / "moved.mp4")
    assert recognized(birds, moved) == first
    (frame, *_) = [one.path for one in birds.recognize([moved])]
    assert birds.views.video_of([frame]).path == str(moved)
    assert count(birds) == before


def test_another_rate_adds_only_what_is_new(birds, tmp_path):
    file = clip(tmp_path / "a.mkv", "red", "blue", creation_time=f"{TAKEN}Z")
    assert len(recognized(birds, file)[0]) == 4
    before, ids = stored(birds), count(birds)
    assert len(recognized(birds, file, fps=2)[0]) == 8
    assert (len(stored(birds)), count(birds)) == (8, ids + 4)
    assert set(before) < set(stored(birds))
    assert len(recognized(birds, file, fps=0.5)[0]) == 2
    assert len(recognized(birds, file)[0]) == 4
    assert (len(stored(birds)), count(birds)) == (8, ids + 4)


@pytest.mark.parametrize("fps", [0, -1, float("nan"), float("inf"), 1001])
def test_rates_that_cannot_be(birds, tmp_path, fps):
    with pytest.raises(WorkspaceError, match="more than 0 and at most 1000 frames per second"):
        recognized(birds, clip(tmp_path / "a.mp4", "red"), fps=fps)


def test_frames_that_were_deleted_are_taken_again(birds, tmp_path):
    file = clip(tmp_path / "a.mp4", "red")
    first = recognized(birds, file)
    frame = next((birds.path / "frames").glob("??/*/*"))
    raw = frame.read_bytes()
    frame.unlink()
    assert recognized(birds, file) == first
    assert frame.read_bytes() == raw


def test_the_name_of_a_video_says_when_it_begins(birds, tmp_path):
    """By the clock of the phone; what is in the file is in UTC, or when the file was converted."""
    recognized(birds, clip(tmp_path / "VID_20240131_235959.mp4", "red", creation_time=f"{TAKEN}Z"))
    assert set(times_of((birds.path / "frames").glob("??/*/*"))) == {1706745599.0, 1706745600.0}


@pytest.mark.parametrize("name", ["..clip", "a:b*c", "ü" * 200 + ".mp4", "20240131-000000"])
def test_names_of_videos_make_names_of_frames(birds, tmp_path, name):
    name = name[:120].removesuffix(".mp4")
    labels, bad = recognized(birds, clip(tmp_path / f"{name}.mp4", "red"))
    assert (len(labels), bad) == (2, {})
    assert all(file.endswith("s.jpg") and not file.startswith(".") for file in labels)


def test_what_can_be_read_of_a_damaged_video_is_taken(birds, tmp_path, no_decoding):
    file = film(
        tmp_path / "cut.mkv", [picture("red", number, 32) for number in range(100)], codec="mjpeg", pixels="yuvj420p"
    )
    raw = file.read_bytes()
    file.write_bytes(raw[: len(raw) // 2])
    (tmp_path / "text.mp4").write_text("nothing")
    labels, bad = recognized(birds, tmp_path)
    assert list(labels) == [f"cut@{second:09.3f}s.jpg" for second in range(5)]
    assert bad.keys() == {"cut.mkv", "text.mp4"}
    assert "ends after 5.0 of 10.0 seconds; the frames that can be decoded were taken" in bad["cut.mkv"]
    assert "not a readable video" in bad["text.mp4"]
    assert birds.status().failures == 2
    no_decoding()
    assert recognized(birds, file) == (labels, {"cut.mkv": bad["cut.mkv"]})


def test_without_pyav_videos_are_named_and_the_rest_is_recognised(fitted, tmp_path, monkeypatch):
    shutil.copytree(fitted, tmp_path / "birds")
    paint(tmp_path / "in", "green", [900])
    clip(tmp_path / "in" / "a.mp4", "red")
    monkeypatch.setitem(sys.modules, "av", None)
    result = CliRunner().invoke(app, ["recognize", str(tmp_path / "birds"), str(tmp_path / "in")])
    assert result.exit_code == 3
    assert 'a.mp4: a video; to take its frames, run `pip install "opengcd[video]"`' in result.stderr
    assert "green900.png" in result.stdout
    monkeypatch.undo()
    result = CliRunner().invoke(app, ["recognize", str(tmp_path / "birds"), str(tmp_path / "in"), "--fps", "2"])
    assert (result.exit_code, result.stdout.count("a@0000")) == (0, 4)
    with Workspace(tmp_path / "birds") as workspace:
        assert workspace.status().failures == 0


def test_an_error_leaves_nothing_behind(birds, tmp_path, monkeypatch):
    good, later = clip(tmp_path / "a.mp4", "red"), clip(tmp_path / "b.mp4", "blue")
    before = count(birds)

    decode = videos.read_video

    def interrupted(file, fps, taken, keep, reached):
        def keep_two(seconds, jpeg):
            keep(seconds, jpeg)
            if file.name == str(later) and seconds == 1:
                raise KeyboardInterrupt

        return decode(file, fps, taken, keep_two, reached)

    monkeypatch.setattr(videos, "read_video", interrupted)
    with pytest.raises(KeyboardInterrupt):
        recognized(birds, good, later)
    assert stored(birds) == ["a@00000.000s.jpg", "a@00001.000s.jpg"]  # b is not there
    assert count(birds) == before
    decoded = []
    monkeypatch.setattr(videos, "read_video", lambda file, *rest: decoded.append(file.name) or decode(file, *rest))
    assert len(recognized(birds, good, later)[0]) == 4
    assert decoded == [str(later)]


@pytest.mark.skipif(os.name != "posix", reason="processes are killed as on POSIX systems")
def test_a_kill_between_frames_leaves_no_half_video(birds, tmp_path):
    file = clip(tmp_path / "a.mp4", "red", "blue")
    before = count(birds)
    script = f"""
    import os, signal
    from opengcd import Workspace
    from opengcd.workspace import videos
    replace, calls = videos.replace_file, []
    def killed(file, raw):
        calls.append(file)
        if len(calls) == 4:  # one note, two frames
            os.kill(os.getpid(), signal.SIGKILL)
        replace(file, raw)
    videos.replace_file = killed
    with Workspace({str(birds.path)!r}) as workspace:
        list(workspace.recognize([{str(file)!r}]))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], env=os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == -signal.SIGKILL
    assert len(stored(birds)) == 2
    for frame in (birds.path / "frames").glob("??/*/*"):
        decoders().check(frame.read_bytes())
    assert count(birds) == before
    assert birds.formats.export_bytes("csv").count(b"a@") == 0
    assert len(recognized(birds, file)[0]) == 4
    assert len(stored(birds)) == 4


def test_a_video_that_changes_while_it_is_read_is_refused(birds, tmp_path, monkeypatch):
    file = clip(tmp_path / "a.mp4", "red")
    decode = videos.read_video

    def change(*given):
        found = decode(*given)
        os.utime(file, (1, 1))
        return found

    monkeypatch.setattr(videos, "read_video", change)
    labels, bad = recognized(birds, file)
    assert (labels, bad) == ({}, {"a.mp4": "the file changed while it was read; try again when it is complete"})
    assert stored(birds) == []
    monkeypatch.undo()
    assert len(recognized(birds, file)[0]) == 2


def test_frames_that_follow_each_other_are_a_stack(birds, tmp_path):
    """Five within a second look alike; those of another colour, or of a video without a time, are apart."""
    shades = [picture("blue", 7, 32).point(lambda value, more=more: value + more) for more in range(5)]
    timed = film(tmp_path / "timed.mkv", [*shades, *[picture("yellow", 7, 32)] * 5], creation_time=f"{TAKEN}Z")
    untimed = film(tmp_path / "untimed.mkv", shades)
    found = {os.path.basename(one.path): one.item for one in birds.recognize([timed, untimed], fps=10)}
    (tmp_path / "times.csv").write_text(f"file,time\nuntimed.mkv,{TAKEN}\n")
    birds.discover(k=6)

    def stacks():
        with birds.store.database.reading() as connection:
            stack = stacks_of(connection, list(found.values()))
        return {name: stack.get(item) for name, item in found.items()}

    before = stacks()
    assert len({before[f"timed@00000.{tenth}00s.jpg"] for tenth in range(5)}) == 1
    assert before["timed@00000.000s.jpg"] is not None
    assert before["timed@00000.000s.jpg"] != before["timed@00000.500s.jpg"]
    with birds.store.database.reading() as connection:
        missing = captures.c.taken.is_(None) & captures.c.item_id.in_([found[name] for name in found if "un" in name])
        assert len(connection.execute(select(captures).where(missing)).all()) == len(
            {found[name] for name in found if "un" in name}
        )
    assert birds.set_times(tmp_path / "times.csv") == len({found[name] for name in found if "un" in name})
    with birds.store.database.reading() as connection:
        row = select(captures.c.taken).where(captures.c.item_id == found["untimed@00000.400s.jpg"])
        assert connection.scalar(row) == pytest.approx(BEGINS + 0.4)


def test_boxes_are_not_for_videos(birds, tmp_path):
    file = clip(tmp_path / "a.mp4", "red")
    (tmp_path / "boxes.json").write_text(json.dumps({"images": [{"file": "a.mp4", "detections": []}]}))
    labels, bad = recognized(birds, file, boxes=tmp_path / "boxes.json")
    assert labels == {}
    assert "a video; boxes are of images" in bad["a.mp4"]


def test_videos_of_known_classes(tmp_path):
    known = tmp_path / "known"
    for colour in ("red", "green"):
        clip(known / colour / f"{colour}.mp4", colour, creation_time=f"{TAKEN}Z")
        paint(known / colour, colour, range(3))
    shutil.copy(known / "red" / "red.mp4", known / "green" / "same.mp4")
    with Workspace.create(tmp_path / "birds", "pixels", recognizer=RECOGNIZER) as workspace:
        bad = workspace.fit(known, fps=4)
        assert [(os.path.basename(path), reason) for path, reason in bad] == [
            ("red.mp4", "the same file has the label 'green', too; keep one of them")
        ]
        # 8 frames of red.mp4 are in "green", as same.mp4; 8 are of green.mp4.
        assert workspace.status().counts["learnt"] == 16 + 6


def test_videos_are_taught_and_that_can_be_undone(birds, tmp_path):
    clip(tmp_path / "more" / "blue" / "a.mp4", "blue", creation_time=f"{TAKEN}Z")
    shutil.copytree(tmp_path / "more" / "blue", tmp_path / "more" / "sky")
    taught = birds.teach(tmp_path / "more", fps=3)
    assert taught.classes == {"blue": 6}
    assert [reason for _, reason in taught.bad] == ["the same file has the label 'blue', too; keep one of them"]
    assert birds.views.learnable() == {"blue": 6}
    birds.undo()
    assert not birds.views.learnable()
    assert birds.redo()
    (tmp_path / "labels.csv").write_text("file,label\nmore/sky/a.mp4,blue\n")
    again = birds.teach(tmp_path, tmp_path / "labels.csv", fps=3)
    assert (again.images, again.already) == (0, 6)


def test_exports_name_the_video(birds, tmp_path):
    plain = birds.formats.export_bytes("csv").splitlines()[0]
    assert b"video" not in plain
    file = clip(tmp_path / "cam1" / "deer.mp4", "red", creation_time=f"{TAKEN}Z")
    recognized(birds, file)
    rows = list(csv.DictReader(io.StringIO(birds.formats.export_bytes("csv").decode())))
    frames = [(row["video"], row["seconds"]) for row in rows if row["video"]]
    assert frames == [(str(file), "0.000000"), (str(file), "1.000000")]
    assert {row["seconds"] for row in rows if not row["video"]} == {""}
    found = [one for one in json.loads(birds.formats.export_bytes("json")) if one["video"]]
    assert [(one["video"], one["seconds"], one["label"]) for one in found] == [
        (str(file), 0.0, "red"), (str(file), 1.0, "red"),
    ]  # fmt: skip
    (tmp_path / "deployments.csv").write_text(
        "folder,deploymentID,latitude,longitude,deploymentStart,deploymentEnd\n"
        "cam1,one,49,8,2024-01-01T00:00:00Z,2024-12-31T00:00:00Z\n"
    )
    birds.export("camtrap-dp", tmp_path / "out", deployments=tmp_path / "deployments.csv")
    media = list(csv.DictReader(io.StringIO((tmp_path / "out" / "media.csv").read_text())))
    told = [(row["fileName"], row["mediaComments"], row["deploymentID"]) for row in media]
    assert told == [
        ("deer@00000.000s.jpg", "0.000 s of deer.mp4", "one"), ("deer@00001.000s.jpg", "1.000 s of deer.mp4", "one"),
    ]  # fmt: skip


def test_watching_a_folder(birds, tmp_path):
    (tmp_path / "in").mkdir()
    file = clip(tmp_path / "in" / "a.mp4", "red")
    results = birds.watch([tmp_path / "in"], 0.01, fps=2)
    assert [os.path.basename(next(results).path) for _ in range(4)] == [
        f"a@00000.{half}00s.jpg" if second == 0 else f"a@00001.{half}00s.jpg" for second in (0, 1) for half in (0, 5)
    ]
    results.close()
    (found,) = find_files([file])
    assert videos.Frames(birds.path).has(found, 2)
    assert not videos.Frames(birds.path).has(found, 1)
    assert not videos.Frames(birds.path).has(found._replace(size=1), 2)


def test_the_service_adds_videos_and_shows_where_a_frame_is_from(birds, tmp_path):
    file = clip(tmp_path / "in" / "deer.mp4", "red", "blue", creation_time=f"{TAKEN}Z")
    job = birds.jobs.add("recognize", {"folder": str(tmp_path / "in"), "fps": 2.0}, "ann")
    with connect(create_app(birds), birds.access.make("ann")) as client:
        eventually(lambda: get(client, f"jobs/{job.id}")["state"] not in ("waiting", "running"))
        done = get(client, f"jobs/{job.id}")
        assert (done["state"], done["result"]["bad"]) == ("done", 0)
        (frame,) = [one for one in (birds.path / "frames").glob("??/*/*") if "1.500" in one.name]
        (item,) = [one.item for one in birds.recognize([file], fps=2) if one.path == str(frame)]
        details = get(client, f"items/{item}")
        assert details["video"] == {"name": "deer.mp4", "path": str(file), "seconds": 1.5}
        assert details["origin"] is None
        send(client, "POST", "images", {"folder": str(tmp_path), "fps": 0}, 422)


def test_a_watch_that_goes_on_does_not_recognise_a_video_again(birds, tmp_path):
    file = look_at(str(clip(tmp_path / "a.mp4", "red")))
    assert adding.not_taken(birds, [file], 1.0) == [file]
    recognized(birds, file.path)
    assert adding.not_taken(birds, [file], 1.0) == []
    os.utime(file.path, (1, 1))
    assert adding.not_taken(birds, [look_at(file.path)], 1.0) != []
