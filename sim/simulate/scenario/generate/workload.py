"""Random workloads: what producers write, and when nobody does."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from sim.protocol.log.named_tuples import make
from sim.simulate.scenario.generate.shape import Span, WorkloadShape
from sim.simulate.scenario.generate.streams import WORD, words
from sim.simulate.scenario.model import EndTransaction, Send, Workload

DELTA_BROKERS = 3
"""So many brokers share the keys of a workload of deltas."""

NEVER_ENDED = 0.1
"""Share of transactional producers whose last transaction is left open: the stable offset stays."""


FIRST, SECOND = 1, 2
"""Producers that are two instances of one, where there is a takeover."""
_ZOMBIE_MS = 1_000
"""How long a first instance goes on after the second one has begun."""


def draw_workload(
    shape: WorkloadShape, *, duration_ms: int, rng: Random, takeover_ms: int | None = None
) -> Workload:
    """A workload of that shape in [0, duration_ms).

    At `takeover_ms` the second producer begins to write in the place of the first, which goes on
    for a while; None = they write beside each other.
    """
    times, tails = _times(shape, duration_ms, rng)
    sends = _sends(shape, times, tails, rng)
    if shape.deltas:
        sends = [_as_delta(send) for send in sends]
    if takeover_ms is not None:
        sends = [_by_instance(send, takeover_ms) for send in sends]
    ends: tuple[EndTransaction, ...] = ()
    if shape.transactional:
        sends, ends = _in_transactions(shape, sends, duration_ms, rng)
    return Workload(
        tuple(sends),
        ends,
        None,
        shape.retry_ms,
        shape.retries,
        idempotent=shape.idempotent,
        acks=shape.acks,
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
        moments = sorted([word * length >> 32 for word in words(rng, count)])
        if shape.burst_ms:
            moments = [moment - moment % shape.burst_ms for moment in moments]
        times.extend([start + moment for moment in moments])
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
    drawn = iter(words(rng, 6 * total))
    six_each = zip(times, drawn, drawn, drawn, drawn, drawn, drawn, strict=True)
    sends: list[Send] = []
    key = 0
    for index, (at_ms, place, writer, fate, luck, lag, mark) in enumerate(six_each):
        tail = index in tails
        late = luck < (tail_late_below if tail else late_below)
        deleted = fate < (tail_deleted_below if tail else deleted_below)
        if not (tail and late and index):  # only a key that was written before has a newer version
            key = (place * place >> 32 if shape.hot else place) * count >> 32
        version, timestamp_ms = versions[key], at_ms
        if late and version:
            timestamp_ms = max(0, newest[key] - 1 - (lag * lateness >> 32))
            version = max(0, version - lag % 3 - tail)
        else:
            versions[key] = version = version + 1
            newest[key] = at_ms
        author = 1 + (writer * producers >> 32)
        value = None if deleted else f"v{index}"
        number = version if mark >= unversioned_below else None
        sends.append(make(Send, (at_ms, author, names[key], value, timestamp_ms, number, 0, None)))
    return sends


def _as_delta(send: Send) -> Send:
    """An increment of the key, which belongs to a broker; or that broker is gone."""
    broker = f"b{1 + int(send.key[1:]) % DELTA_BROKERS}"
    if send.value is None:
        return send._replace(key=f"{broker}/*")
    return send._replace(key=f"{broker}/{send.key}", value="+1")


def _by_instance(send: Send, takeover_ms: int) -> Send:
    """The send by the instance that writes at that time."""
    if send.producer == SECOND and send.at_ms < takeover_ms:
        return send._replace(producer=FIRST)
    if send.producer == FIRST and send.at_ms >= takeover_ms + _ZOMBIE_MS:
        return send._replace(producer=SECOND)
    return send


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
        at_ms, _, key, value, timestamp_ms, version, _, _ = send
        transaction = number[producer]
        result.append(
            make(Send, (at_ms, producer, key, value, timestamp_ms, version, transaction, None))
        )
    for producer, transaction in number.items():
        if transaction and random() >= NEVER_ENDED:
            end(producer, duration_ms)
    ends.sort(key=lambda one: (one.at_ms, one.producer, one.transaction))
    return result, tuple(ends)
