"""How a preset is stored in a model folder: its parts by name, with their settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from opengcd._internal.model_folder import ModelFileError
from opengcd.discover import DISCOVERIES
from opengcd.osr import REJECTIONS
from opengcd.presets import Preset, resolve_preset

PARTS = ("rejection", "discovery", "classifier", "selector")
"""Fields of a preset that can hold an object of the user's own."""


def describe_preset(preset: str | Preset) -> Any:
    """Return what is saved of a recogniser's argument ``preset``.

    Parameters
    ----------
    preset : str or Preset
        The argument.

    Returns
    -------
    str or dict
        A name as it is; of a :class:`Preset` its fields as JSON, with ``name``, ``own`` (whether it is the user's) and
        ``settings`` of each part.

    """
    return preset if isinstance(preset, str) else _describe(preset)


def restore_preset(stored: Any, given: str | Preset | None) -> str | Preset:
    """Return the preset of a saved recogniser.

    Parameters
    ----------
    stored : str or dict
        What :func:`describe_preset` returned, in this version or an earlier one.
    given : str, Preset or None
        The same preset again; needed if it has parts of the user's own.

    Returns
    -------
    str or Preset

    Raises
    ------
    ModelFileError
        If the preset is needed and not given, or if the one given is another.

    """
    described = _nested(stored) if isinstance(stored, dict) else _describe(resolve_preset(stored))
    if given is not None:
        _compare(described, resolve_preset(given))
        return given
    if isinstance(stored, str):
        return stored
    own = _own_parts(described)
    if own:
        raise ModelFileError(
            f"This recogniser was saved with parts that are not built in ({', '.join(own)}); pass load(preset=...) "
            "with a preset of the same parts."
        )
    return Preset(
        described["name"],
        described["classifier"],
        described["selector"],
        described["rank_once"],
        _restore_part(REJECTIONS, described["rejection"]),
        _restore_part(DISCOVERIES, described["discovery"]),
        described["classifier_settings"],
        described.get("keep_statistics", False),  # earlier versions had none to keep
        described.get("stack_copies", False),
    )


def _describe(preset: Preset) -> dict[str, Any]:
    values = {field.name: getattr(preset, field.name) for field in fields(preset)}
    described: dict[str, Any] = json.loads(json.dumps(values, default=_plain))
    return described


def _plain(value: Any) -> Any:
    """Return an object in JSON; a subclass of a built-in class may compute anything and counts as your own."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    kind = type(value)
    if kind in (*REJECTIONS.values(), *DISCOVERIES.values()):
        return {"name": value.name, "own": False, "settings": value.settings()}
    settings = value.get_params(deep=False) if isinstance(value, BaseEstimator) else {}
    return {"name": getattr(value, "__qualname__", kind.__qualname__), "own": True, "settings": settings}


def _own_parts(described: Mapping[str, Any]) -> list[str]:
    """Return the names of the parts that are not built in."""
    if "own" in described:  # by an earlier version, which stored the types of these parts and nothing else
        return list(described["own"])
    return [described[field]["name"] for field in PARTS if _is_part(described[field]) and described[field]["own"]]


def _is_part(described: Any) -> bool:
    return isinstance(described, dict) and "settings" in described


def _nested(stored: dict[str, Any]) -> dict[str, Any]:
    """Return a stored preset with the settings of each part by themselves.

    Earlier versions stored the settings of all parts in one flat mapping, whether the preset had them or not.
    """
    if "own" in stored or _is_part(stored["rejection"]):
        return stored
    parts = {}
    for field, known in (("rejection", REJECTIONS), ("discovery", DISCOVERIES)):
        settings = known[stored[field]]().settings()
        own = {name: stored.get(name, default) for name, default in settings.items()}
        parts[field] = {"name": stored[field], "own": False, "settings": own}
    return stored | parts


def _compare(stored: Mapping[str, Any], given: Preset) -> None:
    """Raise an error if a preset differs from the stored one, except in its name and settings that were not stored."""
    found = _describe(given)
    if "own" in stored:
        types = [type(getattr(given, field)).__qualname__ for field in PARTS]
        differences = [f"it has no {name}" for name in stored["own"] if name not in types]
    else:
        differences = [
            f"{field} was {_show(stored[field])}, not {_show(found[field])}"
            for field in found
            if field in stored
            and field != "name"
            and _text(stored[field]) != _text(_as_stored(found[field], stored[field]))
        ]
    if differences:
        raise ModelFileError(
            f"This recogniser was saved with another preset than the one given: {'; '.join(differences)}. Pass "
            "load(preset=...) with the parts and settings that it was saved with."
        )


def _as_stored(found: Any, stored: Any) -> Any:
    """Return a part without settings that were not stored: its class may have got them since."""
    if not (_is_part(found) and _is_part(stored)):
        return found
    return found | {
        "settings": {name: value for name, value in found["settings"].items() if name in stored["settings"]}
    }


def _text(described: Any) -> str:
    return json.dumps(described, sort_keys=True)


def _show(described: Any) -> str:
    if not _is_part(described):
        return repr(described)
    settings = ", ".join(f"{name}={_show(value)}" for name, value in described["settings"].items())
    return f"{described['name']}({settings})"


def _restore_part(known: Mapping[str, type[Any]], described: Mapping[str, Any]) -> Any:
    settings = described["settings"].items()
    return known[described["name"]](
        **{name: tuple(value) if isinstance(value, list) else value for name, value in settings}
    )
