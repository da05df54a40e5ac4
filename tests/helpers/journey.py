"""From a machine without a project to a file of labels, on the page alone: what each hand does, in the same order."""

import re
from collections import Counter
from pathlib import Path

from playwright.sync_api import expect

from tests.helpers.browsing import WAIT

UP = "One folder up"


class Journey:
    """One person's way through the page, who knows each image by the name of its file."""

    def __init__(self, browser, hand, name_of, patience=WAIT):
        self.context = browser.new_context(**hand.options, reduced_motion="reduce", accept_downloads=True)
        self.context.set_default_timeout(WAIT)
        self.page = self.context.new_page()
        self.complaints = []
        self.page.on("console", lambda m: m.type in ("error", "warning") and self.complaints.append(m.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.hand, self.name_of, self.patience = hand(self.page), name_of, patience

    def end(self):
        self.context.close()
        assert self.complaints == []

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def said(self, text):
        self.page.locator(".toast", has_text=text).first.wait_for(timeout=self.patience)

    def choose_files(self, button, files):
        """Choose files; the window in which a system lets one do so is no part of the page."""
        with self.page.expect_file_chooser() as chooser:
            self.hand.press(self.button(button))
        chooser.value.set_files(files)

    def choose_folder(self, *steps, submit):
        """Go through folders of the machine by their entries, from the person's own or the one chosen last."""
        dialog = self.page.get_by_role("dialog")
        for step in steps:
            self.hand.press(dialog.get_by_role("button", name=step, exact=True))
            if step != UP:
                expect(dialog.get_by_label("Folder", exact=True)).to_have_value(re.compile(rf"/{step}$"))
        self.hand.press(dialog.get_by_role("button", name=submit))

    def begin(self, link, name):
        """Open the page as the command does, and give a new project a name."""
        self.page.goto(link)
        self.page.get_by_role("heading", name="Create your first project").wait_for()
        self.hand.press(self.page.get_by_role("link", name="New project"))
        self.hand.write(self.page.get_by_label("Name", exact=True), name)

    def choose_network(self, title):
        self.hand.pick(self.page.get_by_role("radio", name=title))

    def name_network(self, folder):
        """Give the folder of a network."""
        self.hand.write(self.page.get_by_label("Name, folder or ONNX file"), str(folder))
        self.hand.pick(self.page.get_by_role("radio", name="Another one"))

    def create(self, known):
        """Create the project, once the known images are seen to be what they should be, and the network works."""
        self.page.get_by_text(known).wait_for(timeout=self.patience)
        self.page.get_by_text("It works").wait_for(timeout=self.patience)
        self.hand.press(self.button("Create project"))
        self.page.wait_for_url("**/projects/*/**", timeout=self.patience)
        self.page.get_by_role("heading", name="No image has been recognised yet").wait_for()

    def discover(self):
        self.hand.press(self.button("Group them"))
        self.said("Grouping is done")

    def go(self, view):
        self.hand.press(self.page.get_by_role("navigation", name="Views").get_by_role("link", name=view))

    def review(self):
        """Name each group as most of its images in sight are named, and confirm it, until none is left."""
        page = self.page
        self.go("Overview")
        self.hand.press(self.button("Review"))
        done = page.get_by_role("heading", name="Done", exact=True)
        while True:
            done.or_(self.images.first).first.wait_for()
            if done.is_visible():
                return
            here = page.url
            name, _ = Counter(map(self.name_of, self.seen().values())).most_common(1)[0]
            self.hand.press(self.button("Name"))
            dialog = page.get_by_role("dialog")
            self.hand.write(dialog.get_by_role("combobox"), name)
            self.hand.press(dialog.get_by_role("button", name="Confirm and continue"))
            sure = self.button("Confirm as one class")
            page.locator(".toast", has_text=re.compile("named and confirmed|Joined|Named")).or_(sure).first.wait_for()
            if sure.is_visible():
                self.hand.press(sure)
            page.wait_for_url(lambda url, here=here: url != here)

    def take_out_strangers(self):
        """Make a group of the images that were returned to each class and are not of it."""
        self.go("Groups")
        returned = self.page.get_by_role("grid", name="Returned to known classes").get_by_role("gridcell")
        returned.first.wait_for()
        for label in returned.get_by_role("heading").all_text_contents():
            self.hand.open(returned.filter(has=self.page.get_by_role("heading", name=label, exact=True)))
            self.images.first.wait_for()
            strangers = [id for id, name in self.seen().items() if self.name_of(name) != label]
            if strangers:
                self.hand.select(self.page.get_by_role("grid", name="Images of the group"), strangers)
                self.hand.press(self.button("Make new group"))
                self.said("moved to a new group")
            self.go("Groups")

    @property
    def images(self):
        """The images of the open group that are in sight."""
        return self.page.locator(".grid .cell:has(img)")

    def seen(self):
        """What is in sight: the names of images by the identifiers of their cells."""
        return dict(self.images.evaluate_all("(all) => all.map((one) => [one.id, one.ariaLabel])"))

    def learn(self):
        self.hand.press(self.button("Learn"))
        self.page.wait_for_url("**/learn")
        self.hand.press(self.button("Learn"))
        self.page.get_by_role("heading", name="Version 2 is ready").wait_for(timeout=self.patience)

    def export(self, format, images, folder):
        """Download labels; return the file under the name that the page gives it."""
        self.go("History")
        self.hand.press(self.button("Export labels…"))
        dialog = self.page.get_by_role("dialog")
        self.hand.pick(dialog.get_by_role("radio", name=re.compile(f"^{format}")))
        self.hand.pick(dialog.get_by_role("radio", name=re.compile(f"^{images}")))
        with self.page.expect_download() as download:
            self.hand.press(dialog.get_by_role("button", name="Download"))
        file = Path(folder) / download.value.suggested_filename
        download.value.save_as(file)
        return file
