"""The OpenAPI document is true: whatever is sent, the answer is one that the document names."""

import shutil
import subprocess
import sys
import time
from http import HTTPStatus

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from openapi_spec_validator import validate
from schemathesis import GenerationMode

from opengcd import Workspace
from opengcd.service import create_app
from tests.helpers.serving import API, server

EXAMPLES = 10
"""For each operation, of input that the document allows and as many of input that it does not."""


@pytest.fixture(scope="module")
def workspace(reviewable, tmp_path_factory):
    folder = tmp_path_factory.mktemp("schema") / "workspace"
    shutil.copytree(reviewable, folder)
    with Workspace(folder) as opened:
        yield opened


def described(workspace):
    """An app whose document says how long a vector is."""
    app = create_app(workspace)
    app.state.service.recognition.refresh()
    return app


def test_the_document_is_valid(workspace):
    for app in (create_app(workspace), described(workspace)):
        validate(app.openapi())
    row = app.openapi()["paths"][f"{API}/recognize"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert row["properties"]["vectors"]["items"]["maxItems"] == 192


def test_everything_in_the_document_is_described(workspace):
    """Operations, parameters, bodies, answers, records and fields; no text is the one that FastAPI makes up."""
    document = described(workspace).openapi()
    told = {("document",): document["info"]["description"]}
    tags = {tag["name"]: tag["description"] for tag in document["tags"]}
    for path, method, operation in operations(document):
        here = method, path
        told |= {(*here, part): operation.get(part) for part in ("summary", "description")}
        told |= {(*here, "tag", tag): tags.get(tag) for tag in operation["tags"]}
        told |= {(*here, one["in"], one["name"]): one.get("description") for one in operation.get("parameters", ())}
        told |= {(*here, code): one.get("description") for code, one in operation["responses"].items()}
        assert operation["summary"] != operation["operationId"].partition("_api_")[0].replace("_", " ").title(), here
    for name, schema in document["components"]["schemas"].items():
        told[name, "record"] = schema.get("description")
        told |= {(name, field): one.get("description") for field, one in schema.get("properties", {}).items()}
    made_up = {"Successful Response", *(status.phrase for status in HTTPStatus)}
    assert [place for place, text in told.items() if not text or text in made_up] == []
    assert [place for place, text in told.items() if "summary" not in place and not text.endswith((".", "?"))] == []
    assert len(told) > 700


def operations(document):
    return [(path, method, one) for path, methods in document["paths"].items() for method, one in methods.items()]


@pytest.mark.slow
def test_the_command_of_schemathesis_finds_nothing(workspace, tmp_path):
    """All phases and checks that it has, also one request after the other, against a server of its own."""
    token = workspace.access.make("schema")
    with server(workspace.path) as (_, address):
        while 'maxItems":192' not in httpx.get(f"{address}{API}/openapi.json").text:
            time.sleep(0.1)
        command = [
            *(sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"),
            *("run", f"{address}{API}/openapi.json", "--header", f"Authorization: Bearer {token}", "--no-color"),
            *("--max-examples", "5", "--seed", "0", "--exclude-path", f"{API}/events", "--mode", "all"),
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-10_000:]


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_every_answer_is_in_the_document(workspace, mode):
    app = described(workspace)
    headers = {"Authorization": f"Bearer {workspace.access.make('schema')}", "Host": "localhost"}
    document = schemathesis.openapi.from_asgi(f"{API}/openapi.json", app, headers=headers)
    tried = 0
    for found in document.get_all_operations():
        operation = found.ok()
        if operation.path == f"{API}/events":
            continue  # what happens as it happens has no end

        @settings(
            max_examples=EXAMPLES,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            derandomize=True,
            database=None,
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def answers(case):
            case.call_and_validate(headers=headers)

        try:
            answers()
            tried += 1
        except Unsatisfiable:  # what takes no input cannot be given a wrong one
            assert mode is GenerationMode.NEGATIVE
    assert tried >= (30 if mode is GenerationMode.POSITIVE else 15)
