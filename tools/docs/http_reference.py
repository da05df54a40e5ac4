"""The reference of the HTTP API as Markdown, from the OpenAPI document of the service."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

PREFIX = "/api/v1"
METHODS = ("get", "post", "put", "delete")
HEAD = """# HTTP API

Every operation of the service. [The service](../how-to/service.md) tells how to start one and has examples with `curl`.
This page is made from the OpenAPI document, which a running service has at `/api/v1/openapi.json`.

All paths but `/healthz` and `/metrics` begin with `/api/v1`, which is left out here. A request carries a token
(`Authorization: Bearer TOKEN`) or the cookie of a session. Requests and answers are JSON unless a table says otherwise.
An error has its message in `detail`.
"""
ERRORS = """## Errors {#errors}

Each operation names the errors that it may answer with. They mean:

| status | meaning | answer |
| --- | --- | --- |"""


def document() -> dict[str, Any]:
    """Return the OpenAPI document of a service; it is the same for every workspace."""
    from opengcd import Workspace
    from opengcd.service import create_app

    with tempfile.TemporaryDirectory() as folder, Workspace.create(Path(folder) / "empty", "pixels") as workspace:
        return create_app(workspace).openapi()


def page(api: dict[str, Any]) -> str:
    """Return the page: the operations by subject, and the schemas of what they take and give."""
    paths = sorted(api["paths"].items(), key=lambda one: not one[0].startswith(PREFIX))  # health comes last
    operations = [(m, path.removeprefix(PREFIX), one[m]) for path, one in paths for m in METHODS if m in one]
    subjects = dict.fromkeys(operation["tags"][0] for _, _, operation in operations)
    errors = _errors(operations)
    rows = [f"| {status} | {one['description']} | {_kinds(one)} |" for status, one in sorted(errors.items())]
    parts = [HEAD, "\n".join(_overview(operations)), "\n".join([ERRORS, *rows])]
    for subject in subjects:
        parts.append(f"## {subject.capitalize()}")
        parts += [_operation(m, path, one, errors) for m, path, one in operations if one["tags"][0] == subject]
    records = sorted(api["components"]["schemas"].items())
    parts += ["## Schemas", *(_record(name, schema) for name, schema in records)]
    return "\n\n".join(parts) + "\n"


def anchor(method: str, path: str) -> str:
    """Return the anchor of an operation, such as ``post-jobs-id-cancel``."""
    return "-".join([method, *re.findall(r"\w+", path)])


def _overview(operations: list[tuple[str, str, dict[str, Any]]]) -> Iterator[str]:
    yield "| operation | what it does |"
    yield "| --- | --- |"
    for method, path, operation in operations:
        yield f"| [`{method.upper()} {path}`](#{anchor(method, path)}) | {_cell(_first(operation['description']))} |"


def _errors(operations: list[tuple[str, str, dict[str, Any]]]) -> dict[str, Any]:
    """Return the answers to requests that fail, by status: they mean the same wherever they occur."""
    found: dict[str, Any] = {}
    for _, _, operation in operations:
        for status, response in operation["responses"].items():
            if status >= "400":
                found.setdefault(status, response)
    return found


def _operation(method: str, path: str, operation: dict[str, Any], errors: dict[str, Any]) -> str:
    parts = [f"### {method.upper()} {path} {{#{anchor(method, path)}}}", operation["description"]]
    if parameters := operation.get("parameters"):
        rows = [_row(f"`{p['name']}` ({p['in']})", p["schema"] | p, p.get("required", False)) for p in parameters]
        parts.append(_table("parameter", rows))
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        parts.append(f"**Request body**, `{kind}`: {_type(content.get('schema', {}))}")
        if "properties" in content.get("schema", {}):
            parts.append(_fields(content["schema"]))
    responses = operation["responses"]
    said = {status: one["description"] for status, one in responses.items()}
    usual = [status for status in sorted(said) if status in errors and said[status] == errors[status]["description"]]
    others = {status: one for status, one in responses.items() if status not in usual}
    parts.append("\n".join(["| status | answer |", "| --- | --- |", *_answers(others)]))
    if usual:
        parts.append(f"[Errors](#errors): {', '.join(usual)}.")
    return "\n\n".join(parts)


def _answers(responses: dict[str, Any]) -> Iterator[str]:
    statuses: dict[str, list[str]] = {}
    for status, response in sorted(responses.items()):
        said = response["description"].removesuffix("Successful Response") or HTTPStatus(int(status)).phrase
        statuses.setdefault(_kinds(response), []).append(f"{status} {said}")
    return (f"| {', '.join(said)} | {answer} |" for answer, said in statuses.items())


def _kinds(response: dict[str, Any]) -> str:
    contents = response.get("content", {}).items()
    kinds = [_type(one.get("schema", {})) if kind == "application/json" else f"`{kind}`" for kind, one in contents]
    return _cell(" or ".join(dict.fromkeys(kinds)))


def _record(name: str, schema: dict[str, Any]) -> str:
    parts = [f"### {name} {{#{name.lower()}}}", schema.get("description", "")]
    parts.append(_fields(schema) if "properties" in schema else _type(schema))
    return "\n\n".join(part for part in parts if part)


def _fields(schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    return _table("field", [_row(f"`{n}`", one, n in required) for n, one in schema["properties"].items()])


def _table(what: str, rows: list[str]) -> str:
    return "\n".join([f"| {what} | type | default | meaning |", "| --- | --- | --- | --- |", *rows])


def _row(name: str, schema: dict[str, Any], required: bool) -> str:
    default = "required" if required else f"`{json.dumps(schema['default'])}`" if "default" in schema else ""
    return f"| {name} | {_cell(_type(schema))} | {default} | {_cell(schema.get('description', ''))} |"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema.get("enum", [schema.get("const")]))
    for several in ("anyOf", "oneOf"):
        if several in schema and "properties" not in schema:
            return " or ".join(dict.fromkeys(map(_type, schema[several])))
    kind = schema.get("type", "any")
    if kind == "array":
        places = schema.get("prefixItems")
        inner = f"[{', '.join(map(_type, places))}]" if places else _type(schema.get("items", {}))
        return f"array of {inner}" + _limits(schema, "minItems", "maxItems")
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    if kind == "string":
        return (schema.get("format") or kind) + _limits(schema, "minLength", "maxLength")
    return kind + _limits(schema, "minimum", "maximum")


def _limits(schema: dict[str, Any], low: str, high: str) -> str:
    least, most = (f"{schema[bound]:.10g}" if bound in schema else "" for bound in (low, high))
    if least and most:
        return f" ({least} to {most})"
    return f" (at least {least})" if least else f" (at most {most})" if most else ""


def _first(text: str) -> str:
    return text.partition("\n\n")[0]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "&#124;")
