"""The common part of all kinds of faults, and the description of a kind for users."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import getdoc
from typing import Any, ClassVar, Final

from sim.files.bounds import Count, Milliseconds, Name

ROLES: Final = ("leader", "follower")
"""Targets of a fault other than names of replicas."""

Life = Iterator[None]
"""A fault in progress: an iterator whose first step begins the fault, and whose second ends it."""


@dataclass(frozen=True, slots=True)
class Fault(ABC):
    """Base of all kinds of faults; an instance is a fault of a scenario.

    A kind of fault is a subclass. Its docstring is the description that users read, and its own
    fields are those of a scenario file.

    Attributes:
        at_ms: Time in ms at which it happens, or begins.
        target: Name of a replica, `leader`, or `follower`: the live one at place `pick`.
        duration_ms: Time in ms that it lasts; 0 for a fault of one moment.
        pick: Index by name, modulo their number, of the `follower` that is its target, or to which
            a `leader` hands over.
    """

    at_ms: Milliseconds
    target: Name
    duration_ms: Milliseconds = 0
    pick: Count = 0

    kind: ClassVar[str] = ""
    """Name in files and traces: that of the class, in lower case with underscores."""
    source: ClassVar[str] = ""
    """Its place in a real cluster: a KIP, a setting, a class."""
    weight: ClassVar[float] = 0.0
    """Frequency in random scenarios, unless a mix has another one (`Mix.weights`)."""
    instant: ClassVar[bool] = False
    """True for a fault of one moment; every other kind lasts for a time, and ends."""
    keeps_position: ClassVar[bool] = False
    """True when no replica falls behind by it, so that no random migration follows it."""
    outage: ClassVar[bool] = False
    """True when it keeps a replica from copying its leader: the replica is away or falls behind."""
    needs_target_up: ClassVar[bool] = True
    """True when nothing happens without a target that is up."""
    joins: ClassVar[bool] = False
    """True when it adds its target as a new replica."""
    roles: ClassVar[tuple[str, ...]] = ROLES
    """Roles that it can strike; a target is one of them, or the name of a replica."""
    draws_role: ClassVar[bool] = True
    """True when random faults of this kind may have a role as target."""

    def __init_subclass__(cls) -> None:
        cls.kind = re.sub(r"\B(?=[A-Z])", "_", cls.__name__).lower()

    @property
    def peers(self) -> tuple[str, ...]:
        """Names of other replicas that take part in it."""
        return ()

    @property
    def during(self) -> str | int | None:
        """Moment of the target's work that it waits for; None: it happens at its time."""
        return None

    @abstractmethod
    def happen(self, faults: Any, node: Any) -> Life | None:
        """Makes a fault of one moment happen; returns a lasting one, whose first step begins it.

        None: it has happened, or it waits for a moment of the target's work (`during`).

        Args:
            faults: The faults of the running cluster, a `sim.simulate.cluster.faults.Faults` (the
                data of a scenario imports nothing of a cluster).
            node: The target in the cluster, `sim.simulate.cluster.node.Node`; None without one,
                which only a kind is given that does not need its target up.
        """

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Contradictions between its fields: (name of the field, problem)."""
        yield from ()


def meaning_of(kind: type[Fault]) -> str:
    """Description of a kind of fault for users."""
    return " ".join((getdoc(kind) or "").split())
