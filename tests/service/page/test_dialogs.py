"""Every dialog of the page, for every eye and screen: accessible, and not cut off, in light and dark."""

import re
import shutil
from pathlib import Path

import pytest

import opengcd.service
from opengcd import Workspace
from tests.helpers.browsing import WAIT, violations
from tests.helpers.hands import DESK, PHONE
from tests.helpers.homing import home_serving
from tests.helpers.scenes import detections, scene

PAGE = Path(opengcd.service.__file__).parent / "page"
OPENED = {
    "acts.js": 12,  # one of them for verbs without a button, of which there are none
    "before.js": 3,
    "exporting.js": 1,
    "failures.js": 1,
    "folders.js": 1,
    "team.js": 2,
    "withoutcrop.js": 1,
    "views/adapt.js": 1,  # as that of undoing
}
"""How many dialogs each module has; one more has to be opened here, too."""


def test_no_dialog_is_forgotten():
    found = {}
    for file in PAGE.rglob("*.js"):
        text = file.read_text(encoding="utf-8")
        if imported := re.search(r'import \{([^}]*)\} from "[./]*dialogs\.js"', text):
            names = "|".join(name.strip() for name in imported[1].split(","))
            if n := len(re.findall(rf"(?:await|return) (?:{names})\(", text)):
                found[file.relative_to(PAGE).as_posix()] = n
    assert found == OPENED


@pytest.fixture(scope="module")
def project(reviewable, tmp_path_factory):
    """A workspace with two groups, two versions, a file that could not be used, and an empty image; tests copy it."""
    folder = tmp_path_factory.mktemp("dialogs")
    (folder / "night.png").write_bytes(b"no picture")
    with Workspace(shutil.copytree(reviewable, folder / "colours"), who="ann") as workspace:
        list(workspace.recognize([folder / "night.png"]))
        scene(folder / "trap" / "empty.png")
        boxes = detections(folder / "boxes.json", {"empty.png": []})
        list(workspace.recognize([folder / "trap"], boxes=boxes))
        first, second = workspace.groups()
        workspace.separate(first.items[:3])
        workspace.name(second.id, "sky", confirm=True)
        workspace.learn()
    return folder / "colours"


class Asked:
    """A page that opens dialogs, looks at each, and dismisses it."""

    def __init__(self, page, address):
        self.page, self.address = page, address

    def go(self, route, ready):
        self.page.goto(f"{self.address}projects/colours/#/{route}")
        self.page.locator(ready).first.wait_for()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def click(self, name):
        self.page.get_by_role("button", name=name, exact=True).first.click()

    def look(self, title, *ready):
        """Look at the dialog that has opened, once it has what it shows."""
        dialog = self.page.get_by_role("dialog", name=title)
        dialog.wait_for()
        for one in ready:
            dialog.locator(one).first.wait_for()
        assert violations(self.page, within="dialog[open]") == [], title
        box, size = dialog.bounding_box(), self.page.viewport_size
        assert box["x"] >= 0, title
        assert box["x"] + box["width"] <= size["width"], title
        assert box["y"] >= 0, title
        assert box["y"] + box["height"] <= size["height"], title
        assert dialog.evaluate("(one) => one.scrollWidth <= one.clientWidth"), title

    def dismiss(self):
        self.press("Escape")
        self.page.get_by_role("dialog").wait_for(state="detached")

    def see(self, title, *ready):
        self.look(title, *ready)
        self.dismiss()


