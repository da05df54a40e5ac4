"""Labels leave the page in the format of any tool."""

import zipfile
from pathlib import Path

from opengcd.workspace import FORMATS
from tests.helpers.browsing import violations
from tests.helpers.pictures import truth

CAMERAS = (
    b"folder,deploymentID,latitude,longitude,deploymentStart,deploymentEnd\n"
    b".,cam1,49.5,8.5,2024-05-01T00:00:00Z,2024-05-31T00:00:00Z\n"
)


def test_labels_are_exported_in_any_format(site):
    one = site[1]()
    one.press("7")
    dialog = one.page.get_by_role("dialog", name="Export labels")

    def export(format, images, title):
        one.page.get_by_role("button", name="Export labels…").click()
        dialog.locator("label", has_text=format).first.click()
        dialog.locator("label", has_text=images).click()
        assert violations(one.page) == []
        with one.page.expect_download() as download:
            dialog.get_by_role("button", name="Download").click()
        assert download.value.suggested_filename == f"workspace-{title}"
        return Path(download.value.path())

    assert export("CSV", "All images", "csv.csv").read_text().startswith("path,")
    archive = zipfile.ZipFile(export("YOLO", "Reviewed images", "yolo.zip"))
    assert archive.testzip() is None
    assert sum(name.endswith(".png") for name in archive.namelist()) == 32
    one.page.get_by_role("button", name="Export labels…").click()
    dialog.get_by_role("radio").last.wait_for(state="attached")
    assert dialog.get_by_role("radio").count() == len(FORMATS) + 3
    dialog.locator("label", has_text="Camtrap DP").first.click()
    dialog.get_by_label("Table of deployments (CSV)").set_input_files(
        {"name": "cameras.csv", "mimeType": "text/csv", "buffer": b"folder\n"}
    )
    assert violations(one.page) == []
    one.expected = ("409",)
    dialog.get_by_role("button", name="Download").click()
    one.page.locator(".toast.error", has_text="no column 'deploymentID'").wait_for()
    assert export("iNaturalist", "All images", "inaturalist.csv").read_text(encoding="latin-1")
    one.page.get_by_role("button", name="Export labels…").click()
    dialog.locator("label", has_text="iNaturalist").first.click()
    dialog.get_by_label("Table of deployments (CSV)").set_input_files(
        {"name": "cameras.csv", "mimeType": "text/csv", "buffer": CAMERAS}
    )
    with one.page.expect_download() as download:
        dialog.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "workspace-inaturalist.csv"
    assert "8.5" in Path(download.value.path()).read_text(encoding="latin-1")
    one.page.get_by_role("button", name="Export labels…").click()
    one.press("Escape")
    dialog.wait_for(state="detached")


def test_once_everything_is_done_the_next_step_is_to_export(site):
    workspace, visit = site
    for group in workspace.groups():
        workspace.name(group.id, truth(workspace.views.paths(group.items[0])[0]), confirm=True)
    workspace.learn()
    one = visit()
    card = one.page.get_by_role("region", name="What to do next")
    card.get_by_role("heading", name="Nothing to review").wait_for()
    card.get_by_role("button", name="Export labels…").click()
    with one.page.expect_download() as download:
        one.page.get_by_role("dialog", name="Export labels").get_by_role("button", name="Download").click()
    assert len(Path(download.value.path()).read_text().splitlines()) == 81
