"""The reference of the Python API as Markdown pages of mkdocstrings' directives, from the packages' ``__all__``."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from types import ModuleType

import griffe

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
    "opengcd.taxonomy",
    "opengcd.workspace",
    "opengcd.workspace.exports",
)
"""What is public; each has a page."""
VERBS = (
    "Each of these is a method of [`Workspace`][opengcd.workspace.Workspace] that makes one edit and returns an "
    "[`Edited`][opengcd.workspace.Edited]. It raises a [`ConflictError`][opengcd.workspace.ConflictError] if "
    "someone has changed the same groups or images since the edit `on`."
)
ROLE = re.compile(r":\w+:`~?")


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
        entries += ["## Verbs of the review", VERBS, *_verbs(), "## Parts of a workspace", *map(_directive, _parts())]
    return "\n\n".join(about + entries) + "\n"


def _verbs() -> Iterator[str]:
    """The methods that are made from the verbs' records, which no reader of the source can see."""
    from opengcd import Workspace
    from opengcd.workspace.verbs import VERBS as RECORDS

    for name in RECORDS:
        method = getattr(Workspace, name)
        parameters = [
            one.replace(annotation=one.empty)
            for one in inspect.signature(method).parameters.values()
            if one.name != "self"
        ]
        yield f"### {name} {{#opengcd.workspace.Workspace.{name}}}"
        yield f"```python\n{name}{inspect.Signature(parameters)}\n```"
        for section in griffe.Docstring(inspect.getdoc(method) or "").parse("numpy"):
            if section.kind is griffe.DocstringSectionKind.text:
                yield ROLE.sub("`", section.value)
            if section.kind is griffe.DocstringSectionKind.parameters:
                rows = [
                    f"| `{one.name}` | {one.annotation} | {ROLE.sub('`', one.description)} |" for one in section.value
                ]
                yield "\n".join(["| parameter | type | meaning |", "| --- | --- | --- |", *rows])


def _parts() -> list[str]:
    """The classes that the docstring of ``Workspace`` names as its attributes."""
    from opengcd.workspace import Workspace

    home = inspect.getmodule(Workspace)
    kinds = re.findall(r"^    \w+ : (\w+)$", (Workspace.__doc__ or "").partition("Attributes\n")[2], re.MULTILINE)
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in (getattr(home, name) for name in kinds)]


def _directive(path: str, **options: object) -> str:
    lines = [f"        {key}: {str(value).lower()}" for key, value in options.items()]
    return "\n".join([f"::: {path}", *(["    options:", *lines] if lines else [])])
