"""What docs/how-to/container.md promises of the image and of compose.yaml; no Docker engine is needed to check it."""

import re
import shlex

import pytest
import yaml
from fastapi.testclient import TestClient
from typer.main import get_command

from opengcd.cli import app as commands
from opengcd.cli.service import PORT as DEFAULT
from tests.helpers.places import ROOT

PORT = "8765"


def instructions(text):
    """The instructions of a Dockerfile, each a pair of a name and the rest, by stage."""
    lines = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    stages = {}
    for line in filter(None, map(str.strip, lines)):
        name, rest = line.split(maxsplit=1)
        if name == "FROM":
            stage = stages[rest.rpartition(" AS ")[2]] = []
        if stages:
            stage.append((name, rest))
    return stages


@pytest.fixture(scope="module")
def image():
    """The instructions of the last stage, which is the image."""
    return list(instructions((ROOT / "Dockerfile").read_text(encoding="utf-8")).values())[-1]


@pytest.fixture(scope="module")
def composed():
    return yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


def only(image, name):
    (found,) = [rest for instruction, rest in image if instruction == name]
    return found


def probed(command):
    """The path that a health check asks for, and the port."""
    port, path = re.search(r"http://127\.0\.0\.1:(\d+)(/\w+)", " ".join(command)).groups()
    return path, port


def test_the_image_runs_as_somebody_without_rights(image, composed):
    user = only(image, "USER")
    assert re.fullmatch(r"[1-9]\d{4}:[1-9]\d{4}", user)
    assert composed["services"]["opengcd"]["user"] == user
    assert [name for name, _ in image].index("USER") < [name for name, _ in image].index("ENTRYPOINT")
    prepared = " ".join(rest for name, rest in image if name == "RUN")
    for volume in yaml.safe_load(only(image, "VOLUME")):
        # Otherwise a new volume would belong to root.
        assert re.search(rf"install --directory --owner={user.split(':')[0]} .*{volume}\b", prepared)


def test_the_health_check_asks_what_the_service_answers(image, composed, app):
    checks = [
        yaml.safe_load(only(image, "HEALTHCHECK").partition("CMD ")[2]),
        composed["services"]["opengcd"]["healthcheck"]["test"][1:],
    ]
    assert checks[0] == checks[1]
    path, port = probed(checks[0])
    assert port == PORT == only(image, "EXPOSE")
    with TestClient(app, base_url="http://127.0.0.1") as client:
        assert client.get(path).json() == {"status": "ok"}
    assert composed["services"]["database"]["healthcheck"]["test"][1] == "pg_isready"


def test_the_commands_exist(image, composed):
    assert yaml.safe_load(only(image, "ENTRYPOINT")) == ["opengcd"]
    for command in (yaml.safe_load(only(image, "CMD")), composed["services"]["opengcd"]["command"]):
        verb, workspace, *options = command
        parameters = get_command(commands).commands[verb].make_context(verb, [workspace, *options]).params
        assert parameters["host"] == "0.0.0.0"
        assert str(parameters["port"] or DEFAULT) == PORT
        assert str(parameters["workspace"]).startswith("/workspaces/")


def test_the_workspaces_and_the_database_are_on_volumes(image, composed):
    services = composed["services"]
    kept = yaml.safe_load(only(image, "VOLUME"))
    mounted = [re.fullmatch(r"(.+):(/\w+)(:ro)?", volume).groups() for volume in services["opengcd"]["volumes"]]
    assert set(kept) < {at for _, at, _ in mounted}
    for source, at, read_only in mounted:
        assert (source in composed["volumes"]) == (at in kept)
        assert at in kept or read_only
    (tables,) = services["database"]["volumes"]
    assert tables.split(":")[0] in composed["volumes"]
    # What libraries write besides, such as downloaded networks.
    environment = dict(pair.split("=", 1) for pair in shlex.split(only(image, "ENV")))
    assert environment["HOME"] in kept
    assert environment["HF_HOME"].startswith(f"{environment['HOME']}/")


def test_every_service_is_confined(composed):
    for service in composed["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert "cap_add" not in service
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert not service.get("privileged")
        assert service["user"].split(":")[0] not in ("0", "root")
        assert any(line.startswith("/tmp:") for line in service["tmpfs"])
        assert set(service["deploy"]["resources"]["limits"]) == {"memory", "pids"}
        assert "healthcheck" in service
    assert composed["networks"]["tables"] == {"internal": True}
    assert composed["services"]["database"]["networks"] == ["tables"]
    assert "ports" not in composed["services"]["database"]
    (port,) = composed["services"]["opengcd"]["ports"]
    assert port.startswith("${OPENGCD_ADDRESS:-127.0.0.1:")


def test_no_password_is_in_the_files(composed):
    text = "".join(
        (ROOT / name).read_text(encoding="utf-8") for name in ("Dockerfile", "compose.yaml", "compose.cuda.yaml")
    )
    assert not re.search(r"(PASSWORD|TOKEN|SECRET)\w*[=:]\s*(?!/run/secrets/|\"\$\$\(cat /run/secrets/)\S", text)
    (secret,) = composed["secrets"].values()
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert f"/{secret['file'].removeprefix('./').split('/')[0]}/" in ignored
    assert ".env" in ignored


def test_the_context_holds_what_is_copied_and_no_secret():
    stages = instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    copied = {
        source
        for stage in stages.values()
        for name, rest in stage
        if name == "COPY" and "--from" not in rest
        for source in rest.split()[:-1]
    }
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert allowed[1] == "*"
    assert {line[1:] for line in allowed if line.startswith("!")} == copied
    assert all((ROOT / source).exists() for source in copied)


def test_both_variants_exist():
    stages = instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert {"torch-cpu", "torch-cuda"} < set(stages)
    cuda = yaml.safe_load((ROOT / "compose.cuda.yaml").read_text(encoding="utf-8"))["services"]["opengcd"]
    assert cuda["build"]["args"]["ACCELERATOR"] == "cuda"
    assert "whl/cpu" in dict(stages["torch-cpu"])["RUN"]
    assert "whl/cpu" not in dict(stages["torch-cuda"])["RUN"]
    for stage in ("torch-cpu", "torch-cuda", "environment"):
        assert "--constraint /constraints.txt" in " ".join(rest for name, rest in stages[stage] if name == "RUN")
