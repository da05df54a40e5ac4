"""The docstrings, written for numpydoc, as the Markdown that mkdocstrings renders: formulas and cross-references."""

from __future__ import annotations

import importlib
import re

import griffe

from tools.docs.api_reference import PACKAGES, public_names

ROLE = re.compile(r":(?:class|func|meth|attr|data|mod|exc|obj):`(~?)([\w.]+)`")
EXAMPLE = re.compile(r"^>>> .*(?:\n\S.*)*", re.MULTILINE)
INLINE_FORMULA = re.compile(r":math:`(.*?)`", re.DOTALL)
FORMULA = re.compile(r"^( *)\.\. math::[ \n]*(.*(?:\n\1 +\S.*)*)", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Translate the roles, directives and examples that the docstrings use, once all objects are known."""

    def on_package(self, *, pkg: griffe.Module, **_: object) -> None:
        """Translate all docstrings of a package."""
        public = set(PACKAGES)
        for path in (path for package in PACKAGES for path in public_names(importlib.import_module(package))):
            one = pkg[path.removeprefix(f"{pkg.path}.")]
            public |= {one.canonical_path, *(member.canonical_path for member in one.members.values())}
        for one in _all(pkg):
            if one.docstring is not None:
                one.docstring.value = _markdown(one.docstring.value, one, public)


def _all(one: griffe.Object) -> list[griffe.Object]:
    inner = [member for member in one.members.values() if not member.is_alias]
    return [one, *(found for member in inner for found in _all(member))]


def _markdown(text: str, home: griffe.Object, public: set[str]) -> str:
    def link(role: re.Match[str]) -> str:
        short, name = role.groups()
        shown = name.rpartition(".")[2] if short else name
        path = _path(name, home)
        return f"[`{shown}`][{path}]" if path in public else f"`{shown}`"

    def formula(found: re.Match[str]) -> str:
        indent, body = found.groups()
        return f"\n{indent}$$ {' '.join(body.split())} $$\n"

    if "Examples\n---" not in text:  # those are rendered as they are
        text = EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", text)
    text = FORMULA.sub(formula, text)
    text = INLINE_FORMULA.sub(lambda found: f"${' '.join(found[1].split())}$", text)
    return ROLE.sub(link, text)


def _path(name: str, home: griffe.Object) -> str:
    """The canonical path of a name that a docstring mentions; as it is if nothing is known of it."""
    first, *rest = name.split(".")
    try:
        found = home.modules_collection[home.resolve(first) if first != "opengcd" else first]
        for part in rest:
            found = found.all_members[part]
        return found.canonical_path
    except (griffe.GriffeError, KeyError, AttributeError):
        return name
