"""The kinds of files that are loaded: good ones, hostile ones made by hand, and how each kind is loaded."""

from __future__ import annotations

import io
import json
import pickle
import shutil
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from benchmarks.torture.mutations import mutated_arrays, mutated_bytes, mutated_json


class Kind(ABC):
    """One kind of file, in a process of its own; ``folder`` is empty, ``mark`` a file that foreign code would make."""

    share: int
    """How many of 20,000 inputs are of this kind."""
    refusals: tuple[type[Exception], ...]
    """What a bad file may raise."""

    def __init__(self, folder: Path, mark: Path) -> None:
        self.folder = folder
        self.mark = mark
        self.good = self.make_good()
        self.hostile = self.make_hostile()

    @abstractmethod
    def make_good(self) -> list[Any]:
        """Return files, or what they are made of."""

    def make_hostile(self) -> list[Any]:
        """Return files that are meant to do harm."""
        return []

    @abstractmethod
    def load(self, one: Any) -> None:
        """Load a file as OpenGCD does."""

    def mutate(self, rng: np.random.Generator) -> Any:
        """Return a damaged file."""
        return mutated_bytes(self.good[rng.integers(len(self.good))], self.good, rng)

    def input(self, number: int, seed: int) -> Any:
        """Return the input of that number: good ones first, then hostile ones, then damaged ones."""
        first = [*self.good, *self.hostile]
        return first[number] if number < len(first) else self.mutate(np.random.default_rng([seed, number]))


