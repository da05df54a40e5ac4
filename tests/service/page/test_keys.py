"""Every key of the sheet, pressed in a real browser; those of images have a file of their own, as they take long."""

import pytest

from tests.helpers.keys import OF_IMAGES, SHEET, press_all, sheet


def test_the_sheet_lists_the_keys_that_are_tested(visit):
    shown = sheet(visit())
    del shown["Suspected labels"]  # test_labels.py presses these
    assert {title: set(labels) for title, labels in shown.items()} == {t: set(acts) for t, acts in SHEET.items()}
    assert all(keys for labels in shown.values() for keys in labels.values())


@pytest.mark.parametrize("section", [section for section in SHEET if section not in OF_IMAGES])
def test_every_click_has_a_key(visit, workspace, section):
    press_all(visit, workspace, section)
