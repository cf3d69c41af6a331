"""What brokers and the controller of a partition say to each other (commit: isr)."""

from __future__ import annotations

from typing import NamedTuple


class PartitionState(NamedTuple):
    """What the controller knows of the partition (PartitionRegistration).

    Attributes:
        partition_epoch: Grows with every change; a broker ignores one it has passed.
        leader_epoch: Leader epoch.
        leader: Who leads it; None = nobody can.
        isr: The in-sync set.
        eligible: Replicas that may be in the set, since the controller hears from them: those that
            are not fenced.
        elr: Eligible leader replicas (KIP-966).
        last_known_leader: Who led when nobody was left in `isr` and `elr`; None = somebody is.
        replicas: All replicas that the partition is assigned to.
        eligible_epochs: Which life each of `eligible` is in; a leader admits no other to the set
            (KIP-903).
    """

    partition_epoch: int
    leader_epoch: int
    leader: str | None
    isr: tuple[str, ...]
    eligible: tuple[str, ...]
    elr: tuple[str, ...] = ()
    last_known_leader: str | None = None
    replicas: tuple[str, ...] = ()
    eligible_epochs: tuple[int, ...] = ()


class BrokerRegistrationRequest(NamedTuple):
    """A broker says that it has started.

    Attributes:
        broker: Who it is.
        incarnation: Which of its lives this is, counted from 1.
    """

    broker: str
    incarnation: int


class BrokerHeartbeatRequest(NamedTuple):
    """A broker says that it is still there.

    Attributes:
        broker: Who it is.
        incarnation: Which of its lives this is, counted from 1.
    """

    broker: str
    incarnation: int


class LeaderAndIsrRequest(NamedTuple):
    """The controller tells a broker the state of the partition, a leader also when that has asked.

    With KRaft brokers learn it from the metadata log (PartitionChangeRecord).

    Attributes:
        incarnation: Life of the broker that it is meant for; a later one ignores it.
        state: The state.
    """

    incarnation: int
    state: PartitionState


class AlterPartitionRequest(NamedTuple):
    """A leader asks for another in-sync set (KIP-497).

    Attributes:
        leader: Who asks.
        leader_epoch: The epoch it leads.
        partition_epoch: The state it starts from.
        new_isr: The set it asks for.
    """

    leader: str
    leader_epoch: int
    partition_epoch: int
    new_isr: tuple[str, ...]
