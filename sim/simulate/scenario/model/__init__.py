"""The data of a scenario: everything a simulated run depends on, as immutable values."""

from sim.simulate.scenario.model.cluster import (
    Change,
    LateMessages,
    Link,
    Network,
    ReplicaSpec,
    Timers,
    Topic,
)
from sim.simulate.scenario.model.scenario import Expect, Limits, Scenario
from sim.simulate.scenario.model.workload import (
    Applications,
    Consumer,
    EndTransaction,
    Send,
    SentHeader,
    TraceSource,
    Workload,
)
