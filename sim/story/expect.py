"""What a story claims, its `expect`, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sim.check.registry import INVARIANTS, discover
from sim.errors import BadInput, did_you_mean
from sim.story.fields import check_known, check_names, mapping, taken
from sim.story.ops import REPLICA, FieldType

_EXPECT = ("violated", "checked", "leader", "replicas", "note")


@dataclass(frozen=True, slots=True)
class StoryExpect:
    """What a story claims; None = no claim."""

    violated: tuple[str, ...] = ()
    checked: tuple[str, ...] | None = None
    leader: str | None = None
    replicas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def _number(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(value)
    return value


def _label(value: Any) -> str:
    """A step may give a label as a number, too."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise TypeError(value)
    return str(value)


def _listed(kind: type) -> Callable[[Any], list[Any]]:
    def parse(value: Any) -> list[Any]:
        if not isinstance(value, list) or any(type(item) is not kind for item in value):
            raise TypeError(value)
        return value

    return parse


def _state(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise TypeError(value)
    return {key: _label(label) for key, label in value.items()}


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(value)
    return value


_NUMBER = FieldType("an integer", _number)
_CLAIMS = {
    "log": FieldType("a list of label@offset texts", _listed(str)),
    "offsets": FieldType("a list of integers", _listed(int)),
    "leo": _NUMBER,
    "hw": _NUMBER,
    "start": _NUMBER,
    "state": FieldType("a mapping of keys to labels", _state),
    "up": FieldType("true or false", _switch),
}
"""What may be claimed of a replica. A line is never split here, so numbers are no texts."""


def expect_from(raw: object, known: Sequence[str], where: str) -> StoryExpect:
    """Check the claims; `known` are the replicas that exist at the end.

    Raises:
        BadInput: A field, an invariant or a replica does not exist, or a claim can never be met
            because it is not of the type of what it is about.
    """
    given = mapping(raw, where)
    check_known(given, _EXPECT, where)
    discover()
    names: dict[str, tuple[str, ...] | None] = {"violated": (), "checked": None}
    for part in names:
        if part in given:
            names[part] = _invariants(given[part], f"{where}.{part}")
    replicas: dict[str, dict[str, Any]] = {}
    for name, claims in mapping(given.get("replicas", {}), f"{where}.replicas").items():
        check_names(REPLICA, name, known, f"{where}.replicas")
        replicas[name] = _claims(claims, f"{where}.replicas.{name}")
    leader = given.get("leader")
    if leader is not None:
        leader = str(leader)
        check_names(REPLICA, leader, known, f"{where}.leader")
    return StoryExpect(names["violated"] or (), names["checked"], leader, replicas)


def _invariants(listed: object, where: str) -> tuple[str, ...]:
    if not isinstance(listed, list):
        raise BadInput(f"{where}: expected a list of invariants")
    for name in listed:
        if not isinstance(name, str) or name not in INVARIANTS:
            hint = did_you_mean(str(name), list(INVARIANTS))
            raise BadInput(
                f"{where}: unknown invariant {name!r}{hint}; allowed: {', '.join(INVARIANTS)}"
            )
    return tuple(listed)


def _claims(raw: object, where: str) -> dict[str, Any]:
    given = mapping(raw, where)
    check_known(given, [*_CLAIMS, "note"], where)
    return {
        part: taken(_CLAIMS[part], claim, f"{where}.{part}")
        for part, claim in given.items()
        if part != "note"
    }
