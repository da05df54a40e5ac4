"""The code blocks of documents: find them with what their page says about them, and run them.

CONTRIBUTING.md explains the comments by which a page says how its blocks are to be run.
"""

import io
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.helpers.places import ROOT, SHARED

SHELL = {"bash", "sh", "shell", "console"}
RUN = {"python", *SHELL}
PLAIN = {"csv", "diff", "dockerfile", "html", "http", "ini", "javascript", "json", "latex", "text", "toml",
         "yaml"}  # fmt: skip
"""Languages that are shown only."""
FOR_PAGE = {"birds", "features", "images", "vectors", "replace", "slow", "skip page because"}
FOR_BLOCK = {"skip because", "prints", "fails", "background"}
PART = re.compile(
    r"^ *(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)\n(?P<code>.*?)^ *(?P=fence) *$"
    r"|^ *<!-- test:(?P<directive>.*?)-->|<!--.*?-->",
    re.DOTALL | re.MULTILINE,
)
LIMIT = 1200
"""Seconds after which a block is taken to hang."""


class PageError(Exception):
    """A page that is tagged wrongly, or a block that does not do what the page says."""


@dataclass
class Block:
    """A block of code, with what the comments above it say."""

    language: str
    code: str
    line: int
    said: dict[str, str] = field(default_factory=dict)


@dataclass
class Page:
    """The blocks of a document, in order, and what it says about all of them."""

    name: str
    blocks: list[Block] = field(default_factory=list)
    needs: set[str] = field(default_factory=set)
    replaced: list[tuple[str, str]] = field(default_factory=list)
    skipped: str = ""

    def runs(self) -> bool:
        """Whether a block of it is run."""
        return not self.skipped and any(b.language in RUN and "skip because" not in b.said for b in self.blocks)

    def reasons(self) -> list[tuple[int, str]]:
        """The line of each block that is not run, and why."""
        reasons = [(b.line, self.skipped or b.said.get("skip because", "")) for b in self.blocks if b.language in RUN]
        return [(line, reason) for line, reason in reasons if reason]


