"""The timed cluster: SimPy decides when the transitions of the pure core happen.

Only this layer knows a clock, a network, clients and faults. What a replica does at these moments
is decided in `sim.protocol.replication` and `sim.protocol.compaction` alone.

Time is that of one unmodified `simpy.Environment`, in whole ms. The simulation takes its steps
until the scenario is over, and then until the cluster is at rest. A message on its way is a timeout
with the receiver as its callback. A request waits for a fresh event, which the answer or, when that
does not come in time, a timeout succeeds. The process that waits continues after everything else
that was due in that millisecond. A producer is no process: the event that its request waits for
calls it back. The processes are:

| process | owner | started by | waits for | interrupted by |
|---|---|---|---|---|
| `_decide` | the workload | the run | the time of the next decision | |
| `_read_file` | a file of changes | the run | the interval between two batches | |
| `_make_later` | a change of settings | the run | its time | |
| `_happen` | a fault | the run | its time, then its end | the end |
| `_last` | a crash that waited | a pass, an install | the end of the fault | the end |
| `_replicate` | a follower | a new leader | an answer; a pause | a crash, another leader |
| `_load` | a state machine | restart, install | the time it takes | a crash |
| `regularly` | cleaner, flushes, snapshots, removal | joining | its interval | leaving |
| `_age` | snapshots by age | something committed | its age | leaving |
| `_look_for_laggards` | a leader (isr) | its election | half the longest lag | resigning |
| `_session` | the controller | a broker's silence | the session timeout | a message of the broker |
| `_stand_without_a_leader` | a voter | start, restart | the election timeout | a crash |
| `_campaign_again` | a candidate | a lost election | a pause | a crash |
| `_succeed` | a successor | the leader resigned | its turn | a crash |
| `_check_quorum` | a leader (majority) | its election | half a fetch timeout | resigning |
| `_poll` | a consumer | the run, a roll-out | an answer; a pause | the next roll-out |

An interrupt takes a process out of what it waits for, so a process never has to ask whether a timer
is an old one (`sim.simulate.cluster.waiting`).
"""

from sim.simulate.cluster.context import SimulationResult
from sim.simulate.cluster.simulation import simulate
