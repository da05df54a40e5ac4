"""Packages of Camtrap DP, read as the standard says."""

import csv
import io
import json

from tests.helpers.needed import needed_module
from tests.helpers.places import ROOT

SCHEMAS = ROOT / "tests" / "helpers" / "schemas" / "camtrap-dp"
PUBLISHED = "https://raw.githubusercontent.com/tdwg/camtrap-dp/1.0.2/"


def table_of(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def validate(folder):
    """Validate a package by Frictionless and the published schemas, which lie beside the tests."""
    frictionless = needed_module("frictionless")
    descriptor = json.loads((folder / "datapackage.json").read_text())
    for resource in descriptor["resources"]:
        resource["schema"] = json.loads((SCHEMAS / resource["schema"].removeprefix(PUBLISHED)).read_text())
    assert descriptor.pop("profile") == f"{PUBLISHED}camtrap-dp-profile.json"
    report = frictionless.Package.from_descriptor(descriptor, basepath=str(folder)).validate()
    assert report.valid, report.flatten(["type", "note", "message"])
    jsonschema = needed_module("jsonschema")
    profile = json.loads((SCHEMAS / "camtrap-dp-profile.json").read_text())
    described = json.loads((folder / "datapackage.json").read_text())
    own = profile["allOf"][1]
    for name in ("spatial",):  # the published schema refers to one elsewhere
        assert own["properties"][name].pop("$ref") == "http://json.schemastore.org/geojson.json"
    jsonschema.Draft4Validator({**own, "$defs": profile["$defs"]}, format_checker=jsonschema.FormatChecker()).validate(
        described
    )
