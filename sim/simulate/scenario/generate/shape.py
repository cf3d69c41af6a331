"""What a random workload looks like, as mixes draw it and scenario files state it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

from sim.files.bounds import Count, Milliseconds, Period, Sends, Share, Within
from sim.files.limits import KEYS, PHASES, PRODUCERS, TRANSACTIONS

Span = tuple[int, int]
"""From (inclusive) and to (exclusive), in ms."""


@dataclass(frozen=True, slots=True)
class WorkloadShape:
    """What a random workload looks like; a scenario file's `workload: {random: ...}`.

    Attributes:
        sends: Number of records written.
        keys: Number of keys, written to evenly, or (`hot`) mostly to a few.
        producers: They number from 1.
        delete_share: Share of sends that delete their key.
        late_share: Share of sends whose version and timestamp are behind the newest of their key.
        lateness_ms: How far behind at most.
        unversioned_share: Share of sends without version header.
        hot: Whether a few keys get most of the sends.
        late_tail: Chance that the last send before an idle phase loses to an earlier record.
        deleted_tail: Chance that it is a delete.
        burst_ms: Sends come together, every so many ms, so that batches have more than one record;
            0 = each for itself.
        idle: Phases without sends, (from, to) in ms, in order.
        transactional: How many of the producers are transactional.
        transaction_sends: Sends per transaction, at most.
        abort_share: Share of transactions that abort.
        idempotent: Whether the leader recognises a retry.
        acks: Whose acknowledgements producers wait for.
        retry_ms: Pause before a retry.
        retries: How often an unanswered send is repeated.
        deltas: Whether sends are increments, and deletes events that remove all keys of one of
            three brokers (`state_machine: deltas`).
    """

    sends: Sends = 150
    keys: Annotated[int, Ge(1), Within(KEYS)] = 8
    producers: Annotated[int, Ge(1), Within(PRODUCERS)] = 3
    delete_share: Share = 0.15
    late_share: Share = 0.2
    lateness_ms: Period = 1_000
    unversioned_share: Share = 0.05
    hot: bool = False
    late_tail: Share = 0.5
    deleted_tail: Share = 0.25
    burst_ms: Milliseconds = 0
    idle: Annotated[tuple[tuple[Milliseconds, Milliseconds], ...], Within(PHASES)] = ()
    transactional: Annotated[int, Ge(0), Within(PRODUCERS)] = 0
    transaction_sends: Annotated[int, Ge(1), Within(TRANSACTIONS)] = 5
    abort_share: Share = 0.3
    idempotent: bool = True
    acks: Literal["all", "1"] = "all"
    retry_ms: Period = 200
    retries: Count = 3
    deltas: bool = False
