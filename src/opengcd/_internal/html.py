"""HTML pages from Jinja2 templates; text that is not marked as HTML is escaped."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"
"""The templates that all pages share: ``page.html.j2``, which they extend, and ``table.html.j2``."""


def write_page(path: str | Path, templates: Path, name: str, /, **values: Any) -> None:
    """Write the page of a template.

    Parameters
    ----------
    path : str or Path
        The file to write.
    templates : Path
        The folder of the template; it can extend and import those in :data:`TEMPLATES`.
    name : str
        The name of the template.
    **values
        What the template shows.

    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([templates, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    Path(path).write_text(environment.get_template(name).render(values), encoding="utf-8")


def bold(text: str, mark: str) -> Markup:
    """Return text as HTML, in which the parts between two marks are bold."""
    from markupsafe import Markup, escape

    marks = re.escape(str(escape(mark)))
    return Markup(re.sub(f"{marks}(.*?){marks}", r"<b>\1</b>", str(escape(text))))  # noqa: S704  # it is escaped


def svg(figure: Any, label: str) -> Markup:
    """Return a matplotlib figure as inline SVG with a description for screen readers."""
    from markupsafe import Markup, escape

    stream = io.StringIO()
    figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    text = stream.getvalue()[stream.getvalue().index("<svg") :]
    # The W3C links in the metadata are only names, but a page that claims to load nothing should not contain them.
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    described = text.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1)
    return Markup(described)  # noqa: S704  # matplotlib escapes the text in a figure
