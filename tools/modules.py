"""Measure a package: ``python tools/modules.py [src/opengcd] [--tree]`` prints its modules, sizes, functions and names.

Parameters are counted without ``self`` and ``cls``; public names are functions, classes and constants of a module that
have no underscore. With ``--tree`` each module is listed with the first line of its docstring.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef


class Function(NamedTuple):
    """One function, with its length in lines."""

    lines: int
    parameters: int
    required: int
    place: str


def functions_of(tree: ast.Module, module: str) -> list[Function]:
    """Return all functions and methods of a module."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            count = sum(one.arg not in ("self", "cls") for one in given)
            defaults = len(node.args.defaults) + sum(one is not None for one in node.args.kw_defaults)
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            found.append(Function(lines, count, count - defaults, f"{module}:{node.name}"))
    return found


def names_of(tree: ast.Module) -> list[str]:
    """Return the names that a module defines at its top level."""
    found = [node.name for node in tree.body if isinstance(node, (*FUNCTIONS, ast.ClassDef))]
    assigned = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    return found + [target.id for target in assigned if isinstance(target, ast.Name)]


def main() -> None:
    """Print the measurements."""
    given = [one for one in sys.argv[1:] if not one.startswith("--")]
    root = Path(given[0]) if given else ROOT / "src" / "opengcd"
    trees = {str(file.relative_to(root)): ast.parse(file.read_text("utf-8")) for file in sorted(root.rglob("*.py"))}
    lines = {module: len((root / module).read_text("utf-8").splitlines()) for module in trees}
    functions = [one for module, tree in trees.items() for one in functions_of(tree, module)]
    public: Counter[str] = Counter()
    for module, tree in trees.items():
        public[module.split("/")[0] if "/" in module else "(top)"] += sum(n[0] != "_" for n in names_of(tree))
    if "--tree" in sys.argv:
        for module, tree in trees.items():
            print(f"{lines[module]:5}  {module:42} {(ast.get_docstring(tree) or '').splitlines()[0]}")
    names = Counter(Path(module).name for module in trees if not module.endswith("__init__.py"))
    largest = max(lines, key=lambda module: lines[module])
    print(f"modules: {len(trees)}, lines: {sum(lines.values())}, median: {median(lines.values()):.0f}")
    print(f"largest module: {largest} ({lines[largest]} lines)")
    for title, key in (("lines", 0), ("parameters", 1), ("required parameters", 2)):
        top = sorted(functions, key=lambda one, key=key: -one[key])[:3]  # type: ignore[misc]
        print(f"most {title} of a function: {', '.join(f'{one.place} ({one[key]})' for one in top)}")
    print(f"functions with more than six required parameters: {sum(one.required > 6 for one in functions)}")
    print(f"modules of the same name: {sorted(name for name, n in names.items() if n > 1)}")
    print(f"public names: {', '.join(f'{name} {n}' for name, n in sorted(public.items()))}; {public.total()} in all")


if __name__ == "__main__":
    main()
