"""Seeds and generators: all randomness comes from an explicit seed, and the same seed gives the same result."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

Seed = int | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None


def seed_sequence(random_state: Seed) -> np.random.SeedSequence:
    """Return a seed sequence.

    Parameters
    ----------
    random_state : int, SeedSequence, Generator, RandomState or None
        An integer from 0 or a sequence is used as it is; of a Generator or a RandomState the next number is used, so
        that the same state gives the same sequence; None gives fresh entropy.

    Returns
    -------
    numpy.random.SeedSequence

    """
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(int(random_state.integers(2**63)))
    if isinstance(random_state, np.random.RandomState):
        return np.random.SeedSequence(int(random_state.randint(np.iinfo(np.int64).max, dtype=np.int64)))
    if random_state is not None and (not isinstance(random_state, numbers.Integral) or random_state < 0):
        raise ValueError(
            f"random_state must be None, an integer from 0, or numpy's Generator or RandomState, not {random_state!r}."
        )
    return np.random.SeedSequence(None if random_state is None else int(random_state))


def derive(random_state: Seed, *path: int) -> np.random.SeedSequence:
    """Return the seed of one step of a computation; it depends on the seed and the step's numbers only."""
    parent = seed_sequence(random_state)
    return np.random.SeedSequence(parent.entropy, spawn_key=(*parent.spawn_key, *path))


def spawn(random_state: Seed, n: int) -> list[np.random.Generator]:
    """Return ``n`` independent generators; the first ones do not depend on ``n``."""
    parent = seed_sequence(random_state)
    return [np.random.default_rng(derive(parent, i)) for i in range(n)]


def generator(random_state: Seed) -> np.random.Generator:
    """Return one generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_sequence(random_state))


def as_int(random_state: Seed) -> int:
    """Return a 32-bit seed for libraries that take an integer."""
    return int(seed_sequence(random_state).generate_state(1)[0])


def seed_to_json(seed: np.random.SeedSequence) -> dict[str, Any]:
    """Return a seed for JSON, with numbers as strings: 128 bits of entropy exceed a JSON number."""
    entropy = seed.entropy
    plain = [str(int(word)) for word in entropy] if isinstance(entropy, Sequence) else str(entropy)
    return {"entropy": plain, "key": [int(i) for i in seed.spawn_key]}


def seed_from_json(stored: dict[str, Any]) -> np.random.SeedSequence:
    """Return the seed that :func:`seed_to_json` wrote."""
    entropy = stored["entropy"]
    words = [int(word) for word in entropy] if isinstance(entropy, list) else int(entropy)
    return np.random.SeedSequence(words, spawn_key=tuple(stored["key"]))


def integer_seed(random_state: Any) -> int | None:
    """Return ``random_state`` if it is an integer, else None: generators change with use and are not saved."""
    return int(random_state) if isinstance(random_state, numbers.Integral) else None
