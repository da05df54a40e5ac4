"""Questions about groups on the page: one screen each, answered by a key or a button, and never asked twice."""

import re

import pytest
from sqlalchemy import update

from opengcd.discover import Calibration
from opengcd.workspace.schema import assignments
from tests.helpers.browsing import violations
from tests.helpers.reviewing import colours
from tests.helpers.serving import eventually

SAME, SPLIT = "Are these two groups the same class?", "Is this group one class, or does it split here?"
NOTHING = "No more questions"


@pytest.fixture
def mixed(site):
    """Both new classes in one group."""
    workspace, visit = site
    first, second = (group.id for group in workspace.groups() if group.kind == "novel")
    workspace.merge(second, first)
    return workspace, visit


@pytest.fixture
def halves(site, monkeypatch):
    """Both new classes in halves, and a recogniser that takes all groups to be one class."""
    workspace, visit = site
    sure = Calibration(mixed=lambda _: 0.0, same=lambda _: 0.9, pair=lambda _: 0.5)
    monkeypatch.setattr("opengcd.discover.calibrate", lambda hidden: sure)
    for group in [group for group in workspace.groups() if group.kind == "novel"]:
        workspace.separate(group.items[::2])
    return workspace, visit


def heading(one, text):
    return one.page.get_by_role("heading", name=text, exact=True)


def asked(one, text=SPLIT):
    heading(one, text).wait_for()


def kinds(workspace):
    """The colours in each group of new images."""
    return sorted(sorted(colours(workspace, group)) for group in workspace.groups() if group.kind == "novel")


def pictures(one):
    """The numbers of the images on either side."""
    found = one.page.evaluate(
        """() => [...document.querySelectorAll(".sides figure")].map(
            (side) => [...side.querySelectorAll("img")].map((image) => image.src)
        )"""
    )
    return [[int(re.search(r"items/(\d+)/", source)[1]) for source in side] for side in found]


@pytest.mark.parametrize("by", ["key", "click", "touch"])
def test_an_answer_splits_a_group_and_undo_returns_to_the_question(mixed, by):
    workspace, visit = mixed
    one = visit(has_touch=by == "touch")
    one.page.get_by_role("link", name="Answer questions: about 1 second").wait_for()
    if by == "key":
        one.press("8")
    else:
        one.page.get_by_role("link", name="Answer questions").click()
    asked(one)
    assert one.page.get_by_text("1 question left, about 1 second").is_visible()
    (question,) = workspace.questions.ask().questions
    assert pictures(one) == question.shown
    button = one.page.get_by_role("button", name="Two classes, split here")
    if by == "key":
        one.press("n")
    else:
        (button.tap if by == "touch" else button.click)()
    one.said("Answered: two classes, split here.")
    assert kinds(workspace) == [["blue"], ["yellow"]]
    one.press("u")
    one.said("Undone: dividing a group in two.")
    eventually(lambda: pictures(one) == question.shown)
    assert kinds(workspace) == [["blue", "yellow"]]
    assert one.page.evaluate("JSON.parse(sessionStorage.getItem('opengcd.actions'))") == {"answer": 1, "undo": 1}


def test_an_answered_question_never_returns_and_the_page_says_what_is_next(mixed):
    workspace, visit = mixed
    one = visit()
    one.go("questions")
    asked(one)
    one.press("y")
    one.said("Answered: one class.")
    heading(one, NOTHING).wait_for()
    assert workspace.history(1)[0].verb == "keep"
    one.page.reload()
    heading(one, "No questions at the moment").wait_for()
    one.page.get_by_role("button", name="Review").click()
    one.page.locator(".grid .cell img").first.wait_for()
    one.go("groups").wait_for()
    one.page.wait_for_load_state("networkidle")
    assert one.page.get_by_role("link", name="Answer questions").is_hidden()


def test_quick_answers_about_two_groups_all_count(halves):
    workspace, visit = halves
    one = visit()
    one.go("questions")
    asked(one, SAME)
    assert one.page.get_by_text("2 questions left, about 2 seconds").is_visible()
    one.press("a", "b", "0")  # no answers to this question
    one.press("y", "y")  # the second before the first is stored
    one.page.get_by_text("1 question left, about 1 second").wait_for()
    assert kinds(workspace) == [["blue"], ["yellow"]]
    # Now that these are two, they might be one.
    asked(one, SAME)
    one.page.get_by_role("button", name="Different classes").click()
    one.said("Answered: different classes.")
    heading(one, NOTHING).wait_for()
    assert [entry.details["same"] for entry in workspace.history(3)] == [False, True, True]
    assert one.page.evaluate("JSON.parse(sessionStorage.getItem('opengcd.actions'))") == {"answer": 3}


