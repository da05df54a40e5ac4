"""Images are decoded by other processes: whatever is in a file, the worst that happens is that the file is refused."""

import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import opengcd
from opengcd._internal.images import Decoders, decoders
from opengcd._internal.images import messages as protocol
from opengcd._internal.images import pool as module
from opengcd.embed import EmbedderError, read_image
from tests.helpers.pictures import paint

EPS = b"""%!PS-Adobe-3.0 EPSF-3.0
%%BoundingBox: 0 0 10 10
%%EndComments
(mark) (w) file closefile
%%EOF
"""
PLACEABLE_WMF = b"\xd7\xcd\xc6\x9a\x00\x00" + bytes(4) + b"\x64\x00\x64\x00\x60\x00" + bytes(200)
EMF = b"\x01\x00\x00\x00" + bytes(36) + b" EMF" + bytes(200)
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000)  # FlashPix and Microsoft Image Composer
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"
FOREIGN = {"eps": EPS, "wmf": PLACEABLE_WMF, "emf": EMF, "fpx": OLE, "svg": SVG, "text": b"no image"}


def encoded(image, format="PNG", **options):
    stream = io.BytesIO()
    image.save(stream, format, **options)
    return stream.getvalue()


def noise(shape, dtype=np.uint8, top=256):
    return np.random.default_rng(0).integers(0, top, shape).astype(dtype)


@pytest.fixture
def own():
    """Decoders of one's own, so that what is done to them does not trouble others."""
    found = Decoders(2)
    yield found
    found.close()


# Only some formats are opened.


@pytest.fixture
def ghostscript(tmp_path, monkeypatch):
    """A program that leaves a mark where Pillow would start Ghostscript."""
    mark = tmp_path / "mark"
    (tmp_path / "bin").mkdir()
    for name in ("gs", "gswin32c", "gswin64c"):
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return mark


def test_the_marking_program_would_be_started_by_pillow_alone(ghostscript):
    """What the next test looks for can be seen."""
    code = "import io, sys; from PIL import Image; Image.open(io.BytesIO(sys.stdin.buffer.read())).load()"
    subprocess.run([sys.executable, "-c", code], input=EPS, stderr=subprocess.DEVNULL, check=False)
    assert ghostscript.exists()


@pytest.mark.parametrize("kind", FOREIGN)
def test_other_formats_are_refused_whatever_their_name(kind, tmp_path, own, ghostscript, monkeypatch):
    file = tmp_path / "photo.jpg"
    file.write_bytes(FOREIGN[kind])
    for read in (read_image, lambda file: own.image(file.read_bytes()), lambda file: own.jpeg(file.read_bytes(), 9)):
        with pytest.raises(EmbedderError, match=r"not a readable image; .* convert it to JPEG or PNG"):
            read(file)
    assert not ghostscript.exists()
    monkeypatch.setattr(subprocess, "Popen", None)
    with pytest.raises(EmbedderError, match="not a readable image"):
        read_image(file)


AVIF_START, HEIC_START = b"\x00\x00\x00\x18ftypavif", b"\x00\x00\x00\x18ftypheic"
HINTS = {
    "heic": (HEIC_START, r'pip install "opengcd\[heic\]"'),
    "avif": (AVIF_START, "update Pillow"),
    "cr2": (b"II*\0\x10\0\0\0CR\x02\0", "raw image of a camera"),
    "cr3": (b"\x00\x00\x00\x18ftypcrx ", "raw image of a camera"),
    "raf": (b"FUJIFILMCCD-RAW 0201", "raw image of a camera"),
}


@pytest.mark.parametrize(("start", "hint"), HINTS.values(), ids=HINTS)
def test_formats_of_phones_and_cameras_are_refused_with_a_hint(start, hint):
    """In a process that may not crash, whatever is installed."""
    with pytest.raises(EmbedderError, match=hint):
        read_image(io.BytesIO(start + bytes(200)))


def large_format(kind, image, **options):
    """Return an image as AVIF, or as HEIC."""
    if kind == "AVIF":
        pytest.importorskip("PIL.AvifImagePlugin", reason="this Pillow has no AVIF")
        return encoded(image, "AVIF", **options)
    pillow_heif = pytest.importorskip("pillow_heif", reason="the extra heic is not installed")
    stream = io.BytesIO()
    pillow_heif.from_pillow(image).save(stream, quality=90, **options)
    return stream.getvalue()


