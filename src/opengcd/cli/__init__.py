"""The command line: one module per group of commands."""

from opengcd.cli.entry import app, main

__all__ = ["app", "main"]
