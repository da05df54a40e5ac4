"""All pictures of the documents, made again by the commands that the documents name beside them: ``make pictures``."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMAND = re.compile(
    r"`(opengcd bench figures docs/results/\S+ [^`]*--out docs/[^`]+"
    r"|python -m benchmarks\.(?:screenshots|\w+_picture|\w+_figure)[^`]*)`"
)


def commands() -> list[str]:
    """Return the commands in the documents that draw pictures of the documents, each once."""
    documents = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    found = [" ".join(text.split()) for file in documents for text in COMMAND.findall(file.read_text("utf-8"))]
    return list(dict.fromkeys(found))


def main() -> int:
    """Run them, and say at the end which have failed."""
    bin_ = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    failed = []
    for command in commands():
        print(command, flush=True)
        if subprocess.run(shlex.split(command), cwd=ROOT, env=os.environ | {"PATH": bin_}).returncode:
            failed.append(command)
    print("\n".join(f"FAILED: {command}" for command in failed))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
