"""The registry of invariants: the classes of `sim.check.invariants`, and those of plugins."""

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
"""Every invariant by name, once `discover` was called: Replog's own in alphabetical order, then
those of plugins."""


def discover() -> None:
    """Finds every invariant: in the modules of `sim.check.invariants`, and what plugins registered.

    Raises:
        BadInput: The name of a plugin's invariant is one of Replog's own.
        ValueError: A name is taken, or a method `on_...` is not named after an event.
    """
    own, plugged = _own_invariants(), registered_invariants()
    for name in own.keys() & plugged.keys():
        raise BadInput(f"invariant {name!r}: the name is taken by one of Replog's own")
    INVARIANTS.clear()
    INVARIANTS.update(own | plugged)


@cache
def _own_invariants() -> dict[str, type[Invariant]]:
    package = import_module("sim.check.invariants")
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        import_module(found.name)
    families: list[Any] = [Invariant, *Invariant.__subclasses__()]
    known: list[type[Invariant]] = [cls for family in families for cls in family.__subclasses__()]
    return by_name([cls for cls in known if cls.__module__.startswith(package.__name__)])


def by_name(classes: list[type[Invariant]]) -> dict[str, type[Invariant]]:
    """Invariants by name, in alphabetical order.

    Raises:
        ValueError: A name is taken, or a method `on_...` is not named after an event.
    """
    found: dict[str, type[Invariant]] = {}
    for cls in sorted(classes, key=name_of):
        name = name_of(cls)
        if name in found:
            raise ValueError(f"there are two invariants {name!r}")
        methods_of(cls)
        found[name] = cls
    return found


def name_of(cls: type[Invariant]) -> str:
    """The name of an invariant of Replog's own: `hw-within-log` for HwWithinLog."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()


def declared_family(name: str) -> str:
    """The family of an invariant by its class; `by cause` where facts decide.

    An unknown invariant, such as one of another version, is in no family.
    """
    discover()
    known = INVARIANTS.get(name)
    if known is None:
        return NO_FAMILY
    return "by cause" if known.family_by_cause else known.family
