"""Known classes on the page: taught from a folder, renamed, merged, measured, and their labels checked."""

import shutil
import time
from pathlib import Path

import pytest

from opengcd import Workspace
from tests.helpers.browsing import drop, violations
from tests.helpers.pictures import KNOWN, RECOGNIZER, paint
from tests.helpers.serving import eventually


@pytest.fixture(scope="module")
def mislabelled(tmp_path_factory):
    """A workspace that was taught two wrong labels: a red image as green, and a white one as black."""
    folder = tmp_path_factory.mktemp("mislabelled")
    for colour in KNOWN:
        paint(folder / "known" / colour, colour, range(8))
    for true, given in {"red": "green", "white": "black"}.items():
        paint(folder / "known" / given, true, [50])
    with Workspace.create(folder / "workspace", "pixels", recognizer=RECOGNIZER) as workspace:
        workspace.fit(folder / "known")
    return folder / "workspace"


@pytest.fixture
def workspace(mislabelled, tmp_path):
    shutil.copytree(mislabelled, tmp_path / "workspace")
    with Workspace(tmp_path / "workspace", who="ann") as opened:
        yield opened


def offered(one):
    one.page.locator(".options li").first.wait_for()
    return one.page.locator(".options .label").all_text_contents()


def likely(workspace, items, but=""):
    """The known classes, the most likely first."""
    homes = workspace.suggestions.of_items(items).homes
    return [home.label for home in homes if home.known and home.label != but]


def asked(one, label):
    one.page.get_by_role("heading", name=f"Is this really “{label}”?").wait_for()


def test_suspected_labels_are_judged_by_one_key_each_and_undone(site):
    workspace, visit = site
    first, second = workspace.held_out.suspects().suspects
    one = visit()
    one.press("0")
    asked(one, first.label)
    assert one.page.get_by_text("2 images left").is_visible()
    sources = one.page.evaluate("() => [...document.querySelectorAll('.sides img')].map((image) => image.src)")
    shown = [int(source.split("/items/")[1].split("/")[0]) for source in sources]
    assert shown == [*first.like_label, *first.like_suggested]
    one.press("s")
    asked(one, second.label)
    one.press("s")
    one.page.get_by_role("button", name="Show them again").click()
    asked(one, first.label)
    one.press("c", "k")
    one.page.get_by_role("heading", name="No label is suspected").wait_for()
    eventually(lambda: workspace.held_out.suspects().total == 0)
    assert workspace.views.item(first.item).labelled.label == first.suggested
    assert workspace.views.item(second.item).labelled.label == second.label
    one.press("u")
    one.said("Undone: confirming a label.")
    asked(one, second.label)
    one.press("o")
    assert offered(one) == likely(workspace, [second.item])
    one.page.get_by_role("dialog").get_by_role("combobox").fill("red")
    one.page.get_by_role("dialog").get_by_role("button", name="Change the label").click()
    one.said("The image is now “red”.")
    assert workspace.views.item(second.item).labelled.label == "red"
    one.press("u")
    asked(one, second.label)
    one.press("x")
    one.said("The image is removed.")
    one.press("u")
    asked(one, second.label)
    one.page.get_by_role("button", name="Remove").click()
    one.said("The image is removed.")
    assert workspace.views.item(second.item).labelled.source == "removed"
    one.page.get_by_role("link", name="Learn", exact=True).last.click()
    one.page.get_by_text("1 learnt image gets another label, 1 learnt image is forgotten.").wait_for()
    one.page.get_by_role("button", name="Learn").click()
    one.page.get_by_text("in version 1").wait_for()
    assert one.page.get_by_text("Better than before").is_visible()
    assert one.page.get_by_text("No two classes are mixed up.").is_visible()
    one.page.get_by_label("Version", exact=True).select_option("Version 1")
    one.page.get_by_role("button", name="green taken for red").click()
    one.page.get_by_role("heading", name="green taken for red: 1 image").wait_for()
    one.page.get_by_label("Version", exact=True).select_option("Version 2, in use")
    one.page.get_by_text("in version 1").wait_for()
    one.go("overview")
    one.page.get_by_role("img", name="Accuracy by phase. held out: phase 1 94.1 %, phase 2 100 %").wait_for()
    one.go("history")
    one.page.get_by_text("corrected the label of 1 learnt image to").first.wait_for()


def test_a_pair_and_a_cell_of_the_matrix_show_their_images(site):
    workspace, visit = site
    one = visit()
    one.go("learn")
    one.page.get_by_role("button", name="green taken for red").click()
    gallery = one.page.locator(".confused")
    gallery.get_by_role("heading", name="green taken for red: 1 image").wait_for()
    (item,) = workspace.held_out.cell("green", "red")
    assert gallery.locator("img").get_attribute("alt") == f"Image {item}"
    one.page.get_by_role("button", name="Zoom in").click()
    numbers = one.page.locator(".confusion .number").all_text_contents()
    assert sorted(numbers) == ["1", "1", "8", "8", "8", "8"]
    one.page.locator(".confusion .right").first.click()
    gallery.get_by_text("recognised").wait_for()
    assert gallery.locator("img").count() == 8
    assert not violations(one.page)
    gallery.locator("a img").first.click()
    viewer = one.page.get_by_role("dialog", name="Details of the image")
    viewer.get_by_role("heading", name="Nearest labelled images").wait_for()
    one.page.go_back()
    one.page.locator(".confusion text", has_text="red").first.click()
    one.page.get_by_role("button", name="Remove the filter: class red").wait_for()
    one.go("learn")
    one.page.get_by_role("table", name="Hardest classes").get_by_role("link", name="green").click()
    one.page.get_by_role("button", name="Remove the filter: class green").wait_for()


