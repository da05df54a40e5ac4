"""The view of all images in a real browser: filters in the address, corrections, the viewer, files that are gone."""

import re

import pytest
from PIL import ExifTags, Image

from opengcd import Workspace
from opengcd.taxonomy import Taxonomy
from tests.helpers.browsing import Visit, cell
from tests.helpers.pictures import RECOGNIZER, paint, picture, truth
from tests.helpers.scenes import detections, scene
from tests.helpers.serving import serving
from tests.helpers.videos import TAKEN, clip


def total(one, n):
    one.page.locator(".total").get_by_text(f"{n} image{'s' if n != 1 else ''}", exact=True).wait_for()


def shown(one):
    return [int(id) for id in one.page.locator(".grid .cell").evaluate_all("(all) => all.map((c) => c.dataset.item)")]


def stream(workspace, colour):
    return [one.item for one in workspace.views.labels() if f"/stream/{colour}" in one.paths[0]]


def test_filters_are_in_the_address_and_a_class_leads_to_its_images(site):
    workspace, visit = site
    one = visit()
    page = one.page
    one.press("9")
    total(one, 80)
    page.get_by_label("Class", exact=True).select_option("red")
    total(one, 16)
    page.get_by_label("Where the label comes from").select_option("recognized")
    total(one, 8)
    assert sorted(shown(one)) == stream(workspace, "red")
    page.get_by_label("Order").select_option("name")
    page.get_by_label("Search file names").fill("ED103")
    total(one, 1)
    assert re.search(r"#/images\?.*label=red.*source=recognized.*sort=name$", page.url)
    assert "name=ED103" in page.url
    page.reload()
    total(one, 1)
    page.get_by_role("button", name="Remove the filter: name has “ED103”").click()
    total(one, 8)
    page.go_back()
    total(one, 1)
    page.get_by_label("Search file names").fill("nothing of this name")
    page.get_by_role("heading", name="No image passes these filters").wait_for()
    page.get_by_role("button", name="Clear all filters").click()
    total(one, 80)
    page.get_by_role("button", name="More filters").click()
    page.get_by_label("Doubt at least, in percent").fill("65")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Remove the filter: doubt at least 65 %").wait_for()
    expected = sum((image.doubt or 0) >= 0.65 for image in workspace.browsing.images(limit=1000).images)
    total(one, expected)
    one.go("images?source=invented&sort=beauty&doubt_min=x&since=never&group=-1")
    total(one, 80)
    one.go("overview")
    page.get_by_role("link", name="green").click()
    total(one, 16)
    group = workspace.groups()[0]
    one.go(f"groups/{group.id}")
    page.get_by_role("link", name="show in all images").click()
    total(one, len(group.items))


def test_accepted_images_are_corrected_and_learnt(site):
    workspace, visit = site
    one = visit()
    page = one.page
    one.go("images?source=recognized&label=green&sort=name")
    total(one, 8)
    wrong = stream(workspace, "green")[:3]
    requested = "() => performance.getEntriesByType('resource').some((one) => one.name.endsWith('/openapi.json'))"
    assert not page.evaluate(requested)  # it takes the service a while, and is needed only once something is selected
    for item in wrong:
        cell(page, item).click()
    page.wait_for_function(requested)
    one.press("m")
    one.field.fill("red")
    page.get_by_text("These images will be learnt as “red”.").wait_for()
    one.press("Enter")
    one.said("3 images are now “red”")
    total(one, 5)
    assert workspace.views.learnable() == {"red": 3}
    one.press("u")
    one.said("Undone: moving images")
    total(one, 8)
    cell(page, wrong[0]).click()
    one.press("m")
    one.field.fill("moss")
    page.get_by_text("This image will be learnt as the new class “moss”.").wait_for()
    one.press("Enter")
    one.said("1 image is now “moss”")
    assert workspace.views.learnable() == {"moss": 1}
    assert workspace.browsing.image(wrong[0]).source == "reviewed"