@pytest.mark.parametrize("kind", ["AVIF", "HEIF"])
def test_heic_and_avif_are_decoded_by_the_child_process(kind, own):
    image = Image.new("RGB", (64, 48), (200, 40, 40))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    exif.get_ifd(0x8769)[0x9003] = "2024:05:01 06:30:12"
    raw = large_format(kind, image, exif=exif.tobytes())
    assert own.check(raw) == kind
    found = own.image(raw)
    assert found.size == (48, 64)
    assert np.abs(np.asarray(found).mean((0, 1)) - (200, 40, 40)).max() < 6
    assert found.info["capture"].taken == 1714545012.0
    assert own.header(raw)[:2] in ((64, 48), (48, 64))
    assert own.jpeg(raw, 16)[:2] == b"\xff\xd8"
    with pytest.raises(EmbedderError, match="is damaged"):
        own.image(raw[: len(raw) // 2])


def test_heic_without_the_extra_is_refused_with_a_hint(tmp_path, monkeypatch):
    (tmp_path / "pillow_heif.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    with closing(Decoders(1)) as own, pytest.raises(EmbedderError, match=r'pip install "opengcd\[heic\]"'):
        own.check(HEIC_START + bytes(200))


def test_an_item_cannot_become_a_program(workspace, tmp_path, ghostscript):
    """By no way that leads from an item's file to a picture of it."""
    (file,) = paint(tmp_path / "in", "red", [9000])
    (result,) = workspace.recognize([file])
    file.write_bytes(EPS)
    for look in (workspace.views.thumbnail, workspace.views.image):
        with pytest.raises(ValueError, match="moved or deleted"):
            look(result.item)
    (again,) = workspace.recognize([file])
    assert "not a readable image" in again.reason
    assert (
        [one.reason for one in workspace.recognition.keep([EPS])]
        == workspace.recognition.embed([EPS])[1]
        == [again.reason]
    )
    assert not ghostscript.exists()


def test_only_one_module_lets_pillow_open_files():
    root = Path(opengcd.__file__).parent
    opening = re.compile(r"Image\.open\(|from PIL\.Image import .*\bopen\b|import PIL\.Image")
    found = [str(file.relative_to(root)) for file in root.rglob("*.py") if opening.search(file.read_text())]
    assert found == [os.path.join("_internal", "images", "reading.py")]


# The same pixels.


def images():
    colours = Image.fromarray(noise((23, 31, 3)))
    grey = Image.fromarray(noise((23, 31)))
    turned = Image.Exif()
    turned[0x0112] = 6
    yield "jpeg", encoded(colours, "JPEG")
    yield "turned jpeg", encoded(colours, "JPEG", exif=turned)
    yield "turned png", encoded(colours.convert("P"), exif=turned)
    yield "cmyk jpeg", encoded(colours.convert("CMYK"), "JPEG")
    yield "progressive jpeg", encoded(colours, "JPEG", progressive=True)
    yield "mpo", encoded(colours, "MPO", save_all=True, append_images=[grey.convert("RGB")])
    for mode in ("1", "L", "LA", "P", "RGB", "RGBA"):
        yield f"{mode} png", encoded(colours.convert(mode))
    yield "palette with transparency", encoded(colours.convert("P"), transparency=3)
    yield "16 bits png", encoded(Image.fromarray(noise((23, 31), np.uint16, 2**16)))
    yield "32 bits tiff", encoded(Image.fromarray(noise((23, 31), np.int32, 2**20)), "TIFF")
    yield "float tiff", encoded(Image.fromarray(noise((23, 31), np.float32)), "TIFF")
    yield "cmyk tiff", encoded(colours.convert("CMYK"), "TIFF")
    yield "lzw tiff", encoded(colours, "TIFF", compression="tiff_lzw")
    yield "turned tiff", encoded(colours, "TIFF", exif=turned)
    yield "gif", encoded(colours.convert("P"), "GIF", save_all=True, append_images=[grey.convert("P")])
    yield "webp", encoded(colours.convert("RGBA"), "WEBP")
    yield "bmp", encoded(colours, "BMP")
    yield "ppm", encoded(colours, "PPM")
    yield "16 bits pgm", encoded(Image.fromarray(noise((23, 31), np.uint16, 2**16)), "PPM")
    yield "one pixel", encoded(Image.new("RGB", (1, 1), "red"))
    yield "large", encoded(Image.fromarray(noise((1100, 1000, 3))), "JPEG")


IMAGES = dict(images())


@pytest.mark.parametrize("name", IMAGES)
def test_pixels_are_those_of_read_image(name):
    raw = IMAGES[name]
    expected = read_image(io.BytesIO(raw))
    ((_, streamed),) = decoders().stream([raw], bytes)
    for found in (decoders().image(raw), streamed):
        assert (found.mode, found.size) == ("RGB", expected.size)
        assert found.tobytes() == expected.tobytes()
    header = decoders().header(raw)
    assert sorted(header[:2]) == sorted(expected.size)
    assert decoders().check(raw) == header.format
    expected.thumbnail((9, 9))
    assert Image.open(io.BytesIO(decoders().jpeg(raw, 9))).size == expected.size


def test_a_stream_keeps_the_order_and_says_what_is_wrong():
    sizes = [(7 + i % 40, 5) if i % 5 else (1200, 1000 + i) for i in range(60)]
    files = [encoded(Image.new("RGB", size, "red"), "JPEG") for size in sizes]
    files[7], files[10] = b"", files[10][:400]

    def read(row):
        if row == 13:
            raise EmbedderError("it is gone")
        return files[row]

    found = list(decoders().stream(range(60), read))
    assert [row for row, _ in found] == list(range(60))
    reasons = {row: image for row, image in found if isinstance(image, str)}
    assert reasons.keys() == {7, 10, 13}
    assert (reasons[7], reasons[13]) == ("the file is empty", "it is gone")
    assert "damaged" in reasons[10]
    assert all(image.size == sizes[row] for row, image in found if row not in reasons)


def test_a_stream_does_not_run_far_ahead(own, monkeypatch):
    """Of large images only as many are decoded before they are asked for as have a number of pixels together."""
    monkeypatch.setattr(module, "PIXELS_AHEAD", 5_000_000)
    raw = encoded(Image.new("L", (2000, 1000)))
    begun, request = [], protocol.REQUEST

    class Noted:
        @staticmethod
        def pack(wish, most, side, length):
            if most > module.SMALL:
                begun.append(length)
            return request.pack(wish, most, side, length)

    monkeypatch.setattr(protocol, "REQUEST", Noted)
    with closing(own.stream([raw] * 20, bytes)) as stream:
        for number in range(1, 21):
            next(stream)
            assert len(begun) <= number + 2
    assert len(begun) == 20


def test_a_stream_that_is_left_ends_its_work(own):
    raw = encoded(Image.new("L", (2000, 1000)))
    with closing(own.stream([raw] * 100, bytes)) as stream:
        next(stream)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("decoding")]
    assert own.image(raw).size == (2000, 1000)


# What goes wrong in a decoder stays there.


@pytest.fixture
def started(monkeypatch):
    """The processes that decoders start."""
    found, start = [], module.start_child

    def note(name):
        found.append(start(name))
        return found[-1]

    monkeypatch.setattr(module, "start_child", note)
    return found


def test_a_decoder_that_crashes_is_replaced(started, own):
    good = encoded(Image.new("RGB", (3, 3)))
    assert own.image(good).size == (3, 3)
    (process,) = started
    os.kill(process.pid, signal.SIGSEGV)
    with pytest.raises(EmbedderError, match=r"crashes the decoder \(exit status -11\)"):
        own.image(good)
    assert own.image(good).size == (3, 3)
    assert len(started) == 2


def test_a_decoder_that_hangs_is_ended(started, own, monkeypatch):
    good = encoded(Image.new("RGB", (3, 3)))
    own.image(good)
    (process,) = started
    os.kill(process.pid, signal.SIGSTOP)
    monkeypatch.setattr(protocol, "SECONDS", 0.5)
    with pytest.raises(EmbedderError, match="takes more than"):
        own.image(good)
    monkeypatch.undo()
    assert own.image(good).size == (3, 3)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps to the limit")
def test_a_decoder_that_needs_too_much_memory_is_refused(tmp_path):
    """The limit holds in the process, and what is beyond it is an answer."""
    code = "from opengcd._internal.images import messages, worker; messages.MEMORY = 400 * 2**20; worker.main()"
    raw = encoded(Image.new("RGB", (12_000, 6_000)))
    request = protocol.REQUEST.pack(protocol.CHECK, 80_000_000, 0, len(raw)) + raw
    done = subprocess.run([sys.executable, "-c", code], input=request, capture_output=True, check=True)
    reply = done.stdout[protocol.REPLY.size :]
    assert protocol.REPLY.unpack(reply[: protocol.REPLY.size])[0] == protocol.REFUSED
    assert b"memory" in reply


@pytest.mark.parametrize("mode", ["P", "RGBA", "I"])
def test_the_largest_image_of_any_mode_fits(mode, own):
    image = Image.new(mode, (10_000, 8_000))
    raw = encoded(image, "TIFF" if mode == "I" else "PNG", compress_level=1)
    if len(raw) > module.MAX_BYTES:
        raw = encoded(image, "TIFF", compression="tiff_lzw")
    assert own.check(raw)


def test_a_file_that_is_too_large_is_not_read(workspace, tmp_path):
    (tmp_path / "in").mkdir()
    with open(tmp_path / "in" / "huge.png", "wb") as file:
        file.truncate(module.MAX_BYTES + 1)
    (result,) = workspace.recognize([tmp_path / "in"])
    assert result.reason == "the file has more than 256 MiB; make it smaller"


def children(process):
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, None])
def test_decoders_end_with_their_process(end):
    code = (
        "import io, sys; from PIL import Image; from opengcd._internal.images import decoders; raw = io.BytesIO(); "
        "Image.new('L', (3, 3)).save(raw, 'PNG'); decoders().image(raw.getvalue()); print('ready', flush=True); "
        "sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    (decoder,) = children(process.pid)
    if end is not None:
        process.send_signal(end)
    process.communicate()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{decoder}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_decoders_import_nothing_from_the_current_folder(tmp_path, monkeypatch):
    for name in ("PIL", "struct", "opengcd"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    own = Decoders(1)
    assert own.image(encoded(Image.new("RGB", (3, 3)))).size == (3, 3)
    own.close()
    assert not (tmp_path / "mark").exists()


def test_decoders_import_little():
    code = "import sys, opengcd._internal.images.worker; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "torch", "sqlalchemy", "opengcd.embed"} & set(loaded)


@pytest.mark.parametrize(
    ("size", "length", "payload"), [((3, 3), 2**60, b""), ((3, 3), 5, b"P6\n3 "), ((2**31, 2**31), 5, b"P6\n3 ")]
)
def test_a_decoder_that_was_taken_over_can_do_no_more_than_refuse(own, monkeypatch, size, length, payload):
    answer = protocol.REPLY.pack(protocol.READY, 0, 0, 0) + protocol.REPLY.pack(protocol.DONE, *size, length) + payload
    code = f"import sys; sys.stdout.buffer.write({answer!r}); sys.stdout.flush(); sys.stdin.read()"
    monkeypatch.setattr(module, "start_child", lambda _: module_that_runs(code))
    with pytest.raises((EmbedderError, OSError), match=r"crashes the decoder|sent an invalid reply"):
        own.image(b"anything")


def test_a_decoder_that_cannot_start_is_no_fault_of_the_image(own, monkeypatch):
    monkeypatch.setattr(module, "start_child", lambda _: module_that_runs(""))
    with pytest.raises(OSError, match="decoder did not start"):
        own.image(b"anything")


def module_that_runs(code):
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_decoders_of_its_own():
    ours = decoders()
    raw = encoded(Image.new("RGB", (3, 3)))
    assert ours.image(raw).size == (3, 3)
    code = (
        "import os, io; from PIL import Image; from opengcd._internal.images import decoders; raw = io.BytesIO(); "
        "Image.new('L', (3, 3)).save(raw, 'PNG'); decoders().image(raw.getvalue()); before = decoders(); "
        "child = os.fork(); same = decoders() is before; decoders().image(raw.getvalue()); "
        "os._exit(same) if not child else print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), same)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "True"]
