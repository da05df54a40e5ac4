"""Presets: named combinations of a classifier, an exemplar selector, a rejection and a discovery strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone

from opengcd.classify import CLASSIFIERS
from opengcd.discover import DiscoveryStrategy, JointDiscovery, KMeansDiscovery
from opengcd.memory import Selector
from opengcd.osr import NoveltyRejection, Rejection, UncertaintyRejection


@dataclass(frozen=True)
class Preset:
    """The methods that a recogniser uses for its steps, under one name.

    Exemplars are the labelled rows that the recogniser keeps in its memory for later phases. The rejection decides
    which rows are of no known class; discovery groups these into new classes.

    Parameters
    ----------
    name : str
        The name in messages.
    classifier : str or estimator
        See :class:`~opengcd.OpenWorldRecognizer`.
    selector : str or callable
        How exemplars are chosen, see :func:`opengcd.memory.select_exemplars`.
    rank_once : bool
        Whether the exemplars of a class are ranked only once; later, the last ones are dropped.
    rejection : Rejection
        How rows are rejected: :class:`opengcd.osr.UncertaintyRejection` (the paper's),
        :class:`opengcd.osr.NoveltyRejection`, or your own subclass of :class:`opengcd.osr.Rejection`.
    discovery : DiscoveryStrategy
        How new classes are found: :class:`opengcd.discover.KMeansDiscovery` (the paper's),
        :class:`opengcd.discover.JointDiscovery`, or your own subclass of :class:`opengcd.discover.DiscoveryStrategy`.
    classifier_settings : mapping
        Constructor arguments for classifiers by name, such as ``{"mlp": {"max_iter": 50}}``.
    keep_statistics : bool
        Whether the number and mean of all rows of each class, and their pooled covariance, are kept beside the
        exemplars. Of the classifiers, only ``logistic`` uses them.
    stack_copies : bool
        Whether near copies in a stream, such as the images of a burst, are found and count once
        (:func:`opengcd.discover.find_stacks`).

    """

    name: str
    classifier: Any = "svm"
    selector: Selector = "ds3"
    rank_once: bool = False
    rejection: Rejection = field(default_factory=UncertaintyRejection)
    discovery: DiscoveryStrategy = field(default_factory=KMeansDiscovery)
    classifier_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    keep_statistics: bool = False
    stack_copies: bool = False

    def __post_init__(self) -> None:
        for what, part, kind in (
            ("rejection", self.rejection, Rejection),
            ("discovery", self.discovery, DiscoveryStrategy),
        ):
            if not isinstance(part, kind):
                raise ValueError(f"Preset {self.name!r}: {what} must be a {kind.__name__}, not {part!r}.")
        try:
            self.rejection.check()
            self.discovery.check(self.rejection)
        except ValueError as error:
            raise ValueError(f"Preset {self.name!r}: {error}") from None

    def rejection_for(self, alpha: float | str, max_known_rejected: float | None) -> Rejection:
        """Return the rejection to fit, with the recogniser's settings.

        Parameters
        ----------
        alpha : float or "search"
            The setting ``alpha`` of the rejection; ``"search"`` leaves it unchanged.
        max_known_rejected : float or None
            The setting ``max_known_rejected`` of the rejection; None leaves it unchanged.

        Returns
        -------
        Rejection

        Raises
        ------
        ValueError
            If the rejection does not have such a setting, or the value is not valid.

        """
        given: dict[str, Any] = {} if alpha == "search" else {"alpha": alpha}
        if max_known_rejected is not None:
            given["max_known_rejected"] = max_known_rejected
        for name in sorted(given.keys() - self.rejection.settings().keys()):
            others = (preset.name for preset in PRESETS.values() if name in preset.rejection.settings())
            raise ValueError(
                f"Rejection {self.rejection.title()!r} of preset {self.name!r} has no setting {name}; leave it out, or "
                f"choose a preset that has it: {', '.join(others)}."
            )
        if not given:
            return self.rejection
        rejection = clone(self.rejection).set_params(**given)
        rejection.check()
        return rejection

    def classifier_for(self, given: Any, device: str) -> Any:
        """Return the classifier to fit.

        Parameters
        ----------
        given : str, estimator or None
            The recogniser's argument ``classifier``; None means the classifier of this preset. A classifier given by
            name gets its entry of ``classifier_settings``.
        device : str
            ``"auto"``, ``"cpu"`` or ``"cuda"``.

        Returns
        -------
        str or estimator

        """
        chosen = self.classifier if given is None else given
        settings = self.classifier_settings.get(chosen) if isinstance(chosen, str) else None
        return CLASSIFIERS[chosen](**settings, device=device) if settings else chosen


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        # What we recommend: measured to be better, see docs/results.
        Preset(
            "best",
            classifier="logistic",
            selector="herding",
            rank_once=True,
            rejection=NoveltyRejection(),
            discovery=JointDiscovery(),
            keep_statistics=True,
            stack_copies=True,
        ),
        # The paper's text.
        Preset("paper"),
        # The same with a search for the number of classes that does not get stuck.
        Preset("robust", discovery=KMeansDiscovery(search="robust")),
        # The published code's search, k-means effort and lengths of training. It also chooses exemplars otherwise and
        # has no search for alpha: add selector="authors" and a constant alpha to follow it there too.
        Preset(
            "authors",
            discovery=KMeansDiscovery(search="authors", objective="fmi+db", max_iter=20),
            classifier_settings={"mlp": {"max_iter": 50}, "xgb": {"rounds": 50}},
        ),
    )
}


def resolve_preset(preset: str | Preset) -> Preset:
    """Return a preset by its name.

    Parameters
    ----------
    preset : str or Preset
        A name in :data:`PRESETS`, or a preset, which is returned unchanged.

    Returns
    -------
    Preset

    """
    if isinstance(preset, Preset):
        return preset
    if not isinstance(preset, str) or preset not in PRESETS:
        raise ValueError(f"Unknown preset {preset!r}; choose from {', '.join(PRESETS)} or pass a Preset.")
    return PRESETS[preset]
