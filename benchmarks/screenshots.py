"""Pictures of the pages for the documents, on handwritten digits: ``python -m benchmarks.screenshots``."""

from __future__ import annotations

import argparse
import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from benchmarks import digits_world
from benchmarks.birds import NETWORK
from benchmarks.page import browsing, running, served
from opengcd import Workspace

PROJECTS = "/home/ana/.local/share/opengcd/projects"
"""The folder of projects that is shown, instead of the temporary one: where those of a user on Linux are."""
DOCS = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "review"


class Camera:
    """Goes from view to view and takes pictures."""

    def __init__(self, page: Page, address: str, out: Path) -> None:
        self.page, self.address, self.out = page, address, out

    def go(self, route: str, ready: str, dark: bool = False, size: tuple[int, int] = (1280, 800)) -> None:
        """Show a view."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
        self.page.goto(f"{self.address}#/{route}")
        self.page.reload()
        self.page.wait_for_selector(ready)
        self.page.wait_for_load_state("networkidle")

    def press(self, *keys: str) -> None:
        """Press keys one after another."""
        for key in keys:
            self.page.keyboard.press(key)

    def shoot(self, name: str, part: str | None = None) -> None:
        """Take a picture, of all that is seen or of the part that a selector names."""
        self.page.wait_for_timeout(500)
        for toast in self.page.locator(".toast button[aria-label='Close this message']").all():
            toast.click()
        seen = self.page.locator(part) if part else self.page
        picture = Image.open(io.BytesIO(seen.screenshot()))
        file = self.out / f"{name}.png"
        few = picture.convert("RGB").quantize(256, kmeans=1, dither=Image.Dither.NONE)
        few.save(file, optimize=True)
        print(f"{file} {file.stat().st_size // 1000} kB")


def review(camera: Camera, workspace: Workspace) -> None:
    """What a reviewer sees, from the first look to what was learnt."""
    page = camera.page
    novel = [group for group in workspace.groups() if group.kind == "novel"]
    names = {group.id: re.split("-", Path(workspace.views.paths(group.items[0])[0]).name)[0] for group in novel}
    camera.go("overview", ".plane[data-points][data-drawn=true]", size=(1280, 1013))
    camera.shoot("overview")
    camera.go("groups", ".card.group img", size=(390, 844))
    camera.shoot("phone")
    camera.go("groups", ".card.group img", size=(1280, 931))
    camera.shoot("groups")
    camera.press("Enter")
    page.get_by_role("dialog").get_by_role("combobox").fill("se")
    camera.shoot("name")
    camera.press("Escape")
    workspace.merge(novel[1].id, novel[0].id)
    camera.go("questions", ".question img")
    camera.shoot("question")
    workspace.undo()
    camera.go(f"groups/{novel[0].id}", ".grid .cell img", dark=True)
    first = page.locator(".grid .cell").first.get_attribute("id")
    camera.press("d")
    page.wait_for_selector(f".grid .cell[data-index='0']:not(#{first})")
    camera.press("i")
    page.get_by_role("heading", name="Neighbours").wait_for()
    camera.press("ArrowRight", "ArrowRight", "l")
    page.locator(".toast", has_text="like this").wait_for()
    camera.shoot("group")
    camera.press("Escape")
    camera.go(f"groups/{novel[1].id}", ".grid .cell img", size=(820, 1100))
    for place in (1, 5, 6):
        page.locator(".grid .cell").nth(place).click()
    camera.shoot("tablet")
    camera.go("number", ".score")
    camera.shoot("number")
    for group in novel:
        workspace.name(group.id, names[group.id], confirm=True)
    camera.go("learn", ".plan", size=(1280, 895))
    page.get_by_role("button", name="Learn").click()
    page.locator(".outcome").wait_for(timeout=300_000)
    camera.shoot("learn")
    camera.go("try", ".drop", dark=True)
    file = sorted((workspace.path.parent / "stream").glob("five-*.png"))[3]
    page.locator("input[type=file]").set_input_files(file)
    page.locator(".result .bars").wait_for()
    camera.shoot("try")


@contextmanager
def photographed(folder: Path, out: Path) -> Iterator[tuple[Camera, Workspace]]:
    """Serve a workspace, and log in."""
    with served(folder) as (address, secret), browsing() as page, Workspace(folder) as workspace:
        page.goto(f"{address}#token={secret}")
        page.get_by_role("navigation", name="Views").wait_for()
        yield Camera(page, address, out), workspace


def projects(digits: Path, out: Path) -> None:
    """The list of projects, and the form of a new one."""
    home = digits.parent / "projects"
    for name in ("Forms", "Meters", "Postcodes"):
        shutil.copytree(digits, home / name)
    with Workspace(home / "Meters") as workspace:
        workspace.undo()
    with Workspace(home / "Postcodes") as workspace:
        for group in workspace.groups():
            if group.kind == "novel":
                workspace.name(group.id, f"digit {group.id}", confirm=True)
    with running("app", str(home), "--no-open") as link, browsing() as page:
        page.route("**/api/v1/home", lambda route: route.fulfill(json=route.fetch().json() | {"folder": PROJECTS}))
        page.goto(link)
        page.locator(".project").first.wait_for()
        camera = Camera(page, link.partition("#")[0], out)
        camera.go("projects", ".project", size=(1280, 360))
        camera.shoot("projects")
        camera.go("new", ".networks .choice", size=(920, 1640))
        page.get_by_label("Name", exact=True).fill("House numbers")
        page.get_by_text("Upload", exact=True).click()
        page.get_by_label("Folder", exact=True).set_input_files(digits.parent / "known")
        page.get_by_text("images of 4 classes").wait_for()
        page.get_by_text("pixels (no network)").click()
        page.get_by_text("It works").wait_for()
        camera.shoot("new-project")


def adaptation(folder: Path, out: Path) -> None:
    """The card that adapts the network, before it is used."""
    if not NETWORK.is_dir():
        print(f"Skipped {out / 'adapt.png'}: it needs {NETWORK}, or OPENGCD_SHARED names another folder that has it.")
        return
    with Workspace.create(folder / "adaptable", str(NETWORK)) as workspace:
        workspace.fit(folder / "known")
    with photographed(folder / "adaptable", out) as (camera, _):
        camera.go("overview", ".card.adapt button", size=(1000, 1000))
        camera.page.locator(".card.adapt", has_text=re.compile(r"\d (second|minute|hour)")).wait_for(timeout=300_000)
        camera.shoot("adapt", ".card.adapt")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DOCS)
    out = parser.parse_args().out
    os.environ["LOGNAME"] = "ana"  # so that no picture names whoever makes it
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = digits_world.make(Path(temporary))
        projects(folder, out)
        with photographed(folder, out) as (camera, workspace):
            review(camera, workspace)
        adaptation(Path(temporary), out)


if __name__ == "__main__":
    main()
