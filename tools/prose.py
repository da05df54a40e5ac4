"""Check the language of everything that a person reads; ``make lint`` runs it.

Prose is the text of the Markdown files and notebooks, the docstrings and messages of ``src/opengcd``, and the texts of
the pages that it shows or writes; code is left alone. Three checks: the word list of the project
(``tools/prose.toml``), proselint, and the misspellings that codespell knows. A finding is printed as
``file:line:column: message``, and the exit code is then 1.
"""

from __future__ import annotations

import ast
import bisect
import io
import itertools
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
WORDS = ROOT / "tools" / "prose.toml"
MARKDOWN = ("*.md", ".github/**/*.md", "docs/**/*.md", "docs/**/*.ipynb")
PYTHON = ("src/opengcd/**/*.py",)
PAGE = ("src/opengcd/service/page/**/*.js", "src/opengcd/**/*.html", "src/opengcd/**/*.html.j2")

# Of a string, only one that holds two words with a space between them is taken for a text; in the page, also a word
# that begins with a capital, such as the label of a button.
TWO_WORDS = re.compile(r"[^\W\d_]{2,}[,.:;!?]? [^\W\d]")
LABEL = re.compile(r"[A-Z][a-z]+…?")
# A quoted piece of a string expression, or a comment between two pieces.
PIECE = re.compile(r"""#[^\n]*|[rfRF]{0,2}(?P<quote>\"{3}|'{3}|"|')(?P<body>.*?)(?<!\\)(?P=quote)""", re.DOTALL)
INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)|\$[^$\n]+\$", re.DOTALL)
LINK_TARGET = re.compile(r"(?<=\])\([^)\s]*\)|(?<=\])\[[^\]]*\]|https?://[^\s)>\"]+|<[^>\n]+>")
FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,}).*?^(?P=indent)(?P=fence)[`~]*[ \t]*$", re.DOTALL | re.MULTILINE
)
FRONT_MATTER = re.compile(r"\A---\n.*?^---$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->|<(script|style|svg)\b.*?</\1>", re.DOTALL)
# The line of numpydoc that names a parameter and its type.
PARAMETER = re.compile(r"^[ \t]*[\w*]+(?:, [\w*]+)* : [^\n]*$", re.MULTILINE)
UNDERLINE = re.compile(r"^[ \t]*-{3,}$", re.MULTILINE)
MATH = re.compile(r"^[ \t]*\.\. math::.*?(?=\n[ \t]*\n|\Z)", re.DOTALL | re.MULTILINE)
DOCTEST = re.compile(r"^[ \t]*>>> .*?(?=\n[ \t]*\n|\Z)", re.DOTALL | re.MULTILINE)
PLACEHOLDER = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
# The text of a Markdown cell of a notebook, one JSON string or a list of one for each line; what ends a line of it.
CELL = re.compile(r'"cell_type": "markdown",.*?"source": \[?\s*"((?:[^"\\]|\\.|",\s*")*)"', re.DOTALL)
LINE_END = re.compile(r'\\n(?:",\s*")?')
ESCAPED = re.compile(r"\\(.)")
TEMPLATE = re.compile(r"\{% block style %\}.*?\{% endblock %\}|\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
BLANK_LINE = re.compile(r"\n[ \t]*\n")
# Between two passages, so that nothing is found across them; a rule can look for it.
END = "\n\n¶\n\n"
READ_ATTRIBUTES = {"aria-label", "title", "placeholder", "alt"}
# Typography is the formatters' business, and the others have senses of their own in machine learning or in code.
PROSELINT_OFF = (
    "restricted",
    "typography",
    "annotations",
    "misc.but",
    "misc.composition",
    "misc.phrasal_adjectives",
    "misc.greylist",
    "misc.scare_quotes",
    "spelling.consistency",
    "uncomparables",
    "dates_times.dates",
    "weasel_words",
    "lexical_illusions",
)
# Right in statistics and in British English, or a name.
FINE = re.compile(r"discriminant|for ever|nee?|number of different", re.IGNORECASE)


class Passage(NamedTuple):
    """A run of prose: its place in the source, and its text, of the same length, with code blanked out."""

    start: int
    text: str


class Finding(NamedTuple):
    """What is wrong at a place."""

    path: Path
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}"


class Rule(NamedTuple):
    """A rule of the word list; ``prose.toml`` says what its fields mean."""

    avoid: str
    write: str
    why: str
    pattern: re.Pattern[str]
    found: list[str]
    fine: list[str]

    @classmethod
    def of(cls, row: dict[str, Any]) -> Rule:
        """Return the rule of one table of ``prose.toml``."""
        pattern = row.get("pattern", re.escape(row["avoid"]).replace(r"\ ", " ")).replace(" ", r"\s+")
        compiled = re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])", re.NOFLAG if row.get("case") else re.IGNORECASE)
        found = row.get("found", [row["avoid"]])
        return cls(row["avoid"], row["write"], row.get("why", ""), compiled, found, row.get("fine", []))


def rules() -> list[Rule]:
    """Return the word list."""
    return [Rule.of(row) for row in tomllib.loads(WORDS.read_text("utf-8"))["rule"]]


def blank(text: str, pattern: re.Pattern[str], by: str = "_") -> str:
    """Replace what a pattern finds by as many characters, line ends excepted."""
    return pattern.sub(lambda found: re.sub(r"[^\n]", by, found[0]), text)


def paragraphs(text: str, start: int = 0) -> Iterator[Passage]:
    """Yield what stands between blank lines."""
    at = 0
    for end in [*(found.start() for found in BLANK_LINE.finditer(text)), len(text)]:
        if text[at:end].strip():
            yield Passage(start + at, text[at:end])
        at = end


def markdown(source: str) -> Iterator[Passage]:
    """Yield the paragraphs of a Markdown text, without code, addresses, comments and front matter."""
    for pattern in (FRONT_MATTER, FENCE, COMMENT):
        source = blank(source, pattern, " ")
    yield from paragraphs(blank(blank(source, INLINE_CODE), LINK_TARGET))


def notebook(source: str) -> Iterator[Passage]:
    """Yield the paragraphs of the Markdown cells."""
    for cell in CELL.finditer(source):
        text = ESCAPED.sub(r" \1", LINE_END.sub(lambda found: "\n".ljust(len(found[0])), cell[1]))
        yield from (Passage(cell.start(1) + start, words) for start, words in markdown(text))


def python(source: str) -> Iterator[Passage]:
    """Yield docstrings and every other string of at least two words, without doctests, code and placeholders."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    for node in _strings(ast.parse(source)):
        start = place(node.lineno, node.col_offset)
        text = source[start : place(node.end_lineno or 0, node.end_col_offset or 0)]
        if TWO_WORDS.search(text):
            text = PIECE.sub(lambda piece: _body(piece, isinstance(node, ast.JoinedStr)), text)  # noqa: B023
            for pattern in (DOCTEST, PARAMETER, UNDERLINE, MATH):
                text = blank(text, pattern, " ")
            yield from paragraphs(blank(text, INLINE_CODE), start)


def _strings(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            yield node
        else:
            yield from _strings(node)


def _body(piece: re.Match[str], has_placeholders: bool) -> str:
    """Return a piece of a string without its quotes, or blanks for a comment."""
    body = piece["body"]
    if body is None:
        return " " * len(piece[0])
    text = blank(body, PLACEHOLDER) if has_placeholders else body
    text = text.replace(r"\n", "\n ").replace(r"\"", ' "')
    return " " * (piece.start("body") - piece.start()) + text + " " * (piece.end() - piece.end("body"))


def javascript(source: str) -> Iterator[Passage]:
    """Yield string and template literals that are texts; one inside a placeholder counts by itself."""
    for start, text in _literals(source):
        if TWO_WORDS.search(text) or LABEL.fullmatch(text):
            yield from paragraphs(text, start)


SKIPPED = re.compile(r"//[^\n]*|/\*.*?\*/|(?<=[=(,:!&|?;])\s*/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/", re.DOTALL)
STRING = re.compile(r"""(["'])((?:\\.|(?!\1)[^\\\n])*)\1""")


def _literals(source: str, at: int = 0, closing: str = "") -> Iterator[tuple[int, str]]:
    depth = 0
    while at < len(source):
        if found := SKIPPED.match(source, at):
            at = found.end()
        elif found := STRING.match(source, at):
            yield found.start(2), found[2]
            at = found.end()
        elif source[at] == "`":
            at = yield from _template(source, at + 1)
        elif source[at] == closing and depth == 0:
            return at
        else:
            depth += {"{": 1, "}": -1}.get(source[at], 0)
            at += 1
    return at


def _template(source: str, start: int) -> Iterator[tuple[int, str]]:
    text, at = "", start
    while at < len(source) and source[at] != "`":
        if source.startswith("${", at):
            end = yield from _literals(source, at + 2, "}")
            text, at = text + "_" * (end + 1 - at), end + 1
        else:
            step = 2 if source[at] == "\\" else 1
            text, at = text + source[at : at + step], at + step
    yield start, text
    return at + 1


class _Html(HTMLParser):
    """Collects the text of a page, and the attributes that a person reads."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[Passage] = []
        self._starts = [0, *(found.end() for found in re.finditer("\n", source))]
        self.feed(source)

    def _place(self) -> int:
        line, column = self.getpos()
        return self._starts[line - 1] + column

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        tag_text = self.get_starttag_text() or ""
        for name, value in attrs:
            if name in READ_ATTRIBUTES and value and value in tag_text:
                self.found.append(Passage(self._place() + tag_text.index(value), value))

    def handle_data(self, data: str) -> None:
        if data.strip() and self.lasttag not in ("script", "style"):
            self.found.append(Passage(self._place(), data))


def html(source: str) -> Iterator[Passage]:
    """Yield the texts of a page."""
    yield from _Html(source).found


def template(source: str) -> Iterator[Passage]:
    """Yield the texts of a page that Jinja fills in."""
    yield from html(blank(source, TEMPLATE, " "))


READERS = {
    ".md": markdown,
    ".ipynb": notebook,
    ".py": python,
    ".js": javascript,
    ".html": html,
    ".j2": template,
}


def unreleased(source: str) -> str:
    """Return a changelog up to its first release: what was released is not rewritten."""
    released = re.search(r"^## (?!\[?unreleased).*\Z", source, re.DOTALL | re.MULTILINE | re.IGNORECASE)
    return source[: released.start()] if released else source


def prose_files(root: Path = ROOT) -> Iterator[Path]:
    """Yield the files below a folder that hold prose."""
    for pattern in (*MARKDOWN, *PYTHON, *PAGE):
        yield from sorted(root.glob(pattern))


def findings(paths: Iterable[Path], root: Path = ROOT) -> list[Finding]:
    """Return what is wrong with the prose in files, in the order of the files."""
    sources = {path: path.read_text("utf-8") for path in paths}
    places: list[tuple[int, Path, int]] = []
    text = io.StringIO()
    for path, source in sources.items():
        prose = unreleased(source) if path.name == "CHANGELOG.md" else source
        for passage in READERS[path.suffix](prose):
            places.append((text.tell(), path, passage.start))
            text.write(passage.text + END)
    found = set()
    for start, message in itertools.chain.from_iterable(check(text.getvalue()) for check in CHECKS):
        begun, path, place = places[bisect.bisect_right(places, start, key=lambda one: one[0]) - 1]
        before = sources[path][: place + start - begun]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        found.add(Finding(path.relative_to(root) if path.is_relative_to(root) else path, line, column, message))
    return sorted(found)


def from_word_list(text: str) -> Iterator[tuple[int, str]]:
    """Yield where a text breaks the project's word list."""
    for rule in rules():
        for found in rule.pattern.finditer(text):
            why = f" ({rule.why})" if rule.why else ""
            yield found.start(), f"“{' '.join(found[0].split())}”: write “{rule.write}”{why}"


def from_proselint(text: str) -> Iterator[tuple[int, str]]:
    """Yield what proselint finds."""
    from proselint.checks import __register__ as checks
    from proselint.tools import LintFile

    file = LintFile("prose", text)
    for check in checks:
        if any(check.matches_partial(name) for name in PROSELINT_OFF):
            continue
        for result in check.check_with_flags(file.content):
            # Its text begins with a line end that is not ours.
            begin, end = result.span
            if not FINE.fullmatch(file.content[begin:end].strip()) and (
                check.flags.allow_quotes or not file.is_quoted_pos(begin)
            ):
                yield begin - 1, f"{result.message} [proselint {result.check_path}]"


def misspellings(text: str) -> Iterator[tuple[int, str]]:
    """Yield the words that codespell's dictionary knows as misspelt; British spelling is none of them."""
    known = {}
    for line in files("codespell_lib").joinpath("data", "dictionary.txt").read_text("utf-8").splitlines():
        wrong, _, right = line.partition("->")
        known[wrong] = right.strip(" ,")
    for word in re.finditer(r"[^\W\d_]{4,}", text):
        if right := known.get(word[0].lower()):
            yield word.start(), f"“{word[0]}”: write “{right}” [codespell]"


CHECKS = (from_word_list, from_proselint, misspellings)


def main(arguments: list[str]) -> int:
    """Print what is wrong with the given files, or with all; return the exit code."""
    wrong = findings([Path(one).resolve() for one in arguments] or prose_files())
    for one in wrong:
        print(one)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
