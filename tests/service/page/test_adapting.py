"""The card that adapts the network, in a real browser, with the real training of a tiny network."""

import re
import shutil

import pytest

from opengcd import Workspace
from opengcd.adapt import TimeEstimate, estimate
from tests.helpers.browsing import Visit, violations
from tests.helpers.held_training import ALWAYS, NEVER, HeldTraining
from tests.helpers.serving import Pause, eventually, serving


@pytest.fixture
def workspace(trainable):
    """The page is that of a workspace whose network can be trained."""
    return trainable


def card(one):
    return one.page.get_by_role("region", name="Adapt the network")


def press(one, name):
    card(one).get_by_role("button", name=name, exact=True).click()


def choose(one, name):
    one.page.get_by_role("dialog").get_by_role("button", name=name).click()


def shows(one, text):
    card(one).get_by_text(text).first.wait_for()


def test_the_story_by_mouse(site, least_gain):
    workspace, visit = site
    least_gain(ALWAYS)
    one = visit()
    card(one).get_by_role("heading", name="Let the network learn from your own images").wait_for()
    shows(one, re.compile("Adapting would use 42 labelled images and take .* on the CPU of this machine. Trying"))
    assert card(one).get_by_role("button", name="Return to the old network").count() == 0
    press(one, "Try it first")
    one.said("Adapting is done; nothing was changed.")
    shows(one, "Tried just now: it would help")
    shows(one, "Nothing was changed: it was a dry run.")
    shows(one, "Measured on 2 known classes that were hidden from the training")
    assert card(one).locator(".bars li").count() == 4  # two measures, before and after
    assert workspace.status().version.id == 1
    press(one, "Adapt")
    shows(one, "Adapted just now: the adapted network is in use")
    assert workspace.status().version.id == 2
    card(one).get_by_text("Curves").click()
    loss = card(one).get_by_role("img", name=re.compile(r"^Loss\. rehearsal: epoch 1 \d"))
    loss.wait_for()
    assert "; training: epoch 1 " in loss.get_attribute("aria-label")
    press(one, "Return to the old network")
    one.page.get_by_role("heading", name="Undo the adaptation of the network?").wait_for()
    choose(one, "Undo")
    one.said("Undone: adapting the network")
    shows(one, "but the previous network is in use again")
    assert workspace.status().version.id == 1
    one.go("history")
    one.page.locator(".entries li.undone", has_text="ann adapted the network to 42 images (version 2)").wait_for()


def test_the_story_by_keyboard(site, least_gain):
    """Tab reaches each button, Enter presses it, and the focus stays in the card while the card changes."""
    workspace, visit = site
    least_gain(ALWAYS)
    one = visit()
    shows(one, "on the CPU of this machine")
    card(one).focus()
    one.press("Tab")
    assert one.page.locator(":focus").text_content() == "Try it first"
    one.press("Tab", "Enter")
    shows(one, "Adapted just now: the adapted network is in use")
    one.page.wait_for_function("document.activeElement.closest('.adapt') !== null")
    for _ in range(9):
        one.press("Tab")
        if one.page.locator(":focus").text_content() == "Return to the old network":
            break
    one.press("Enter", "Enter")
    one.said("Undone: adapting the network")
    assert workspace.status().version.id == 1


