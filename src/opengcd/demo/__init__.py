"""The whole loop on handwritten digits, in about a minute: ``opengcd demo``."""

from opengcd.demo._digits import DemoPhase, digits, run_demo
from opengcd.demo._page import table_rows, write_page

__all__ = ["DemoPhase", "digits", "run_demo", "table_rows", "write_page"]
