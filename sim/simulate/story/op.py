"""Parts of a step of a story, and the table of kinds of steps (`sim.simulate.story.ops`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from sim.files.attribute_docs import described, docs_of
from sim.files.document import Place
from sim.protocol.replication import Replica
from sim.protocol.rules import Rules
from sim.simulate.story.fields import REPLICA, FieldType


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a story.

    Attributes:
        number: Number of the step, from 1.
        op: Name of its op.
        fields: The fields that the file gives, by name.
        line: The step as a line; it counts neither for equality nor in `repr`.
        does_nothing: True if it is marked as doing nothing; not in `repr`.
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
"""Function that carries out a step with a driver (`sim.simulate.story.driver`).

It returns the reason that holds if the step did nothing; None if it knows no reason.
"""

Fields = Mapping[str, Any]
"""Fields that a step gives, by name."""


class Field(NamedTuple):
    """A field of a step.

    Attributes:
        kind: Type of its value.
        means: Meaning of its value, with the unit; empty where the op's docstring says it.
        required: True if every step of the op has it.
        plain: True if hints name it, and a line that is made from a mapping gives it by position.
        must: Function that returns why nothing can happen to the replica that the field names, or
            None; None without such a condition.
        void: Function that returns why the field has no meaning under a story's rules, or None;
            None for a field that always has a meaning.
    """

    kind: FieldType
    means: str = ""
    required: bool = False
    plain: bool = False
    must: Callable[[Replica], str | None] | None = None
    void: Callable[[Rules], str | None] | None = None


def be_up(replica: Replica) -> str | None:
    """Reason against a step that needs the replica to be up, else None."""
    return None if replica.up else f"{replica.name} is down"


def be_down(replica: Replica) -> str | None:
    """Reason against a step that needs the replica to be down, else None."""
    return f"{replica.name} is up already" if replica.up else None


def lead(replica: Replica) -> str | None:
    """Reason against a step that needs the replica to lead, else None."""
    if replica.up and replica.leadership is None:
        return f"{replica.name} does not lead"
    return be_up(replica)


may = Field
"""A field that need not be given."""

need = partial(Field, required=True, plain=True)
"""A field that every step of the op has."""

LEADER = need(REPLICA, "The replica that leads.", must=lead)
FOLLOWER = need(REPLICA, "The replica that follows.", must=be_up)
ACTOR = need(REPLICA, "The replica that does it.", must=be_up)


@dataclass(slots=True)
class Scope:
    """State of a story before a step, as far as its file shows it.

    Attributes:
        known: Names of the replicas that exist.
        sure: False if a step that cannot be read may have added a replica or a moment.
        moments: Names of the replicas that existed at each moment that was noted.
        passed_ms: Time of the story in ms.
    """

    known: list[str]
    sure: bool = True
    moments: dict[str, tuple[str, ...]] = field(default_factory=dict)
    passed_ms: int = 0


Check = Callable[[Fields, Place], None]
"""Function that raises BadInput for fields that do not go together; takes the step's place."""

Note = Callable[[Fields, Scope, Place], None]
"""Function that applies a step to the scope; raises BadInput if that is impossible."""


@dataclass(frozen=True, slots=True)
class Op:
    """A kind of step, with its fields, checks and effect.

    The docstring of its function describes it: the effect in sentences, a section `Fields:` with
    the meanings of fields, and `Source:`, its counterpart in a real system, which is `this project`
    for one that only stories have.

    Attributes:
        name: Name in files.
        fields: Its fields by name, in the order of the one-line form.
        take: Function that carries it out.
        check: Check of its fields beyond their types; None without one.
        note: Effect on the scope of later steps; None without one.
        asserts: Invariant that it claims to hold, which is judged in any case; None without one.
        observes: True for a step that judges: a second one in a row does nothing.
    """

    name: str
    fields: Mapping[str, Field]
    take: Take
    check: Check | None = None
    note: Note | None = None
    asserts: str | None = None
    observes: bool = False

    @property
    def means(self) -> str:
        """Effect of the step, in sentences."""
        return described(self.take)[0]

    @property
    def source(self) -> str:
        """Its counterpart in a real system."""
        return described(self.take)[1]["Source"]

    @property
    def meanings(self) -> dict[str, str]:
        """The meaning of each field's value, with the unit, in order."""
        _, said = docs_of(self.take)
        return {name: one.means or said[name] for name, one in self.fields.items()}

    @property
    def required(self) -> list[str]:
        """Names of the fields that every such step has."""
        return [name for name, one in self.fields.items() if one.required]

    @property
    def plain(self) -> list[str]:
        """Names of the plain fields, in order (`Field.plain`)."""
        return [name for name, one in self.fields.items() if one.plain]

    def in_vain(self, fields: Fields, rules: Rules) -> dict[str, str]:
        """The given fields that have no meaning under the rules, each with the reason."""
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
    check: Check | None = None,
    note: Note | None = None,
    asserts: str | None = None,
    observes: bool = False,
    **fields: Field,
) -> Callable[[Take], Take]:
    """Registers a function as an op, which has its name, and its docstring as the description.

    Required fields are given before the others.
    """

    def made(take: Take) -> Take:
        name = take.__name__.rstrip("_")
        OPS[name] = Op(name, fields, take, check, note, asserts, observes)
        return take

    return made