def test_learnt_images_are_corrected_together_with_others_and_removed(site):
    workspace, visit = site
    one = visit()
    page = one.page
    one.go("images?label=red&sort=added")
    total(one, 16)
    learnt = shown(one)[0]
    recognised = stream(workspace, "red")[0]
    for item in (learnt, recognised):
        cell(page, item).click()
    one.press("m")
    one.field.fill("GREEN")
    page.get_by_text("These images will be learnt as “green”.").wait_for()
    one.press("Enter")
    one.said("2 images are now “green”")
    total(one, 14)
    assert workspace.browsing.image(learnt)[2:4] == ("green", "reviewed")
    page.get_by_label("Class", exact=True).select_option("")
    page.get_by_role("button", name="More filters").click()
    page.get_by_label("Labelled by", exact=True).select_option("ann")
    total(one, 2)
    cell(page, learnt).click()
    one.press("i")
    page.get_by_text("Labelled “green” by ann. The next learning step takes it.").wait_for()
    one.press("x")
    one.said("1 image moved to the bin")
    assert workspace.browsing.image(learnt).source == "removed"
    one.press("u")
    one.said("Undone")
    assert workspace.browsing.image(learnt).label == "green"


def test_the_viewer_tells_why(site):
    workspace, visit = site
    one = visit()
    page = one.page
    red = stream(workspace, "red")
    one.go("images?name=red10&sort=added")
    cell(page, red[0]).dblclick()
    viewer = page.get_by_role("dialog", name="Details of the image")
    viewer.get_by_text("Recognised as “red”").wait_for()
    viewer.get_by_text("nearest labelled images are all “red”").wait_for()
    assert viewer.locator(".nearest li").count() == 6
    assert viewer.locator(".files").text_content() == workspace.views.paths(red[0])[0]
    stage = viewer.locator(".stage")
    box = stage.bounding_box()
    page.mouse.move(box["x"] + 50, box["y"] + 50)
    page.mouse.wheel(0, -400)
    page.wait_for_function("() => Number(document.querySelector('.stage').dataset.scale) > 2")
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + 90, steps=3)
    page.mouse.up()
    one.press("0")
    assert stage.get_attribute("data-scale") == "1.00"
    one.press("ArrowRight")
    viewer.get_by_role("heading", name="red101.png").wait_for()
    viewer.get_by_role("link", name="red", exact=True).first.wait_for()
    viewer.locator(".bars a").first.click()
    assert "label=" in page.url
    viewer.wait_for(state="detached")


def test_the_viewer_shows_what_the_camera_noted_and_leads_to_neighbours(site, tmp_path):
    workspace, visit = site
    exif = Image.Exif()
    exif[ExifTags.Base.Model] = "Trail Cam 5"
    exif.get_ifd(ExifTags.IFD.Exif).update(
        {
            ExifTags.Base.DateTimeOriginal: "2026:05:01 06:30:12",
            ExifTags.Base.ExposureTime: 0.004,
            ExifTags.Base.ISOSpeedRatings: 400,
        }
    )
    picture("red", 990).save(tmp_path / "heath.jpg", exif=exif, quality=95)
    (added,) = workspace.recognize([tmp_path / "heath.jpg"])
    near = next(
        one.id for one in workspace.similarity.neighbours(added.item)
        if workspace.browsing.image(one.id).source == "recognized"
    )  # fmt: skip
    one = visit()
    one.go("images?name=heath")
    cell(one.page, added.item).dblclick()
    viewer = one.page.get_by_role("dialog", name="Details of the image")
    notes = viewer.locator(".camera")
    notes.wait_for()
    told = {"Taken": "2026-05-01 06:30:12", "Camera": "Trail Cam 5", "Exposure": "1/250 s · ISO 400"}
    assert notes.locator("dt").all_text_contents() == list(told)
    assert notes.locator("dd").all_text_contents() == list(told.values())
    viewer.locator(f".neighbours button:has(img[src*='items/{near}/'])").click()
    viewer.get_by_role("heading", name=workspace.browsing.image(near).name).wait_for()


