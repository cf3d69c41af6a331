"""What breaks: the kinds of fault, and one fault of a scenario."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from sim.replication.recovery import NONE_OLD, OldFiles
from sim.scenario.model.units import Count, Milliseconds, Name


class FaultKind(StrEnum):
    """What the world can do to a cluster.

    `crash`: down for the duration. `wipe`: down for the duration, back with an empty log.
    `partition`: the target and all others hear nothing of each other. `one_way_partition`: what the
    target sends is lost, it hears the others. `slow_fetcher`, `slow_cleaner`: the target fetches
    or cleans far more slowly. `migrate`: leadership goes to the target if it may lead; with target
    `leader` to such a follower, with majorities as `successors` says (`named`: it names nobody and
    stays). `unclean_migrate`: the same, in sync or not.
    `add_replica`: a replica of that name, with an empty log, joins. `remove_replica`: the target,
    up or down, leaves for good, if the others can do without it and it does not lead. `roll`: the
    target starts an empty active segment, as manual rolls and retention do.
    """

    CRASH = "crash"
    WIPE = "wipe"
    PARTITION = "partition"
    ONE_WAY_PARTITION = "one_way_partition"
    SLOW_FETCHER = "slow_fetcher"
    SLOW_CLEANER = "slow_cleaner"
    MIGRATE = "migrate"
    UNCLEAN_MIGRATE = "unclean_migrate"
    ADD_REPLICA = "add_replica"
    ROLL = "roll"
    REMOVE_REPLICA = "remove_replica"


SOURCES: dict[FaultKind, str] = {
    FaultKind.CRASH: "LogLoader after an unclean shutdown; KIP-101",
    FaultKind.WIPE: "KIP-858; KIP-966",
    FaultKind.PARTITION: "Jepsen: Kafka; KIP-595",
    FaultKind.ONE_WAY_PARTITION: "KIP-595, KIP-996",
    FaultKind.SLOW_FETCHER: "replica.lag.time.max.ms",
    FaultKind.SLOW_CLEANER: "log.cleaner.io.max.bytes.per.second; KIP-354",
    FaultKind.MIGRATE: "KIP-460, preferred leader election",
    FaultKind.UNCLEAN_MIGRATE: "unclean.leader.election.enable",
    FaultKind.ADD_REPLICA: "KIP-455; KIP-853",
    FaultKind.REMOVE_REPLICA: "KIP-455; KIP-853",
    FaultKind.ROLL: "segment.ms; UnifiedLog.roll",
}
"""What each kind is in a real cluster: a KIP, a setting, a class."""

KEEPS_POSITION = frozenset(
    {FaultKind.MIGRATE, FaultKind.UNCLEAN_MIGRATE, FaultKind.ROLL, FaultKind.SLOW_CLEANER}
)
"""After these nobody has anything to catch up with: no random migration is made to follow them."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    `target` is a replica's name, `leader`, or `follower` (the first live one by name order from
    `pick` on). `duration_ms` is how long it lasts; 0 = a moment. `lose_batches`: a crash loses so
    many unflushed batches; with `power_loss` all that was not flushed, as the rule `flush` says.
    `during`: a crash waits for that moment of the target's next cleaning pass
    (`sim.replication.interrupting`) or, `install`, for its next snapshot. `peers`: a partition
    cuts the target off from these only; empty = all.
    """

    at_ms: Milliseconds
    kind: FaultKind
    target: Name
    duration_ms: Milliseconds = 0
    pick: Count = 0
    lose_batches: Count = 0
    peers: tuple[Name, ...] = ()
    power_loss: bool = False
    during: Literal["cleaning", "swap", "checkpoint", "install"] | None = None


@dataclass(frozen=True, slots=True)
class CrashWithOldFiles(Fault):
    """A crash after which `files` beside the log are older than it, as their writes were lost."""

    files: OldFiles = NONE_OLD
