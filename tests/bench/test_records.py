"""Cells and versions of the code, in words and as names of files."""

import pytest

from opengcd.bench import CodeVersion, make_cells


def test_the_code_in_words():
    assert str(CodeVersion("0.1.0")) == "opengcd 0.1.0"
    assert str(CodeVersion("0.1.0", "0123456789abcdef+changes")) == "opengcd 0.1.0 at commit 0123456789ab+changes"


def test_cells_have_files_of_their_own():
    cells = [
        *make_cells(["d"], ["opengcd-svm"], [0, 1], memories=[None, 10]),
        *make_cells(["d"], ["opengcd-svm"], [0], learn="all"),
        *make_cells(["vögel", "vägel"], ["csr-svm"], [0]),
        *make_cells(["d", "e"], ["csr-svm"], [0, 0], protocol="authors"),
    ]
    assert len({cell.file for cell in cells}) == len({str(cell) for cell in cells}) == len(cells)
    assert str(cells[-1]) == "e csr-svm authors seed 0"
    with pytest.raises(ValueError, match="at least one exemplar"):
        make_cells(["d"], ["csr-svm"], [0], memories=[0])
