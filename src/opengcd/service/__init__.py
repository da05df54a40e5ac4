"""A workspace behind HTTP: a JSON API for programs, and a page for people who review.

``create_app`` and ``run`` need FastAPI; ``opengcd.service.client`` does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opengcd.service.app import create_app
    from opengcd.service.server import Site, run

__all__ = ["Site", "create_app", "run"]


def __getattr__(name: str) -> Any:
    if name == "create_app":
        from opengcd.service.app import create_app

        return create_app
    if name in ("Site", "run"):
        from opengcd.service import server

        return getattr(server, name)
    raise AttributeError(f"module 'opengcd.service' has no attribute {name!r}")
