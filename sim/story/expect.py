"""What a story claims, its `expect`, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType, UnionType
from typing import Any, NamedTuple, TypeAlias, cast, get_args, get_origin

from sim.check.registry import INVARIANTS, discover
from sim.files.document import Place, shown, unknown_value
from sim.files.fields import Fields, as_list, as_object
from sim.story.fields import REPLICA, check_names

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


_SHAPES = {
    "log": (list[str], "a list of label@offset texts"),
    "batches": (list[str], "a list of texts, label@offset epoch N each"),
    "epochs": (list[tuple[int, int]], "a list of [epoch, start offset]"),
    "offsets": (list[int], "a list of integers"),
    "leo": (int, "an integer"),
    "hw": (int, "an integer"),
    "start": (int, "an integer"),
    "state": (dict[str, str | int], "a mapping of keys to labels"),
    "up": (bool, "true or false"),
}
"""What may be claimed of a replica, and how it is called in errors; numbers are no texts here."""


def _fits(value: object, shape: Any) -> bool:
    """Whether a value is of a type as annotations write it; a tuple is a list in a file."""
    of, parts = get_origin(shape), get_args(shape)
    if of is UnionType:
        return type(value) in parts
    if of is list:
        return isinstance(value, list) and all(_fits(item, parts[0]) for item in value)
    if of is tuple:
        fit = isinstance(value, list) and len(value) == len(parts)
        return fit and all(map(_fits, cast("list[object]", value), parts))
    if of is dict:
        return isinstance(value, dict) and all(_fits(one, parts[1]) for one in value.values())
    return type(value) is shape


def _claimed(part: str, claim: Any, place: Place) -> Any:
    """A claim as the view of a replica has it: a step may give a label as a number, too."""
    shape, expected = _SHAPES[part]
    if not _fits(claim, shape):
        place.fail(f"expected {expected}, not {shown(claim)}")
    if part == "state":
        return {key: str(label) for key, label in claim.items()}
    return [tuple(entry) for entry in claim] if part == "epochs" else claim


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
    fields = Fields(raw, place, [*_SHAPES, "note"])
    claims = {part: claim for part, claim in fields.values.items() if part != "note"}
    return {part: _claimed(part, claim, fields.at(part)) for part, claim in claims.items()}
