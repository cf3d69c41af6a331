"""The data of a scenario: everything a simulated run depends on, as immutable values."""

from sim.scenario.model.applications import Applications, SentHeader
from sim.scenario.model.changes import Change
from sim.scenario.model.cluster import LateMessages, Link, Network, ReplicaSpec, Timers
from sim.scenario.model.expectations import Expect, Limits
from sim.scenario.model.scenario import Scenario
from sim.scenario.model.topic import Topic
from sim.scenario.model.workload import (
    Consumer,
    EndTransaction,
    Send,
    TraceSource,
    Workload,
)
