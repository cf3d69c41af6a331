"""Checks that the parts of a story file share: mappings, known fields, names of replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sim.errors import BadInput, did_you_mean
from sim.story.ops import REPLICA, REPLICAS, FieldType


def mapping(value: object, where: str) -> Mapping[str, Any]:
    """The value, if it is a mapping with text keys.

    Raises:
        BadInput: It is none.
    """
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise BadInput(f"{where}: expected a mapping with text keys")
    return value


def check_known(given: Mapping[str, Any], allowed: Sequence[str], where: str) -> None:
    """Raise BadInput if a field is none of `allowed`."""
    for name in given:
        if name not in allowed:
            raise BadInput(f"{where}: {unknown_field(name, allowed)}")


def unknown_field(name: str, allowed: Sequence[str]) -> str:
    """What is said about a field that does not exist."""
    hint = did_you_mean(name, allowed)
    return f"{name}: unknown field{hint}; allowed: {', '.join(allowed) or 'none'}"


def taken(kind: FieldType, value: object, where: str, *, shown: str | None = None) -> Any:
    """The value as its type takes it; `shown` is how it was written.

    Raises:
        BadInput: It is not of that type.
    """
    try:
        return kind.parse(value)
    except (ValueError, TypeError, KeyError):
        said = repr(value if shown is None else shown)
        raise BadInput(f"{where}: {said} is not {kind.expected}") from None


def check_names(kind: FieldType, value: Any, known: Sequence[str], where: str) -> None:
    """Raise BadInput if the value names a replica twice, or one that is not known."""
    names = (value,) if kind is REPLICA else value if kind is REPLICAS else ()
    if len(set(names)) < len(names):
        raise BadInput(f"{where}: a replica is named twice in {', '.join(names)}")
    for name in names:
        if name not in known:
            raise BadInput(f"{where}: no replica {name!r}; known here: {', '.join(known)}")
