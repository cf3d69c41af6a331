"""A replica as a value: what a search of states compares, keeps and comes back to.

`freeze` takes everything that a replica holds, by the attributes that its classes declare, so that
a new attribute is part of the value without a word here. `thaw` makes a replica of its own again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

from sim.log import Batch, LogConfig, Record
from sim.log.producers import REMEMBERED_BATCHES
from sim.replication.replica import Replica

Frozen = tuple[Any, ...]
"""The value of a replica: hashable, equal for replicas of which no function can tell them apart."""

_DECLARED = ("__slots__", "__mypyc_attrs__")
"""What names the attributes of an object; the second: of a compiled one."""
_ATOMS = (str, bytes, int, type(None), tuple, frozenset, Enum, LogConfig)
"""What never changes; tuples, with names or without, hold nothing else."""


def freeze(replica: Replica) -> Frozen:
    """All that a replica holds, as a value."""
    frozen: Frozen = freeze_part(replica)
    return frozen


def thaw(frozen: Frozen) -> Replica:
    """A replica that holds what another one held when it was frozen; it shares nothing with it."""
    replica: Replica = thaw_part(frozen)
    return replica


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A frozen value in which replicas have other names; records are as they were.

    In-sync sets and the like stay in the order of names, as `freeze` leaves them.
    """
    if isinstance(value, str):
        return names.get(value, value)
    if not isinstance(value, tuple) or isinstance(value, Batch | Record):
        return value
    parts = [renamed(part, names) for part in value]
    if parts and parts[0] is dict:
        return (dict, *sorted(parts[1:]))
    if all(isinstance(part, str) for part in parts):
        return tuple(sorted(parts))
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


@cache
def attributes(kind: type) -> tuple[str, ...]:
    """The names of what an object of a class holds, in order."""
    named = [name for one in kind.__mro__ for text in _DECLARED for name in getattr(one, text, ())]
    return tuple(sorted({*named}))


def freeze_part(value: Any) -> Any:
    """A part of a replica as a value."""
    if isinstance(value, _ATOMS):
        return value
    kind: Any = type(value)
    if kind is list or kind is deque:
        return (kind, *[freeze_part(item) for item in value])
    if kind is dict:
        return (dict, *sorted([(key, freeze_part(item)) for key, item in value.items()]))
    return (kind, *[freeze_part(getattr(value, name)) for name in attributes(kind)])


def thaw_part(value: Any) -> Any:
    """The part that a value stands for."""
    if not isinstance(value, tuple) or not value or not isinstance(value[0], type):
        return value
    kind: Any = value[0]
    if kind is list:
        return [thaw_part(item) for item in value[1:]]
    if kind is deque:
        return deque([thaw_part(item) for item in value[1:]], maxlen=REMEMBERED_BATCHES)
    if kind is dict:
        return {key: thaw_part(item) for key, item in value[1:]}
    made = kind.__new__(kind)
    for name, item in zip(attributes(kind), value[1:], strict=True):
        setattr(made, name, thaw_part(item))
    return made
