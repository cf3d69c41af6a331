"""Faults: what the environment does to replicas and links. One file is one kind of fault.

A file has the fields of its kind with their bounds and meaning, what it is in a real cluster, how
often random scenarios have it, and what happens when it begins and when it ends. File format, JSON
schema, random scenarios, `replog list faults` and the reference of the guide follow from it. A new
kind is a new file here; a neighbour shows how.
"""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Final

from sim.simulate.faults.fault import Fault


def _found() -> dict[str, type[Fault]]:
    """The kinds in all modules beside this one, by name in the order of their places."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    kinds = {
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Fault) and value.kind
    }
    return {kind.kind: kind for kind in sorted(kinds, key=lambda kind: kind.place)}


FAULTS: Final = _found()
"""Every kind of fault by its name."""

INSTANT_FAULTS: Final = frozenset(name for name, kind in FAULTS.items() if kind.instant)
"""Kinds of faults that are over as soon as they happen: no `FaultEnded` follows."""

FaultKind: Any = StrEnum("FaultKind", {name.upper(): name for name in FAULTS})  # type: ignore[misc]
"""The names of all kinds, for those who write a scenario in Python."""
