"""Questions about groups on the page: one screen each, answered by a key or a button, and never asked twice."""

import re

import pytest

from tests.helpers.reviewing import colours

SPLIT = "Is this group one class, or does it split here?"
NOTHING = "Nothing more is worth asking"


@pytest.fixture
def mixed(site):
    """Both new classes in one group."""
    workspace, visit = site
    first, second = (group.id for group in workspace.groups() if group.kind == "novel")
    workspace.merge(second, first)
    return workspace, visit


@pytest.fixture
def two(site):
    """Both new classes in halves, of which the service asks whether they are the same class."""
    workspace, visit = site
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
    return [
        [int(re.search(r"items/(\d+)/", image.get_attribute("src"))[1]) for image in side.locator("img").all()]
        for side in one.page.locator(".sides figure").all()
    ]


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
    assert one.page.get_by_text("About 1 second of questions left").is_visible()
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
    one.said("Undone: divide.")
    asked(one)
    assert pictures(one) == question.shown
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
    heading(one, "Nothing is worth asking now").wait_for()
    one.page.get_by_role("button", name="Review").click()
    one.page.locator(".grid .cell img").first.wait_for()
    one.go("groups").wait_for()
    one.page.wait_for_load_state("networkidle")
    assert one.page.get_by_role("link", name="Answer questions").is_hidden()
