"""What a story claims, its `expect`, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from sim.check.registry import INVARIANTS, discover
from sim.files.document import Place, unknown_value
from sim.files.fields import Fields, as_list, as_object
from sim.story.fields import REPLICA, FieldType, check_names

_EXPECT = ("violated", "checked", "leader", "replicas", "moments", "note")

Claims: TypeAlias = Mapping[str, Mapping[str, Any]]
"""What is claimed of replicas, by name."""


class StoryExpect(NamedTuple):
    """What a story claims; None = no claim.

    `replicas` speaks of the end, `moments` of what each `moment` step noted, by its name.
    """

    violated: tuple[str, ...] = ()
    checked: tuple[str, ...] | None = None
    leader: str | None = None
    replicas: Claims = MappingProxyType({})
    moments: Mapping[str, Claims] = MappingProxyType({})


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


def _entries(value: Any) -> list[tuple[int, int]]:
    if not isinstance(value, list) or any(not isinstance(pair, list) for pair in value):
        raise TypeError(value)
    return [(_number(epoch), _number(start)) for epoch, start in value]


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
    "batches": FieldType("a list of texts, label@offset epoch N each", _listed(str)),
    "epochs": FieldType("a list of [epoch, start offset]", _entries),
    "offsets": FieldType("a list of integers", _listed(int)),
    "leo": _NUMBER,
    "hw": _NUMBER,
    "start": _NUMBER,
    "state": FieldType("a mapping of keys to labels", _state),
    "up": FieldType("true or false", _switch),
}
"""What may be claimed of a replica. A line is never split here, so numbers are no texts."""


def expect_at(
    raw: object, known: Sequence[str], place: Place, *, moments: Mapping[str, Sequence[str]]
) -> StoryExpect:
    """The claims at `place`, checked.

    Args:
        raw: As the file has them.
        known: The replicas that exist at the end.
        place: Where the claims are, for errors.
        moments: The replicas that exist at each moment that a step notes.

    Raises:
        BadInput: A field, an invariant or a replica does not exist, or a claim can never be met
            because it is not of the type of what it is about.
    """
    fields = Fields(raw, place, _EXPECT)
    discover()
    names: dict[str, tuple[str, ...] | None] = {"violated": (), "checked": None}
    for part in names:
        if part in fields.values:
            names[part] = _invariants(fields.values[part], fields.at(part))
    replicas = _of_replicas(fields.values.get("replicas", {}), known, fields.at("replicas"))
    at_moments = fields.at("moments")
    noted = as_object(fields.values.get("moments", {}), at_moments)
    for name in noted:
        if name not in moments:
            at_moments.at(name).fail(unknown_value(name, moments, what="moment"))
    leader = fields.values.get("leader")
    if leader is not None:
        leader = str(leader)
        check_names(REPLICA, leader, known, fields.at("leader"))
    return StoryExpect(
        names["violated"] or (),
        names["checked"],
        leader,
        replicas,
        {
            name: _of_replicas(claims, moments[name], at_moments.at(name))
            for name, claims in noted.items()
        },
    )


def _of_replicas(raw: object, known: Sequence[str], place: Place) -> dict[str, dict[str, Any]]:
    replicas: dict[str, dict[str, Any]] = {}
    for name, claims in as_object(raw, place).items():
        # The line is that of the name, the path that of what names replicas.
        check_names(REPLICA, name, known, place.at(name, label=place.path))
        replicas[name] = _claims(claims, place.at(name))
    return replicas


def _invariants(listed: object, place: Place) -> tuple[str, ...]:
    names = as_list(listed, place)
    for index, name in enumerate(names):
        if not isinstance(name, str) or name not in INVARIANTS:
            place.at(index).fail(unknown_value(name, INVARIANTS, what="invariant"))
    return tuple(names)


def _claims(raw: object, place: Place) -> dict[str, Any]:
    fields = Fields(raw, place, [*_CLAIMS, "note"])
    return {
        part: _CLAIMS[part].value_of(claim, fields.at(part))
        for part, claim in fields.values.items()
        if part != "note"
    }
