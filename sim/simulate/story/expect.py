"""The claims in the `expect` of a story, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import msgspec

from sim.check.registry import INVARIANTS, discover
from sim.files.document import (
    Complaints,
    Fields,
    Place,
    as_list,
    as_object,
    listed,
    shown,
    unknown_value,
)
from sim.simulate.scenario.runnable import Expectation
from sim.simulate.story.fields import REPLICA, check_names, no_such_label
from sim.simulate.story.op import Scope

_EMPTY_SLOT = "-"
"""Label of a slot without a record in a claim."""
_EXPECT = ("violated", "checked", "leader", "replicas", "moments", "note")

Claims: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Claims about replicas, by name of the replica and of the claim."""


@dataclass(frozen=True, slots=True)
class StoryExpect(Expectation):
    """The expectation of a story.

    Attributes:
        leader: Name of the leader at the end; None without a claim.
        replicas: Claims about replicas at the end.
        moments: Claims about replicas at each moment that a `moment` step noted, by its name.
    """

    leader: str | None = None
    replicas: Claims = field(default_factory=dict)
    moments: Mapping[str, Claims] = field(default_factory=dict)


class StoryClaim(NamedTuple):
    """A kind of claim about a replica.

    Attributes:
        shape: Type of its value, as in an annotation; a number is no text.
        expected: Name of the type in errors.
        means: Meaning of its value.
    """

    shape: Any
    expected: str
    means: str


CLAIMS = {
    "log": StoryClaim(
        list[str],
        "a list of label@offset texts",
        "The records of its log, `label@offset` each.",
    ),
    "batches": StoryClaim(
        list[str],
        "a list of texts, label@offset epoch N each",
        "Its batches, `label@offset epoch N` each.",
    ),
    "epochs": StoryClaim(
        list[tuple[int, int]], "a list of [epoch, start offset]", "[epoch, start offset] each."
    ),
    "offsets": StoryClaim(list[int], "a list of integers", "Offsets of its records."),
    "leo": StoryClaim(int, "an integer", "Log end offset (exclusive)."),
    "hw": StoryClaim(int, "an integer", "High watermark (exclusive)."),
    "start": StoryClaim(int, "an integer", "Log start offset."),
    "lso": StoryClaim(int, "an integer", "Last stable offset (exclusive)."),
    "committed": StoryClaim(
        list[str],
        "a list of label@offset texts",
        "The records that a consumer of committed records is given, `label@offset` each.",
    ),
    "state": StoryClaim(
        dict[str, str | int], "a mapping of keys to labels", "The label each key has."
    ),
    "up": StoryClaim(bool, "true or false", "Whether it is up."),
}
"""The claims that may be made about a replica, by name."""


def _claimed(part: str, claim: Any, place: Place) -> Any:
    """A claim in the form that the view of a replica has."""
    try:
        found = msgspec.convert(claim, CLAIMS[part].shape)
    except msgspec.ValidationError:
        place.fail(f"expected {CLAIMS[part].expected}, not {shown(claim)}")
    return {key: str(label) for key, label in found.items()} if part == "state" else found


def expect_at(raw: object, scope: Scope, place: Place, wrong: Complaints) -> StoryExpect:
    """The claims at `place`, checked.

    Args:
        raw: The claims as the file has them.
        scope: The replicas at the end of the story, and those at each moment that a step notes.
        place: Place of the claims, for errors.
        wrong: Takes complaints about fields, invariants and replicas that do not exist, and about
            claims of a wrong type, which could never be met.
    """
    fields = Fields(raw, place, _EXPECT, wrong)
    discover()
    violated = _invariants(fields, "violated", wrong)
    checked = _invariants(fields, "checked", wrong)
    known = scope.known if scope.sure else None
    replicas = _of_replicas(fields.values.get("replicas", {}), known, fields.at("replicas"), wrong)
    moments: dict[str, Claims] = {}
    with wrong:
        at_moments = fields.at("moments")
        for name, claims in as_object(fields.values.get("moments", {}), at_moments).items():
            at = at_moments.at(name)
            if scope.sure and name not in scope.moments:
                wrong.add(at.problem(unknown_value(name, scope.moments, what="moment")))
            elif claims == {}:
                at.fail("claims nothing; name replicas")
            moments[name] = _of_replicas(claims, scope.moments.get(name), at, wrong)
    leader = fields.values.get("leader")
    with wrong:
        if leader is not None and scope.sure:
            check_names(REPLICA, str(leader), scope.known, fields.at("leader"))
    return StoryExpect(
        violated or (), checked, None if leader is None else str(leader), replicas, moments
    )


def check_labels(
    expect: StoryExpect, labels: Sequence[str], place: Place, wrong: Complaints
) -> None:
    """Complains of claims about records that no step writes."""
    at_moments = [(place.at("moments").at(name), of) for name, of in expect.moments.items()]
    for at, of in ((place.at("replicas"), expect.replicas), *at_moments):
        for replica, claims in of.items():
            for part in ("log", "committed"):
                for index, entry in enumerate(claims.get(part, ())):
                    label = entry.rpartition("@")[0]
                    why = None if label == _EMPTY_SLOT else no_such_label(label, labels)
                    if why is not None:
                        wrong.add(at.at(replica).at(part).at(index).problem(why))


def _of_replicas(
    raw: object, known: Sequence[str] | None, place: Place, wrong: Complaints
) -> Claims:
    """The claims about each replica; `known` has the replicas, None if they are not known."""
    replicas: dict[str, dict[str, Any]] = {}
    with wrong:
        for name, claims in as_object(raw, place).items():
            with wrong:
                if known is not None:
                    # The line is that of the name, the path that of what names replicas.
                    check_names(REPLICA, name, known, place.at(name, label=place.path))
                replicas[name] = _claims(claims, place.at(name), wrong)
    return replicas


def _invariants(fields: Fields, part: str, wrong: Complaints) -> tuple[str, ...] | None:
    if part not in fields.values:
        return None
    names: list[str] = []
    with wrong:
        names = as_list(fields.values[part], fields.at(part))
        if part == "checked" and not names:
            fields.at(part).fail("no invariant would be judged; leave it out")
        for index, name in enumerate(names):
            if not isinstance(name, str) or name not in INVARIANTS:
                place = fields.at(part).at(index)
                wrong.add(place.problem(unknown_value(name, INVARIANTS, what="invariant")))
    return tuple(names)


def _claims(raw: object, place: Place, wrong: Complaints) -> dict[str, Any]:
    fields = Fields(raw, place, [*CLAIMS, "note"], wrong)
    claims: dict[str, Any] = {}
    for part, claim in fields.values.items():
        with wrong:
            if part in CLAIMS:
                claims[part] = _claimed(part, claim, fields.at(part))
    if not fields.values:
        wrong.add(place.problem(f"claims nothing; allowed: {listed(CLAIMS)}"))
    return claims