def test_classes_are_renamed_and_merged_from_the_overview(site):
    workspace, visit = site
    one = visit()
    one.go("overview")
    one.page.get_by_role("button", name="Rename red").click()
    box = one.page.get_by_role("dialog").get_by_role("combobox")
    box.fill("GREEN")
    one.page.get_by_text("There is “green” already.").wait_for()
    box.fill("scarlet")
    box.press("Enter")
    one.said("“red” is now “scarlet”.")
    one.page.get_by_role("button", name="Merge scarlet into another class").click()
    scarlet = [each.id for each in workspace.browsing.images(limit=100).images if each.label == "scarlet"]
    assert offered(one) == likely(workspace, scarlet, "scarlet")
    one.page.get_by_role("dialog").get_by_role("combobox").fill("green")
    one.page.get_by_text("The recogniser tells them apart until it learns again.").wait_for()
    one.page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    one.said("“scarlet” is merged into “green”.")
    assert workspace.views.corrected() == {"green": 8}
    one.press("u")
    one.said("Undone: merging two classes.")
    one.press("u")
    one.said("Undone: renaming a class.")
    one.page.get_by_role("button", name="Rename red").wait_for()


def test_a_folder_is_taught_and_conflicts_are_replaced_when_asked(site, tmp_path):
    workspace, visit = site
    paint(tmp_path / "more" / "orange", "orange", range(500, 504))
    paint(tmp_path / "more" / "green", "red", [0])  # learnt as red
    (tmp_path / "more" / "orange" / "broken.png").write_text("no image")
    one = visit()
    one.go("learn")
    region = one.page.get_by_role("region", name="Teach labelled images")
    one.page.get_by_label("Folder of labelled images").set_input_files(tmp_path / "more")
    region.get_by_text("6 images of 2 classes").wait_for()
    assert not violations(one.page)
    region.get_by_role("button", name="Teach 6 images").click()
    one.page.get_by_text("4 images labelled.").wait_for()
    one.page.get_by_text("red, not green").wait_for()
    one.page.get_by_text("1 file could not be used").wait_for()
    assert workspace.views.learnable() == {"orange": 4}
    one.page.get_by_role("button", name="Replace these labels").click()
    one.page.get_by_text("1 image labelled, 4 had the label already.").wait_for()
    assert workspace.views.corrected() == {"green": 1}
    one.page.get_by_role("heading", name="1 new class, 5 images").wait_for()


def test_images_are_taught_by_a_list(site, tmp_path):
    """As `opengcd teach --labels`; what a list does not name is told; a list that cannot be used teaches nothing."""
    workspace, visit = site
    paint(tmp_path / "new" / "all", "blue", range(900, 903))
    paint(tmp_path / "new" / "all", "yellow", range(900, 902))
    table = tmp_path / "new" / "labels.csv"
    one = visit()
    one.go("learn")
    region = one.page.get_by_role("region", name="Teach labelled images")
    table.write_text("place,label\nall/blue900.png,sky\n")
    one.page.get_by_label("Folder of labelled images").set_input_files(tmp_path / "new")
    region.get_by_text("no 'file'").wait_for()
    assert region.get_by_role("button", name="Teach them").is_disabled()
    region.get_by_role("combobox").select_option("")  # by folders
    region.get_by_text("5 images of 1 class").wait_for()
    region.get_by_role("button", name="Cancel").click()
    region.get_by_role("button", name="Choose a folder").wait_for()
    table.write_text('file;label\nall/blue900.png;"deep ""sky"""\nblue901.png;"deep ""sky"""\nyellow900.png;sun\n')
    one.page.get_by_label("Folder of labelled images").set_input_files(tmp_path / "new")
    region.get_by_text("3 images of 2 classes").wait_for()
    region.get_by_text("2 files without a label: left out.").wait_for()

    def late(route):
        """The answer comes after the event that the job is over."""
        answer = route.fetch()
        eventually(lambda: workspace.jobs.latest()[0].finished)
        time.sleep(1)
        route.fulfill(response=answer)

    one.page.route("**/taught-files", late)
    region.get_by_role("button", name="Teach 3 images").click()
    region.get_by_text("3 images labelled").wait_for()
    learnable = workspace.views.learnable()
    assert (learnable['deep "sky"'], learnable["sun"]) == (2, 1)


def test_a_zip_that_is_dropped_on_the_card_is_taught_even_after_a_reload(site, tmp_path):
    """What is dropped elsewhere is recognised; what is chosen and not taught yet waits for the person."""
    workspace, visit = site
    paint(tmp_path / "more" / "orange", "orange", range(500, 504))
    packed = Path(shutil.make_archive(tmp_path / "more", "zip", tmp_path / "more"))
    one = visit()
    one.go("learn")
    region = one.page.get_by_role("region", name="Teach labelled images")
    region.get_by_role("button", name="Choose a folder").wait_for()
    drop(one.page, [packed], ".teach")
    region.get_by_text("4 images of 1 class").wait_for()
    one.page.reload()
    region.get_by_text("4 images of 1 class").wait_for()
    region.get_by_role("button", name="Teach 4 images").click()
    region.get_by_text("4 images labelled.").wait_for()
    assert workspace.views.learnable() == {"orange": 4}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_views_are_for_every_eye_and_screen(site, scheme):
    _, visit = site
    one = visit(color_scheme=scheme, reduced_motion="reduce", viewport={"width": 400, "height": 850})
    one.go("labels")
    one.page.locator(".suspect").wait_for()
    assert one.page.evaluate("() => document.documentElement.scrollWidth") <= 400
    assert not violations(one.page)
    one.go("learn")
    one.page.locator(".pairs li").first.wait_for()
    assert one.page.evaluate("() => document.documentElement.scrollWidth") <= 400
    assert not violations(one.page)
