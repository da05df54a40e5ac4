"""Presets: named compositions of a classifier, a rule for exemplars, a rejection and a discovery strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opengcd._internal.model_folder import ModelFileError
from opengcd._internal.part import Part
from opengcd._internal.validation import check_share
from opengcd.classify import CLASSIFIERS
from opengcd.discover import DISCOVERIES, DiscoveryStrategy, JointDiscovery, KMeansDiscovery
from opengcd.memory import Selector
from opengcd.osr import REJECTIONS, NoveltyRejection, Rejection, UncertaintyRejection


@dataclass(frozen=True)
class Preset:
    """The parts that a recogniser is composed of.

    Parameters
    ----------
    name : str
        What messages call it.
    classifier : str or estimator
        See :class:`~opengcd.OpenWorldRecognizer`.
    selector : str or callable
        How exemplars are chosen, see :func:`opengcd.memory.select_exemplars`.
    rank_once : bool
        Whether the exemplars of a class are ranked once, and later only cut from the end.
    rejection : Rejection
        How rows are rejected; built in are :class:`opengcd.osr.UncertaintyRejection` (the paper's) and
        :class:`opengcd.osr.NoveltyRejection`, and any subclass of :class:`opengcd.osr.Rejection` will do.
    discovery : DiscoveryStrategy
        How new classes are found; built in are :class:`opengcd.discover.KMeansDiscovery` (the paper's) and
        :class:`opengcd.discover.JointDiscovery`, and any subclass of :class:`opengcd.discover.DiscoveryStrategy` will
        do.
    classifier_settings : mapping
        Constructor arguments for classifiers by name, such as ``{"mlp": {"max_iter": 50}}``.

    """

    name: str
    classifier: Any = "svm"
    selector: Selector = "ds3"
    rank_once: bool = False
    rejection: Rejection = field(default_factory=UncertaintyRejection)
    discovery: DiscoveryStrategy = field(default_factory=KMeansDiscovery)
    classifier_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, part, kind in (
            ("rejection", self.rejection, Rejection),
            ("discovery", self.discovery, DiscoveryStrategy),
        ):
            if not isinstance(part, kind):
                raise ValueError(f"Preset {self.name!r}: {what} must be a {kind.__name__}, not {part!r}.")
        try:
            self.discovery.check(self.rejection)
        except ValueError as error:
            raise ValueError(f"Preset {self.name!r}: {error}") from None

    def rejection_for(self, alpha: float | str, max_known_rejected: float | None) -> Rejection:
        """Return the rejection to fit, with the recogniser's settings.

        Parameters
        ----------
        alpha : float or "search"
            Weight of uncertainty in the paper's open-set rule; ``"search"`` leaves the rejection as it is.
        max_known_rejected : float or None
            Largest share of known rows that may be rejected; None leaves the rejection as it is.

        Returns
        -------
        Rejection

        Raises
        ------
        ValueError
            If the rejection does not have such a setting, or the value is not valid.

        """
        rejection = self.rejection if alpha == "search" else self.rejection.with_alpha(alpha)
        if max_known_rejected is None:
            return rejection
        return rejection.limit(check_share(max_known_rejected, "max_known_rejected"))

    def classifier_for(self, given: Any, device: str) -> Any:
        """Return the classifier to fit.

        Parameters
        ----------
        given : str, estimator or None
            The recogniser's argument ``classifier``; None takes this preset's. A name gets its entry of
            ``classifier_settings``.
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
        # What we recommend: measured to be better, see RESULTS.md.
        Preset(
            "best",
            classifier="logistic",
            selector="herding",
            rank_once=True,
            rejection=NoveltyRejection(),
            discovery=JointDiscovery(),
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
        A name in :data:`PRESETS`, or a preset, which is returned as it is.

    Returns
    -------
    Preset

    """
    if isinstance(preset, Preset):
        return preset
    if not isinstance(preset, str) or preset not in PRESETS:
        raise ValueError(f"Unknown preset {preset!r}; choose from {', '.join(PRESETS)} or pass a Preset.")
    return PRESETS[preset]


def describe_preset(preset: str | Preset) -> Any:
    """Return what is saved of a recogniser's argument ``preset``.

    Parameters
    ----------
    preset : str or Preset
        The argument.

    Returns
    -------
    str or dict
        A name as it is; for a :class:`Preset` the names and settings of its parts or, if some are the user's own, only
        the types of those.

    """
    if isinstance(preset, str):
        return preset
    own = [type(part).__qualname__ for part in _own_parts(preset)]
    if own:
        return {"name": preset.name, "own": own}
    return {
        "name": preset.name,
        "classifier": preset.classifier,
        "selector": preset.selector,
        "rank_once": preset.rank_once,
        "rejection": preset.rejection.name,
        "discovery": preset.discovery.name,
        **preset.rejection.settings(),
        **preset.discovery.settings(),
        "classifier_settings": {name: dict(settings) for name, settings in preset.classifier_settings.items()},
    }


def restore_preset(stored: Any, given: str | Preset | None) -> str | Preset:
    """Return the preset of a saved recogniser.

    Parameters
    ----------
    stored : str or dict
        What :func:`describe_preset` returned.
    given : str, Preset or None
        A preset that is taken instead; needed if the stored one has parts of the user's own.

    Returns
    -------
    str or Preset

    """
    if given is not None:
        return given
    if not isinstance(stored, dict):
        return stored
    if "own" in stored:
        raise ModelFileError(
            f"This recogniser was saved with parts that are not OpenGCD's ({', '.join(stored['own'])}); pass "
            "load(preset=...) with a preset of the same parts."
        )
    return Preset(
        stored["name"],
        stored["classifier"],
        stored["selector"],
        stored["rank_once"],
        _restore_part(REJECTIONS[stored["rejection"]], stored),
        _restore_part(DISCOVERIES[stored["discovery"]], stored),
        stored["classifier_settings"],
    )


def _own_parts(preset: Preset) -> list[Any]:
    """Return the parts that are not built in; a class derived from ours may compute anything and counts as own."""
    parts: list[tuple[Part, Mapping[str, type[Part]]]] = [
        (preset.rejection, REJECTIONS),
        (preset.discovery, DISCOVERIES),
    ]
    own: list[Any] = [part for part, known in parts if type(part) is not known.get(part.name)]
    return own + [choice for choice in (preset.classifier, preset.selector) if not isinstance(choice, str)]


def _restore_part(kind: type[Any], stored: Mapping[str, Any]) -> Any:
    """Return a part with its stored settings; older versions stored those of all parts, and had fewer of some."""
    settings = {name: stored[name] for name in kind().settings() if name in stored}
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()})
