"""Tables in documents: what is filled in, and where."""

import re

import pytest

from opengcd.bench import blocks, fill
from tests.helpers.results import open_phase, phase, result


def test_documents_are_filled_between_their_marks(results):
    texts = blocks(results)
    assert set(texts) >= {"tables: protocol paper", "cost: protocol authors", "details: protocol paper, 500 exemplars"}
    document = "Mine.\n<!-- begin tables: protocol paper -->\nold\n<!-- end tables: protocol paper -->\nMine too.\n"
    filled = fill(document, texts)
    assert filled.startswith("Mine.\n")
    assert filled.endswith("\nMine too.\n")
    assert "old" not in filled
    assert "| 1 | opengcd-mlp |" in filled
    assert fill(filled, texts) == filled
    with pytest.raises(ValueError, match="asks for 'nope'"):
        fill("<!-- begin nope -->", texts)
    begin, end = "<!-- begin tables: protocol paper -->", "<!-- end tables: protocol paper -->"
    for lame in (begin, end + begin):
        with pytest.raises(ValueError, match="without"):
            fill(lame, texts)


def test_a_document_holds_tables_of_several_folders(results):
    names = ("tables: protocol paper", "images / tables: protocol paper")
    document = "".join(f"<!-- begin {name} -->\n<!-- end {name} -->\n" for name in names)
    first, second = "One.", "Another."
    filled = fill(fill(document, {names[0]: first}), {names[0]: second}, "images")
    assert filled == "".join(
        f"<!-- begin {name} -->\n{text}\n<!-- end {name} -->\n"
        for name, text in zip(names, (first, second), strict=True)
    )
    with pytest.raises(ValueError, match="asks for 'nope'"):
        fill("<!-- begin images / nope -->", blocks(results), "images")


def test_a_block_of_one_dataset_has_nothing_of_others(results):
    results.append(result("opengcd-svm", 0, [open_phase(1, 0.3, 60), phase(2)], dataset="cub"))
    texts = blocks(results)
    for kind in ("commands", "cells", "methods", "details", "cost", "discovery", "rejection", "learning", "review"):
        whole, cifar100, cub = (texts[f"{kind}{of}: protocol paper"] for of in ("", " of cifar100", " of cub"))
        assert "opengcd-svm" in whole
        assert "opengcd-svm" in cub
        assert "opengcd-svm" not in cifar100
        assert "opengcd-mlp" in cifar100
        assert "opengcd-mlp" not in cub
    assert "tables of cub: protocol authors" not in texts


def test_the_paper_s_tables_are_also_there_in_two_parts(results):
    texts = blocks(results)
    methods, ablation = (texts[f"{kind}: protocol paper"] for kind in ("methods", "ablation"))
    assert texts["tables: protocol paper"] == f"{methods}\n\n{ablation}"
    assert "csr-xgb" in ablation
    assert "csr-xgb" not in methods


def test_commands_name_the_code_and_cells_are_linked(results):
    results.append(result("module:Mine", 3, [phase(1)]))
    texts = blocks(results, "some/cells")
    assert texts["commands: protocol paper"].startswith("```text\nopengcd bench run --datasets cifar100 ")
    assert texts["commands: protocol paper"].endswith("Computed by a commit that was not recorded.")
    links = re.findall(r"\[(\d)\]\((.*?)\)", texts["cells: protocol paper"])
    assert ("1", "some/cells/cifar100--opengcd-mlp--paper--discovered--full--1.json") in links
    # The file is called module%3AMine..., and a browser decodes a link once.
    assert ("3", "some/cells/cifar100--module%253AMine--paper--discovered--full--3.json") in links
    assert len(links) == 5
    assert "[0](cifar100--" in blocks(results)["cells: protocol authors"]
