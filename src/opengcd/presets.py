"""Named sets of choices that belong together, instead of flags scattered about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opengcd.osr import DECADES


@dataclass(frozen=True)
class Preset:
    """Which classifier, memory, rejection and discovery, and how each of them runs."""

    name: str
    classifier: str = "svm"
    selector: str = "ds3"
    rank_once: bool = False
    """Whether exemplars of a class are put in order once, and then only cut from the end."""
    rejection: str = "uncertainty"
    """``"uncertainty"``: the paper's rule; ``"novelty"``: :class:`opengcd.osr.NoveltyScore`, with a threshold."""
    discovery: str = "kmeans"
    """``"kmeans"``: semi-supervised k-means++; ``"joint"``: :func:`opengcd.discover.discover_jointly`."""
    alpha_grid: tuple[float, ...] = DECADES
    alpha_repeats: int = 5
    search: str = "paper"
    """For the number of classes: ``"paper"``, ``"robust"``, ``"authors"``; in joint discovery ``"rehearsal"`` or, as if
    new classes were as large as known ones, ``"size"``."""
    objective: str = "acc+sc"
    n_init: int = 10
    max_iter: int = 200
    whiten: bool = True
    """Whether novelty and joint discovery whiten the features within classes."""
    neighbours: bool = True
    """Whether novelty asks how far the nearest labelled rows are, beside the classifier and the class it names."""
    adapt: bool = True
    """Whether the threshold of novelty follows the stream."""
    over_stream: bool = True
    """Whether joint discovery should be given the whole stream, or the rejected rows alone."""
    head: bool = True
    """Whether joint discovery ends with the refinement head."""
    classifier_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha_grid", tuple(float(alpha) for alpha in self.alpha_grid))
        if self.rejection not in ("uncertainty", "novelty") or self.discovery not in ("kmeans", "joint"):
            raise ValueError(
                f"Preset {self.name!r}: rejection is 'uncertainty' or 'novelty', discovery 'kmeans' or 'joint'."
            )
        if self.discovery == "joint" and self.rejection != "novelty":
            raise ValueError(f"Preset {self.name!r}: joint discovery builds on rejection by novelty; choose that too.")
        if (self.discovery == "joint") != (self.search in ("rehearsal", "size")):
            raise ValueError(
                f"Preset {self.name!r}: search='rehearsal' or 'size' and discovery='joint' belong together."
            )


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        # What we recommend: measured to be better, see RESULTS.md.
        Preset(
            "best",
            classifier="logistic",
            selector="herding",
            rank_once=True,
            rejection="novelty",
            discovery="joint",
            search="rehearsal",
        ),
        # The paper's text.
        Preset("paper"),
        # The same with a search for the number of classes that does not get stuck.
        Preset("robust", search="robust"),
        # The published code's search, k-means effort and lengths of training. It also chooses exemplars otherwise and
        # has no search for alpha: add selector="authors" and a constant alpha to follow it there too.
        Preset(
            "authors",
            search="authors",
            objective="fmi+db",
            max_iter=20,
            classifier_settings={"mlp": {"max_iter": 50}, "xgb": {"rounds": 50}},
        ),
    )
}


def resolve_preset(preset: str | Preset) -> Preset:
    """Return the preset of that name, or the one given."""
    if isinstance(preset, Preset):
        return preset
    if not isinstance(preset, str) or preset not in PRESETS:
        raise ValueError(f"Unknown preset {preset!r}; choose from {', '.join(PRESETS)} or pass a Preset.")
    return PRESETS[preset]
