"""A workspace behind HTTP: a JSON API for programs, and a page for people who review."""

from opengcd.service._app import create_app
from opengcd.service._run import run

__all__ = ["create_app", "run"]
