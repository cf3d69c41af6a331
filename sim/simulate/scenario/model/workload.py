"""Clients: what producers write and with which headers, which instance follows which, who reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from sim.files.bounds import (
    BatchRecords,
    Changes,
    Count,
    Milliseconds,
    Name,
    Period,
    SettingFromOne,
    Transaction,
    Within,
)
from sim.files.limits import PHASES


class SentHeader(NamedTuple):
    """A header of a record that is not sent with the one header it should have.

    `version` is written as the rules read it (`header_form`); None = the bytes are `raw`. `name`
    None = the version header's, in capitals if `capitals`.
    """

    version: int | None = None
    raw: bytes = b""
    name: str | None = None
    capitals: bool = False


@dataclass(frozen=True, slots=True)
class Applications:
    """What applications do beside sending.

    `instances`: pairs of producers (the later one, the one before it) with the same
    `transactional.id`: the later one has the next epoch of the same producer id, and fences the
    other (KIP-98), which KIP-280 rejected in favour of versions. `headers`: of some sends, by their
    index in the workload, the headers in the place of the version header; a producer that sends no
    versions leaves them out, too.
    """

    instances: tuple[tuple[int, int], ...] = ()
    headers: tuple[tuple[int, tuple[SentHeader, ...]], ...] = ()

    def identity_of(self, producer: int) -> tuple[int, int]:
        """The producer id and the epoch of a producer."""
        before, epoch = dict(self.instances), 0
        while producer in before:
            producer, epoch = before[producer], epoch + 1
        return producer, epoch


class Send(NamedTuple):
    """A producer decides to write one record; it arrives later, perhaps twice, perhaps never.

    `value` None = delete. `version` is the value of the version header, None = no header.
    `transaction` numbers the producer's transactions from 1; 0 = not transactional. `flag` is the
    tombstone attribute of KIP-87; None = set on what deletes, where the rules have it at all. (A
    tuple rather than a dataclass: a third of the time to make, and there are many.)
    """

    at_ms: int
    producer: int
    key: str
    value: str | None
    timestamp_ms: int
    version: int | None = None
    transaction: int = 0
    flag: bool | None = None


@dataclass(frozen=True, slots=True)
class EndTransaction:
    """A producer asks to commit or abort its transaction, after what it sent until `at_ms`."""

    at_ms: Milliseconds
    producer: Count
    transaction: Transaction
    commit: bool


@dataclass(frozen=True, slots=True)
class TraceSource:
    """A workload from a file of real changes (see `replog trace`).

    `path` is opened as it is; in a scenario file it is relative to that file. `batch_records`
    changes go into one batch, one batch every `interval_ms`; `limit` stops after so many changes,
    None = all.
    """

    path: Name
    batch_records: BatchRecords = 100
    interval_ms: Period = 5
    limit: Changes | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """What producers write.

    `retry_ms`: a producer that got no answer sends again after so long, `retries` times at most.
    `idempotent`: the leader recognises a retry and does not append it twice. `acks`: a producer is
    told when its batch is committed (`all`), or as soon as the leader has it (`1`).
    """

    sends: tuple[Send, ...] = ()
    ends: tuple[EndTransaction, ...] = ()
    trace: TraceSource | None = None
    retry_ms: Period = 200
    retries: Count = 3
    idempotent: bool = True
    acks: Literal["all", "1"] = "all"

    @property
    def patience_ms(self) -> int:
        """In how many ms a producer gives up, at the earliest, what nobody answers or refuses.

        Every second try may follow at once, since somebody else leads by then; a leader that loads
        its state makes it wait 100 ms at least (KIP-580).
        """
        return min(self.retry_ms, 100) * ((self.retries + 1) // 2)


@dataclass(frozen=True, slots=True)
class Consumer:
    """A reader that builds a table; `max_batches` per poll makes it lag. It reads the leader.

    `replica` ties it to one replica instead. `pauses` are (from, to) ms in which it does not poll.
    `format` is its fetch version (KIP-87): 3 knows the tombstone flag, 2 does not, so replicas that
    know it send deletes without their values; None = the scenario is not about it. `deletes_by` is
    what a version 3 consumer takes for a delete; to version 2 that is always the null value.
    It begins at `starts_ms`; `isolation` is its `isolation.level`. With `until` it asks for the end
    offset first and stops when it has everything, by its position, by the offset of its last record
    plus one, or by the number of its records; None = it never stops.
    """

    name: Name
    poll_ms: Period = 100
    max_batches: SettingFromOne | None = None
    replica: Name | None = None
    pauses: Annotated[tuple[tuple[Milliseconds, Milliseconds], ...], Within(PHASES)] = ()
    format: Literal[2, 3] | None = None
    deletes_by: Literal["flag", "null_value"] = "flag"
    isolation: Literal["read_uncommitted", "read_committed"] = "read_uncommitted"
    until: Literal["position", "last_offset", "count"] | None = None
    starts_ms: Milliseconds = 0
