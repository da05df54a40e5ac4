"""The generated reference leaves out no command, option, operation or public name."""

import importlib
import pkgutil
import re

import pytest
import typer

import opengcd
from opengcd.cli import app
from opengcd.workspace.verbs import VERBS
from tools.docs import api_reference, cli_reference, http_reference

HIDDEN = ("opengcd._internal", "opengcd.__main__", "opengcd.cli", "opengcd.service.wire")
"""Not in the reference of Python; those of the command line and of the HTTP API have the last two."""


def commands(command, path):
    yield path, command
    if hasattr(command, "list_commands"):
        context = command.context_class(command)
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), f"{path} {name}")


def test_every_command_argument_and_option_is_in_the_reference():
    sections = dict(re.findall(r"^##+ (opengcd.*?) \{#.*?\}\n(.*?)(?=^##|\Z)", cli_reference.page(), re.S | re.M))
    found = list(commands(typer.main.get_command(app), "opengcd"))
    assert list(sections) == [path for path, _ in found]
    assert len(found) > 30
    for path, command in found:
        rows = re.findall(r"^\| `(.*?)` \| (.*?) \|", sections[path], re.M)
        assert command.help.split("\n")[0][:40] in sections[path]
        assert all(meaning for _, meaning in rows), path
        named = " ".join(name for name, _ in rows)
        for parameter in command.params:
            names = parameter.opts if parameter.param_type_name == "option" else [parameter.metavar or parameter.name]
            assert all(name == "--help" or name.lower() in named.lower() for name in names), (path, names)


@pytest.fixture(scope="module")
def api():
    return http_reference.document()


def test_every_operation_parameter_and_schema_is_in_the_reference(api):
    page = http_reference.page(api)
    sections = dict(re.findall(r"^### (.*?) \{#.*?\}\n(.*?)(?=^##|\Z)", page, re.S | re.M))
    for path, operations in api["paths"].items():
        for method, operation in operations.items():
            section = sections[f"{method.upper()} {path.removeprefix('/api/v1')}"]
            assert operation["description"] in section
            assert all(f"`{one['name']}`" in section for one in operation.get("parameters", ()))
            assert all(re.search(rf"[|,:] {status}\b", section) for status in operation["responses"])
            assert all(f"\n| {status} | " in page for status in operation["responses"] if status >= "400")
            assert all(kind in section for kind in operation.get("requestBody", {}).get("content", ()))
    for name, schema in api["components"]["schemas"].items():
        assert all(f"`{field}`" in sections[name] for field in schema.get("properties", ()))
    anchors = re.findall(r"\{#(.*?)\}", page)
    assert len(anchors) == len(set(anchors))
    assert set(re.findall(r"\]\(#(.*?)\)", page)) <= set(anchors)


def test_a_schema_is_named_as_people_say_it():
    described = http_reference.page(
        {
            "paths": {"/api/v1/a/{id}": {"get": {"tags": ["x"], "description": "Do.", "responses": {}}}},
            "components": {
                "schemas": {
                    "One": {
                        "properties": {
                            "a": {"type": "array", "items": {"$ref": "#/components/schemas/One"}, "maxItems": 3},
                            "b": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}], "default": None},
                            "c": {"enum": ["x", "y"], "description": "Either | or."},
                        },
                        "required": ["a"],
                    }
                }
            },
        }
    )
    assert "### GET /a/{id} {#get-a-id}" in described
    assert "| `a` | array of [One](#one) (at most 3) | required |  |" in described
    assert "| `b` | integer (at least 1) or null | `null` |  |" in described
    assert '| `c` | `"x"`, `"y"` |  | Either &#124; or. |' in described


def test_every_public_package_has_a_page_with_all_its_names():
    found = [
        opengcd,
        *(importlib.import_module(one.name) for one in pkgutil.walk_packages(opengcd.__path__, "opengcd.")),
    ]
    public = {one.__name__ for one in found if hasattr(one, "__all__") and not one.__name__.startswith(HIDDEN)}
    assert public <= set(api_reference.PACKAGES)
    pages = api_reference.pages()
    for name in public - {"opengcd"}:
        module = importlib.import_module(name)
        page = pages[f"{name.removeprefix('opengcd.')}.md"]
        assert {line.rpartition(".")[2] for line in re.findall(r"^::: (.*)$", page, re.M)} >= set(module.__all__)
    assert "::: opengcd.Workspace\n" in pages["opengcd.md"]
    assert "::: opengcd.adapt.kept_out.kept_out\n" in pages["adapt.md"]  # a module has the same name
    assert "::: opengcd.presets.Preset\n" in pages["presets.md"]
    for verb in VERBS:
        assert f"{{#opengcd.workspace.Workspace.{verb}}}" in pages["workspace.md"]
    assert "name(group, label, *, on=None, confirm=False)" in pages["workspace.md"]
