"""What every fault has, and what a kind of fault says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from inspect import getdoc
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_type_hints

from sim.files.attribute_docs import attribute_docs
from sim.files.bounds import Count, Milliseconds, Name

if TYPE_CHECKING:
    from sim.simulate.scenario.generate.streams import Draws

Life = Iterator[None]
"""A fault as it goes on: it begins, gives way once, and ends when it is asked for more."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of a scenario.

    `target` is a replica's name, `leader`, or `follower` (the first live one by name order from
    `pick` on). `duration_ms` is how long it lasts; 0 = a moment. A kind of fault is a subclass in a
    file of its own. The first sentences of its docstring are what users read of it, and its own
    fields are those of a file.
    """

    at_ms: Milliseconds
    target: Name
    duration_ms: Milliseconds = 0
    pick: Count = 0

    kind: ClassVar[str] = ""
    """Its name in files and traces: that of its class, in lower case."""
    source: ClassVar[str] = ""
    """What it is in a real cluster: a KIP, a setting, a class."""
    weight: ClassVar[float] = 0.0
    """How often random scenarios have it, unless a mix says otherwise (`Mix.weights`)."""
    instant: ClassVar[bool] = False
    """Whether it happens at one moment; every other kind lasts for a time, and ends."""
    keeps_position: ClassVar[bool] = False
    """After it nobody has anything to catch up with: no random migration follows it."""
    outage: ClassVar[bool] = False
    """Whether it keeps a replica from what its leader writes: it is away, or falls behind."""
    joins: ClassVar[bool] = False
    """Whether its target is new: a replica of that name is there from then on."""
    roles: ClassVar[tuple[str, ...]] = ("leader", "follower")
    """The roles that it can strike; a target is one of them, or the name of a replica."""
    draws_role: ClassVar[bool] = True
    """Whether random ones may have such a target."""

    def __init_subclass__(cls) -> None:
        cls.kind = re.sub(r"\B(?=[A-Z])", "_", cls.__name__).lower()

    @property
    def peers(self) -> tuple[str, ...]:
        """Other replicas that it names."""
        return ()

    @property
    def during(self) -> str | int | None:
        """The moment of the target's work that it waits for; None = it comes at its time."""
        return None

    def strike(self, faults: Any) -> tuple[Any, Life] | None:
        """Happen, if the target is there and up; to which node, and what goes on from then on.

        Args:
            faults: The faults of the running cluster, `sim.simulate.cluster.faults.Faults`: what a
                scenario is made of knows no cluster.
        """
        node = faults.target_of(self)
        if node is None or not node.replica.up:
            return None
        life = self.happen(faults, node)
        if life is None:
            return None
        next(life)
        return node, life

    def happen(self, faults: Any, node: Any) -> Life | None:
        """Begin at the target, which is up; what goes on from then on, None = nothing.

        Args:
            faults: As in `strike`.
            node: The target in the cluster, `sim.simulate.cluster.node.Node`.
        """
        raise NotImplementedError

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Each of its own fields that another one contradicts, and what is wrong there."""
        yield from ()

    @classmethod
    def drawn(cls, draws: Draws) -> dict[str, Any]:
        """Own fields of a random one; whatever else it has was drawn before."""
        del draws
        return {}


class OwnField(NamedTuple):
    """A field that a kind of fault has beside those of every fault.

    Attributes:
        type: What its values are, with their bounds.
        default: Its value in a fault that does not give it.
        means: What it means, for people.
    """

    type: Any
    default: Any
    means: str


def own_fields(kind: type[Fault]) -> dict[str, OwnField]:
    """What a kind of fault has beside the fields of every fault, by name."""
    hints = get_type_hints(kind, include_extras=True)
    told = {
        name: text
        for one in reversed(kind.__mro__[:-2])
        for name, text in attribute_docs(one).items()
    }
    common = {field.name for field in fields(Fault)}
    return {
        field.name: OwnField(hints[field.name], field.default, told[field.name])
        for field in fields(kind)
        if field.name not in common
    }


def meaning_of(kind: type[Fault]) -> str:
    """What a kind of fault does, for people."""
    return " ".join((getdoc(kind) or "").split())
