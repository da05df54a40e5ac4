"""Named sets of choices that belong together, instead of flags scattered about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opengcd.osr import DECADES


@dataclass(frozen=True)
class Preset:
    """How alpha and the number of classes are searched for, and how k-means runs."""

    name: str
    alpha_grid: tuple[float, ...] = DECADES
    alpha_repeats: int = 5
    search: str = "paper"
    objective: str = "acc+sc"
    n_init: int = 10
    max_iter: int = 200
    classifier_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha_grid", tuple(float(alpha) for alpha in self.alpha_grid))


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
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
