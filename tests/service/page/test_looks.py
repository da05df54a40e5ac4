"""The page for every eye and hand: accessibility, light and dark, small screens, many images, no other host."""

import re
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import insert

import opengcd.service
from opengcd.embed import Pixels
from opengcd.workspace import schema
from opengcd.workspace.features import FeatureStore
from opengcd.workspace.revision import raise_revision
from tests.helpers.browsing import Visit, violations
from tests.helpers.serving import serving

VIEWS = [
    "overview",
    "groups",
    "groups/{group}",
    "number",
    "learn",
    "try",
    "rejection",
    "history",
    "questions",
    "images",
    "labels",
]
PAGE = Path(opengcd.service.__file__).parent / "page"


@pytest.fixture
def visit(browser, workspace):
    """A way to open the page; afterwards no browser may have complained."""
    opened = []
    with serving(workspace) as address:

        def visit(**options):
            opened.append(Visit(browser, address, workspace.access.make("ann"), **options))
            return opened[-1]

        yield visit
        for one in opened:
            one.end()


def shown(one, workspace, view):
    """Go to a view, and wait until it has what it shows."""
    one.go(view.format(group=workspace.groups()[0].id)).first.wait_for()
    one.page.wait_for_load_state("networkidle")
    if view == VIEWS[2]:
        one.page.locator(".grid:focus img").first.wait_for()
    if view.startswith("images"):
        one.page.locator(".grid:focus .caption").first.wait_for()


PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}


@pytest.mark.parametrize(
    "options",
    [{"color_scheme": scheme} | screen for screen in ({}, PHONE) for scheme in ("light", "dark")],
    ids=str,
)
def test_an_automated_accessibility_check_finds_nothing(workspace, visit, options):
    first, second = workspace.groups()
    workspace.name(first.id, "sky", confirm=True)
    workspace.move(second.items[:1], "red")
    workspace.remove(second.items[1:2])
    one = visit(reduced_motion="reduce", **options)

    def check(where):
        told = violations(one.page)
        assert not told, (where, told)

    for view in VIEWS:
        shown(one, workspace, view)
        check(view)
    one.press("?")
    check("keys")
    one.press("Escape")
    shown(one, workspace, VIEWS[2])
    one.press("Space", "i")
    one.page.get_by_role("heading", name="Neighbours").wait_for()
    check("an image")
    one.press("i", "l")
    one.page.get_by_role("slider").wait_for()
    check("similar images")
    for key, name in (("m", "b"), ("Enter", "bl"), ("j", "")):
        one.press(key)
        one.field.fill(name)
        one.page.locator(".options li").first.wait_for()
        check(key)
        one.press("Escape")
    shown(one, workspace, "images?source=recognized&name=red")
    one.press("f", "e")
    one.page.get_by_role("heading", name="Neighbours").wait_for()
    check("an enlarged image")
    one.press("Escape")
    check("all images with all filters")


def test_a_phone_reaches_every_view_by_touch(workspace, visit):
    one = visit(**PHONE)
    views = one.page.get_by_role("navigation", name="Views").get_by_role("link")
    for i in range(views.count()):
        views.nth(i).tap()
        one.page.locator(
            "nav [aria-current=page]", has_text=views.nth(i).locator("span").first.text_content()
        ).wait_for()
        box = views.nth(i).bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390
        assert box["height"] >= 40
    # From a card to a named group, without a key but for the name.
    group = workspace.groups()[0]
    views.nth(1).tap()
    one.page.locator(".card.group .mosaic").first.tap()
    one.page.locator(f"#image-{group.items[1]}").tap()
    one.page.get_by_role("button", name="Select similar").tap()
    one.page.get_by_role("button", name="Select more").tap()
    one.page.get_by_text("2 images selected").wait_for()
    one.page.get_by_role("button", name="Move to known class…").tap()
    one.page.locator(".options li").first.tap()
    one.said("2 images moved")
    one.page.get_by_role("button", name="Name", exact=True).tap()
    one.field.fill("sky")
    one.page.get_by_role("button", name="Confirm and continue").tap()
    one.said("“sky” is named and confirmed")


def test_a_phone_shows_legible_charts_and_says_what_touch_does(workspace, visit):
    workspace.discover()  # without a chosen number there is a curve
    one = visit(**PHONE, is_mobile=True)
    for view, chart in (("number", "svg.score"), ("overview", "figure svg.chart")):
        one.go(view)
        text = one.page.locator(f"{chart} text").first
        text.wait_for()
        assert text.bounding_box()["height"] > 9, view
    one.go("images")
    one.page.get_by_text("Tap images to select them.").wait_for()
    one.page.get_by_role("heading", name="Images").wait_for()
    boxes = [one.page.locator(".filters select").nth(i).bounding_box() for i in range(2)]
    assert boxes[0]["y"] == boxes[1]["y"]  # the filters leave room for the images
    one.page.get_by_role("button", name="More filters").tap()
    card = one.page.locator(".further").bounding_box()
    for field in one.page.locator(".further :is(input, select)").all():
        box = field.bounding_box()
        assert card["x"] <= box["x"] < box["x"] + box["width"] <= card["x"] + card["width"]


