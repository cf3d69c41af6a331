"""The data of a scenario: everything a simulated run depends on, as immutable values."""

from sim.simulate.scenario.model.applications import Applications, SentHeader
from sim.simulate.scenario.model.changes import Change
from sim.simulate.scenario.model.cluster import LateMessages, Link, Network, ReplicaSpec, Timers
from sim.simulate.scenario.model.expectations import Expect, Limits
from sim.simulate.scenario.model.scenario import Scenario
from sim.simulate.scenario.model.topic import Topic
from sim.simulate.scenario.model.workload import (
    Consumer,
    EndTransaction,
    Send,
    TraceSource,
    Workload,
)
