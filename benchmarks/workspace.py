"""A workspace of many images: what its database and its feature files cost besides the embedder."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from sqlalchemy import insert

from benchmarks.measure import HAS_GPU, Row, best_of, gaussian_classes, peak_memory
from opengcd import OpenWorldRecognizer, Workspace
from opengcd.embed import Pixels, load_embedder
from opengcd.workspace import schema, versions
from opengcd.workspace.features import FeatureStore
from opengcd.workspace.log import editing
from opengcd.workspace.predictions import write_predictions

KNOWN, NOVEL, WIDTH = 20, 5, 384
ROOT = Path(__file__).resolve().parents[1]


class Stored:
    """Stands for an embedder whose vectors are all there already."""

    name, fingerprint = "stored", "stored"


def fill(folder: Path, n: int, novel: int = NOVEL) -> None:
    """Make a workspace of ``n`` items with synthetic features, recognised by the default preset.

    Of each of the known and the ``novel`` classes there are about as many.
    """
    X, y = gaussian_classes(n, WIDTH, KNOWN + novel, spread=0.3)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    known = np.flatnonzero(y < KNOWN)[: 50 * KNOWN]
    stream = np.setdiff1d(np.arange(n), known)
    recognizer = OpenWorldRecognizer(random_state=0).fit(X[known], np.char.add("class ", y[known].astype(str)))
    with Workspace.create(folder, Stored()) as workspace:  # type: ignore[arg-type]
        digest = versions.save(recognizer, folder / "models", 1)
        with workspace.store.database.writing() as connection:
            rows = [{"hash": f"{i:064x}", "width": 500, "height": 375} for i in range(n)]
            connection.execute(insert(schema.items), rows)
            places = [{"path": f"/images/{i}.jpg", "item_id": i + 1, "size": 1, "mtime": 1} for i in range(n)]
            connection.execute(insert(schema.paths), places)
            store = FeatureStore.make(connection, folder / "features", "stored", "stored", WIDTH)
            store.append(connection, range(1, n + 1), X)
            with editing(connection, "bench", "init") as edit:
                versions.add(edit, 1, recognizer, {i + 1: f"class {y[i]}" for i in known.tolist()}, digest)
            said = recognizer.recognize(X[stream])
            write_predictions(connection, 1, (stream + 1).tolist(), recognizer.classes_, said)


def many_items(quick: bool) -> Row:
    n = 2_000 if quick else 100_000
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "many"
        fill(folder, n)
        times = []
        for _ in range(3):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-m", "opengcd", "status", folder], stdout=subprocess.DEVNULL, check=True)
            times.append(time.perf_counter() - start)
        code = f"from benchmarks.workspace import print_discovery; print_discovery({str(folder)!r})"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        seconds, seen, k, peak, again = done.stdout.split()
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return Row(
        "status of many images",
        f"{n:,} images",
        min(times),
        "< 1 s, discover ≤ 4 GB",
        min(times) < 1 and float(peak) <= 4000,
        f"best of 3, the start of Python included. discover, preset best, looks at {int(seen):,} images, finds "
        f"{k} new classes where there are {NOVEL}, and takes {float(seconds):.0f} s in a process that peaks at "
        f"{float(peak):,.0f} MB; there status then takes "
        f"{float(again):.2f} s. The workspace takes {size / 1e6:.0f} MB, {n * WIDTH * 4e-6:.0f} MB of them features.",
    )


def print_discovery(folder: str) -> None:
    with Workspace(folder) as workspace:
        start = time.perf_counter()
        found = workspace.discover()
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        workspace.status()
        print(seconds, found.items, found.groups, peak_memory(), time.perf_counter() - start)


def storing(quick: bool) -> Row:
    """What recognise costs beside decoding and embedding."""
    n = 200 if quick else 3_000
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        rng = np.random.default_rng(0)
        for i in range(n):
            folder = root / ("stream" if i >= 100 else f"known/{i % 4}")
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(folder / f"{i}.png")
        workspace = Workspace.create(
            root / "w", Pixels(), recognizer={"preset": "paper", "alpha": 1.0, "selector": "random"}
        )
        workspace.fit(root / "known")
        seconds, again = (seconds_of(lambda: [*workspace.recognize([root / "stream"])]) for _ in range(2))
        workspace.close()
    each = seconds / (n - 100)
    return Row(
        "recognise, all but the embedder",
        f"{n - 100:,} tiny images",
        each,
        "–",
        True,
        f"for one image: found, hashed, decoded, its vector and prediction stored; {1 / each:,.0f} images/s. The same "
        f"again, when all is there: {(n - 100) / again:,.0f} images/s.",
    )


def network(root: Path, layers: int) -> str:
    """Write a network of the size of ViT-S/16, weights drawn at random."""
    from transformers import ViTConfig, ViTModel

    torch.manual_seed(0)
    config = ViTConfig(hidden_size=384, num_attention_heads=6, intermediate_size=1536, num_hidden_layers=layers)
    ViTModel(config, add_pooling_layer=False).save_pretrained(root / "net")
    preparation = {
        "image_processor_type": "ViTImageProcessor", "size": {"height": 224, "width": 224}, "resample": 2,
        "image_mean": [0.5] * 3, "image_std": [0.5] * 3,
    }  # fmt: skip
    (root / "net" / "preprocessor_config.json").write_text(json.dumps(preparation))
    return str(root / "net")


def embedding(quick: bool) -> Row:
    """Recognise with a network, against the network alone."""
    n, layers, rounds = (32, 2, 1) if quick else (4_096 if HAS_GPU else 96, 12, 5)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        embedder: Any = load_embedder(network(root, layers))
        rng = np.random.default_rng(0)
        for i in range(n + 8):
            folder = root / ("stream" if i >= 8 else f"known/{i % 2}")
            folder.mkdir(parents=True, exist_ok=True)
            coarse = Image.fromarray(rng.integers(0, 256, (15, 20, 3), dtype=np.uint8))
            coarse.resize((500, 375)).save(folder / f"{i}.jpg", quality=90)
        batch = torch.rand(embedder.batch_size, 3, 224, 224, device=embedder.device)
        files = sorted((root / "stream").iterdir())

        def bare() -> None:
            with torch.inference_mode(), torch.autocast(embedder.device.type, torch.bfloat16, enabled=embedder.half):
                for _ in range(0, n, embedder.batch_size):
                    embedder.model(batch)

        def ours(number: int) -> float:
            with Workspace.create(
                root / f"w{number}", embedder, recognizer={"preset": "paper", "alpha": 1.0}
            ) as workspace:
                workspace.fit(root / "known")
                return seconds_of(lambda: [*workspace.recognize(files)])

        bare()
        pairs = [(seconds_of(bare), ours(number)) for number in range(rounds)]
    plain, seconds = (float(np.median(column)) for column in zip(*pairs, strict=True))
    ratios = sorted(before / after for before, after in pairs)
    middle = float(np.median(ratios))
    return Row(
        "embedding, throughput",
        f"{n:,} images of 500 × 375",
        seconds,
        "≥ 0.9×",
        middle >= 0.9,
        f"median of {rounds} rounds; in each the network alone, batches of {embedder.batch_size} that are ready, in "
        f"place of a textbook, and then recognise, from JPEG files to stored predictions, by a ViT-S/16 on the "
        f"{'GPU' if HAS_GPU else 'CPU'}. {n / seconds:,.1f} images/s against {n / plain:,.1f}; the median ratio is "
        f"{middle:.2f}, they go from {ratios[0]:.2f} to {ratios[-1]:.2f}.",
        textbook=plain,
    )


def half_precision(quick: bool) -> Row:
    """The same network in 16 bits against 32."""
    layers, rounds = (2, 1) if quick else (12, 5)
    with tempfile.TemporaryDirectory() as temporary:
        folder = network(Path(temporary), layers)
        half, full = (load_embedder(folder, precision=precision) for precision in ("half", "full"))
        noise = np.random.default_rng(0).integers(0, 256, (full.batch_size, 15, 20, 3), dtype=np.uint8)
        batch = full._prepare([Image.fromarray(pixels) for pixels in noise])
        (seconds, rounded), (plain, exact) = best_of(rounds, *(partial(e._vectors, batch) for e in (half, full)))
    cosines = (rounded * exact).sum(1) / np.linalg.norm(rounded, axis=1) / np.linalg.norm(exact, axis=1)
    return Row(
        "embedding in 16 bits",
        f"a batch of {len(noise)}",
        seconds,
        "–",
        True,
        f"best of {rounds}, in place of a textbook the network in 32 bits (--precision half and full). "
        f"{len(noise) / seconds:,.1f} images/s against {len(noise) / plain:,.1f}; cosine of the vectors at least "
        f"{cosines.min():.5f}.",
        textbook=plain,
    )


def seconds_of(step: Callable[[], object]) -> float:
    start = time.perf_counter()
    step()
    if HAS_GPU:
        torch.cuda.synchronize()
    return time.perf_counter() - start