def test_dark_follows_the_system_until_one_chooses(visit):
    one = visit(color_scheme="dark")

    def ground():
        colour = one.page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor")
        return np.mean([int(part) for part in re.findall(r"\d+", colour)[:3]])

    assert ground() < 60
    one.press("t")
    assert ground() > 200
    one.page.reload()
    one.page.get_by_role("navigation", name="Views").wait_for()
    assert ground() > 200
    one.page.get_by_role("button", name="Switch between light and dark").click()
    assert ground() < 60


@pytest.mark.parametrize("size", [(1280, 800), (1024, 768), (768, 1024), (390, 844)])
def test_nothing_is_cut_off_on_a_screen_or_a_tablet(workspace, visit, size):
    one = visit(viewport={"width": size[0], "height": size[1]}, has_touch=size[0] < 1280)
    for view in VIEWS:
        shown(one, workspace, view)
        width = one.page.evaluate("() => document.documentElement.scrollWidth")
        wide = one.page.evaluate(
            """(most) => [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > most)
                .map((e) => e.outerHTML.slice(0, 100))""",
            size[0],
        )
        assert width <= size[0], (view, wide)
    group = workspace.groups()[0]
    one.go(f"groups/{group.id}")
    image = one.page.locator(f"#image-{group.items[0]}")
    image.wait_for()
    if size[0] < 1280:
        image.tap()
    else:
        image.click()
    one.page.get_by_text("1 image selected").wait_for()
    for name in ("Move to…", "Move to known class…", "Make new group", "Remove"):
        box = one.page.get_by_role("button", name=name).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= size[0]
        assert box["y"] + box["height"] <= size[1]


def test_the_keyboard_reaches_everything_and_shows_where_it_is(workspace, visit):
    one = visit()
    for view in VIEWS:
        shown(one, workspace, view)
        one.page.locator(".skip").focus()
        seen = set()
        for _ in range(120):
            one.press("Tab")
            found = one.page.evaluate(
                """() => {
                    const element = document.activeElement;
                    const ring = getComputedStyle(element);
                    const beside = getComputedStyle(element.closest("label") ?? element);
                    window.visited ??= new Set();
                    const first = !window.visited.has(element);
                    window.visited.add(element);
                    return [element.outerHTML.slice(0, 120), ring.outlineStyle, beside.outlineStyle, first];
                }"""
            )
            if not found[3] or found[0].startswith("<body"):
                break
            seen.add(found[0])
            assert "none" not in found[1] or "none" not in found[2], (view, found)
        one.page.evaluate("() => { window.visited = undefined }")
        assert len(seen) > 10, view


def test_ten_thousand_images_scroll_by_a_few_rows(workspace, visit):
    """Only the rows in sight exist, whatever there is; the last image is an End key away."""
    home = workspace.groups()[0]
    n, first = 10_000, 100_000
    with workspace.store.database.writing() as connection:
        rows = [{"id": first + i, "hash": f"{i:064x}", "width": 12, "height": 12} for i in range(n)]
        connection.execute(insert(schema.items), rows)
        store = FeatureStore.find(connection, workspace.path / "features", Pixels().fingerprint)
        store.append(connection, range(first, first + n), np.random.default_rng(0).random((n, 192), np.float32))
        places = [{"item_id": first + i, "group_id": home.id, "rank": 1000 + i, "by_person": False} for i in range(n)]
        connection.execute(insert(schema.assignments), places)
        raise_revision(connection)
    one = visit()
    one.expected = ("404", "422", "500")  # these images have no files
    one.go(f"groups/{home.id}")
    one.page.locator(f"#image-{home.items[0]}").wait_for()
    one.page.get_by_text("10,008 images").first.wait_for()
    assert one.page.locator(".grid .cell").count() < 200
    one.press("End")
    one.page.locator(f"#image-{first + n - 1}.cursor").wait_for()
    assert one.page.locator(".grid .cell").count() < 200
    one.press("Space", "Shift+Home")
    one.page.get_by_text("10,008 images selected").wait_for()


def test_every_module_is_loaded_and_listed(visit):
    """The browser parses every module; those that the first view needs are asked for at once."""
    one = visit()
    modules = {str(file.relative_to(PAGE)) for file in PAGE.rglob("*.js") if file.parent.name != "home"}
    loaded = one.page.evaluate("() => performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert {name.partition("/page/")[2] for name in loaded if name.endswith(".js")} == modules
    listed = re.findall(r'modulepreload" href="page/(\S+?)"', (PAGE / "index.html").read_text(encoding="utf-8"))
    assert sorted([*listed, "app.js"]) == sorted(modules)


def test_the_page_says_nothing_of_other_hosts():
    for file in PAGE.rglob("*"):
        if file.is_file():
            text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            assert not re.search(r"https?://|innerHTML|insertAdjacentHTML|\beval\(", text), file
