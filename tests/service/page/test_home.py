"""From an empty folder of projects to a recognised stream, with no command but the first."""

import json
import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from opengcd import Workspace
from opengcd.workspace.schema import captures
from tests.helpers.browsing import WAIT, drop, violations
from tests.helpers.homing import home_process, home_serving
from tests.helpers.hub import serving_hub
from tests.helpers.networks import save_vit
from tests.helpers.pictures import paint, picture
from tests.helpers.scenes import SIDE, scene
from tests.helpers.videos import film


@pytest.fixture
def page(browser):
    """A page that must not complain."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    context.set_default_timeout(WAIT)
    found = context.new_page()
    complaints = []
    found.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
    found.on("pageerror", lambda error: complaints.append(str(error)))
    yield found
    context.close()
    expected = "net::ERR", "409"  # a connection that a test breaks, and a name that is taken
    assert [text for text in complaints if not any(part in text for part in expected)] == []


@contextmanager
def in_project(page, tmp_path, reviewable):
    """Serve a folder with one project, and open that."""
    shutil.copytree(reviewable, tmp_path / "projects" / "colours")
    with home_serving(tmp_path / "projects") as (address, access):
        page.goto(f"{address}#token={access.make('bob', once_within=None)}")
        page.get_by_role("link", name="colours", exact=True).click()
        page.get_by_role("heading", name="Add images").wait_for()
        yield


def choose(page, button, files, *, exact=True):
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button, exact=exact).click()
    chooser.value.set_files([str(file) for file in files] if isinstance(files, list) else str(files))


def test_from_nothing_to_a_recognised_stream(page, world, tmp_path):
    """As a person does it: the command, a project from an upload, then a stream, and the groups in it."""
    known, stream = world
    with home_process(tmp_path / "projects") as (_, link):
        page.goto(link)
        page.get_by_role("heading", name="Create your first project").wait_for()
        assert violations(page) == []
        page.get_by_role("link", name="New project").click()
        page.get_by_label("Name", exact=True).fill("Colours")
        page.get_by_text("Upload", exact=True).click()
        choose(page, "Choose a folder", known)
        page.get_by_text("32 images of 4 classes").wait_for()
        page.get_by_text("pixels (no network)").click()
        page.get_by_text("It works: 192 numbers per image").wait_for()
        assert violations(page) == []
        page.get_by_role("button", name="Create project").click()
        page.wait_for_url("**/projects/Colours/**", timeout=90_000)
        page.get_by_role("heading", name="No image has been recognised yet").wait_for()
        # Anything that is dropped anywhere is added.
        drop(page, sorted(stream.iterdir()))
        page.locator(".toast", has_text="48 images were added").wait_for(timeout=60_000)
        page.get_by_role("button", name="Group them").wait_for()
        assert violations(page) == []
        page.get_by_role("link", name="All projects").click()
        card = page.get_by_role("listitem").filter(has_text="Colours")
        card.get_by_text("80 images · 4 classes").wait_for()
        card.get_by_role("link", name="unknown image").click()
        page.get_by_role("heading", name="images were rejected").wait_for()


def test_labelled_images_that_are_dropped_on_the_list_begin_a_project(page, world, tmp_path):
    packed = Path(shutil.make_archive(tmp_path / "known", "zip", world[0]))
    with home_serving(tmp_path / "projects") as (address, access):
        page.goto(f"{address}#token={access.make('bob')}")
        page.get_by_role("heading", name="Create your first project").wait_for()
        drop(page, [packed])
        page.get_by_text("32 images of 4 classes").wait_for()
        page.get_by_role("heading", name="New project").wait_for()
        assert page.get_by_label("Upload").is_checked()


def test_when_everything_is_done_the_page_offers_the_export(page, fitted, tmp_path):
    paint(tmp_path / "more", "red", range(900, 903))
    shutil.copytree(fitted, tmp_path / "projects" / "colours")
    with Workspace(tmp_path / "projects" / "colours") as workspace:
        assert {result.label for result in workspace.recognize([tmp_path / "more"])} == {"red"}
        assert workspace.views.next_step().step == "export"
    with home_serving(tmp_path / "projects") as (address, access):
        page.goto(f"{address}#token={access.make('bob', once_within=None)}")
        page.get_by_role("link", name="Export the labels, or add images").click()
        page.get_by_role("button", name="Export labels").click()
        page.get_by_role("dialog", name="Export labels").wait_for()


def test_the_images_of_a_list_on_the_machine_are_added(page, fitted, tmp_path):
    paint(tmp_path / "all", "blue", range(700, 703))
    (tmp_path / "some.csv").write_text("file\nall/blue700.png\nall/blue702.png\n")
    shutil.copytree(fitted, tmp_path / "projects" / "colours")
    with home_serving(tmp_path / "projects") as (address, access):
        page.goto(f"{address}#token={access.make('bob', once_within=None)}")
        page.get_by_role("link", name="colours", exact=True).click()
        page.get_by_role("button", name="From this machine").click()
        dialog = page.get_by_role("dialog", name="Add the images of a folder, or of a list")
        dialog.get_by_label("Folder", exact=True).fill(str(tmp_path))
        dialog.get_by_label("Folder", exact=True).press("Enter")
        dialog.get_by_role("button", name="Add this folder").wait_for()
        dialog.get_by_role("button", name="some.csv").click()
        page.locator(".toast", has_text="2 images were added").wait_for()


def test_an_upload_goes_on_after_a_reload_and_a_lost_connection(page, world, tmp_path, reviewable):
    paint(tmp_path / "more", "blue", range(700, 712))
    with in_project(page, tmp_path, reviewable):
        sent = []

        def weak(route):
            """Let five files through, then lose the connection."""
            sent.append(route.request.url)
            return route.continue_() if len(sent) <= 5 else route.abort()

        page.route("**/uploads/*/file*", weak)
        choose(page, "Choose files", sorted((tmp_path / "more").iterdir()))
        page.get_by_text("The connection is lost").wait_for()
        first = set(sent[:5])
        page.unroute_all()
        again = []
        page.on(
            "request",
            lambda request: "/uploads/" in request.url and request.method == "PUT" and again.append(request.url),
        )
        page.reload()
        page.locator(".toast", has_text="12 images were added").wait_for()
        assert not first & set(again)
        assert len(again) == 7


def test_boxes_that_come_with_images_are_cut_out(page, tmp_path, reviewable):
    paint(tmp_path / "night", "blue", range(700, 703))
    boxes = [{"category": "1", "conf": 0.4, "bbox": [0, 0, 0.5, 1]}]
    found = [{"file": f"blue{n}.png", "detections": boxes if n < 702 else []} for n in range(700, 703)]
    (tmp_path / "night" / "md.json").write_text(json.dumps({"images": found}))
    with in_project(page, tmp_path, reviewable):
        choose(page, "Choose a folder", tmp_path / "night")
        dialog = page.get_by_role("dialog", name="Cut out the boxes of a detector?")
        dialog.get_by_label("Lowest confidence of a box").fill("0.3")
        assert violations(page) == []
        dialog.get_by_role("button", name="Cut out the boxes").click()
        page.locator(".toast", has_text="2 images were added").wait_for()
        page.locator(".toast", has_text="1 image has no box").wait_for()


def test_times_and_frames_are_asked_for_before_images_are_added(page, tmp_path, reviewable):
    film(tmp_path / "night" / "clip.mp4", [picture("blue", n, 32) for n in range(700, 710)])
    (tmp_path / "night" / "times.csv").write_text("file,time\nclip.mp4,2024-05-01T06:31:00\n")
    with in_project(page, tmp_path, reviewable):
        choose(page, "Choose a folder", tmp_path / "night")
        times = page.get_by_role("dialog", name="Read the times at which the images were taken?")
        times.wait_for()
        assert violations(page) == []
        times.get_by_role("button", name="Read the times").click()
        frames = page.get_by_role("dialog", name="Take frames of the videos")
        frames.get_by_label("Frames per second").fill("5")
        assert violations(page) == []
        frames.get_by_role("button", name="Add the images").click()
        page.locator(".toast", has_text="5 images were added").wait_for()
    with Workspace(tmp_path / "projects" / "colours") as workspace, workspace.store.database.reading() as connection:
        taken = connection.scalars(select(captures.c.taken).order_by(captures.c.item_id.desc()).limit(5)).all()
    assert sorted(taken) == pytest.approx([1714545060 + n / 5 for n in range(5)])


def test_the_rate_of_videos_in_a_folder_of_the_machine_is_asked_for(page, tmp_path, reviewable):
    film(tmp_path / "night" / "clip.mp4", [picture("blue", n, 32) for n in range(700, 710)])
    with in_project(page, tmp_path, reviewable):
        page.get_by_role("button", name="From this machine").click()
        dialog = page.get_by_role("dialog", name="Add the images of a folder")
        dialog.get_by_label("Folder", exact=True).fill(str(tmp_path / "night"))
        dialog.get_by_label("Folder", exact=True).press("Enter")
        dialog.get_by_text("1 video in this folder").wait_for()
        dialog.get_by_role("button", name="Add this folder").click()
        frames = page.get_by_role("dialog", name="Take frames of the videos")
        frames.get_by_label("Frames per second").fill("5")
        frames.get_by_role("button", name="Add the images").click()
        page.locator(".toast", has_text="5 images were added").wait_for()


def test_a_failed_creation_keeps_what_was_entered(page, world, tmp_path):
    with home_serving(tmp_path / "projects") as (address, access):
        page.goto(f"{address}#token={access.make('bob')}")
        page.goto(f"{address}#/new")
        page.get_by_label("Name", exact=True).fill("Colours")
        held = []
        page.route("**/folders*", lambda route: held.append(route), times=1)
        page.get_by_role("button", name="Choose a folder").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Folder", exact=True).fill(str(world[0].parent))
        dialog.get_by_label("Folder", exact=True).press("Enter")
        dialog.get_by_role("button", name="known").wait_for()
        with page.expect_response("**/folders*"):
            held[0].continue_()  # the first listing comes late, and changes nothing
        dialog.get_by_role("button", name="known").click()
        dialog.get_by_text("4 folders").wait_for()
        dialog.get_by_role("button", name="Use this folder").click()
        page.get_by_text("32 images of 4 classes").wait_for()
        page.get_by_text("pixels (no network)").click()
        page.get_by_text("It works: 192").wait_for()
        page.reload()
        page.get_by_text("32 images of 4 classes").wait_for()
        page.get_by_text("It works: 192").wait_for()
        assert page.get_by_label("Name", exact=True).input_value() == "Colours"
        (tmp_path / "projects" / "colours").mkdir()
        page.get_by_role("button", name="Create project").click()
        page.locator(".toast.error", has_text="There is already something called").wait_for()
        page.get_by_label("Name", exact=True).fill("Colours 2")
        page.get_by_role("button", name="Create project").click()
        page.wait_for_url("**/projects/Colours%202/**", timeout=90_000)


def test_a_project_without_classes_is_no_dead_end(page, tmp_path):
    Workspace.create(tmp_path / "projects" / "birds", "pixels").close()
    with home_serving(tmp_path / "projects") as (address, access):
        page.goto(f"{address}#token={access.make('bob')}")
        page.get_by_role("link", name="Learn the first classes").click()
        page.get_by_text("opengcd init birds --known FOLDER").wait_for()
        page.get_by_role("link", name="create a new project").click()
        page.get_by_role("heading", name="New project").wait_for()


def test_the_download_of_a_backbone_is_shown_and_can_be_cancelled(page, tmp_path, monkeypatch):
    save_vit(tmp_path / "tiny")
    with (
        serving_hub({"ann/tiny": tmp_path / "tiny"}, tmp_path / "hub", monkeypatch) as hub,
        home_serving(tmp_path / "projects") as (address, access),
    ):
        page.goto(f"{address}#token={access.make('bob')}")
        page.goto(f"{address}#/new")
        page.get_by_label("Name, folder or ONNX file").fill("ann/tiny")
        page.get_by_text("Another one", exact=True).click()
        download = page.get_by_role("region", name="Downloading ann/tiny")
        download.get_by_text(" kB of ").wait_for()
        assert violations(page) == []
        page.reload()
        download.get_by_text(" kB of ").wait_for()
        page.evaluate("localStorage.clear()")  # as in another browser
        page.reload()
        download.get_by_text(" kB of ").wait_for()
        download.get_by_role("button", name="Cancel").click()
        page.get_by_text("The check was cancelled.").wait_for()
        hub.go_on.set()
        page.get_by_role("button", name="Try again").click()
        page.get_by_text("It works: 16 numbers per image").wait_for()
        assert hub.sent.count("model.safetensors") == 2  # neither reload began another download


def test_vectors_boxes_and_settings_are_chosen_in_the_form(page, world, tmp_path):
    """What `opengcd init` takes: a file of vectors needs no backbone; boxes are cut out; settings reach the project."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 8)) + 9 * np.repeat(np.eye(2, 8), 10, axis=0)
    np.savez(tmp_path / "sounds.npz", X=X, labels=np.repeat(["owl", "wren"], 10))
    known = sorted(world[0].glob("*/*.png"))
    half = [{"category": "1", "conf": 0.9, "bbox": [0, 0, 0.5, 1]}]
    found = [{"file": f"{file.parent.name}/{file.name}", "detections": half} for file in known]
    shutil.copytree(world[0], tmp_path / "camera" / "known")
    (tmp_path / "camera" / "known" / "md.json").write_text(json.dumps({"images": found}))
    with home_serving(tmp_path / "projects") as (address, access):
        page.goto(f"{address}#token={access.make('bob')}")
        page.goto(f"{address}#/new")
        page.get_by_label("Name", exact=True).fill("Sounds")
        page.get_by_text("Upload", exact=True).click()
        choose(page, "Choose files or a zip", [tmp_path / "sounds.npz"])
        page.get_by_text("20 vectors of 2 classes").wait_for()
        assert page.get_by_role("heading", name="Backbone").count() == 0
        assert violations(page) == []
        page.get_by_text("More settings").click()
        page.get_by_label("Largest number of exemplars").fill("11")
        page.get_by_label("Classifier").select_option("svm")
        page.get_by_role("button", name="Create project").click()
        page.wait_for_url("**/projects/Sounds/**", timeout=90_000)
        with Workspace(tmp_path / "projects" / "Sounds") as made:
            assert made.settings.recognizer == {
                "random_state": 0, "preset": "best", "classifier": "svm", "memory_size": 11
            }  # fmt: skip
        page.goto(f"{address}#/new")
        page.get_by_label("Name", exact=True).fill("Camera")
        page.get_by_text("Upload", exact=True).click()
        choose(page, "Choose a folder", tmp_path / "camera" / "known")
        page.get_by_text("32 images of 4 classes").wait_for()
        page.get_by_label("Cut out the boxes of a detector").select_option("known/md.json")
        page.get_by_label("Lowest confidence of a box").fill("0.5")
        page.get_by_text("pixels (no network)").click()
        page.get_by_text("It works: 192 numbers per image").wait_for()
        assert violations(page) == []
        page.get_by_role("button", name="Create project").click()
        page.wait_for_url("**/projects/Camera/**", timeout=90_000)
        with Workspace(tmp_path / "projects" / "Camera") as made:
            assert {"crops"} == {Path(path).parts[-3] for item in range(1, 33) for path in made.views.paths(item)}


