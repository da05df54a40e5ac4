"""Presets: which is the default, what can be left out, and settings that do not go together."""

import dataclasses

import numpy as np
import pytest

from opengcd import OpenWorldRecognizer, metrics
from opengcd.discover import JointDiscovery, KMeansDiscovery
from opengcd.osr import NoveltyRejection
from opengcd.presets import PRESETS, Preset
from tests.helpers.streams import fitted, open_world

pytestmark = pytest.mark.usefixtures("one_thread")


def test_best_is_the_default():
    assert OpenWorldRecognizer().preset == "best"
    assert next(iter(PRESETS)) == "best"


def test_settings_that_do_not_go_together():
    X, y, *_ = open_world()
    with pytest.raises(ValueError, match=r"'novelty' of preset 'best' has no setting alpha; .* has it: paper, robust"):
        fitted(X, y, alpha=1.0)
    with pytest.raises(ValueError, match=r"needs a rejection by a score with a threshold.*not 'uncertainty'"):
        Preset("mine", discovery=JointDiscovery())
    with pytest.raises(ValueError, match="Unknown search 'rehearsal'"):
        Preset("mine", discovery=KMeansDiscovery(search="rehearsal"))
    with pytest.raises(ValueError, match="joint discovery must be one of rehearsal, merging, size, not 'paper'"):
        Preset("mine", rejection=NoveltyRejection(), discovery=JointDiscovery(search="paper"))
    with pytest.raises(ValueError, match=r"pass X\[rejected\]"):
        fitted(X, y, preset="paper").discover(X, rejected=np.zeros(len(X), dtype=bool))
    with pytest.raises(ValueError, match="rejection must be a Rejection, not 'guess'"):
        Preset("mine", rejection="guess")
    with pytest.raises(ValueError, match="discovery must be a DiscoveryStrategy, not 'guess'"):
        Preset("mine", discovery="guess")
    with pytest.raises(ValueError, match="The preset was changed after fit"):
        fitted(X, y, preset="paper", alpha=1.0).set_params(preset="best", alpha="search").discover(X)


REDUCED = {
    "whiten": {"rejection": NoveltyRejection(whiten=False)},
    "neighbours": {"rejection": NoveltyRejection(neighbours=False)},
    "adapt": {"rejection": NoveltyRejection(adapt=False)},
    "over_stream": {"discovery": JointDiscovery(over_stream=False)},
    "search": {"discovery": JointDiscovery(search="size")},
    "head": {"discovery": JointDiscovery(head=False)},
}


@pytest.mark.parametrize("part", REDUCED)
def test_every_part_can_be_left_out(part):
    X, y, stream, truth = open_world()
    preset = dataclasses.replace(PRESETS["best"], **REDUCED[part])
    recognizer = fitted(X, y, preset=preset).observe(stream)
    assert recognizer.discovers_from == ("rejected" if part == "over_stream" else "stream")
    assert (recognizer.threshold_.source == "labelled") == (part == "adapt")
    found = recognizer.discover(stream, rejected=recognizer.predict(stream) == -1)
    assert metrics.hca(truth, found.labels, range(8)) > 0.8
