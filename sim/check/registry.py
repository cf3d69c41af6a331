"""The registry of invariants: every class of `sim.check.invariants` that is an `Invariant`."""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from importlib import import_module
from typing import Any

from sim.check.families import NO_FAMILY
from sim.check.invariant import Invariant
from sim.check.listening import methods_of
from sim.check.plugged import registered_invariants
from sim.errors import BadInput

INVARIANTS: dict[str, type[Invariant]] = {}
"""Every invariant by name, once `discover` was called: ours in alphabetical order, then those of
plugins, which have the same shape (`sim.check.plugged`)."""

PLUGGED: dict[str, Any] = {}
"""Of those the ones of plugins: name -> class."""


def discover() -> None:
    """Find every invariant: in the modules of `sim.check.invariants`, and what plugins registered.

    Raises:
        BadInput: A plugin's has a name that is taken.
        ValueError: A name is taken, or a method `on_...` is not named after an event.
    """
    _discover_own()
    plugged = registered_invariants()
    if plugged != PLUGGED:
        for name in PLUGGED:
            del INVARIANTS[name]
        PLUGGED.clear()
        for name, cls in plugged.items():
            _take_plugged(name, cls)


def _take_plugged(name: str, cls: Any) -> None:
    if name in INVARIANTS:
        raise BadInput(f"invariant {name!r}: the name is taken by one of Replog's own")
    INVARIANTS[name] = PLUGGED[name] = cls


@cache
def _discover_own() -> None:
    package = import_module("sim.check.invariants")
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        import_module(found.name)
    families: list[Any] = [Invariant, *Invariant.__subclasses__()]
    known: list[Any] = [cls for family in families for cls in family.__subclasses__()]
    made = [cls for cls in known if cls.__module__.startswith(package.__name__)]
    for cls in sorted(made, key=name_of):  # of a native class mypyc gives no `__module__`
        register(cls)


def name_of(cls: type[Invariant]) -> str:
    """The name of an invariant: HwWithinLog is `hw-within-log`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()


def register(cls: type[Invariant]) -> None:
    """Add an invariant.

    Raises:
        ValueError: Its name is taken, or a method `on_...` is not named after an event.
    """
    name = name_of(cls)
    if name in INVARIANTS:
        raise ValueError(f"invariant {name!r} is registered twice")
    listener: Any = cls
    methods_of(listener)
    INVARIANTS[name] = cls


def declared_family(name: str) -> str:
    """The family that an invariant names; `by cause` where facts decide.

    One that is not known, such as a plugin's or one of another version, is in none.
    """
    discover()
    known = INVARIANTS.get(name)
    if known is None:
        return NO_FAMILY
    return "by cause" if known.family_by_cause else known.family
