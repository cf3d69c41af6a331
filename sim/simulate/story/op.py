"""Parts of a step of a story, and the table of kinds of steps (`sim.simulate.story.ops`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sim.files.document import Place
from sim.protocol.replication import Replica
from sim.protocol.rules import Rules
from sim.simulate.story.fields import REPLICA, FieldType


@dataclass(frozen=True, slots=True)
class Step:
    """One step: its number (from 1), its op, the fields that were given, and all that as a line.

    `does_nothing` says that it is meant to do nothing. Neither that nor the line is shown: two
    steps that look alike do the same.
    """

    number: int
    op: str
    fields: Mapping[str, Any]
    line: str = field(default="", compare=False, repr=False)
    does_nothing: bool = field(default=False, repr=False)

    def __getitem__(self, name: str) -> Any:
        """Value of a required field."""
        return self.fields[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Value of an optional field, or the default."""
        return self.fields.get(name, default)


Take = Callable[[Any, Step], str | None]
"""Has a driver (`sim.simulate.story.driver`) carry out a step.

It returns why nothing came of it, if nothing did; None = it cannot say.
"""

Fields = Mapping[str, Any]
"""The fields that a step gives, by name."""


class Field(NamedTuple):
    """A field of a step.

    Attributes:
        kind: Its type.
        means: What it means, with its unit where it has one.
        required: Whether every step of the op has it.
        plain: Whether a plain step has it; a line has it by its position.
        must: Why nothing happens, for the replica that it names; None = something may.
        void: Why it means nothing under a story's rules, and what would give it a meaning; None =
            it means something. No such function: under any rules.
    """

    kind: FieldType
    means: str
    required: bool = False
    plain: bool = False
    must: Callable[[Replica], str | None] | None = None
    void: Callable[[Rules], str | None] | None = None


def be_up(replica: Replica) -> str | None:
    """Why a replica does nothing that takes one that is up."""
    return None if replica.up else f"{replica.name} is down"


def be_down(replica: Replica) -> str | None:
    """Why a replica does nothing that takes one that is down."""
    return f"{replica.name} is up already" if replica.up else None


def lead(replica: Replica) -> str | None:
    """Why a replica does nothing that takes a leader."""
    if replica.up and replica.leadership is None:
        return f"{replica.name} does not lead"
    return be_up(replica)


def need(
    kind: FieldType, means: str, *, must: Callable[[Replica], str | None] | None = None
) -> Field:
    """A field that every step of the op has."""
    return Field(kind, means, required=True, plain=True, must=must)


def may(
    kind: FieldType,
    means: str,
    *,
    plain: bool = False,
    void: Callable[[Rules], str | None] | None = None,
) -> Field:
    """A field that need not be given."""
    return Field(kind, means, plain=plain, void=void)


LEADER = need(REPLICA, "The replica that leads.", must=lead)
FOLLOWER = need(REPLICA, "The replica that follows.", must=be_up)
ACTOR = need(REPLICA, "The replica that does it.", must=be_up)


@dataclass(slots=True)
class Scope:
    """State of a story before a step, as far as its file tells.

    Attributes:
        known: The replicas that exist.
        sure: Whether those are all, and the moments, too: a step that cannot be read may have added
            another one.
        moments: The replicas that existed at each moment that was noted.
        passed_ms: The time.
    """

    known: list[str]
    sure: bool = True
    moments: dict[str, tuple[str, ...]] = field(default_factory=dict)
    passed_ms: int = 0


Check = Callable[[Fields, Place], None]
"""Raises BadInput for fields that do not go together; the place is that of the step."""

Note = Callable[[Fields, Scope, Place], None]
"""Notes what the step does to the scope; raises BadInput if that cannot be."""


@dataclass(frozen=True, slots=True)
class Op:
    """A kind of step: its fields, checks and effect, said in one place.

    Attributes:
        name: What files call it.
        means: What it does, in a sentence.
        source: What it is in a real system; `this project` for what only a story has.
        fields: Its fields by name, in the order of the one-line form.
        take: What it does.
        check: What its fields have to keep to beyond their types; None = nothing.
        note: What it does to the scope of the steps behind it; None = nothing.
        asserts: The invariant that it claims to hold, which is judged in any case.
        observes: Whether it looks at what there is: twice in a row it is no second look.
    """

    name: str
    means: str
    source: str
    fields: Mapping[str, Field]
    take: Take
    check: Check | None = None
    note: Note | None = None
    asserts: str | None = None
    observes: bool = False

    @property
    def required(self) -> list[str]:
        """Names of the fields that every such step has."""
        return [name for name, one in self.fields.items() if one.required]

    @property
    def plain(self) -> list[str]:
        """Names of the fields of a plain step."""
        return [name for name, one in self.fields.items() if one.plain]

    def in_vain(self, fields: Fields, rules: Rules) -> dict[str, str]:
        """The given fields that mean nothing under the rules, each with the reason."""
        voids = ((name, self.fields[name].void) for name in fields)
        reasons = ((name, void(rules)) for name, void in voids if void is not None)
        return {name: why for name, why in reasons if why is not None}

    @property
    def types(self) -> dict[str, FieldType]:
        """The types of all fields, in order."""
        return {name: one.kind for name, one in self.fields.items()}


OPS: dict[str, Op] = {}
"""Every op by name, once `sim.simulate.story.ops` is imported."""


def op(
    *,
    source: str,
    check: Check | None = None,
    note: Note | None = None,
    asserts: str | None = None,
    observes: bool = False,
    **fields: Field,
) -> Callable[[Take], Take]:
    """Makes a function an op: its name is the op's, its docstring what the op means.

    Required fields come before the others.
    """

    def made(take: Take) -> Take:
        name = take.__name__.rstrip("_")
        means = " ".join((inspect.getdoc(take) or "").split())
        OPS[name] = Op(name, means, source, fields, take, check, note, asserts, observes)
        return take

    return made
