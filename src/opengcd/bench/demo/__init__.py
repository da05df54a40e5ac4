"""The whole loop on handwritten digits, in about a minute: ``opengcd demo``."""

from opengcd.bench.demo.demo_page import table_rows, write_page
from opengcd.bench.demo.digits import DemoPhase, digits, run_demo

__all__ = ["DemoPhase", "digits", "run_demo", "table_rows", "write_page"]
