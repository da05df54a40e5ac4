"""Work that takes much memory is done for few requests at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import HTTPException


class Turns:
    """Lets some requests work at a time; some more wait for their turn, and the others are told to come back."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._most = at_once + waiting
        self._here = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for one's turn, and have it."""
        if self._here >= self._most:
            raise HTTPException(503, "Too many requests at once; send it again later.", {"Retry-After": "5"})
        self._here += 1
        try:
            async with self._free:
                yield
        finally:
            self._here -= 1
