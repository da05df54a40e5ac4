"""The reference of the Python API as Markdown pages of mkdocstrings' directives, from the packages' ``__all__``."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from types import ModuleType

PACKAGES = (
    "opengcd",
    "opengcd.adapt",
    "opengcd.bench",
    "opengcd.bench.baselines",
    "opengcd.bench.demo",
    "opengcd.classify",
    "opengcd.discover",
    "opengcd.embed",
    "opengcd.memory",
    "opengcd.metrics",
    "opengcd.osr",
    "opengcd.presets",
    "opengcd.service",
    "opengcd.workspace",
)
"""What is public; each has a page."""


def pages() -> dict[str, str]:
    """Return the pages by their file names."""
    return {f"{name.partition('.')[2] or name}.md": _page(name) for name in PACKAGES}


def public_names(module: ModuleType) -> list[str]:
    """Return the paths of all that a package exports, without modules, which have pages of their own."""
    names = getattr(module, "__all__", None) or [name for name in vars(module) if _is_own(module, name)]
    return [_path(module, name) for name in names if not inspect.ismodule(getattr(module, name))]


def _path(module: ModuleType, name: str) -> str:
    """The path of a name; where a module of the package has the same name, that in the module."""
    path = f"{module.__name__}.{name}"
    return f"{path}.{name}" if path in sys.modules else path


def _is_own(module: ModuleType, name: str) -> bool:
    one = getattr(module, name)
    return not name.startswith("_") and (name.isupper() or getattr(one, "__module__", None) == module.__name__)


def _page(name: str) -> str:
    module = importlib.import_module(name)
    about = [f"# {name}", _directive(name, members=False, show_root_heading=False)]
    entries = [_directive(path) for path in public_names(module)]
    if name == "opengcd.workspace":
        entries += ["## Parts of a workspace", *map(_directive, _parts())]
    return "\n\n".join(about + entries) + "\n"


def _parts() -> list[str]:
    """The classes that the docstring of ``Workspace`` names as its attributes."""
    from opengcd.workspace import Workspace

    home = inspect.getmodule(Workspace)
    kinds = re.findall(r"^    \w+ : (\w+)$", (Workspace.__doc__ or "").partition("Attributes\n")[2], re.MULTILINE)
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in (getattr(home, name) for name in kinds)]


def _directive(path: str, **options: object) -> str:
    lines = [f"        {key}: {str(value).lower()}" for key, value in options.items()]
    return "\n".join([f"::: {path}", *(["    options:", *lines] if lines else [])])
