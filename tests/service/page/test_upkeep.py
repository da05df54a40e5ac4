"""What keeps a project in order: checking and repairing its data, and the files that could not be used."""

from tests.helpers.browsing import violations
from tests.helpers.scenes import PERSON, detections, scene
from tests.helpers.serving import eventually


def test_the_data_are_checked_and_repaired(site):
    workspace, visit = site
    one = visit()
    one.go("history")
    card = one.page.get_by_role("region", name="Check the data")
    card.get_by_role("button", name="Check now").click()
    card.get_by_text("No damage found").wait_for()
    one.go("groups")
    one.page.locator(".card.group img").first.wait_for()
    one.page.wait_for_load_state("networkidle")
    picture = next((workspace.path / "thumbnails").glob("*/*.jpg"))
    picture.write_bytes(b"no picture")
    one.go("history")
    card.get_by_role("button", name="Check now").click()
    card.get_by_text("1 problem found").wait_for()
    card.get_by_text(picture.name).wait_for()
    assert violations(one.page) == []
    card.get_by_role("button", name="Repair what can be repaired").click()
    card.get_by_text("Repaired:").wait_for()
    assert workspace.check() == []


def test_files_that_could_not_be_used_are_listed(site, tmp_path):
    workspace, visit = site
    (tmp_path / "night.png").write_bytes(b"no picture")
    list(workspace.recognize([tmp_path / "night.png"]))
    one = visit()
    one.page.get_by_role("button", name="1 file could not be used").click()
    dialog = one.page.get_by_role("dialog", name="1 file could not be used")
    dialog.get_by_text("night.png: not a readable image").wait_for()
    assert violations(one.page) == []


def test_images_without_a_crop_are_counted_and_shown(site, tmp_path):
    """Added while the page is open, from a file of boxes; a number of them at a time."""
    workspace, visit = site
    one = visit()
    one.page.get_by_text("images seen").wait_for()
    assert one.page.get_by_text("without a crop").count() == 0
    found = {f"{n:02}.png": [] for n in range(61)} | {"person.png": PERSON}
    for n, name in enumerate(found):
        scene(tmp_path / "trap" / name, *["red"] * (1 + n))
    boxes = detections(tmp_path / "boxes.json", found)
    assert len(list(workspace.recognize([tmp_path / "trap"], boxes=boxes))) == 62
    one.page.locator(".tile", has_text="images without a crop").get_by_text("62").wait_for()
    one.page.get_by_role("button", name="61 empty").click()
    dialog = one.page.get_by_role("dialog", name="61 images without a crop: empty")
    dialog.get_by_text("59.png").wait_for()
    assert dialog.locator("li").count() == 60
    dialog.get_by_role("button", name="Show more").click()
    dialog.get_by_text("60.png").wait_for()
    dialog.get_by_role("button", name="Show more").wait_for(state="hidden")
    one.page.wait_for_function("document.querySelector('.without-crop img').naturalWidth > 0")
    assert violations(one.page) == []
    one.page.keyboard.press("Escape")
    one.expected = ("404",)
    (tmp_path / "trap" / "person.png").unlink()
    one.page.get_by_role("button", name="1 person").click()
    one.page.get_by_role("dialog").get_by_text("cannot be shown").wait_for()


def test_ranks_are_set_from_a_table_undone_and_removed(site):
    """As `opengcd taxonomy` does; a table that cannot be used changes nothing, and says why."""
    workspace, visit = site
    one = visit()
    one.expected = ("409",)
    card = one.page.get_by_role("region", name="Ranks")

    def choose(button, table):
        with one.page.expect_file_chooser() as chooser:
            card.get_by_role("button", name=button).click()
        chooser.value.set_files({"name": "ranks.csv", "mimeType": "text/csv", "buffer": table.encode()})

    choose("Choose a CSV file", "hue\n")
    one.page.locator(".toast.error", has_text="The table cannot be used").wait_for()
    choose("Choose a CSV file", "hue,colour\ncoloured,red\ncoloured,green\ngrey,black\n")
    card.get_by_text("hue › colour, for 3 classes.").wait_for()
    card.get_by_text("Without a rank above them: white.").wait_for()
    assert violations(one.page) == []
    card.get_by_label("Largest share of wrong names").fill("10")
    card.get_by_label("Largest share of wrong names").press("Enter")
    eventually(lambda: workspace.taxonomies.setting().error == 0.1)
    assert workspace.taxonomies.missing() == ["white"]
    card.get_by_role("button", name="Remove the ranks").click()
    card.get_by_role("button", name="Choose a CSV file").wait_for()
    one.press("u")
    card.get_by_text("hue › colour, for 3 classes.").wait_for()
