"""The picture of the demo's page for the documents: ``python -m benchmarks.demo_picture``."""

from __future__ import annotations

import argparse
import io
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from benchmarks.page import browsing
from opengcd.bench.demo import digits, run_demo, write_page

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "demo.png"
WIDTH = 1100


def take(out: Path = PICTURE, dark: bool = False, width: int = WIDTH, whole: bool = False) -> None:
    """Run the demo and photograph its page, down to the groups of phase 1 or to its end."""
    data = digits(0)
    with TemporaryDirectory() as folder, browsing() as page:
        file = Path(folder) / "demo.html"
        write_page(file, data, list(run_demo(data)), "opengcd demo --seed 0 --preset best")
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme="dark" if dark else "light")
        page.goto(file.as_uri())
        end = page.locator("body" if whole else ".groups").first.bounding_box()
        assert end is not None
        clip = {"x": 0, "y": 0, "width": width, "height": end["y"] + end["height"] + 24}
        picture = Image.open(io.BytesIO(page.screenshot(full_page=True, clip=clip)))
    picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(out, optimize=True)
    print(f"{out} {out.stat().st_size // 1000} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURE)
    parser.add_argument("--dark", action="store_true", help="In the dark scheme.")
    parser.add_argument("--width", type=int, default=WIDTH, help="Of the window, such as 390 for a phone.")
    parser.add_argument("--whole", action="store_true", help="The whole page.")
    given = parser.parse_args()
    take(given.out, given.dark, given.width, given.whole)


if __name__ == "__main__":
    main()
