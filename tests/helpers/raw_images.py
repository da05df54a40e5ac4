"""Small raw datasets in the layout of their publishers."""

import numpy as np

NAMES = [f"class_{c}" for c in range(10)]
PER_BATCH = 5
"""Images of each class in each of the six files: 25 to train on and 5 to test on."""


def coloured(labels, rng):
    """Images of 32 x 32 pixels as CIFAR stores them: two halves in the colours of the class, and noise."""
    colours = np.random.default_rng(0).integers(30, 226, (10, 3, 2))
    halves = np.repeat(colours[labels], 16, axis=2)  # (n, 3, 32)
    image = np.repeat(halves[:, :, None], 32, axis=2) + rng.normal(0, 12, (len(labels), 3, 32, 32))
    return image.clip(0, 255).astype(np.uint8).reshape(len(labels), -1)


def write_cifar10(parent, seed=1):
    """Write a small CIFAR10 in its binary version; return the folder that holds it."""
    folder = parent / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    (folder / "batches.meta.txt").write_text("\n".join(NAMES))
    rng = np.random.default_rng(seed)
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
        labels = rng.permutation(np.repeat(np.arange(10), PER_BATCH))
        records = np.column_stack([labels.astype(np.uint8), coloured(labels, rng)])
        (folder / f"{name}.bin").write_bytes(records.tobytes())
    return parent
