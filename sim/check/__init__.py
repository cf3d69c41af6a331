"""Invariants: what must hold, judged from events alone against the history of the cluster."""

from sim.check.checker import Checker
from sim.check.registry import INVARIANTS, Kind, Violation

__all__ = ["INVARIANTS", "Checker", "Kind", "Violation"]
