"""The list of projects and the form of a new one, for every eye and screen."""

import shutil

import pytest

from tests.helpers.browsing import WAIT, violations
from tests.helpers.hands import DESK, PHONE
from tests.helpers.homing import home_serving


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", [DESK, PHONE], ids=["desk", "phone"])
def test_an_automated_accessibility_check_finds_nothing_and_nothing_is_cut_off(
    browser, world, reviewable, tmp_path, screen, scheme
):
    context = browser.new_context(**screen, color_scheme=scheme, reduced_motion="reduce")
    context.set_default_timeout(WAIT)
    page = context.new_page()

    def check(where):
        assert violations(page) == [], where
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide == 0, where

    with home_serving(tmp_path / "projects") as (address, access):
        page.goto(address)
        page.get_by_label("Token").wait_for()
        check("signing in")
        page.goto(f"{address}#token={access.make('ann')}")
        page.reload()
        page.get_by_role("heading", name="Create your first project").wait_for()
        check("no project")
        shutil.copytree(reviewable, tmp_path / "projects" / "colours")
        shutil.copytree(reviewable, tmp_path / "projects" / "a-project-with-a-name-that-does-not-end-before-the-screen")
        shutil.copytree(reviewable, tmp_path / "projects" / "damaged")
        (tmp_path / "projects" / "damaged" / "workspace.json").write_text("{")
        page.reload()
        page.get_by_role("link", name="colours", exact=True).wait_for()
        page.locator(".project.broken").wait_for()
        check("projects")
        page.goto(f"{address}#/new")
        page.get_by_role("button", name="Choose a folder").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Folder", exact=True).fill(str(world[0]))
        dialog.get_by_label("Folder", exact=True).press("Enter")
        dialog.get_by_text("4 folders").wait_for()
        check("a folder")
        dialog.get_by_role("button", name="Use this folder").click()
        page.get_by_text("32 images of 4 classes").wait_for()
        page.get_by_text("pixels (no network)").click()
        page.get_by_text("It works: 192").wait_for()
        page.get_by_label("Name", exact=True).fill("Colours 2")
        check("a new project")
        page.get_by_label("Name, folder or ONNX file").fill("/nowhere")
        page.get_by_text("Another one", exact=True).click()
        page.locator("form .warning").wait_for()
        check("a network that cannot be used")
    context.close()


def test_all_views_are_in_sight_beside_a_long_name_and_a_job(browser, reviewable, tmp_path):
    """Whoever has a mouse only cannot scroll sideways."""
    name = "Camera traps of the northern forest"
    shutil.copytree(reviewable, tmp_path / "projects" / name)
    with home_serving(tmp_path / "projects") as (address, access):
        context = browser.new_context()
        context.set_default_timeout(WAIT)
        page = context.new_page()
        page.goto(f"{address}#token={access.make('ann')}")
        page.get_by_role("link", name=name, exact=True).click()
        page.get_by_role("link", name="All projects").wait_for()
        for width in (1920, 1440, 1366, 1280, 1024, 390):
            page.set_viewport_size({"width": width, "height": 800})
            views, bar = page.evaluate(
                """() => {
                    const [job] = document.querySelectorAll(".bar .end a.pill");
                    const doing = document.createElement("span");
                    doing.textContent = "Recognising";
                    job.hidden = false;
                    job.replaceChildren(doing, " 100 %");
                    const views = document.querySelector(".bar nav");
                    const bar = document.querySelector(".bar");
                    return [views.scrollWidth - views.clientWidth, bar.scrollHeight - bar.clientHeight];
                }"""
            )
            assert bar <= 0, width
            assert views <= 0 or width == 390, width  # a finger can
        context.close()
