"""An open world of handwritten digits as pictures, for looking at the review page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from opengcd import Workspace

NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
KNOWN = (0, 1, 4, 7)
TAUGHT = 60
"""Pictures of each known digit that are given at the start."""
SIDE, MARGIN = 96, 6
PAPER, INK = np.array([250.0, 247.0, 240.0]), np.array([28.0, 42.0, 66.0])


def picture(digit: np.ndarray, rng: np.random.Generator | None = None) -> Image.Image:
    """Return a digit in ink on paper; a generator moves and turns it a little."""
    size = SIDE - 2 * MARGIN
    inner = Image.fromarray((digit / 16 * 255).astype(np.uint8)).resize((size, size), Image.Resampling.BICUBIC)
    raw = Image.new("L", (SIDE, SIDE))
    raw.paste(inner, (MARGIN, MARGIN))
    if rng is not None:
        shift = tuple(rng.integers(-6, 7, 2).tolist())
        raw = raw.rotate(float(rng.normal(0, 6)), Image.Resampling.BILINEAR, translate=shift)
    strength = np.clip((np.asarray(raw) / 255 - 0.25) / 0.4, 0, 1)[..., None]
    return Image.fromarray((PAPER + (INK - PAPER) * strength).round().astype(np.uint8))


def paint(folder: Path, copies: int = 1) -> tuple[Path, Path]:
    """Write known digits by class, and a stream of all ten in which each is shown ``copies`` times."""
    digits, rng = load_digits(), np.random.default_rng(0)
    known, stream = folder / "known", folder / "stream"
    stream.mkdir(parents=True)
    taught = dict.fromkeys(KNOWN, 0)
    for i in rng.permutation(len(digits.target)).tolist():
        label = int(digits.target[i])
        if taught.get(label, TAUGHT) < TAUGHT:
            taught[label] += 1
            (known / NAMES[label]).mkdir(parents=True, exist_ok=True)
            picture(digits.images[i]).save(known / NAMES[label] / f"{i:04d}.png")
            continue
        for copy in range(copies):
            image = picture(digits.images[i], rng if copy else None)
            image.save(stream / f"{NAMES[label]}-{i:04d}-{copy}.png")
    return known, stream


def make(folder: Path, copies: int = 1, k: int | None = None, **recognizer: object) -> Path:
    """Make a workspace that has recognised the stream and grouped what is new."""
    known, stream = paint(folder, copies)
    with Workspace.create(folder / "digits", "pixels", recognizer={"random_state": 0} | recognizer) as workspace:
        workspace.fit(known)
        for _ in workspace.recognize([stream]):
            pass
        workspace.discover(k)
    return folder / "digits"
