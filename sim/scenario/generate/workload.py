"""Random workloads: what producers write, and when nobody does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated

from annotated_types import Ge

from sim.limits import KEYS, PHASES, PRODUCERS, TRANSACTIONS
from sim.scenario.generate.streams import WORD, words
from sim.scenario.model import (
    Count,
    EndTransaction,
    Milliseconds,
    Period,
    Send,
    Share,
    Within,
    Workload,
)
from sim.scenario.model.units import Sends

Span = tuple[int, int]
"""From (inclusive) and to (exclusive), in ms."""

_new = tuple.__new__
"""Makes a named tuple in half the time its own constructor takes."""

DELTA_BROKERS = 3
"""So many brokers share the keys of a workload of deltas."""

NEVER_ENDED = 0.1
"""Share of transactional producers whose last transaction is left open: the stable offset stays."""


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
        idle: Phases without sends, (from, to) in ms, in order.
        transactional: How many of the producers are transactional.
        transaction_sends: Sends per transaction, at most.
        abort_share: Share of transactions that abort.
        idempotent: Whether the leader recognises a retry.
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
    idle: Annotated[tuple[tuple[Milliseconds, Milliseconds], ...], Within(PHASES)] = ()
    transactional: Annotated[int, Ge(0), Within(PRODUCERS)] = 0
    transaction_sends: Annotated[int, Ge(1), Within(TRANSACTIONS)] = 5
    abort_share: Share = 0.3
    idempotent: bool = True
    retry_ms: Period = 200
    retries: Count = 3
    deltas: bool = False


def draw_workload(shape: WorkloadShape, *, duration_ms: int, rng: Random) -> Workload:
    """A workload of that shape in [0, duration_ms)."""
    times, tails = _times(shape, duration_ms, rng)
    sends = _sends(shape, times, tails, rng)
    if shape.deltas:
        sends = [_as_delta(send) for send in sends]
    ends: tuple[EndTransaction, ...] = ()
    if shape.transactional:
        sends, ends = _in_transactions(shape, sends, duration_ms, rng)
    return Workload(
        tuple(sends), ends, None, shape.retry_ms, shape.retries, idempotent=shape.idempotent
    )


def busy_spans(idle: Sequence[Span], duration_ms: int) -> list[Span]:
    """What is left of [0, duration_ms) without the idle phases, which are in order."""
    spans, start = [], 0
    for begin, end in (*idle, (duration_ms, duration_ms)):
        stop = min(begin, duration_ms)
        if start < stop:
            spans.append((start, stop))
        start = max(start, end)
    return spans


def _times(shape: WorkloadShape, duration_ms: int, rng: Random) -> tuple[list[int], set[int]]:
    """When to send, in order, and the indexes of the sends that a pause or the end follows."""
    spans = busy_spans(shape.idle, duration_ms)
    busy = sum(end - start for start, end in spans)
    times: list[int] = []
    tails: set[int] = set()
    done = 0
    for start, end in spans:
        done += end - start
        count = shape.sends * done // busy - len(times)
        length = end - start
        times.extend(sorted([start + (word * length >> 32) for word in words(rng, count)]))
        if count:
            tails.add(len(times) - 1)
    return times, tails


def _sends(shape: WorkloadShape, times: list[int], tails: set[int], rng: Random) -> list[Send]:
    """One send per time; versions and timestamps of a key ascend except where a send is late."""
    count, producers, lateness, total = shape.keys, shape.producers, shape.lateness_ms, len(times)
    deleted_below, late_below, unversioned_below, tail_deleted_below, tail_late_below = [
        int(share * WORD)
        for share in (
            shape.delete_share,
            shape.late_share,
            shape.unversioned_share,
            shape.deleted_tail,
            shape.late_tail,
        )
    ]
    names = [f"k{number}" for number in range(1, count + 1)]
    versions, newest = [0] * count, [-1] * count
    drawn = words(rng, 6 * total)
    places, writers, fates, lucks, lags, marks = [drawn[first::6] for first in range(6)]
    if shape.hot:
        places = tuple([place * place >> 32 for place in places])
    chosen = [place * count >> 32 for place in places]
    late = [luck < late_below for luck in lucks]
    deleted = [fate < deleted_below for fate in fates]
    for index in sorted(tails):
        deleted[index] = fates[index] < tail_deleted_below
        late[index] = lucks[index] < tail_late_below
        if late[index] and index:  # only a key that was written before has a newer version
            chosen[index] = chosen[index - 1]
    authors = [1 + (writer * producers >> 32) for writer in writers]
    versioned = [mark >= unversioned_below for mark in marks]
    sends: list[Send] = []
    for index, (at_ms, key, author) in enumerate(zip(times, chosen, authors, strict=True)):
        version, timestamp_ms = versions[key], at_ms
        if late[index] and version:
            lag = lags[index]
            timestamp_ms = max(0, newest[key] - 1 - (lag * lateness >> 32))
            version = max(0, version - (lag % 3) - (index in tails))
        else:
            versions[key] = version = version + 1
            newest[key] = at_ms
        value = None if deleted[index] else f"v{index}"
        number = version if versioned[index] else None
        sends.append(_new(Send, (at_ms, author, names[key], value, timestamp_ms, number, 0, None)))
    return sends


def _as_delta(send: Send) -> Send:
    """An increment of the key, which belongs to a broker; or that broker is gone."""
    broker = f"b{1 + int(send.key[1:]) % DELTA_BROKERS}"
    if send.value is None:
        return send._replace(key=f"{broker}/*")
    return send._replace(key=f"{broker}/{send.key}", value="+1")


def _in_transactions(
    shape: WorkloadShape, sends: list[Send], duration_ms: int, rng: Random
) -> tuple[list[Send], tuple[EndTransaction, ...]]:
    """The sends with those of producers up to `transactional` put into transactions.

    A transaction ends somewhere between its last send and its producer's next one, so markers come
    late, land in idle phases, and interleave with other producers' records.
    """
    random = rng.random
    number = dict.fromkeys(range(1, shape.transactional + 1), 0)
    left = dict.fromkeys(number, 0)
    last_ms = dict.fromkeys(number, -1)
    result: list[Send] = []
    ends: list[EndTransaction] = []

    def end(producer: int, before_ms: int) -> None:
        at_ms = last_ms[producer] + int(random() * (before_ms - last_ms[producer]))
        commit = random() >= shape.abort_share
        ends.append(EndTransaction(at_ms, producer, number[producer], commit))

    for send in sends:
        producer = send.producer
        if producer not in number:
            result.append(send)
            continue
        if left[producer] <= 0 and send.at_ms > last_ms[producer]:
            if number[producer]:
                end(producer, send.at_ms)
            number[producer] += 1
            left[producer] = 1 + int(random() * shape.transaction_sends)
        left[producer] -= 1
        last_ms[producer] = send.at_ms
        result.append(_new(Send, (*send[:6], number[producer], None)))
    for producer, transaction in number.items():
        if transaction and random() >= NEVER_ENDED:
            end(producer, duration_ms)
    ends.sort(key=lambda one: (one.at_ms, one.producer, one.transaction))
    return result, tuple(ends)
