"""Every key of the sheet that is about images, pressed in a real browser."""

import pytest

from tests.helpers.keys import OF_IMAGES, press_all


@pytest.mark.parametrize("section", OF_IMAGES)
def test_every_click_has_a_key(visit, workspace, section):
    press_all(visit, workspace, section)
