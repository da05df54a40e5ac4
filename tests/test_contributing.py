"""The files for contributors agree with each other. `make lint-config` checks that each is valid by its schema."""

import re
import tomllib

import pytest
import yaml

from tests.helpers.places import ROOT

FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WORKFLOWS = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in FILES}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SYSTEMS = {"ubuntu": "POSIX :: Linux", "macos": "MacOS", "windows": "Microsoft :: Windows"}


def steps(job):
    return [step for step in job["steps"] if "run" in step]


def test_the_classifiers_are_what_is_tested():
    jobs = WORKFLOWS["tests"]["jobs"]
    tested = {"3.11", *jobs["linux"]["strategy"]["matrix"]["python"]}
    elsewhere = jobs["elsewhere"]["strategy"]["matrix"]
    assert set(elsewhere["python"]) == tested
    claimed = set(re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"])))
    assert claimed == tested
    assert PROJECT["requires-python"] == f">={min(tested, key=lambda one: int(one[2:]))}"
    systems = {line.removeprefix("Operating System :: ") for line in PROJECT["classifiers"] if "Operating" in line}
    assert systems == {SYSTEMS[system] for system in ("ubuntu", *elsewhere["system"])}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_has_the_least_rights(name):
    workflow = WORKFLOWS[name]
    assert workflow["permissions"] == {}
    assert "concurrency" in workflow
    for job in workflow["jobs"].values():
        writing = {right for right, given in job["permissions"].items() if given == "write"}
        assert writing <= ({"id-token", "attestations", "pages"} if "environment" in job else set())
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", step["uses"])
            # Only values of the workflow itself are put into commands.
            assert "${{" not in step.get("run", "")
    assert "secrets." not in (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")


def test_workflows_run_targets_and_files_that_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    commands = [
        step["run"] for workflow in WORKFLOWS.values() for job in workflow["jobs"].values() for step in steps(job)
    ]
    text = "\n".join(commands)
    called = set(re.findall(r"\bmake ([\w-]+)", text))
    assert called == {"coverage", "docs"}
    assert called <= targets
    named = set(re.findall(r"(?:tests|tools)/[\w/.-]+|\.ci/run", text))
    assert len(named) > 10
    for name in named:
        assert (ROOT / name).exists(), name


def test_a_release_needs_the_tag_and_publishes_without_a_password():
    release = WORKFLOWS["release"]
    assert release[True] == {"push": {"tags": ["v*"]}}  # YAML reads `on` as true
    checks = "\n".join(step["run"] for step in steps(release["jobs"]["build"]))
    assert 'python tools/release.py --tag "$GITHUB_REF_NAME" dist' in checks
    publish = release["jobs"]["publish"]
    assert publish["needs"] == "build"
    assert publish["environment"]["name"] == "pypi"
    assert publish["permissions"]["id-token"] == "write"
    assert [step["uses"].split("@")[0] for step in publish["steps"]][-1] == "pypa/gh-action-pypi-publish"
    assert "with" not in publish["steps"][-1]


def test_the_coverage_has_a_floor():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["coverage"]
    assert settings["report"]["fail_under"] >= 80
    assert settings["run"]["source_pkgs"] == ["opengcd"]
    assert any(step["run"] == "make coverage" for step in steps(WORKFLOWS["tests"]["jobs"]["coverage"]))


def test_hooks_use_the_tools_of_the_environment():
    (repo,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert repo["repo"] == "local"
    for hook in repo["hooks"]:
        assert hook["language"] == "system"
        program = hook["entry"].split()[0]
        assert program == "make" or program.startswith(".venv/bin/")


def test_the_citation_and_the_metadata_agree():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    urls = PROJECT["urls"]
    assert set(urls) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert citation["repository-code"] == urls["Source"]
    assert citation["url"] == urls["Homepage"]
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]
    assert "version" not in citation  # it has one source
    assert all(url.startswith((urls["Source"], urls["Homepage"])) for url in urls.values())
