"""A replica as a value, which a search of states compares, keeps and restores.

`freeze` takes everything that a replica holds, by the attributes that its classes declare, so that
a new attribute is part of the value without a word here. `maker` makes replicas of it again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any

from msgspec import Struct

from sim.protocol.log import LogConfig
from sim.protocol.log.producers import REMEMBERED_BATCHES

Frozen = tuple[Any, ...]
"""The value of a replica: hashable, equal for replicas that behave alike."""

_ATOMS = (str, bytes, int, type(None), tuple, frozenset, Enum, LogConfig, Struct)
"""Immutable types; tuples and structs hold nothing else."""


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A frozen value in which replicas have other names; records are as they were.

    In-sync sets and the like stay in the order of names, as `freeze` leaves them.
    """
    if isinstance(value, str):
        return names.get(value, value)
    if not isinstance(value, tuple):
        return value
    parts = [renamed(part, names) for part in value]
    if parts and parts[0] is dict:
        return (dict, *sorted(parts[1:]))
    if all(isinstance(part, str) for part in parts):
        return tuple(sorted(parts))
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


@cache
def attributes(kind: type) -> tuple[str, ...]:
    """The names of the attributes of a class, in order."""
    return tuple(sorted({name for one in kind.__mro__ for name in getattr(one, "__slots__", ())}))


def freeze(value: Any) -> Any:
    """A replica, or a part of one, as a value."""
    kind: Any = type(value)
    if _is_atom(kind):
        return value
    if kind is list or kind is deque:
        return (kind, *[freeze(item) for item in value])
    if kind is dict:
        return (dict, *sorted([(key, freeze(item)) for key, item in value.items()]))
    return (kind, *[freeze(getattr(value, name)) for name in attributes(kind)])


@cache
def _is_atom(kind: type) -> bool:
    return issubclass(kind, _ATOMS)


def maker(value: Any) -> Callable[[], Any]:
    """A function that makes the part that a value stands for, a new one at each call."""
    if not _is_frozen(value):
        return lambda: value
    kind: Any = value[0]
    if kind is dict:
        makers = [(key, maker(item)) for key, item in value[1:]]
        return lambda: {key: make() for key, make in makers}
    if kind is list or kind is deque:
        return _maker_of_items(value)
    kept: list[tuple[str, Any]] = []
    made: list[tuple[str, Callable[[], Any]]] = []
    for name, item in zip(attributes(kind), value[1:], strict=True):
        if _is_frozen(item):
            made.append((name, maker(item)))
        else:
            kept.append((name, item))

    def make() -> Any:
        one = kind.__new__(kind)
        for name, item in kept:
            setattr(one, name, item)
        for name, make_item in made:
            setattr(one, name, make_item())
        return one

    return make


def _maker_of_items(value: Frozen) -> Callable[[], Any]:
    kind, *items = value
    if any(map(_is_frozen, items)):
        makers = [maker(item) for item in items]
        return lambda: [make() for make in makers]
    if kind is deque:
        return lambda: deque(items, maxlen=REMEMBERED_BATCHES)
    return items.copy


def _is_frozen(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], type)
