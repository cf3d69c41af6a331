"""Faults: what the environment does to replicas and links.

A kind of fault is a class in `kinds.py`: its fields with their bounds and meaning, what it is in a
real cluster, how often random scenarios have it, and what happens when it begins and when it ends.
File format, JSON schema, random scenarios, `replog list faults` and the reference of the guide
follow from it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

from sim.simulate.faults.fault import ROLES as ROLES
from sim.simulate.faults.fault import Fault
from sim.simulate.faults.kinds import KINDS

FAULTS: Final[dict[str, type[Fault]]] = {kind.kind: kind for kind in KINDS}
"""Every kind of fault by its name."""

INSTANT_FAULTS: Final = frozenset(name for name, kind in FAULTS.items() if kind.instant)
"""Kinds of faults that are over as soon as they happen: no `FaultEnded` follows."""

FaultKind: Any = StrEnum("FaultKind", {name.upper(): name for name in FAULTS})  # type: ignore[misc]
"""The names of all kinds, for those who write a scenario in Python."""