def test_curves_and_the_time_left_while_it_runs_also_for_who_comes_later(site, least_gain, monkeypatch):
    _, visit = site
    least_gain(ALWAYS)
    held = HeldTraining(monkeypatch, "training", 2)
    one = visit()
    shows(one, "on the CPU of this machine")
    press(one, "Adapt")
    assert held.reached.wait(60)
    people = one, visit("bob")
    for person in people:
        card(person).get_by_role("heading", name="Adapting the network …").wait_for()
        card(person).get_by_role("progressbar", name="Adapting the network").wait_for()
        shows(person, re.compile(r"training the network · .* left"))
        for label in ("Loss", "Accuracy on held-out images"):
            told = card(person).get_by_role("img", name=re.compile(rf"^{label}\. .*training: epoch 1 .*epoch 2 "))
            told.wait_for()
            assert told.locator("text.axis").all_text_contents() == ["Epoch", label.partition(" ")[0]]
        assert card(person).locator(".legend").first.text_content() == "rehearsaltraining"
        person.page.get_by_role("link", name="Adapting").wait_for()
        assert card(person).get_by_role("button", name="Try it first").count() == 0
        person.page.get_by_role("heading", name="to review").wait_for()  # the review goes on meanwhile
    held.go_on.set()
    for person in people:
        shows(person, "Adapted just now: the adapted network is in use")


def test_cancelling(site, least_gain, monkeypatch):
    workspace, visit = site
    least_gain(ALWAYS)
    held = HeldTraining(monkeypatch, "rehearsing", 1)
    before = workspace.groups(), workspace.history(), workspace.status().version
    one = visit()
    press(one, "Adapt")
    assert held.reached.wait(60)
    shows(one, "The current network stays in use until the new one is ready. You can go on reviewing.")
    cancel = card(one).get_by_role("button", name="Cancel")
    cancel.focus()
    with one.page.expect_response("**/cancel"):
        one.press("Enter")
    assert cancel.evaluate("(element) => element === document.activeElement")
    held.go_on.set()
    one.said("Adapting was cancelled")
    shows(one, "The last attempt was cancelled, and nothing was changed.")
    assert (workspace.groups(), workspace.history(), workspace.status().version) == before


def test_the_settings_are_chosen_and_an_interrupted_adaptation_is_continued_with_them(site, least_gain):
    workspace, visit = site
    least_gain(NEVER)
    one = visit()
    card(one).get_by_text("More settings").click()
    card(one).get_by_label("What is trained of the last blocks").select_option("blocks")
    for label, number in {"Blocks that are trained": 1, "Passes over the images": 2, "Images per step": 8}.items():
        card(one).get_by_label(label).fill(str(number))
    assert not violations(one.page)
    press(one, "Try it first")
    one.said("Adapting is done; nothing was changed.")
    chosen = {"method": "blocks", "blocks": 1, "epochs": 2, "batch_size": 8, "dry_run": True, "force": False}
    assert [job.arguments for job in workspace.jobs.latest()] == [chosen]
    (workspace.path / "adapting" / "ab12.network").mkdir(parents=True)
    one.page.reload()
    one.page.get_by_role("heading", name="An adaptation was interrupted").wait_for()
    one.page.get_by_role("button", name="Continue").click()
    eventually(lambda: [job.arguments for job in workspace.jobs.latest()] == [chosen, chosen])


def test_a_network_that_does_not_help_is_used_only_if_one_insists(site, least_gain):
    workspace, visit = site
    least_gain(NEVER)
    one = visit()
    press(one, "Adapt")
    shows(one, "Tried just now: it did not help")
    shows(one, "Nothing was changed: in the rehearsal, the adapted network was not better than the one in use.")
    assert workspace.status().version.id == 1
    press(one, "Use it anyway")
    choose(one, "Cancel")
    press(one, "Use it anyway")
    choose(one, "Use it anyway")
    shows(one, "the adapted network is in use")
    assert workspace.status().version.id == 2
    # After another edit, it is the version that one returns to.
    workspace.name(workspace.groups()[0].id, "sky")
    one.said("ann named a group")
    press(one, "Return to the old network")
    one.page.get_by_role("heading", name="Switch to version 1?").wait_for()
    choose(one, "Switch version")
    one.said("Version 1 is in use")
    shows(one, "but the previous network is in use again")
    assert workspace.status().version.id == 1


