"""Replicas for tests of single transitions."""

from sim.protocol.events import Event
from sim.protocol.log import Batch, Record, data_batch
from sim.protocol.replication import Replica, elections, leader
from sim.protocol.replication.follower import fetch_request, receive_fetch
from sim.protocol.replication.messages import Answer, FetchResponse
from sim.protocol.rules import Rules

RULES = Rules.of(commit="isr")


def batch(offset: int, key: str = "k", *, epoch: int = 1) -> Batch:
    """A batch of one record whose uid is its offset + 1."""
    return data_batch((Record(offset, key, "v", 0, (), uid=offset + 1),), epoch=epoch)


def leading(
    name: str = "r1",
    *,
    records: int = 0,
    epoch: int = 1,
    isr: tuple[str, ...] = ("r1",),
    rules: Rules = RULES,
) -> Replica:
    """A new leader of an epoch that has appended some records."""
    replica = Replica(name)
    elect(replica, epoch=epoch, isr=isr, rules=rules)
    for offset in range(records):
        leader.append(replica, batch(offset, epoch=epoch), rules=rules, now_ms=0)
    return replica


def elect(
    replica: Replica,
    *,
    epoch: int,
    isr: tuple[str, ...] = ("r1",),
    voters: tuple[str, ...] = ("r1", "r2", "r3"),
    rules: Rules = RULES,
) -> list[Event]:
    """Make a replica the leader of an epoch."""
    return elections.become_leader(
        replica, epoch, isr=isr, voters=voters, rules=rules, now_ms=0, leader_change_uid=900 + epoch
    )


def ask(
    source: Replica, fetcher: Replica, *, most: int | None = None, rules: Rules = RULES
) -> tuple[FetchResponse, list[Event]]:
    """The leader's answer to the follower's next fetch."""
    answered = leader.answer_fetch(source, fetch_request(fetcher, max_batches=most), rules=rules)
    return answered.response, answered.events


def fetch(source: Replica, fetcher: Replica, *, rules: Rules = RULES) -> Answer:
    """One round trip; what it was answered with."""
    response, _ = ask(source, fetcher, rules=rules)
    receive_fetch(fetcher, response, rules=rules, now_ms=0)
    return response.answer


def with_log(name: str, *epochs: int) -> Replica:
    """A replica with one record per epoch given."""
    replica = Replica(name)
    for offset, epoch in enumerate(epochs):
        replica.log.append(batch(offset, epoch=epoch), now_ms=0)
    return replica


def bases(replica: Replica) -> list[int]:
    """Base offsets of a replica's batches."""
    return [each.base_offset for each in replica.log.batches()]
