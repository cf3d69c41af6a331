"""The timed cluster: SimPy decides when the transitions of the pure core happen.

Only this layer knows a clock, a network, clients and faults. What a replica does at any of these
moments is decided in `sim.replication` and `sim.compaction` alone.
"""

from sim.cluster.context import Counts, SimulationResult
from sim.cluster.simulation import simulate

__all__ = ["Counts", "SimulationResult", "simulate"]