def test_too_few_classes_to_rehearse_with(site, monkeypatch):
    _, visit = site
    monkeypatch.setattr("opengcd.adapt.rehearsal.FEWEST_CLASSES", 100)
    one = visit()
    press(one, "Try it first")
    shows(one, "too few known classes to measure whether it helps")
    card(one).get_by_role("button", name="Use it anyway").wait_for()


def test_an_attempt_that_fails(site, monkeypatch):
    workspace, visit = site

    def fail(*_, **__):
        raise ValueError("the disk is full of birds")

    monkeypatch.setattr("opengcd.workspace.adaptation.adapt_network", fail)
    one = visit()
    press(one, "Adapt")
    shows(one, "The last attempt failed: the disk is full of birds")
    assert workspace.status().version.id == 1
    one.page.reload()
    shows(one, "The last attempt failed: the disk is full of birds")


def test_the_time_appears_when_it_is_measured(site, monkeypatch):
    _, visit = site
    gate = []
    monkeypatch.setattr(
        estimate,
        "estimate_time",
        lambda *_, **__: eventually(lambda: gate) or TimeEstimate(10.0, 620.0, 6600.0, 0.0),
    )
    one = visit()
    shows(one, "Measuring how long that takes here")
    gate.append(True)
    shows(one, "take about 2 hours on the CPU of this machine. Trying it first takes about 11 minutes.")


def test_a_job_that_waits_for_another_one(site, monkeypatch):
    workspace, visit = site
    pause = Pause(monkeypatch, 1)
    one = visit()
    shows(one, "labelled images")
    workspace.jobs.add("discover", {"k": 9}, "bob")
    assert pause.reached.wait(30)
    press(one, "Try it first")
    shows(one, "waiting for other jobs")
    press(one, "Cancel")
    shows(one, "The last attempt was cancelled")
    pause.go_on.set()
    one.said("Grouping is done")


def test_whoever_may_only_read_sees_the_card_and_cannot_start(browser, workspace):
    with serving(workspace) as address:
        one = Visit(browser, address, workspace.access.make("bob", "read"))
        for name in ("Try it first", "Adapt"):
            assert card(one).get_by_role("button", name=name).is_disabled()
        one.end()


def test_pixels_cannot_be_adapted(browser, reviewable, tmp_path):
    shutil.copytree(reviewable, tmp_path / "pixels")
    with Workspace(tmp_path / "pixels") as opened, serving(opened) as address:
        one = Visit(browser, address, opened.access.make("ann"))
        shows(one, "Not possible here. The embedder pixels has no network that could be trained; use a network")
        assert card(one).get_by_role("button").count() == 0
        one.end()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_automated_accessibility_check_finds_nothing(site, least_gain, monkeypatch, scheme):
    _, visit = site
    least_gain(ALWAYS)
    held = HeldTraining(monkeypatch, "training", 2)
    one = visit(color_scheme=scheme, reduced_motion="reduce")
    shows(one, "on the CPU of this machine")
    assert not violations(one.page)
    press(one, "Adapt")
    assert held.reached.wait(60)
    card(one).get_by_role("img", name=re.compile("training: epoch 1 .*epoch 2")).first.wait_for()
    assert not violations(one.page)
    held.go_on.set()
    shows(one, "the adapted network is in use")
    card(one).get_by_text("Curves").click()
    assert not violations(one.page)


@pytest.mark.parametrize("width", [1280, 768, 390])
def test_nothing_of_the_card_is_cut_off(site, least_gain, width):
    _, visit = site
    least_gain(NEVER)
    one = visit(viewport={"width": width, "height": 800})
    press(one, "Try it first")
    shows(one, "it did not help")
    card(one).get_by_text("Curves").click()
    edges = card(one).evaluate(
        """(card) => [...card.querySelectorAll("button, p, svg, .bars li")].map((one) => {
            const box = one.getBoundingClientRect();
            return [box.left, box.right];
        })"""
    )
    assert min(left for left, _ in edges) >= 0
    assert max(right for _, right in edges) <= width