def of_groups(one, workspace):
    first = workspace.groups()[0]
    one.page.route(
        "**/groups/*/parts",
        lambda route: route.fulfill(json={"mixed": 0.9, "sizes": [2, 3], "shown": [first.items[:2], first.items[2:]]}),
    )
    one.go(f"groups/{first.id}", f"#image-{first.items[0]} img")
    one.press("?")
    one.see("Keyboard shortcuts")
    one.press("u")
    one.see("Undo the last learning step?")
    one.press("Enter")
    one.look(f"Name this group of {len(first)} images", ".options img")
    one.page.keyboard.type("bl")
    one.see(f"Name this group of {len(first)} images", ".options li")
    one.press("j")
    one.see(re.compile("^Join "), "figure img")
    one.press("s")
    one.see(re.compile("^Split "))
    one.press("w")
    one.see(re.compile("^Who is to review "), ".options li")
    one.press("r")
    one.see("Add the comment")
    one.press("Home", "Space", "m")
    one.see("Move 1 image to a group or class", ".options img")
    one.press("k")
    one.see("Move 1 image to a known class", ".options img")
    one.press("Escape", "Enter")
    one.page.keyboard.type("pond")
    one.press("Enter")
    one.see(re.compile("^Is .* one class"), "figure img")


def of_images(one, workspace):
    one.go("images?name=red10", ".grid:focus .cell img")
    one.press("Home", "Space", "m")
    one.see("What does this image show?", ".options img")
    known = [label.item for label in workspace.views.labels() if label.source == "learnt"]
    suspect = {"item": known[0], "label": "black", "suggested": "red", "own": 0.1, "rival": 0.8, "copy_of": None}
    suspect |= {"like_label": known[1:4], "like_suggested": known[4:7]}
    one.page.route(
        "**/suspects*",
        lambda route: route.fulfill(json=route.fetch().json() | {"total": 1, "suspects": [suspect]}),
    )
    one.go("labels", ".suspect")
    one.press("o")
    one.see("What does this image show?", ".options li")


def of_classes(one):
    one.go("overview", ".classes img")
    one.page.get_by_role("button", name="From this machine").wait_for()
    assert violations(one.page) == []
    one.click("Rename red")
    one.see("Rename the class “red”")
    one.click("Merge red into another class")
    one.see("Merge the class “red” into …", ".options img")
    one.click("1 file could not be used")
    one.see("1 file could not be used", "li")
    one.click("1 empty")
    one.see("1 image without a crop: empty", "li img")
    one.click("From this machine")
    one.see("Add the images of a folder", ".places button")
    one.go("learn", "h1")
    one.click("Roll back")
    one.see("Switch to version 1?")
    one.go("history", "h1")
    one.click("Export labels…")
    one.page.get_by_role("dialog").get_by_text("Camtrap DP").first.click()
    one.see("Export labels", ".formats label", ".places label")


def of_files(one, folder):
    """What is asked about boxes, times and videos that come with images."""
    for name in ("md.json", "times.csv", "clip.mp4"):
        (folder / name).touch()
    one.go("overview", ".classes img")
    with one.page.expect_file_chooser() as chooser:
        one.click("Choose files")
    chooser.value.set_files([folder / name for name in ("md.json", "times.csv", "clip.mp4")])
    one.look("Cut out the boxes of a detector?")
    one.click("Add whole images")
    one.look("Read the times at which the images were taken?")
    one.click("Add without the table")
    one.see("Take frames of the videos")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", [DESK, PHONE], ids=["desk", "phone"])
def test_every_dialog_is_for_every_eye_and_screen(browser, project, tmp_path, screen, scheme):
    shutil.copytree(project, tmp_path / "projects" / "colours")
    with (
        home_serving(tmp_path / "projects") as (address, access),
        Workspace(tmp_path / "projects" / "colours", who="ann") as workspace,
    ):
        context = browser.new_context(**screen, color_scheme=scheme, reduced_motion="reduce")
        context.set_default_timeout(WAIT)
        one = Asked(context.new_page(), address)
        one.page.goto(f"{address}#token={access.make('ann')}")
        one.page.get_by_role("link", name="colours", exact=True).wait_for()
        of_groups(one, workspace)
        of_images(one, workspace)
        of_classes(one)
        of_files(one, tmp_path)
        context.close()
