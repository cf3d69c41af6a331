"""The machines: replicas, the network between them, and the timers they run by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

from sim.files.bounds import LatencyRange, Loss, Name, Period, PeriodRange, Share, Skew, Within
from sim.files.limits import LOAD, PHASES
from sim.protocol.log.versions import Versions


@dataclass(frozen=True, slots=True)
class ReplicaSpec:
    """One replica: its name, its clock and its cleaner.

    `clock_skew_ms` is added to simulated time to give the replica's own clock;
    `cleaner_backoff_ms` is the pause between two looks at its log (`log.cleaner.backoff.ms`);
    None = it never cleans by itself. `tombstone_mark` is what its software takes for a tombstone
    when it cleans, whatever the rules say; None = as the rules say. `versions` are its software,
    protocol and message format during KIP-87's upgrade; None = the scenario is not about them.
    """

    name: Name
    clock_skew_ms: Skew = 0
    cleaner_backoff_ms: Period | None = 500
    tombstone_mark: Literal["null_value", "flag", "magic"] | None = None
    versions: Versions | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """An exception for one direction between two replicas."""

    source: Name
    target: Name
    latency_ms: LatencyRange
    loss: Loss = 0.0


@dataclass(frozen=True, slots=True)
class Network:
    """Latency drawn uniformly from `latency_ms` (inclusive), and loss per message."""

    latency_ms: LatencyRange = (1, 5)
    loss: Loss = 0.0
    links: Annotated[tuple[Link, ...], Within(PHASES)] = ()


@dataclass(frozen=True, slots=True)
class LateMessages:
    """Requests and answers between replicas, and of clients, that come late or again.

    Who waits for an answer closes the connection when its patience is over, and asks again on
    another; what it had sent may be read and acted on after what it sends then. `late`: share of
    the messages that take so much longer. `repeated`: share of them that arrive a second time.
    `later_ms`: by how much, in ms, from and to (inclusive), as likely to be short as long. When the
    faults end, all connections are closed: what is still on its way then does not arrive.
    """

    late: Loss = 0.0
    repeated: Share = 0.0
    later_ms: LatencyRange = (20, 3_000)


@dataclass(frozen=True, slots=True)
class Timers:
    """Cluster timers in ms.

    `replica_lag_max_ms`: a follower that has not caught up for so long leaves the in-sync set.
    `fetch_wait_ms`: a leader holds an empty fetch so long. `fetch_retry_ms`: pause after a failed
    or unanswered fetch. `election_timeout_ms`: no word from a leader for so long starts an
    election (range, drawn per replica). `snapshot_interval_ms`: None = no snapshots.
    `coordination_interval_ms`: how often the leader collects and hands out removal bounds.
    `snapshot_cleaning_ms`: how often replicas look for old snapshots; `load_us_per_record`: a state
    machine that is loaded takes so many microseconds for each record.
    """

    replica_lag_max_ms: Period = 600
    fetch_wait_ms: Period = 500
    fetch_retry_ms: Period = 100
    election_timeout_ms: PeriodRange = (300, 600)
    snapshot_interval_ms: Period | None = None
    coordination_interval_ms: Period = 500
    snapshot_cleaning_ms: Period = 1_000
    load_us_per_record: Annotated[int, Ge(0), Within(LOAD)] = 0
