"""What the page believes of the service is what the service says of itself."""

import runpy
import subprocess
import sys

import pytest

from tests.helpers.places import ROOT

TOOLS = ROOT / "tools" / "page"


@pytest.fixture(scope="module")
def tool():
    return runpy.run_path(str(TOOLS / "page_types.py"))


def test_the_types_of_the_page_are_up_to_date(tool):
    assert tool["TARGET"].read_text(encoding="utf-8") == tool["declarations"](tool["document"]()), "run `make types`"


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "integer"}, "number"),
        ({"$ref": "#/components/schemas/Group"}, "Group"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}}, "(string | number)[]"),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]}, "[string, number]"),
        ({"enum": ["a", "b"], "type": "string"}, '"a" | "b"'),
        ({"const": "name", "type": "string"}, '"name"'),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "Record<string, number>"),
        ({"type": "object"}, "Record<string, any>"),
        ({"type": "object", "properties": {"a": {"type": "boolean"}}}, "{ a?: boolean; }"),
        ({}, "any"),
    ],
    ids=str,
)
def test_schemas_as_types(tool, schema, expected):
    assert tool["type_of"](schema) == expected


def test_a_changed_record_is_noticed(tmp_path):
    """`--check` fails, and names the command, if the file is not what would be written."""
    code = (
        "import sys, runpy; from opengcd.service import wire; wire.Class.model_fields['label'].description = 'New.'\n"
    )
    code += "wire.Class.model_rebuild(force=True)\n"
    code += f"sys.argv = ['x', '--check']; runpy.run_path({str(TOOLS / 'page_types.py')!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "run `make types`" in done.stderr


def test_the_lock_file_names_no_registry():
    lock = (TOOLS / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert "registry" not in lock
