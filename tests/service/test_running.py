"""A second server, and ports that are in use."""

import re
import socket
import subprocess
import sys

import httpx
import pytest
from typer.testing import CliRunner

from opengcd.cli import app
from opengcd.service import Site, run
from opengcd.service.running import announcing, is_taken, running_at
from tests.helpers.serving import server


@pytest.fixture
def taken():
    """A port on which another program listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def log_in(link):
    """Use a link as the page does; return the status."""
    address, secret = link.split("#token=")
    return httpx.post(f"{address}api/v1/session", json={"token": secret}).status_code


def test_the_first_server_is_known_until_it_ends(tmp_path):
    assert running_at(tmp_path) is None
    with announcing(tmp_path) as announce:
        announce("http://127.0.0.1:1/")
        assert running_at(tmp_path) == "http://127.0.0.1:1/"
        with announcing(tmp_path) as second:
            second("http://127.0.0.1:2/")
        assert running_at(tmp_path) == "http://127.0.0.1:1/"
        announce("javascript:alert(1)")
        assert running_at(tmp_path) is None
    assert running_at(tmp_path) is None
    (tmp_path / ".serving").write_text("http://127.0.0.1:1/")  # its server was killed
    assert running_at(tmp_path) is None


def test_ports(taken):
    assert is_taken("127.0.0.1", taken)
    assert not is_taken("127.0.0.1", 0)
    with pytest.raises(OSError, match=r"Nothing can listen on 203\.0\.113\.1, port 8765"):
        is_taken("203.0.113.1", 8765)
    with pytest.raises(OSError, match=r"Nothing can listen on nowhere\.invalid"):
        is_taken("nowhere.invalid", 8765)


def test_a_port_that_another_program_uses(workspace, taken):
    with pytest.raises(OSError, match=f"Port {taken} of 127.0.0.1 is in use by another program; choose another one"):
        run(workspace, Site(port=taken))
    result = CliRunner().invoke(app, ["serve", str(workspace.path), "--port", str(taken)])
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)


def test_the_review_takes_another_port(workspace, taken, monkeypatch, capsys):
    served = []
    monkeypatch.setattr("opengcd.cli.service.PORT", taken)
    monkeypatch.setattr("opengcd.service.run", lambda _, site, **__: served.append(site.port))
    assert CliRunner().invoke(app, ["review", str(workspace.path)]).exit_code == 0
    assert served == [0]


def test_a_second_server_gives_a_way_to_log_in(workspace, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    workspace.access.make("ann")
    with server(workspace.path) as (_, address):
        result = CliRunner().invoke(app, ["review", str(workspace.path)])
        assert result.exit_code == 0, result.output
        assert result.stdout.strip().endswith(opened[0])
        assert opened[0].startswith(f"{address}/#token=")
        assert [log_in(opened[0]), log_in(opened[0])] == [200, 401]
        port = address.rpartition(":")[2]
        command = [sys.executable, "-m", "opengcd", "serve", workspace.path, "--port", port]
        told = subprocess.run(command, capture_output=True, text=True)
        assert told.returncode == 1
        assert "This workspace is served already" in told.stderr
        assert log_in(re.search(r"http\S+", told.stderr)[0]) == 200


def test_a_link_on_a_terminal(workspace, monkeypatch):
    """Whoever starts the server in a terminal can log in, also if there are tokens already."""
    workspace.access.make("ann")
    for show in (True, False):
        told = []
        monkeypatch.setattr("opengcd.service.server._Server.run", lambda self: self.started_at(8765))
        run(workspace, Site(port=0), show_link=show, tell=told.append)
        assert len([line for line in told if line.startswith("Log in within ten minutes: http")]) == show


def test_a_certificate_that_is_missing_is_named(workspace, tmp_path):
    (tmp_path / "cert.pem").touch()
    given = ["serve", str(workspace.path), "--certificate", str(tmp_path / "cert.pem"), "--key", "key.pem"]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 2
    assert "'key.pem' does not exist" in result.stderr
