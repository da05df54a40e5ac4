"""Rules for the tests themselves; that none looks at a private attribute is ruff's SLF001."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PATCHING = {"setattr", "getattr", "delattr", "patch", "object"}


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def private_names(tree):
    """The private names that a module imports, or names to replace or to look up."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            # The package _internal is for the other packages; tests test its public names.
            yield from (alias.name for alias in node.names if is_private(alias.name) and alias.name != "_internal")
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            if called in PATCHING:
                yield from (text for text in given if is_private(text.rpartition(".")[2]))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from opengcd.osr.novelty import NoveltyScore, _noise", ["_noise"]),
        ("from opengcd import _internal", []),
        ("from opengcd._internal.splits import choose_hidden_classes", []),
        ("monkeypatch.setattr(module, '_hidden', 1)", ["_hidden"]),
        ("monkeypatch.setattr('package.module._hidden', 1)", ["package.module._hidden"]),
        ("monkeypatch.setattr(Booster, '__init__', 1)", []),
        ("getattr(model, 'weight_')", []),
    ],
)
def test_private_names_are_found(code, found):
    assert list(private_names(ast.parse(code))) == found


def test_no_test_uses_a_private_name():
    files = sorted(TESTS.rglob("*.py"))
    assert len(files) > 60
    found = {str(file.relative_to(TESTS)): list(private_names(ast.parse(file.read_text("utf-8")))) for file in files}
    assert {file: names for file, names in found.items() if names} == {}
