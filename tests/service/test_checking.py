"""The job that verifies a workspace, and repairs it."""

from tests.helpers.serving import API, connect, finish, get, send


def check(client, **options):
    return finish(client, send(client, "POST", "jobs", {"verb": "check", **options}, 202))


def test_damage_is_found_and_repaired(client, workspace):
    """A thumbnail that is no picture is named without the server's folder, and made again."""
    assert check(client)["result"] == {"findings": [], "total": 0, "repair": False}
    client.get(f"{API}/items/1/thumbnail")
    picture = next((workspace.path / "thumbnails").glob("*/*.jpg"))
    picture.write_bytes(b"no picture")
    (found,) = check(client)["result"]["findings"]
    assert picture.name in str(found)
    assert str(workspace.path) not in str(found)
    assert not found["repaired"]
    assert picture.exists()
    (found,) = check(client, repair=True)["result"]["findings"]
    assert found["repaired"]
    assert check(client)["result"]["total"] == 0
    assert client.get(f"{API}/items/1/thumbnail").status_code == 200


def test_whoever_may_only_read_cannot_check(app, workspace):
    with connect(app, workspace.access.make("bob", "read")) as reader:
        send(reader, "POST", "jobs", {"verb": "check"}, 403)
        assert get(reader, "jobs") == []
