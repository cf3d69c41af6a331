"""Invariants: what must hold, judged from events alone against the history of the cluster."""

from sim.check.checker import Checker
from sim.check.invariant import Kind
from sim.check.registry import INVARIANTS
from sim.check.violation import Violation
