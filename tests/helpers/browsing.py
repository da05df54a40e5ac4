"""A workspace served to a real browser, which must never complain."""

import shutil
from contextlib import contextmanager
from urllib.parse import urlsplit

from tests.helpers.needed import missing

CHROMIUM = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
FLAGS = [
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WAIT = 60_000


@contextmanager
def launched():
    """Chromium, without a window."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    if CHROMIUM is None:
        missing("no Chromium: `apt-get install chromium`")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def drop(page, files, on="body"):
    """Drop files on a part of the page."""
    page.evaluate(
        """([files, on]) => {
            const dropped = new DataTransfer();
            for (const [name, bytes] of files) dropped.items.add(new File([new Uint8Array(bytes)], name));
            const how = { dataTransfer: dropped, bubbles: true, cancelable: true };
            const place = document.querySelector(on);
            for (const type of ["dragover", "drop"]) place.dispatchEvent(new DragEvent(type, how));
        }""",
        [[[file.name, list(file.read_bytes())] for file in files], on],
    )


class Visit:
    """One person's browser on the page."""

    def __init__(self, browser, address, secret, who="ann", **options):
        self.address = address
        self.complaints, self.strangers = [], []
        self.expected = ()
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
        self.context.set_default_timeout(WAIT)
        self.context.add_init_script(f"localStorage.setItem('opengcd.who', {who!r})")
        self.page = self.context.new_page()
        self.page.on("console", lambda m: m.type in ("error", "warning") and self.complaints.append(m.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._note)
        self.page.goto(f"{address}#token={secret}")
        self.page.get_by_role("navigation", name="Views").wait_for()

    def _note(self, request):
        url = urlsplit(request.url)
        if url.scheme not in ("blob", "data") and not request.url.startswith(self.address):
            self.strangers.append(request.url)

    def go(self, route):
        self.page.goto(f"{self.address}#/{route}")
        return self.page.locator("main h1")

    @property
    def field(self):
        """Where a name is typed."""
        return self.page.get_by_role("dialog").get_by_role("combobox")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def said(self, text):
        """Wait for a message."""
        self.page.locator(".toast", has_text=text).first.wait_for()

    def end(self):
        self.context.close()
        assert not self.strangers, self.strangers
        unexpected = [text for text in self.complaints if not any(part in text for part in self.expected)]
        assert not unexpected, unexpected


def violations(page, within=None):
    """What an automated accessibility check finds, on the whole page or within what a selector names."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        missing("axe-playwright-python is not installed")
    found = Axe().run(page, within).response["violations"]
    return [(v["id"], v["help"], [node["html"][:200] for node in v["nodes"][:3]]) for v in found]


def cell(page, item):
    return page.locator(f"#image-{item}")


def open_group(visit, group):
    visit.go(f"groups/{group.id}")
    cell(visit.page, group.items[0]).wait_for()


def select(one, items):
    for item in items:
        cell(one.page, item).click()
    one.page.get_by_text(f"{len(items)} image{'s' if len(items) > 1 else ''} selected").wait_for()
