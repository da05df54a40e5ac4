"""From ``git clone`` to the demo's page, in seconds and megabytes: ``python -m benchmarks.first_minutes``.

Clones the last commit into a temporary folder and calls ``make demo`` there, with no environment active. ``--torch``
also prints how large the ordinary build of torch is, with all that it needs; it asks the package index and installs
nothing. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TORCH = "torch==2.13.0"
CHUNK = 1 << 20


class RemoteFile(io.RawIOBase):
    """A file on a server, of which only the parts that are read are fetched."""

    def __init__(self, address: str) -> None:
        self.address, self.position = address, 0
        with urllib.request.urlopen(urllib.request.Request(address, method="HEAD")) as answer:
            self.size = int(answer.headers["Content-Length"])

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.position = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.size}[whence] + offset
        return self.position

    def readinto(self, buffer: Any) -> int:
        if self.position >= self.size:
            return 0
        last = min(self.position + len(buffer), self.size) - 1
        wanted = urllib.request.Request(self.address, headers={"Range": f"bytes={self.position}-{last}"})
        with urllib.request.urlopen(wanted) as answer:
            content = answer.read()
        buffer[: len(content)] = content
        self.position += len(content)
        return len(content)


def environment(name: str, folder: Path) -> None:
    """Print the number of packages in an environment, and the space that its files take."""
    if not folder.is_dir():
        print(f"{name}: not there")
        return
    size = sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    packages = len(list(folder.rglob("site-packages/*.dist-info")))
    print(f"{name}: {packages} packages, {size / 1e6:.0f} MB")


def demo() -> None:
    """Clone, run the demo, and print how long that took and how large its environment is."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    clean["PATH"] = os.pathsep.join(p for p in clean["PATH"].split(os.pathsep) if not Path(p, "activate").is_file())
    with tempfile.TemporaryDirectory() as temporary:
        clone = Path(temporary) / "opengcd"
        start = time.perf_counter()
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        cloned = time.perf_counter()
        subprocess.run(["make", "--no-print-directory", ".venv-demo/ready"], cwd=clone, env=clean, check=True)
        installed = time.perf_counter()
        subprocess.run(["make", "--no-print-directory", "demo"], cwd=clone, env=clean, check=True)
        end = time.perf_counter()
        assert (clone / "demo.html").is_file()
        print(f"clone {cloned - start:.0f} s, install {installed - cloned:.0f} s, demo {end - installed:.0f} s")
        print(f"from git clone to the page: {end - start:.0f} s")
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        environment("environment of the demo", clone / ".venv-demo")
    environment("environment of development", (ROOT / ".venv").resolve())


def ordinary_torch() -> None:
    """Print the size of what ``pip install torch`` fetches on this system, and of the unpacked files."""
    command = [sys.executable, "-m", "pip", "install", "--isolated", "--dry-run", "--ignore-installed", "--quiet"]
    report = subprocess.run([*command, "--report", "-", TORCH], check=True, capture_output=True, text=True).stdout
    fetched = unpacked = 0
    addresses = [package["download_info"]["url"] for package in json.loads(report)["install"]]
    for address in addresses:
        file = RemoteFile(address)
        fetched += file.size
        with zipfile.ZipFile(io.BufferedReader(file, CHUNK)) as wheel:
            unpacked += sum(part.file_size for part in wheel.infolist())
    sizes = f"{fetched / 1e9:.1f} GB fetched, {unpacked / 1e9:.1f} GB unpacked"
    print(f"ordinary {TORCH}: {len(addresses)} packages, {sizes}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--torch", action="store_true", help="Also measure the ordinary build of torch.")
    given = parser.parse_args()
    demo()
    if given.torch:
        ordinary_torch()


if __name__ == "__main__":
    main()
