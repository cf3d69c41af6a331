"""The timed cluster: SimPy decides when the transitions of the pure core happen.

Only this layer knows a clock, a network, clients and faults. What a replica does at any of these
moments is decided in `sim.replication` and `sim.compaction` alone.

Time is that of one unmodified `simpy.Environment`, in whole ms. A message on its way is a timeout
with the receiver as its callback; whoever has a life of its own is a process:

| process | of whom | who starts it | what it waits for | what interrupts it |
|---|---|---|---|---|
| `_run` | the run | `simulate` | the end of the scenario, then the cluster's rest | |
| `_decide` | the workload | the run | the time of the next decision | |
| `_read_file` | a file of changes | the run | the interval between two batches | |
| `_make_later` | a change of settings | the run | its time | |
| `_happen` | a fault | the run | its time, then its end | the end of the scenario |
| `_last` | a crash that waited | a pass, or an install | the end of the fault | the end of the scenario |
| `_replicate` | a follower | word of a leader | an answer, or patience; a pause | a crash, another leader |
| `_load` | a state machine | a restart, an install, an election | the time it takes | a crash, a resignation |
| `regularly` | cleaner, flushes, snapshots, removal rounds | joining | its interval | leaving |
| `_age` | snapshots by age | something committed | the age of what is committed | leaving |
| `_expire` | fetches that wait at a broker | the first of them | the first deadline | a crash, a resignation |
| `_look_for_laggards` | a leader (isr) | its election | half of `replica.lag.time.max.ms` | its resignation |
| `_session` | the controller | silence of a broker | the session timeout | a word of the broker |
| `_stand_without_a_leader` | a voter | start, restart | the election timeout | a crash |
| `_campaign_again` | a candidate | a lost election | a pause | a crash |
| `_succeed` | a preferred successor | the resignation of the leader | its turn | a crash |
| `_check_quorum` | a leader (majority) | its election | half a fetch timeout | its resignation |
| `_live` | an idempotent producer | the run | a decision, then as `_deliver` | |
| `_deliver` | a request of another producer | a decision | a response, the deadline, a pause | |
| `_look_for_late_answers` | a producer | a request | the first deadline | |
| `_poll_from` | a consumer | the run | an answer, or patience; a pause | a roll-out |
| `_poll` | a consumer | a roll-out | an answer, or patience; a pause | the next roll-out |
| `_check` | an application that checks | the run | a decision; an answer, or patience | the end |
| `_ask_again` | a client of a coordinator | the run | its time, then a pause | an answer |

An interrupt takes a process out of what it waits for, so nobody has to know old timers from new
ones. Who waits for an answer goes on before anything else of that moment (`sim.cluster.waiting`).
"""

from sim.cluster.context import Counts, SimulationResult
from sim.cluster.simulation import simulate

__all__ = ["Counts", "SimulationResult", "simulate"]
