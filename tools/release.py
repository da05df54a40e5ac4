"""Check that what is to be released is what its tag says: `python tools/release.py --tag v0.2.0 dist`."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parents[1] / "CHANGELOG.md"


def problems(tag: str, files: list[str], changelog: str) -> list[str]:
    """Return what speaks against a release, one sentence each.

    Parameters
    ----------
    tag : str
        The tag, such as ``v0.2.0``.
    files : list of str
        Names of the files that were built.
    changelog : str
        The text of CHANGELOG.md.

    Returns
    -------
    list of str

    """
    if not re.fullmatch(r"v\d+\.\d+\.\d+((a|b|rc)\d+)?", tag):
        return [f"{tag} is not a tag of a release; one looks like v0.2.0 or v0.2.0rc1."]
    version = tag.removeprefix("v")
    found = []
    expected = {f"opengcd-{version}.tar.gz", f"opengcd-{version}-py3-none-any.whl"}
    if set(files) != expected:
        found.append(f"The tag {tag} needs {', '.join(sorted(expected))}, but there is {', '.join(sorted(files))}.")
    if not re.search(rf"^## {re.escape(version)}\b", changelog, re.MULTILINE):
        found.append(f"CHANGELOG.md has no section '## {version}'; rename 'Unreleased' before you tag.")
    return found


def main() -> int:
    """Return 0 if the release is in order."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", required=True)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    files = [file.name for file in given.folder.iterdir()]
    found = problems(given.tag, files, CHANGELOG.read_text(encoding="utf-8"))
    print("\n".join(found), file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