def test_the_labels_of_a_new_project_are_those_of_boxes(page, tmp_path):
    """A dataset in COCO's format as it is, without folders of classes."""
    names = ["red", "green"]
    for number in range(6):
        scene(tmp_path / "shelf" / f"{number}.png", *names)
    document = {
        "images": [{"id": n, "file_name": f"{n}.png", "width": 2 * SIDE, "height": 2 * SIDE} for n in range(6)],
        "categories": [{"id": place, "name": name} for place, name in enumerate(names)],
        "annotations": [
            {"id": 2 * n + place, "image_id": n, "category_id": place, "bbox": [place * SIDE, SIDE, SIDE, SIDE]}
            for n in range(6)
            for place in (0, 1)
        ],
    }
    (tmp_path / "shelf" / "coco.json").write_text(json.dumps(document))
    with home_serving(tmp_path / "projects") as (address, access):
        page.goto(f"{address}#token={access.make('bob')}")
        page.goto(f"{address}#/new")
        page.get_by_label("Name", exact=True).fill("Shelf")
        page.get_by_text("Upload", exact=True).click()
        choose(page, "Choose a folder", tmp_path / "shelf")
        page.get_by_text("has boxes of several classes").wait_for()
        page.get_by_label("Cut out the boxes of a detector").select_option("shelf/coco.json")
        page.get_by_label("Each box has its own class").check()
        page.get_by_text("12 boxes of 2 classes").wait_for()
        page.reload()  # the draft is kept
        page.get_by_text("12 boxes of 2 classes").wait_for()
        page.get_by_text("pixels (no network)").click()
        page.get_by_text("It works: 192 numbers per image").wait_for()
        assert violations(page) == []
        page.get_by_role("button", name="Create project").click()
        page.wait_for_url("**/projects/Shelf/**", timeout=90_000)
        with Workspace(tmp_path / "projects" / "Shelf") as made:
            assert {(one.label, made.views.origin(one.item).box[0] // SIDE) for one in made.views.labels()} == {
                ("red", 0), ("green", 1)
            }  # fmt: skip