def documents() -> list[Path]:
    """All documents that people read."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def read_page(text: str, name: str) -> Page:
    """Find the blocks of a document."""
    page, waiting = Page(name), {}
    for part in PART.finditer(text):
        line = text.count("\n", 0, part.start()) + 1
        if part["directive"] is not None:
            _obey(page, waiting, part["directive"].strip(), line)
        elif part["fence"]:
            language = (part["info"].split() or [""])[0]
            block = Block(language, dedent(part["code"]), line, waiting)
            _check(page, block)
            page.blocks.append(block)
            waiting = {}
    if waiting:
        raise PageError(f"{name}: no block follows <!-- test: {next(iter(waiting))} -->")
    return page


def page_of(file: Path) -> Page:
    """The blocks of one of the documents."""
    return read_page(file.read_text(encoding="utf-8"), file.relative_to(ROOT).as_posix())


def readable_pages() -> list[Page]:
    """The documents that are tagged properly; a test of its own names the others."""
    found = []
    for file in documents():
        with suppress(PageError):
            found.append(page_of(file))
    return found


def running_pages(chosen: Callable[[str], bool]) -> list[Any]:
    """The chosen pages of which a block is run, as parameters of a test."""
    pages = [page for page in readable_pages() if page.runs() and chosen(page.name)]
    return [pytest.param(p, id=p.name, marks=[pytest.mark.slow] if "slow" in p.needs else []) for p in pages]


def _obey(page: Page, waiting: dict[str, str], directive: str, line: int) -> None:
    first, _, rest = directive.partition("\n")
    if first in ("setup", "setup bash"):
        page.blocks.append(Block("bash" if "bash" in first else "python", dedent(rest), line + 1))
        return
    word = next((one for one in FOR_PAGE | FOR_BLOCK if f"{directive} ".startswith(f"{one} ")), "")
    more = directive[len(word) :].strip()
    if not word or (word.endswith("because") and not more):
        raise PageError(f"{page.name}:{line}: unknown, or without a reason: <!-- test: {directive} -->")
    if word in FOR_BLOCK:
        waiting[word] = more
    elif word == "replace":
        old, _, new = more.partition(" with ")
        page.replaced.append((old, new))
    elif word == "skip page because":
        page.skipped = more
    else:
        page.needs.add(word)


def _check(page: Page, block: Block) -> None:
    place = f"{page.name}:{block.line}"
    if block.language not in RUN | PLAIN:
        raise PageError(f"{place}: a block of the language {block.language!r}: give one of {sorted(RUN | PLAIN)}")
    if ("prints" in block.said) != (block.language == "text" and bool(block.said)):
        raise PageError(f"{place}: what a block prints stands in a block of the language text")


def lacking(page: Page) -> str:
    """What this machine lacks for a page."""
    needed = {"birds": ("images/birds", "models/vit-s14"), "features": ("features",)}
    folders = [SHARED / folder for need in page.needs for folder in needed.get(need, ())]
    return ", ".join(f"{folder} is missing" for folder in folders if not folder.is_dir())


class Session:
    """Runs the blocks of a page, one after another, in a folder."""

    def __init__(self, page: Page, folder: Path, scope: dict[str, object], commands: Path) -> None:
        self.page, self.folder, self.scope = page, folder, {"__name__": "__main__"} | scope
        self.state, self.printed, self.servers = folder.parent / f"{folder.name}.sh", "", []
        self.replaced = list(page.replaced)
        for port in {block.said["background"] for block in page.blocks if block.said.get("background")}:
            self.replaced.append((port, str(free_port())))
        path = os.pathsep.join([str(commands), str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = environment() | {"PATH": path}

    def run(self, block: Block) -> None:
        """Run a block, or compare what the one before it has printed."""
        code = self._replace(block.code)
        if "skip because" in block.said:
            self.printed = ""
        elif "prints" in block.said:
            self._compare(code, block)
        elif "background" in block.said:
            self._serve(code, block)
        elif block.language == "console":
            self._bash("".join(line[2:] + "\n" for line in code.splitlines() if line.startswith("$ ")), block)
            self._compare("".join(line + "\n" for line in code.splitlines() if not line.startswith("$ ")), block)
        elif block.language in SHELL:
            self._bash(code, block)
        elif block.language == "python":
            self._python(code, block)

    def end(self) -> None:
        """End the servers of the page."""
        for server in self.servers:
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()

    def _replace(self, code: str) -> str:
        for old, new in self.replaced:
            code = code.replace(old, new)
        return code

    def _fail(self, block: Block, why: str) -> None:
        raise PageError(f"{self.page.name}:{block.line}: {why}")

    def _python(self, code: str, block: Block) -> None:
        out = io.StringIO()
        compiled = compile("\n" * block.line + code, ROOT / self.page.name, "exec")  # errors show the document's line
        failed = False
        with redirect_stdout(out):
            try:
                exec(compiled, self.scope)
            except Exception:
                failed = True
                if "fails" not in block.said:
                    raise
        self.printed = out.getvalue()
        if "fails" in block.said and not failed:
            self._fail(block, "this block should fail, but it does not")

    def _bash(self, code: str, block: Block) -> None:
        carry = f"trap 'carry > {self.state}' EXIT; carry() {{ export -p; echo cd $(printf %q \"$PWD\"); }}\n"
        before = f". {self.state}\n" if self.state.exists() else ""
        command = ["bash", "-e", "-c", before + carry + code]
        done = subprocess.run(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LIMIT)  # fmt: skip
        self.printed = done.stdout
        if (done.returncode != 0) != ("fails" in block.said):
            self._fail(block, f"status {done.returncode}\n{code}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")

    def _serve(self, code: str, block: Block) -> None:
        port = int(self._replace(block.said["background"] or "8765"))
        code = re.sub(r"opengcd (serve|app)(?!.*--port)", rf"opengcd \1 --port {port}", code)
        log = self.state.with_suffix(".log")
        with open(log, "w") as out:
            server = subprocess.Popen(["bash", "-e", "-c", code], cwd=self.folder, env=self.environment, stdout=out,
                                      stderr=out, stdin=subprocess.DEVNULL, start_new_session=True)  # fmt: skip
        self.servers.append(server)
        deadline = time.monotonic() + LIMIT
        while not answers(port):
            if server.poll() is not None or time.monotonic() > deadline:
                self._fail(block, f"no server at port {port}\n{log.read_text()}")
            time.sleep(0.1)

    def _compare(self, expected: str, block: Block) -> None:
        shown, printed = (_lines(text) for text in (expected, self.printed))
        pattern = ".*?".join(map(re.escape, shown.split("...")))
        if not re.fullmatch(pattern, printed, re.DOTALL):
            self._fail(block, f"the block before prints\n{printed}\nnot\n{shown}")


def environment() -> dict[str, str]:
    """The environment in which the commands of a page run."""
    quiet = {"BROWSER": "true", "HF_HUB_OFFLINE": "1", "NO_COLOR": "1", "TERM": "dumb"}
    paths = ROOT / "src", ROOT, os.environ.get("PYTHONPATH", "")
    return os.environ | quiet | {"PYTHONPATH": os.pathsep.join(map(str, paths))}


def _lines(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()).rstrip()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def answers(port: int) -> bool:
    """Whether something listens on a port."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def session(page: Page, folder: Path, commands: Path, scope: dict[str, object] | None = None):
    """A session in a folder, which is made; ``commands`` is a folder of commands."""
    folder.mkdir()
    opened = Session(page, folder, scope or {}, commands)
    try:
        yield opened
    finally:
        opened.end()