def test_a_crop_is_shown_in_its_image(browser, tmp_path):
    known = {}
    for colour in ("red", "green"):
        for number in range(4):
            name = f"{colour}/{number}.png"
            known[name] = scene(tmp_path / "known" / name, colour)
    both = {"both.png": scene(tmp_path / "both.png", "red", "green")}
    with Workspace.create(tmp_path / "crops", "pixels", recognizer=RECOGNIZER) as workspace:
        workspace.fit(tmp_path / "known", boxes=detections(tmp_path / "known.json", known))
        found = list(workspace.recognize([tmp_path / "both.png"], boxes=detections(tmp_path / "stream.json", both)))
        with serving(workspace) as address:
            one = Visit(browser, address, workspace.access.make("ann"))
            one.go("images?sort=added-")
            for number, crop in enumerate(found):
                cell(one.page, crop.item).dblclick()
                viewer = one.page.get_by_role("dialog", name="Details of the image")
                viewer.get_by_role("heading", name="both.png").wait_for()
                image = viewer.get_by_role("img", name="The whole image, both.png")
                image.wait_for()
                assert image.evaluate("(one) => one.decode().then(() => [one.naturalWidth, one.naturalHeight])") == [
                    80,
                    80,
                ]
                inside, outside = viewer.locator(".whole rect").bounding_box(), image.bounding_box()
                share = [
                    (inside[axis] - outside[axis]) / outside[side] for axis, side in (("x", "width"), ("y", "height"))
                ]
                assert share == pytest.approx([0.5 * number, 0.5], abs=0.02)
                one.press("Escape")
                viewer.wait_for(state="detached")
            one.end()
            # Where the whole image is gone, a word says so.
            (tmp_path / "both.png").unlink()
            other = Visit(browser, address, workspace.access.make("bob"))
            other.expected = ("404",)
            other.go("images?sort=added-")
            cell(other.page, found[0].item).dblclick()
            other.page.locator(".whole").get_by_role("img", name="cannot be shown").wait_for()
            other.end()


def test_the_deepest_sure_rank_is_told_with_the_stated_error(site):
    """An image of a new class is of none of the known ones, but its hue is sure."""
    workspace, visit = site
    lineages = {"red": ["a hue"], "green": ["a hue"], "black": ["a hue"], "white": ["a hue"]}
    workspace.taxonomies.set(Taxonomy(["hue"], lineages, "colour"), 0.25)
    (answer,) = workspace.taxonomies.answers([blue := stream(workspace, "blue")[0]]).values()
    assert (answer.taxon.path, answer.taxon.is_class) == (("a hue",), False)
    one = visit()
    one.go("images?name=blue10&sort=added")
    cell(one.page, blue).dblclick()
    one.page.get_by_text("What is sure: a hue (hue, 100 %). At most 25 % of images get a wrong name.").wait_for()


def test_the_list_shows_the_deepest_sure_rank_beside_the_class(site):
    """Only the ranks of images in sight are asked for, and the class is the label as before."""
    workspace, visit = site
    one = visit()
    asked = []
    one.page.on("request", lambda request: asked.append(request.url) if "/images/taxa" in request.url else None)
    one.go("images?name=blue10&sort=added")
    total(one, 8)
    lineages = {"red": ["a hue"], "green": ["a hue"], "black": ["a hue"], "white": ["a hue"]}
    workspace.taxonomies.set(Taxonomy(["hue"], lineages, "colour"), 0.25)
    (blue,) = stream(workspace, "blue")[:1]
    caption = cell(one.page, blue).locator(".caption")
    label = workspace.browsing.image(blue).label
    caption.get_by_text("a hue (hue)").wait_for()
    assert caption.inner_text().split("\n") == [label, "a hue (hue)"]
    assert cell(one.page, blue).get_attribute("aria-label") == f"blue100.png, {label}, a hue (hue)"
    assert {len(re.findall("items=", url)) for url in asked} <= set(range(1, 9))
    with one.page.expect_response("**/images/taxa*"):
        one.go("images?source=learnt&label=red")
    total(one, 8)
    assert set(one.page.locator(".grid .caption").all_inner_texts()) == {"red"}


def test_an_image_that_is_tried_is_named_at_the_deepest_sure_rank(site, tmp_path):
    workspace, visit = site
    lineages = {"red": ["a hue"], "green": ["a hue"], "black": ["a hue"], "white": ["a hue"]}
    workspace.taxonomies.set(Taxonomy(["hue"], lineages, "colour"), 0.25)
    workspace.taxonomies.thresholds()
    one = visit()
    one.go("try")
    one.page.locator("input[type=file]").set_input_files(paint(tmp_path / "tried", "blue", [980]))
    result = one.page.locator(".result")
    result.get_by_role("heading", name="Unknown").wait_for()
    result.get_by_text("What is sure: a hue (hue, 100 %). At most 25 % of images get a wrong name.").wait_for()