class Exploit:
    """Makes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return open, (str(self.mark), "w")


def _encoded(image: Image.Image, format: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, format, **options)
    return stream.getvalue()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(width: int, height: int, *more: bytes) -> bytes:
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n"
        + head
        + b"".join(more)
        + _chunk(b"IDAT", zlib.compress(bytes(1000)))
        + _chunk(b"IEND", b"")
    )


class Images(Kind):
    share = 11_000

    def make_good(self) -> list[bytes]:
        from opengcd._internal.images import EmbedderError

        self.refusals = (EmbedderError,)
        rng = np.random.default_rng(0)
        colours = Image.fromarray(rng.integers(0, 256, (24, 31, 3), dtype=np.uint8))
        small, deep = colours.convert("P"), Image.fromarray(rng.integers(0, 2**16, (24, 31)).astype(np.uint16))
        exif = Image.Exif()
        exif[0x0112], exif[0x010E] = 6, "turned"
        more = {"save_all": True, "append_images": [colours.rotate(90)]}
        files = [
            _encoded(colours, "JPEG", exif=exif),
            _encoded(colours, "JPEG", progressive=True, subsampling=2),
            _encoded(colours.convert("CMYK"), "JPEG"),
            _encoded(colours, "MPO", **more),
            _encoded(colours, "PNG"),
            _encoded(small, "PNG", transparency=1, exif=exif),
            _encoded(deep, "PNG"),
            _encoded(colours.convert("RGBA"), "PNG", save_all=True, append_images=[colours.convert("RGBA")]),
            _encoded(small, "GIF", save_all=True, append_images=[small.rotate(90)]),
            _encoded(small, "GIF", interlace=1, transparency=0),
            _encoded(colours, "WEBP"),
            _encoded(colours.convert("RGBA"), "WEBP", lossless=True, exif=exif, **more),
            _encoded(colours, "BMP"),
            _encoded(small, "BMP"),
            _encoded(colours, "PPM"),
            b"P2\n3 2\n15\n0 3 7 11 15 1\n",
            _encoded(deep, "PPM"),
            _encoded(colours.convert("1"), "TIFF", compression="group4"),
            _encoded(deep, "TIFF", exif=exif),
        ]
        compressions = ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg", "lzma", "zstd")
        return files + [_encoded(colours, "TIFF", compression=how) for how in compressions]

    def make_hostile(self) -> list[bytes]:
        bomb = _encoded(Image.new("1", (10_000, 8_000)), "PNG")
        eps = f"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n({self.mark}) (w) file\n%%EOF\n"
        tags = [
            (256, 4, 1, 9000),
            (257, 4, 1, 8000),
            (258, 3, 1, 8),
            (259, 3, 1, 1),
            (262, 3, 1, 1),
            (273, 4, 2**30, 8),
        ]
        tiff = b"II*\0\x08\0\0\0" + struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags)
        zeros = zlib.compress(bytes(200_000_000))
        return [
            b"", b"\0", b"GIF89a", b"\xff\xd8\xff", b"BM", b"II*\0", b"RIFF\xff\xff\xff\xffWEBP",
            eps.encode(), b"\xc5\xd0\xd3\xc6" + struct.pack("<II", 30, len(eps)) + bytes(18) + eps.encode(),
            b"\xd7\xcd\xc6\x9a" + bytes(40), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000),
            pickle.dumps(Exploit(self.mark)), bomb, _png(60_000, 60_000), _png(0, 0), _png(2**31 - 1, 1),
            _png(8900, 8900),
            _png(9, 9, _chunk(b"iCCP", b"x\0\0" + zeros)), _png(9, 9, _chunk(b"zTXt", b"x\0\0" + zeros)),
            _png(9, 9, *[_chunk(b"tEXt", b"a\0" + bytes(1000))] * 1000),
            struct.pack("<6sHHBBBcHHHHB3s", b"GIF89a", 8900, 8900, 0, 0, 0, b",", 0, 0, 1, 1, 0, b"\x02\0;"),
            b"P5 8900 8900 255 ", b"P6 99999999999999999999 1 255 ", b"P3 " + b"#" * 10**6, tiff,
            b"BM" + bytes(12) + struct.pack("<IiiHHIIiiII", 40, 2**31 - 1, -(2**31), 1, 1, 1, 0, 0, 0, 2**31, 0),
            b"\0\0\0\x18ftypheic" + bytes(50), b"\xff\xd8" + b"\xff\xe1\xff\xff" * 1000,
        ]  # fmt: skip

    def load(self, one: bytes) -> None:
        from opengcd._internal.images import decoders

        decoders().image(one)
        decoders().jpeg(one, 16)


class Videos(Kind):
    share = 200

    def make_good(self) -> list[bytes]:
        import av

        from opengcd._internal.videos import VideoError

        self.refusals = (VideoError,)
        rng = np.random.default_rng(0)
        files = []
        for name, codec, pixels in (
            ("a.mp4", "libx264", "yuv420p"),
            ("a.mkv", "libx264", "yuv420p"),
            ("a.avi", "mjpeg", "yuvj420p"),
            ("a.webm", "libvpx-vp9", "yuv420p"),
            ("a.mpg", "mpeg2video", "yuv420p"),
            ("a.wmv", "wmv2", "yuv420p"),
        ):
            with av.open(str(self.folder / name), "w") as container:
                stream = container.add_stream(codec, rate=25)
                stream.width, stream.height, stream.pix_fmt = 64, 48, pixels
                for _ in range(30):
                    frame = av.VideoFrame.from_ndarray(rng.integers(0, 256, (48, 64, 3), dtype=np.uint8), "rgb24")
                    container.mux(stream.encode(frame))
                container.mux(stream.encode())
            files.append((self.folder / name).read_bytes())
        return files

    def make_hostile(self) -> list[bytes]:
        (self.folder / "other.mpg").write_bytes(self.good[4])
        other = self.folder / "other.mpg"
        return [
            b"", b"RIFF\xff\xff\xff\xffAVI ", b"\x1a\x45\xdf\xa3" + bytes(100), b"\0\0\0\x18ftypmp42" + bytes(100),
            f"ffconcat version 1.0\nfile {other}\n".encode(),
            f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://{other}\n#EXT-X-ENDLIST\n".encode(),
        ]  # fmt: skip

    def load(self, one: bytes) -> None:
        from opengcd._internal.videos import read_video

        (self.folder / "video.mp4").write_bytes(one)
        with (self.folder / "video.mp4").open("rb") as file:
            read_video(file, 10.0, None, lambda *_: None, lambda _: None)


class Npy(Kind):
    """Vectors in a request."""

    share = 3_000

    def make_good(self) -> list[bytes]:
        from fastapi import HTTPException

        self.refusals = (HTTPException,)
        files = []
        for dtype in ("<f4", "<f8", "<f2", ">f4"):
            stream = io.BytesIO()
            np.save(stream, np.arange(12, dtype=dtype).reshape(3, 4))
            files.append(stream.getvalue())
        return files

    def make_hostile(self) -> list[bytes]:
        def npy(header: str, body: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
            raw = header.encode("latin1")
            size = struct.pack("<H" if version == b"\x01\x00" else "<I", len(raw))
            return b"\x93NUMPY" + version + size + raw + body

        fields = "{{'descr': {}, 'fortran_order': False, 'shape': {}, }}\n"
        pickled = pickle.dumps(Exploit(self.mark))
        return [
            npy(fields.format("'|O'", "(1, 1)"), pickled), pickled, npy(fields.format("'<f4'", "(2**60, 2**60)")),
            npy(fields.format("'<f4'", f"({2**62}, {2**62})")), npy(fields.format("'<f4'", "(-1, -1)"), bytes(4)),
            npy(fields.format("'<f4'", "(True, True)"), bytes(4)), npy(fields.format("'<f4'", "(1.0, 1)"), bytes(4)),
            npy(fields.format("[('a', '<f4'), ('b', '|O')]", "(1, 1)"), pickled), npy("(" * 5000), npy("[" * 60_000),
            npy(f"__import__('os').mknod({str(self.mark)!r})"), npy("{" * 100), npy(fields.format("'<f4'", "()")),
            npy(fields.format("'<f4'", "(0, 0)")), npy(fields.format("'<f4'", "(1, 1)"), bytes(4), b"\x03\x00"),
            npy(fields.format("'<f4'", "(1, 1)"), bytes(4), b"\x09\x00"), npy("9" * 60_000),
            npy("'" + "\\x00" * 9000 + "'"),
            npy(fields.format("'<f4'", "(1, " + "9" * 5000 + ")")), npy(fields.format("'<g16'", "(1, 1)"), bytes(16)),
        ]  # fmt: skip

    def load(self, one: bytes) -> None:
        from opengcd.service.vector_bodies import from_npy

        from_npy(one)


class Npz(Kind):
    """Feature files of the benchmark."""

    share = 2_000

    def make_good(self) -> list[bytes]:
        from opengcd.bench import FeatureFileError

        self.refusals = (FeatureFileError,)
        rng = np.random.default_rng(0)
        y = np.repeat(np.arange(5), 4)
        arrays = {"x_train": rng.normal(size=(20, 3)), "y_train": y, "x_test": rng.normal(size=(20, 3)).astype("f2")}
        self.arrays = arrays | {"y_test": y, "class_names": np.array(list("abcde")), "class_order": np.arange(5)}
        return [self._pack(self.arrays, write) for write in (np.savez, np.savez_compressed)]

    def _pack(self, arrays: dict[str, np.ndarray], write: Any = np.savez) -> bytes:
        stream = io.BytesIO()
        write(stream, **arrays)
        return stream.getvalue()

    def make_hostile(self) -> list[bytes]:
        pickled = self.arrays | {"class_names": np.array([Exploit(self.mark)], dtype=object)}
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in self.arrays:
                raw = io.BytesIO()
                np.save(raw, np.zeros((10**7, 1)) if name == "x_train" else self.arrays[name])
                archive.writestr(f"{name}.npy", raw.getvalue())
        orders = np.array(1), np.arange(5.0), np.eye(5, dtype=int)
        names = [np.array(5), np.array([["a"]]), np.array([b"\xff"]), np.arange(5), np.array(["a"] * 5), np.array([])]
        return [
            self._pack(pickled), stream.getvalue(), b"", b"PK", pickle.dumps(Exploit(self.mark)),
            *(self._pack(self.arrays | {"class_names": value}) for value in names),
            *(self._pack(self.arrays | {"class_order": value}) for value in orders),
        ]  # fmt: skip

    def mutate(self, rng: np.random.Generator) -> bytes:
        return super().mutate(rng) if rng.random() < 0.5 else self._pack(mutated_arrays(self.arrays, rng))

    def load(self, one: bytes) -> None:
        from opengcd.bench import load_dataset

        (self.folder / "x.npz").write_bytes(one)
        load_dataset(self.folder, "x")


class Models(Kind):
    """Model folders: damaged on disk, or with contents that do not fit together but have right checksums."""

    share = 1_500
    recognizers: tuple[dict[str, Any], ...] = ({"preset": "paper", "classifier": "svm", "alpha": 1.0}, {})

    def make_good(self) -> list[Any]:
        from opengcd import ModelFileError, OpenWorldRecognizer
        from opengcd._internal.model_folder import read_model
        from opengcd.persistence import KIND

        self.refusals = (ModelFileError,)
        rng = np.random.default_rng(0)
        y = np.repeat(np.arange(3), 12)
        X = rng.normal(size=(36, 4)) + 4 * y[:, None]
        self.contents = []
        for number, settings in enumerate(self.recognizers):
            folder = self.folder / f"good{number}"
            OpenWorldRecognizer(random_state=0, device="cpu", **settings).fit(X, y).save(folder)
            self.contents.append(read_model(folder, KIND)[:2])
        return [self._files(self.folder / f"good{number}") for number in range(len(self.recognizers))]

    def _files(self, folder: Path) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}

    def _written(self, header: Any, arrays: dict[str, np.ndarray]) -> dict[str, bytes]:
        from opengcd._internal.model_folder import write_model

        shutil.rmtree(self.folder / "changed", ignore_errors=True)
        write_model(self.folder / "changed", header, arrays)
        return self._files(self.folder / "changed")

    def make_hostile(self) -> list[Any]:
        pickled = pickle.dumps(Exploit(self.mark))
        documents = [b"[" * 100_000, b'{"a":' * 50_000, b"9" * 10_000, b"\xff", b"", b"NaN", pickled]
        made = [self.good[0] | {"model.json": raw} for raw in documents]
        return [*made, {name: raw if name == "model.json" else pickled for name, raw in self.good[0].items()}]

    def mutate(self, rng: np.random.Generator) -> dict[str, bytes]:
        which = rng.integers(len(self.good))
        header, arrays = self.contents[which]
        match rng.integers(3):
            case 0:
                files = self.good[which]
                name = str(rng.choice(sorted(files)))
                return files | {name: mutated_bytes(files[name], list(files.values()), rng)}
            case 1:
                changed = mutated_json(header, rng)
                return self._written(changed, arrays) if isinstance(changed, dict) else self.good[which]
            case _:
                return self._written(header, mutated_arrays(arrays, rng))

    def load(self, one: dict[str, bytes]) -> None:
        from opengcd import OpenWorldRecognizer

        shutil.rmtree(self.folder / "model", ignore_errors=True)
        (self.folder / "model").mkdir()
        for name, raw in one.items():
            (self.folder / "model" / name).write_bytes(raw)
        recognizer = OpenWorldRecognizer.load(self.folder / "model", device="cpu")
        with suppress(ValueError):  # numbers may be too large to compute with, and this is said
            recognizer.recognize(np.zeros((2, recognizer.n_features_in_)))


class XgbModels(Models):
    share = 500
    recognizers = ({"preset": "paper", "classifier": "xgb", "alpha": 1.0},)


class OldTrees(Kind):
    """Trees as older versions stored them; each takes a process of its own."""

    share = 20

    def make_good(self) -> list[bytes]:
        from opengcd.classify import XGB

        self.refusals = (ValueError, KeyError, TypeError)  # reported as damage by what loads a model
        X = np.random.default_rng(0).normal(size=(40, 3))
        return [bytes(XGB(3, random_state=0, device="cpu").fit(X, np.arange(40) % 4).booster_.save_raw("ubj"))]

    def load(self, one: bytes) -> None:
        from opengcd.classify import XGB

        model = XGB(device="cpu")
        model.restore(model.stored_arrays({}, {"classifier": one}))


class Onnx(Kind):
    share = 1_500

    def make_good(self) -> list[bytes]:
        from onnx import TensorProto, helper, numpy_helper

        from opengcd.embed import EmbedderError

        self.refusals = (EmbedderError,)
        weights = numpy_helper.from_array(np.ones((3, 4), np.float32), "w")
        nodes = [
            helper.make_node("ReduceMean", ["x"], ["m"], axes=[2, 3], keepdims=0),
            helper.make_node("MatMul", ["m", "w"], ["y"]),
        ]
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 8, 8])]
        outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])]
        graph = helper.make_graph(nodes, "tiny", inputs, outputs, [weights])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        self.image = Image.new("RGB", (9, 9), "red")
        self.model = model
        return [model.SerializeToString()]

    def make_hostile(self) -> list[bytes]:
        from onnx import TensorProto, helper

        elsewhere = type(self.model)()
        elsewhere.CopyFrom(self.model)
        weights = elsewhere.graph.initializer[0]
        weights.ClearField("raw_data")
        weights.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "../../../../etc/passwd"), ("length", "48")):
            entry = weights.external_data.add()
            entry.key, entry.value = key, value
        huge = type(self.model)()
        huge.CopyFrom(self.model)
        huge.graph.node.insert(0, helper.make_node("Tile", ["x", "r"], ["x2"]))
        return [b"", b"\0", elsewhere.SerializeToString(), huge.SerializeToString(), pickle.dumps(Exploit(self.mark))]

    def load(self, one: bytes) -> None:
        from opengcd.embed import load_embedder

        file = self.folder / "net.onnx"
        file.write_bytes(one)
        embedder = load_embedder(str(file), device="cpu")
        embedder([self.image])


class Settings(Kind):
    """workspace.json."""

    share = 500

    def make_good(self) -> list[Any]:
        from opengcd import Workspace
        from opengcd.workspace import WorkspaceError

        self.refusals = (WorkspaceError, ValueError, ImportError)
        Workspace.create(self.folder / "w", "pixels", recognizer={"preset": "paper"}).close()
        self.file = self.folder / "w" / "workspace.json"
        return [self.file.read_bytes()]

    def make_hostile(self) -> list[bytes]:
        return [b"[" * 100_000, b"9" * 10_000, b"", b"\xff", b"null", b"{}", pickle.dumps(Exploit(self.mark))]

    def mutate(self, rng: np.random.Generator) -> bytes:
        if rng.random() < 0.5:
            return super().mutate(rng)
        return json.dumps(mutated_json(json.loads(self.good[0]), rng)).encode()

    def load(self, one: bytes) -> None:
        from opengcd import Workspace
        from opengcd.workspace.settings import read_settings

        self.file.write_bytes(one)
        if read_settings(self.folder / "w").database is None:  # another one would be asked for over the network
            with Workspace(self.folder / "w") as workspace:
                workspace.status()


class Notes(Kind):
    """What an exported review remembers of its groups, and drawings of the map."""

    share = 480

    def make_good(self) -> list[Any]:
        from opengcd import Workspace
        from opengcd.workspace import WorkspaceError

        self.refusals = (WorkspaceError,)
        rng = np.random.default_rng(0)
        colours = {"red": (220, 30, 30), "green": (30, 200, 40), "black": (30, 30, 30), "blue": (30, 40, 220)}
        for name, colour in colours.items():
            home = self.folder / ("stream" if name == "blue" else f"known/{name}")
            home.mkdir(parents=True)
            for number in range(8):
                pixels = (np.array(colour) + rng.integers(-25, 26, (8, 8, 3))).clip(0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(home / f"{number}.png")
        recognizer = {"preset": "paper", "classifier": "svm", "alpha": 1.0, "selector": "greedy"}
        self.workspace = Workspace.create(self.folder / "w", "pixels", recognizer=recognizer)
        self.workspace.fit(self.folder / "known")
        list(self.workspace.recognize([self.folder / "stream"]))
        self.workspace.discover(k=4)
        self.workspace.formats.export_groups(self.folder / "review")
        self.workspace.similarity.draw_map()
        (drawing,) = (self.folder / "w" / "maps").iterdir()
        self.files = [self.folder / "review" / ".opengcd-review.json", drawing]
        return [(file, file.read_bytes()) for file in self.files]

    def make_hostile(self) -> list[Any]:
        note = json.loads(self.good[0][1])
        outside = note | {"folders": {"../../w": 1, "/etc": 2, ".": 3}}
        pickled = pickle.dumps(Exploit(self.mark))
        made = [b"[" * 100_000, b"", b"\xff", b"9" * 10_000, json.dumps(outside).encode(), pickled]
        return [(file, raw) for file in self.files for raw in made]

    def mutate(self, rng: np.random.Generator) -> Any:
        file, raw = self.good[rng.integers(2)]
        if file == self.files[0] and rng.random() < 0.5:
            return file, json.dumps(mutated_json(json.loads(raw), rng)).encode()
        return file, mutated_bytes(raw, [raw], rng)

    def load(self, one: Any) -> None:
        file, raw = one
        file.write_bytes(raw)
        before = self.workspace.review.last_edit()
        try:
            if file == self.files[1]:
                self.workspace.similarity.map()
            else:
                self.workspace.formats.import_groups(self.folder / "review")
        finally:
            if self.workspace.review.last_edit() != before:
                self.workspace.undo()


KINDS: dict[str, type[Kind]] = {
    "images": Images,
    "videos": Videos,
    "vectors in npy": Npy,
    "feature files in npz": Npz,
    "model folders": Models,
    "model folders of XGBoost": XgbModels,
    "trees of older models": OldTrees,
    "networks in ONNX": Onnx,
    "workspace.json": Settings,
    "notes of reviews and maps": Notes,
}
