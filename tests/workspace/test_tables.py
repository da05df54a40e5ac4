"""Tables that people bring."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opengcd.workspace import WorkspaceError
from opengcd.workspace.tables import parse_table, read_table


@pytest.fixture
def usual_limit():
    """The largest cell that Python reads; other libraries raise it for the whole process."""
    before = csv.field_size_limit(131_072)
    yield
    csv.field_size_limit(before)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_cells_are_read_by_the_names_of_their_columns(tmp_path, delimiter):
    """As a spreadsheet saves it: a mark of the encoding, line ends of two characters, empty lines, quotes."""
    lines = [["file", " time "], ["a.png", "1,5"], ["", ""], [], ["b.png", '2"x"']]
    text = "\r\n".join(delimiter.join('"' + cell.replace('"', '""') + '"' for cell in line) for line in lines)
    (tmp_path / "t.csv").write_text(text, "utf-8-sig", newline="")
    columns, rows = read_table(tmp_path / "t.csv")
    assert columns == ["file", "time"]
    assert [row.cells for row in rows] == [{"file": "a.png", "time": "1,5"}, {"file": "b.png", "time": '2"x"'}]
    assert [row.where.rpartition("/")[2] for row in rows] == ["t.csv, row 2", "t.csv, row 5"]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (None, "t.csv cannot be read: No such file"),
        (b"a,b\n\xff,1\n", "not text in UTF-8; save it as"),
        (b"a,b\n1\n", "row 2: it has 1 cells, and the first line 2"),
        (b'a,b\n"1,2\n', "t.csv is not CSV"),
        (b"a,b\n" + b"x" * 200_000 + b",1\n", "t.csv is not CSV"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, usual_limit, raw, told):
    if raw is not None:
        (tmp_path / "t.csv").write_bytes(raw)
    with pytest.raises(WorkspaceError, match=told):
        read_table(tmp_path / "t.csv")


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("opengcd.workspace.tables.LARGEST", 2**20)
    (tmp_path / "t.csv").write_bytes(b"a\n" + b"1\n" * 2**19)
    with pytest.raises(WorkspaceError, match="larger than 1 MiB; split it"):
        read_table(tmp_path / "t.csv")


@given(st.text())
def test_any_text_is_a_table_or_an_error(text):
    try:
        columns, rows = parse_table(text, "t.csv")
    except WorkspaceError:
        return
    assert all(set(row.cells) == set(columns) for row in rows)