def test_a_word_stands_in_place_of_a_missing_picture(site, tmp_path):
    workspace, visit = site
    file, other = paint(tmp_path / "gone", "red", [970, 971])
    item, changed = (result.item for result in workspace.recognize([file, other]))
    file.unlink()
    paint(tmp_path / "gone", "green", [971])[0].rename(other)
    one = visit()
    one.expected = ("404",)
    one.go("images?name=red97&sort=added")
    for id, path, word in ((item, file, "file missing"), (changed, other, "file changed")):
        sign = cell(one.page, id).get_by_role("img", name=word)
        sign.wait_for()
        assert sign.get_attribute("title") == str(path)
        assert sign.text_content() == word
    cell(one.page, item).click()
    one.press("i")
    one.page.locator(".stage").get_by_role("img", name="file missing").wait_for()
    one.page.locator(".files").get_by_text("file missing").wait_for()
    assert one.page.locator("img[src*='items/']").evaluate_all(
        "(all) => all.every((i) => !i.complete || i.naturalWidth > 0)"
    )


def test_the_viewer_shows_which_frame_of_a_video_an_image_is(site, tmp_path):
    workspace, visit = site
    video = clip(tmp_path / "deer.mp4", "red", creation_time=f"{TAKEN}Z")
    _, late = workspace.recognize([video])
    one = visit()
    one.go("images?name=deer")
    total(one, 2)
    cell(one.page, late.item).click()
    one.press("i")
    one.page.get_by_role("heading", name="In its video").wait_for()
    one.page.locator(".clip").get_by_text(f"0:01.000 in {video}", exact=True).wait_for()


def test_the_page_hears_of_what_commands_beside_it_do(site, tmp_path):
    """Each by a workspace of its own, as a command has it: edit, recognise, discover, learn."""
    workspace, visit = site
    one = visit()
    one.go("images")
    total(one, 80)
    one.page.get_by_label("Class", exact=True).select_option("green")
    total(one, 16)
    with Workspace(workspace.path, who="bob") as other:
        other.move(stream(other, "green")[:2], "red")
        total(one, 14)
        list(other.recognize(paint(tmp_path / "more", "green", [980, 981, 982])))
        total(one, 17)
        one.page.get_by_role("button", name="Remove the filter: class green").click()
        total(one, 83)
        one.go("groups")
        for group in other.groups():
            if group.kind == "novel":
                other.name(group.id, truth(other.views.paths(group.items[0])[0]), confirm=True)
        one.page.get_by_role("heading", name="Done").wait_for()
        other.learn()
        one.page.get_by_role("heading", name="No groups yet").wait_for()
        list(other.recognize(paint(tmp_path / "new", "purple", range(990, 996))))
        other.discover()
        one.page.locator(".card.group").first.wait_for()


def test_what_waits_is_counted_alike_everywhere(site):
    workspace, visit = site
    first, second = workspace.groups()
    workspace.move(second.items[:3], "red")
    workspace.name(first.id, "sky", confirm=True)
    one = visit()
    one.go("overview")
    tile = one.page.locator(".tile", has_text="to review")
    tile.get_by_text("in 1 group").wait_for()
    assert tile.locator("dd").text_content() == "5in 1 group"
    one.page.get_by_role("heading", name="1 group to review").wait_for()
    one.page.get_by_text("5 images to look at.").wait_for()
    assert (
        one.page.get_by_role("navigation", name="Views").get_by_role("link", name="Groups").text_content() == "Groups1"
    )


def test_any_number_of_files_can_be_tried(site, tmp_path):
    _, visit = site
    files = paint(tmp_path / "many", "red", range(103))
    (tmp_path / "notes.txt").write_text("not an image")
    one = visit()
    one.go("try")
    one.page.locator("input[type=file]").set_input_files([*files, tmp_path / "notes.txt"])
    one.page.get_by_text("103 images were recognised. 1 file was left out, because it is not an image.").wait_for()
    assert one.page.locator(".result").count() == 103


def test_a_format_that_the_browser_does_not_know_is_tried_with_a_word_in_place_of_the_picture(site, tmp_path):
    _, visit = site
    picture("red", 970).save(tmp_path / "scan.tif")
    one = visit()
    one.go("try")
    one.page.locator("input[type=file]").set_input_files(tmp_path / "scan.tif")
    result = one.page.locator(".result", has_text="scan.tif")
    result.get_by_role("heading", name="red").wait_for()
    result.get_by_role("img", name="cannot be shown").wait_for()