def test_undo_goes_back_answer_by_answer(halves):
    workspace, visit = halves
    one = visit()
    one.go("questions")
    asked(one, SAME)
    seen = []
    for key in ("n", "n"):
        seen.append(pictures(one))
        one.press(key)
        one.page.get_by_text("Answered: different classes.").first.wait_for()
        one.page.wait_for_load_state("networkidle")
    assert seen[0] != seen[1]
    for before in reversed(seen):
        one.page.get_by_role("button", name="Undo").first.click()
        one.said("Undone: comparing two groups.")
        eventually(lambda before=before: pictures(one) == before)
        one.page.evaluate("() => document.getElementById('toasts').replaceChildren()")
    assert len(kinds(workspace)) == 4


def test_a_skipped_question_waits_until_it_is_asked_for(mixed):
    workspace, visit = mixed
    last = workspace.history(1)
    one = visit()
    one.go("questions")
    asked(one)
    one.press("s")
    heading(one, NOTHING).wait_for()
    assert one.page.get_by_text("You skipped 1 question.").is_visible()
    one.press("2", "8")
    heading(one, NOTHING).wait_for()
    one.page.get_by_role("button", name="Ask again").click()
    asked(one)
    assert workspace.history(1) == last


def test_what_others_did_is_not_asked_about(mixed):
    workspace, visit = mixed
    one = visit()
    one.go("questions")
    asked(one)
    one.page.wait_for_load_state("networkidle")
    workspace.by("bob").name(workspace.groups()[0].id, "sky")
    heading(one, NOTHING).wait_for()
    workspace.by("bob").undo()
    asked(one)


def test_an_answer_overwrites_nothing_that_someone_did_first(mixed):
    workspace, visit = mixed
    one = visit()
    one.expected = ("409", "ERR_FAILED")
    one.go("questions")
    asked(one)
    # She hears of nothing: what she sees stays as it was.
    one.page.route(re.compile("api/v1/(questions|groups)"), lambda route: route.abort())
    workspace.by("bob").remove(workspace.groups()[0].items[:1])
    one.said("The server is not answering")
    one.page.unroute_all()
    one.press("n")
    one.said("bob changed this first (moving images to the bin)")
    asked(one)
    assert kinds(workspace) == [["blue", "yellow"]]
    one.press("n")
    one.said("Answered: two classes, split here.")
    assert kinds(workspace) == [["blue"], ["yellow"]]


def test_at_the_end_the_images_are_regrouped_with_one_key(site):
    workspace, visit = site
    first, second = (group for group in workspace.groups() if group.kind == "novel")
    workspace.keep(first.id, seen=first.items[:4])
    workspace.keep(second.id, seen=second.items[:4])
    with workspace.store.database.writing() as connection:  # one image of the second is in the first
        strayed = update(assignments).where(assignments.c.item_id == second.items[-1])
        connection.execute(strayed.values(group_id=first.id))
    assert ["blue", "yellow"] in kinds(workspace)
    one = visit()
    one.go("questions")
    button = one.page.get_by_role("button", name="Regroup as answered")
    button.wait_for()
    one.press("g")
    one.said("1 image moved.")
    assert kinds(workspace) == [["blue"], ["yellow"]]
    eventually(lambda: button.count() == 0)
    one.press("u")
    one.said("Undone: regrouping the images.")
    button.click()
    one.page.get_by_text("1 image moved.").first.wait_for()
    one.go("history")
    one.page.get_by_text("regrouped the images by the answers given (1 image moved)").first.wait_for()


def test_the_images_can_be_regrouped_before_the_last_question(halves):
    workspace, visit = halves
    one = visit()
    one.go("questions")
    asked(one, SAME)
    button = one.page.get_by_role("button", name="Regroup as answered")
    assert button.count() == 0
    one.press("g")  # nothing was answered
    one.press("y")
    one.said("Answered: the same class.")
    button.click()
    one.page.get_by_text(re.compile("images? moved")).first.wait_for()
    assert [entry.verb for entry in workspace.history(2)] == ["regroup", "compare"]
    asked(one, SAME)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_question_is_for_every_eye_and_screen(mixed, scheme):
    _, visit = mixed
    one = visit(color_scheme=scheme, reduced_motion="reduce", viewport={"width": 420, "height": 900})
    one.go("questions")
    asked(one)
    one.page.locator("nav [aria-current=page]", has_text="Questions").wait_for()
    assert one.page.evaluate("() => document.documentElement.scrollWidth") <= 420
    assert not violations(one.page)
    one.page.get_by_role("button", name="One class").focus()
    one.press("Enter")
    heading(one, NOTHING).wait_for()
    assert one.page.evaluate("() => document.activeElement.contains(document.querySelector('.empty h2'))")
    assert not violations(one.page)
