"""Who looks at which group now: of several people and pages, for as long as their pages are open and say so."""

import json

import httpx
import pytest

from opengcd.service import authentication, presence
from opengcd.service.presence import LEASE, MOST_PAGES, OpenPage, Presence
from tests.helpers.serving import API, connect, eventually, send, serving


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


ANA, ANAS_OTHER, BEN = OpenPage(1, "Ana", "a"), OpenPage(1, "Ana", "b"), OpenPage(2, "Ben", "a")


def test_a_person_with_two_pages_counts_once():
    people = Presence()
    people.look(ANA, 5)
    people.look(ANAS_OTHER, 5)
    people.look(BEN, 5)
    assert people.now() == {5: ["Ana", "Ben"]}
    people.leave(ANA)  # the other page still shows it
    assert people.now() == {5: ["Ana", "Ben"]}
    people.look(ANAS_OTHER, 3)
    assert people.now() == {3: ["Ana"], 5: ["Ben"]}
    people.look(BEN, None)
    assert people.now() == {3: ["Ana"]}


def test_a_page_that_is_not_heard_of_is_forgotten():
    clock = Clock()
    people = Presence(clock)
    people.look(ANA, 5)
    clock.now += LEASE / 2
    people.look(BEN, 5)
    clock.now += LEASE / 2
    assert people.now() == {5: ["Ben"]}
    people.look(BEN, 5)
    clock.now += LEASE - 1
    assert people.now() == {5: ["Ben"]}
    clock.now += 1
    assert people.now() == {}


def test_one_token_cannot_fill_the_memory_or_drive_out_others():
    people = Presence()
    people.look(BEN, 7)
    for number in range(2 * MOST_PAGES):
        people.look(OpenPage(1, f"Ana {number}", "page"), 5)
    found = people.now()
    assert found[7] == ["Ben"]
    assert len(found[5]) == MOST_PAGES
    assert f"Ana {2 * MOST_PAGES - 1}" in found[5]


def look(client, page, group, code=200):
    return send(client, "PUT", "presence", {"page": page, "group": group}, code)


def test_looking_is_told_and_changes_nothing(client, app, workspace):
    before = workspace.review.last_edit(), workspace.history()
    ben = connect(app, workspace.access.make("Ben", "read"))  # who may only read looks, too
    assert look(client, "anas-page-1", 5) == {"groups": [{"group": 5, "people": ["ann"]}]}
    assert look(ben, "bens-page-1", 5) == {"groups": [{"group": 5, "people": ["Ben", "ann"]}]}
    assert look(ben, "anas-page-1", None)["groups"][0]["people"] == ["Ben", "ann"]  # it is a page of Ben's
    assert look(client, "anas-page-1", None) == {"groups": [{"group": 5, "people": ["Ben"]}]}
    assert (workspace.review.last_edit(), workspace.history()) == before
    for page, group in (("short", 5), ("a page of mine", 5), ("<script>", 5), ("p" * 65, 5), ("anas-page-1", 0)):
        look(client, page, group, 422)
    look(connect(app), "anas-page-1", 5, 401)


class Listener:
    """A page that listens to events."""

    def __init__(self, address, secret, page):
        self.http = httpx.Client(base_url=f"{address}{API[1:]}", headers={"Authorization": f"Bearer {secret}"})
        self.page = page
        self.stream = self.http.stream("GET", "/events", params={"page": page}, timeout=30)
        self.lines = self.stream.__enter__().iter_lines()
        assert self.next()[0] == "ping"

    def next(self):
        found = [line for line in (next(self.lines) for _ in range(4)) if line]
        return found[1].removeprefix("event: "), json.loads(found[2].removeprefix("data: "))

    def told(self):
        """The next event that tells who looks at what."""
        name, content = self.next()
        while name != "presence":
            name, content = self.next()
        return {one["group"]: one["people"] for one in content["groups"]}

    def look(self, group):
        answer = self.http.put("/presence", json={"page": self.page, "group": group})
        assert answer.status_code == 200, answer.text

    def close(self):
        self.stream.__exit__(None, None, None)
        self.http.close()


@pytest.fixture
def listening(workspace):
    with serving(workspace) as address:

        def listen(who, page, scope="write"):
            secret = workspace.access.make(who, scope)
            return Listener(address, secret, page)

        yield listen


def test_a_page_that_is_closed_looks_no_more(listening):
    ana, ben = listening("Ana", "anas-page"), listening("Ben", "bens-page")
    ben.look(5)
    assert ana.told() == {5: ["Ben"]}
    later = listening("Cem", "cems-page")  # who comes later is told as well
    assert later.told() == {5: ["Ben"]}
    later.close()
    ben.look(6)
    assert ana.told() == {6: ["Ben"]}
    ben.close()
    assert ana.told() == {}
    ana.close()


def test_a_lost_network_ends_no_connection_but_the_lease(listening, monkeypatch):
    ana, ben = listening("Ana", "anas-page"), listening("Ben", "bens-page")
    monkeypatch.setattr(presence, "LEASE", 0.5)
    ben.look(5)
    assert ana.told() == {5: ["Ben"]}
    assert ana.told() == {}
    ana.close()
    ben.close()


def test_a_revoked_token_looks_no_more(listening, workspace, monkeypatch):
    for name in ("REMEMBERED", "POLL_SECONDS"):
        monkeypatch.setattr(authentication, name, 0.05)
    ana, ben = listening("Ana", "anas-page"), listening("Ben", "bens-page", "read")
    ben.look(5)
    assert ana.told() == {5: ["Ben"]}
    number = next(token.id for token in workspace.access.tokens() if token.name == "Ben")
    workspace.access.revoke(number)
    assert ana.told() == {}
    eventually(lambda: ben.http.put("/presence", json={"page": ben.page, "group": 5}).status_code == 401)
    ana.close()
    ben.close()
