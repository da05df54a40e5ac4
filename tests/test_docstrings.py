"""Every public function and method says in its docstring, under "Parameters", what its arguments are.

Public are the names in ``__all__`` of the packages, the public methods of the classes among them, and those of the
parts of a workspace.
"""

import importlib
import inspect
import pkgutil
import re
from typing import Protocol

import opengcd
from opengcd.workspace import Workspace


def public_packages():
    """The package, and all packages and modules in it that say what is public."""
    names = [found.name for found in pkgutil.walk_packages(opengcd.__path__, "opengcd.")]
    hidden = ("opengcd._internal", "opengcd.__main__")  # what is public of _internal is exported elsewhere, too
    found = [opengcd, *(importlib.import_module(name) for name in names if not name.startswith(hidden))]
    return [module for module in found if hasattr(module, "__all__")]


def parts_of_a_workspace():
    """The classes that the docstring of ``Workspace`` names as its attributes."""
    kinds = re.findall(r"^    \w+ : (\w+)$", Workspace.__doc__.partition("Attributes\n")[2], re.MULTILINE)
    return [getattr(inspect.getmodule(Workspace), kind) for kind in kinds]


def listed(docstring):
    """The names under "Parameters"."""
    section = re.search(r"^Parameters\n-{10}\n(.*?)(?:\n\n\w+\n-{3,}\n|\Z)", docstring, re.MULTILINE | re.DOTALL)
    lines = re.findall(r"^([\w*][\w*, ]*?)(?: : .*)?$", section[1], re.MULTILINE) if section else []
    return {name.strip("* ") for line in lines for name in line.split(",")}


def unlisted(function, documented_at):
    """The arguments of a function that a docstring does not list."""
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    return sorted(set(names) - listed(inspect.getdoc(documented_at) or ""))


def ours(kind):
    return [base for base in kind.__mro__ if base.__module__.startswith("opengcd")]


def public_methods(kind):
    """The public methods of a class, each with the classes whose docstring may list its arguments."""
    for name in dict.fromkeys(name for base in ours(kind) for name in vars(base)):
        if name.startswith("_") and name != "__call__":
            continue
        homes = [base for base in ours(kind) if name in vars(base)]
        method = getattr(kind, name)
        if inspect.isfunction(method) or inspect.ismethod(method):
            yield method, [getattr(home, name) for home in homes]


def has_own_constructor(kind):
    """Whether a class has arguments to explain; those of records are explained field by field."""
    init = vars(kind).get("__init__")
    record = hasattr(kind, "__dataclass_fields__") or Protocol in kind.__bases__
    return inspect.isfunction(init) and not record


def incomplete():
    """The module and name of each public function or method, with the arguments that are not listed."""
    exported = [getattr(module, name) for module in public_packages() for name in module.__all__]
    parts = parts_of_a_workspace()
    for one in dict.fromkeys(one for one in (*exported, *parts) if inspect.isclass(one) or inspect.isfunction(one)):
        if not one.__module__.startswith("opengcd"):
            continue
        if not inspect.isclass(one):
            if inspect.isfunction(one):
                yield one.__module__, one.__qualname__, unlisted(one, one)
            continue
        if has_own_constructor(one) and one not in parts:  # a workspace makes its parts
            yield one.__module__, one.__qualname__, unlisted(one, one)
        for method, documented in public_methods(one):
            if one in parts:  # a method that is one of the workspace's, too, is explained there
                documented.append(getattr(Workspace, method.__name__, method))
            yield (
                method.__module__,
                f"{one.__name__}.{method.__name__}",
                min((unlisted(method, at) for at in documented), key=len),
            )


def test_every_argument_is_explained():
    found = [(f"{module}: {name}", names) for module, name, names in incomplete()]
    assert len(found) > 300
    assert {name: names for name, names in found if names} == {}


def test_listed():
    text = "Add.\n\nParameters\n----------\na, b : int\n    Numbers, or: none.\n*rest\n\nReturns\n-------\nint\n"
    assert listed(text) == {"a", "b", "rest"}
    assert listed("Add two numbers.") == set()
