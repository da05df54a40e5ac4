"""The OpenAPI document is true: whatever is sent, the answer is one that the document names."""

import shutil

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from opengcd import Workspace
from opengcd.service import create_app
from serving import API

EXAMPLES = 10
"""For each operation, of input that the document allows and as many of input that it does not."""


@pytest.fixture(scope="module")
def workspace(reviewable, tmp_path_factory):
    folder = tmp_path_factory.mktemp("schema") / "workspace"
    shutil.copytree(reviewable, folder)
    with Workspace(folder) as opened:
        yield opened


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_every_answer_is_in_the_document(workspace, mode):
    app = create_app(workspace)
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
            # Whether an edit makes sense depends on the groups there are, of which the document says nothing.
            case.call_and_validate(headers=headers, excluded_checks=[positive_data_acceptance])

        try:
            answers()
            tried += 1
        except Unsatisfiable:  # what takes no input cannot be given a wrong one
            assert mode is GenerationMode.NEGATIVE
    assert tried >= (30 if mode is GenerationMode.POSITIVE else 15)
