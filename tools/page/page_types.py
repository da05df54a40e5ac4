"""Write the types of the pages from the OpenAPI documents of the service.

``make types`` writes ``types.d.ts`` of the review page and of the home page; with ``--check`` nothing is written, and
it fails if a file is out of date. The records themselves are defined once, in ``opengcd.service.wire`` and
``opengcd.service.home.wire``.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "src" / "opengcd" / "service" / "page"
TARGET, HOME_TARGET = PAGE / "types.d.ts", PAGE / "home" / "types.d.ts"
PREFIX = "/api/v1"
METHODS = ("get", "post", "put", "delete")
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
HEAD = """// Made by `make types` from the OpenAPI document of the service: change src/opengcd/service/wire/ instead.
"""


def document() -> dict[str, Any]:
    """Return the OpenAPI document of a service; it is the same for every workspace."""
    from opengcd import Workspace
    from opengcd.service import create_app

    with tempfile.TemporaryDirectory() as folder, Workspace.create(Path(folder) / "empty", "pixels") as workspace:
        return create_app(workspace).openapi()


def home_document() -> dict[str, Any]:
    """Return the OpenAPI document of the home page."""
    from opengcd.service.home.app import create_home
    from opengcd.service.home.folder import ProjectFolder
    from opengcd.workspace.tokens import open_access

    with tempfile.TemporaryDirectory() as folder:
        projects = ProjectFolder(folder)
        access = open_access(projects.state / "access.db")
        try:
            return create_home(projects, access).openapi()
        finally:
            access.close()


def declarations(api: dict[str, Any]) -> str:
    """Return the types of all records, operations and events of the API as TypeScript declarations."""
    return HEAD + "\n".join(["", *_records(api), *_operations(api), *_events(api), *_details(api)])


def _records(api: dict[str, Any]) -> Iterator[str]:
    for name, schema in sorted(api["components"]["schemas"].items()):
        yield from _comment(schema.get("description", ""), "")
        if "properties" in schema:
            yield f"export interface {_identifier(name)} {{"
            yield from _fields(schema, "  ")
            yield "}\n"
        else:
            yield f"export type {_identifier(name)} = {type_of(schema)};\n"


def _fields(schema: dict[str, Any], indent: str) -> Iterator[str]:
    required = set(schema.get("required", ()))
    for name, field in schema["properties"].items():
        yield from _comment(field.get("description", ""), indent)
        yield f"{indent}{_key(name)}{'' if name in required else '?'}: {type_of(field)};"


def _operations(api: dict[str, Any]) -> Iterator[str]:
    yield "/** What each address of the API takes and gives, by method and path. */"
    yield "export interface Operations {"
    for path, methods in api["paths"].items():
        if not path.startswith(PREFIX):
            continue
        for method in METHODS:
            if method in methods:
                yield from _operation(f"{method.upper()} {path.removeprefix(PREFIX)}", methods[method])
    yield "}\n"


def _operation(name: str, operation: dict[str, Any]) -> Iterator[str]:
    yield from _comment(operation.get("description", "").partition("\n")[0], "  ")
    yield f"  {json.dumps(name)}: {{"
    for kind in ("path", "query"):
        found = [one for one in operation.get("parameters", ()) if one["in"] == kind]
        fields = "; ".join(f"{one['name']}{_optional(one)}: {type_of(one['schema'])}" for one in found)
        if found:
            yield f"    {kind}{'' if any(map(_required, found)) else '?'}: {{ {fields} }};"
    if body := _body(operation):
        yield f"    body: {body};"
    yield f"    answer: {_answer(operation)};"
    yield "  };"


def _required(parameter: dict[str, Any]) -> bool:
    return parameter.get("required", False)


def _optional(parameter: dict[str, Any]) -> str:
    return "" if _required(parameter) else "?"


def _body(operation: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    kinds = {"application/json": lambda schema: type_of(schema), "multipart/form-data": lambda _: "FormData"}
    found = [kinds[kind](one["schema"]) for kind, one in content.items() if kind in kinds]
    return " | ".join(found)


def _answer(operation: dict[str, Any]) -> str:
    code = min(code for code in operation["responses"] if code.startswith("2"))
    content = operation["responses"][code].get("content", {})
    return type_of(content["application/json"].get("schema", {})) if "application/json" in content else "null"


def _events(api: dict[str, Any]) -> Iterator[str]:
    if f"{PREFIX}/events" not in api["paths"]:
        return
    content = api["paths"][f"{PREFIX}/events"]["get"]["responses"]["200"]["content"]["text/event-stream"]
    yield "/** What the events of `GET /events` hold, by name. */"
    yield from _by_name("Events", content["x-events"])


def _details(api: dict[str, Any]) -> Iterator[str]:
    if "Entry" not in api["components"]["schemas"]:
        return
    yield "/** The details of an entry of the history, by its verb. */"
    yield from _by_name("Details", api["components"]["schemas"]["Entry"]["properties"]["details"]["x-by-verb"])


def _by_name(name: str, schemas: dict[str, Any]) -> Iterator[str]:
    yield f"export interface {name} {{"
    for key, schema in schemas.items():
        yield f"  {_key(key)}: {type_of(schema)};"
    yield "}\n"


def type_of(schema: dict[str, Any]) -> str:
    """Return a schema of the document as a type of TypeScript."""
    if "$ref" in schema:
        return _identifier(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema and "properties" not in schema:
            return " | ".join(dict.fromkeys(type_of(one) for one in schema[several]))
    kind = schema.get("type")
    if kind == "array":
        if places := schema.get("prefixItems", schema.get("x-prefixItems")):
            return f"[{', '.join(map(type_of, places))}]"
        inner = type_of(schema.get("items", {}))
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if kind == "object":
        if "properties" in schema:
            return f"{{ {' '.join(line.strip() for line in _fields(schema, ''))} }}"
        values = schema.get("additionalProperties", True)
        return f"Record<string, {type_of(values) if isinstance(values, dict) else 'any'}>"
    return PLAIN.get(kind or "", "any")


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)


def _comment(text: str, indent: str) -> list[str]:
    """Return a description as a comment in one line, if there is one."""
    words = " ".join(text.replace("*/", "").split())
    return [f"{indent}/** {words} */"] if words else []


def main(arguments: list[str]) -> int:
    """Write the files, or check them."""
    outdated = 0
    for target, api in ((TARGET, document()), (HOME_TARGET, home_document())):
        wanted = declarations(api)
        if "--check" not in arguments:
            target.parent.mkdir(exist_ok=True)
            target.write_text(wanted, encoding="utf-8")
        elif not target.exists() or target.read_text(encoding="utf-8") != wanted:
            print(f"{target.relative_to(ROOT)} is out of date: run `make types`.", file=sys.stderr)
            outdated = 1
    return outdated


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
