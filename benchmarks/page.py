"""The review page with 10,000 rejected images in a real browser: ``python -m benchmarks.page``.

Times are those of the browser: from the request of the page to the first view with all its numbers, to the map, and to
the images of an opened group; then how smoothly these scroll. Nothing is asserted. Needs playwright and a Chromium.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks import digits_world
from opengcd import Workspace

COPIES = 10
REPEATS = 5
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str]]:
    """Serve a workspace as a user does; give the page's address and a token."""
    with Workspace(folder) as workspace:
        secret = workspace.access.make("bench")
    with running("serve", str(folder)) as address:
        yield address, secret


@contextmanager
def running(*command: str) -> Iterator[str]:
    """Run a command that serves; give the first address that it prints."""
    options = [sys.executable, "-m", "opengcd", *command, "--port", "0"]
    with subprocess.Popen(options, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield next(found[0] for line in server.stdout if (found := re.search(r"http://\S+", line)))
        finally:
            server.kill()


@contextmanager
def browsing() -> Iterator[Page]:
    """A browser without a window."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise SystemExit("There is no Chromium; install one, as by `apt-get install chromium`.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser.new_page(viewport={"width": 1280, "height": 800})
        browser.close()


WATCH = """
    window.shown = {};
    new MutationObserver(() => {
        for (const selector of SELECTORS) {
            if (!(selector in shown) && document.querySelector(selector)) {
                requestAnimationFrame(() => (shown[selector] ??= performance.now()));
            }
        }
    }).observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ["data-points"] });
"""


def shown_after(page: Page, address: str, selector: str) -> float:
    """Seconds from a fresh request until something is drawn, by the browser's clock."""
    page.goto("about:blank")
    page.goto(address, wait_until="commit")
    page.wait_for_selector(selector)
    page.wait_for_timeout(200)
    return page.evaluate("(selector) => shown[selector]", selector) / 1000


def frames(page: Page) -> list[float]:
    """Milliseconds from frame to frame while the images of a group scroll by, a screen in ten frames."""
    return page.evaluate(
        """() => new Promise((resolve) => {
            const grid = document.querySelector(".grid");
            const times = [];
            let last = performance.now();
            const step = (now) => {
                times.push(now - last);
                last = now;
                grid.scrollTop += grid.clientHeight / 10;
                if (times.length < 300) requestAnimationFrame(step);
                else resolve(times.slice(1));
            };
            requestAnimationFrame(step);
        })"""
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        fast = {"preset": "robust", "classifier": "logistic", "selector": "random"}
        folder = digits_world.make(Path(temporary), COPIES, k=10, **fast)
        with Workspace(folder) as workspace:
            sizes = [group.size for group in workspace.status().groups]
            largest = max(workspace.status().groups, key=lambda group: group.size)
        print(f"{sum(sizes):,} images under review in {len(sizes)} groups, the largest of {largest.size:,}")
        with served(folder) as (address, secret), browsing() as page:
            routes = [
                ("first view", "overview", ".tiles"),
                ("first view with the map", "overview", ".plane[data-points]"),
                ("groups as cards", "groups", ".card.group img"),
                ("the largest group opened", f"groups/{largest.id}", ".grid .cell img"),
            ]
            page.add_init_script(WATCH.replace("SELECTORS", json.dumps([selector for *_, selector in routes])))
            start = shown_after(page, f"{address}#token={secret}", ".tiles")
            print(f"{'log-in, the server just started':34} {start:6.2f} s")
            for name, route, selector in routes:
                times = [shown_after(page, f"{address}#/{route}", selector) for _ in range(REPEATS)]
                print(f"{name:34} {statistics.median(times):6.2f} s (first {times[0]:.2f} s, worst {max(times):.2f} s)")
            times = frames(page)
            late = sum(t > 50 for t in times)
            median = statistics.median(times)
            print(f"{'frame while scrolling':34} {median:6.1f} ms, {late} of {len(times)} above 50 ms")


if __name__ == "__main__":
    main()
