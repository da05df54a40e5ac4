"""Limit how many requests do memory-hungry work at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import HTTPException


class ConcurrencyLimit:
    """Let ``at_once`` requests work at a time and ``waiting`` more queue; refuse the others with status 503."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._most = at_once + waiting
        self.present = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait until the request may work, and hold its place while it does."""
        if self.present >= self._most:
            told = "There are too many requests at the moment; send this one again later."
            raise HTTPException(503, told, {"Retry-After": "5"})
        self.present += 1
        try:
            async with self._free:
                yield
        finally:
            self.present -= 1
