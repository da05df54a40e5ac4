"""A program's way to a service: the loop through it, and the errors where there is no answer."""

import signal
import socket

import pytest

from opengcd import Client
from opengcd.service.client import ServiceError
from tests.helpers.pictures import KNOWN
from tests.helpers.serving import png, server

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="servers are killed as on POSIX systems")


def test_the_loop_by_the_client(workspace):
    token = workspace.access.make("ann")
    with server(workspace.path) as (_, address):
        client = Client(address, token)
        events = client.events()
        with workspace.store.database.reading() as connection:
            X = workspace.vectors.read(connection, [1, 9])
        assert [one["label"] for one in client.recognize(X)] == ["black", "green"]
        kept = client.recognize_images(png("blue", 1234), b"nothing", keep=True)
        assert kept[0]["label"] == "unknown"
        assert kept[1]["reason"].startswith("not a readable image")
        assert client.run("discover", k=6)["groups"] == 2
        one, two = client.get("groups")["groups"]
        client.edit("name", group=one["id"], label="first", confirm=True)
        client.edit("name", group=two["id"], label="second", confirm=True)
        assert client.run("learn")["classes"] == [*sorted(KNOWN), "first", "second"]
        heard = []
        while not heard or (heard[-1][1].get("verb"), heard[-1][1].get("state")) != ("learn", "done"):
            heard.append(next(events))
        assert [content["verb"] for name, content in heard if name == "edit"] == ["discover", "name", "name", "learn"]
        states = [content["state"] for name, content in heard if name == "job" and content["verb"] == "discover"]
        assert states[-1] == "done"
        with pytest.raises(ServiceError, match=r"404: There is no group 99") as refused:
            client.edit("confirm", group=99)
        assert refused.value.status == 404
        assert client.fetch("GET", "export", query={"format": "csv"}).startswith(b"path,hash,label")
        with pytest.raises(ServiceError, match="401: Sign in"):
            Client(address, "wrong").events()


def test_questions_are_answered_by_the_client(workspace):
    first, second = (group.id for group in workspace.groups() if group.kind == "novel")
    workspace.merge(second, first)
    token = workspace.access.make("ann")
    with server(workspace.path) as (_, address), Client(address, token) as client:
        (question,) = client.questions()
        assert question["kind"] == "split"
        with pytest.raises(ValueError, match="is not an answer to this question"):
            client.answer(question, "x")
        client.answer(question, "n")
        assert question not in client.questions()
    assert len([group for group in workspace.groups() if group.kind == "novel"]) == 2


def test_the_client_raises_errors_of_python_where_there_is_no_answer(workspace):
    token = workspace.access.make("ann")
    with server(workspace.path) as (_, address), Client(address, token) as client:
        assert client.get("status")["name"] == "workspace"
    with Client(address, token) as client, pytest.raises(ConnectionError, match="cannot be reached"):
        client.get("status")
    with Client(address, token) as client, pytest.raises(ConnectionError):
        client.events()
    with pytest.raises(ValueError, match="must begin with http"):
        Client("127.0.0.1:8765", token).get("status")
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections, and never answers
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Client(address, token, timeout=0.2) as client, pytest.raises(TimeoutError, match="does not answer"):
            client.get("status")
