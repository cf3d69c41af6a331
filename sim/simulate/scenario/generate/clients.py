"""Random clients: the records and pauses of producers, their mistakes, and consumers.

Three variations are applied to a finished workload: changes of numbers instead of values; clients
of two versions at brokers that know the flag of KIP-87; and mistakes with the version header
(KIP-280, `compaction.strategy.header`): a version of 0 or below, the header twice, in capitals, or
bytes that are no version. The rule `header_form` says which version counts then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Literal

from sim.protocol.log.formats import NEW, Versions
from sim.simulate.scenario.generate.mix import Mix, Span, WorkloadShape
from sim.simulate.scenario.generate.streams import (
    WORD,
    Draws,
    perhaps,
    stream,
    words,
)
from sim.simulate.scenario.model import (
    Change,
    Consumer,
    EndTransaction,
    Scenario,
    Send,
    SentHeader,
    Workload,
)

_POLL_MS = (50, 100, 300)
_BURSTS_MS = (50, 1_000)
_LONG = (12, 60)
"""Range of the most sends of a transaction that extends over many segments."""
_BUSY_BEGINNING = 0.05
"""Smallest share of a run before the first idle phase, so that there is something to clean."""


def draw_idle_phases(seed: int, mix: Mix) -> tuple[Span, ...]:
    """Draws phases without writes, in order and disjoint."""
    draws = Draws(seed, "idle phases")
    duration_ms = mix.duration_ms
    first_ms = int(duration_ms * _BUSY_BEGINNING) + 1
    drawn = []
    for _ in range(draws.between(mix.idle_phases)):
        start = first_ms + draws.below(duration_ms - first_ms)
        drawn.append((start, min(duration_ms, start + draws.log_between(mix.idle_ms))))
    phases: list[Span] = []
    for start, end in sorted(drawn):
        if phases and start <= phases[-1][1]:
            phases[-1] = (phases[-1][0], max(end, phases[-1][1]))
        else:
            phases.append((start, end))
    return tuple(phases)


def draw_shape(seed: int, mix: Mix, idle: tuple[Span, ...]) -> WorkloadShape:
    """Draws the shape of the workload with the given idle phases."""
    draws, transactions = Draws(seed, "shape"), Draws(seed, "transactions")
    unversioned = Draws(seed, "unversioned sends")
    producers = draws.between(mix.producers)
    transactional, writers = transactions.happens(mix.transactional), transactions.below(producers)
    longest = 1 + transactions.below(6)
    if Draws(seed, "long transactions").happens(mix.long_transactions):
        longest = Draws(seed, "length of transactions").between(_LONG)
    return WorkloadShape(
        producers=producers,
        sends=draws.between(mix.sends),
        keys=draws.between(mix.keys),
        delete_share=draws.share_between(mix.delete_share),
        late_share=draws.share_between(mix.late_share),
        lateness_ms=draws.log_between(mix.lateness_ms),
        late_tail=draws.random(),
        deleted_tail=draws.random() * 0.5,
        unversioned_share=unversioned.random() * 0.2 if unversioned.happens(0.3) else 0.0,
        hot=Draws(seed, "hot keys").happens(0.3),
        burst_ms=perhaps(seed, "bursts", mix.bursts, _BURSTS_MS) or 0,
        idle=idle,
        transactional=1 + writers if transactional else 0,
        transaction_sends=longest,
        abort_share=transactions.random(),
        idempotent=not Draws(seed, "idempotence").happens(mix.not_idempotent),
        acks="1" if Draws(seed, "acks").happens(mix.acks_one) else "all",
    )


def draw_takeover(seed: int, mix: Mix, shape: WorkloadShape) -> int | None:
    """Draws the time in ms at which a second instance of a producer begins; None: there is none.

    Only scenarios with two producers or more, and a transactional one, have it.
    """
    draws = Draws(seed, "instances")
    happens, share = draws.happens(mix.instances), 0.2 + draws.random() * 0.6
    if not happens or not shape.transactional or shape.producers < 2:
        return None
    return int(mix.duration_ms * share)


def draw_consumers(seed: int, mix: Mix, replicas: Sequence[str]) -> tuple[Consumer, ...]:
    """Draws consumers c1, c2, …; some lag, some read one replica, some pause or read committed."""
    isolation, ending = Draws(seed, "isolation"), Draws(seed, "ending readers")
    consumers = []
    for number in range(1, Draws(seed, "consumers").between(mix.consumers) + 1):
        draws = Draws(seed, f"consumers/{number}")
        lags, batches = draws.happens(0.3), 1 + draws.below(5)
        tied, replica = draws.happens(0.15), draws.choice(replicas)
        poll_ms = draws.choice(_POLL_MS)
        committed = isolation.happens(mix.read_committed)
        consumers.append(
            Consumer(
                f"c{number}",
                poll_ms,
                batches if lags else None,
                replica if tied else None,
                _pauses(mix, draws),
                isolation="read_committed" if committed else "read_uncommitted",
                until="position" if ending.happens(mix.ending_readers) else None,
            )
        )
    return tuple(consumers)


def _pauses(mix: Mix, draws: Draws) -> tuple[Span, ...]:
    pauses, start_ms = [], 0
    for _ in range(draws.below(3)):
        start_ms += draws.below(mix.duration_ms / 2)
        end_ms = start_ms + draws.log_between((100, 4_000))
        pauses.append((start_ms, end_ms))
        start_ms = end_ms
    return tuple(pauses)


DELTA_BROKERS = 3
"""Number of brokers that share the keys of a workload of deltas."""

NEVER_ENDED = 0.1
"""Share of transactional producers that leave their last transaction open, and with it the last
stable offset where it is."""


FIRST, SECOND = 1, 2
"""Numbers of the producers that are instances of one, in scenarios with two instances."""
_ZOMBIE_MS = 1_000
"""Time in ms for which a first instance goes on after the second one has begun."""


def draw_workload(
    shape: WorkloadShape, *, duration_ms: int, rng: Random, takeover_ms: int | None = None
) -> Workload:
    """Draws a workload of a shape in [0, duration_ms).

    At `takeover_ms` the second producer begins to write instead of the first, which goes on for a
    while; None: they write independently.
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
    """Spans of [0, duration_ms) outside the idle phases, which are in order."""
    spans, start = [], 0
    for begin, end in (*idle, (duration_ms, duration_ms)):
        stop = min(begin, duration_ms)
        if start < stop:
            spans.append((start, stop))
        start = max(start, end)
    return spans


def _times(shape: WorkloadShape, duration_ms: int, rng: Random) -> tuple[list[int], set[int]]:
    """Draws the times of sends in order, and the index of the last before each pause or the end."""
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
    """Draws a send for each time; versions and timestamps of a key ascend, but for late sends.

    The sends at the indexes `tails` have chances of their own to be late or a delete.
    """
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
        if not (tail and late and index):  # else the key of the send before, so it can be beaten
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
        sends.append(Send(at_ms, author, names[key], value, timestamp_ms, number))
    return sends


def _as_delta(send: Send, change: str = "+1") -> Send:
    """Turns a send into a change of a key of a broker, or into the end of that broker."""
    broker = f"b{1 + int(send.key[1:]) % DELTA_BROKERS}"
    if send.value is None:
        return send._replace(key=f"{broker}/*")
    return send._replace(key=f"{broker}/{send.key}", value=change)


def with_deltas(seed: int, mix: Mix, workload: Workload) -> Workload:
    """Turns the sends of a workload into changes of numbers, up and down, perhaps."""
    draws = Draws(seed, "deltas")
    if not draws.happens(mix.deltas):
        return workload
    sends = [_as_delta(send, draws.choice(("+1", "+2", "-1", "-3"))) for send in workload.sends]
    return replace(workload, sends=tuple(sends))


def _by_instance(send: Send, takeover_ms: int) -> Send:
    """The send, by the instance that writes at its time."""
    if send.producer == SECOND and send.at_ms < takeover_ms:
        return send._replace(producer=FIRST)
    if send.producer == FIRST and send.at_ms >= takeover_ms + _ZOMBIE_MS:
        return send._replace(producer=SECOND)
    return send


def _in_transactions(
    shape: WorkloadShape, sends: list[Send], duration_ms: int, rng: Random
) -> tuple[list[Send], tuple[EndTransaction, ...]]:
    """Puts the sends of the first `transactional` producers into transactions.

    A transaction ends at a random time between its last send and its producer's next one, so
    markers come late, fall into idle phases, and interleave with other producers' records.
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
        result.append(send._replace(transaction=number[producer]))
    for producer, transaction in number.items():
        if transaction and random() >= NEVER_ENDED:
            end(producer, duration_ms)
    ends.sort(key=lambda one: (one.at_ms, one.producer, one.transaction))
    return result, tuple(ends)


def with_mixed_clients(seed: int, mix: Mix, scenario: Scenario, *, producers: int) -> Scenario:
    """Adds old and new clients at brokers that know the flag (KIP-87) to a scenario, perhaps.

    A client that is old at a lower share is old at a higher one, too.
    """
    if not Draws(seed, "mixed clients").happens(mix.mixed_clients):
        return scenario
    writers, readers = (
        Draws(seed, "mixed clients/producers"),
        Draws(seed, "mixed clients/consumers"),
    )
    versions = [
        Change(0, producer=number, versions=None, format=_version(mix.old_producers, writers))
        for number in range(1, producers + 1)
    ]
    consumers = [
        replace(one, format=_version(mix.old_consumers, readers)) for one in scenario.consumers
    ]
    return replace(
        scenario,
        replicas=tuple([replace(one, versions=Versions(NEW)) for one in scenario.replicas]),
        workload=_with_deletes_that_say_something(seed, scenario.workload),
        consumers=tuple(consumers),
        changes=(*versions, *scenario.changes),
    )


def _version(old: float, draws: Draws) -> Literal[2, 3]:
    return 2 if draws.happens(old) else 3


def _with_deletes_that_say_something(seed: int, workload: Workload) -> Workload:
    """Gives a share of the deletes a value and the tombstone flag."""
    deletes = stream(seed, "flag upgrade/deletes")
    share = 0.2 + 0.8 * deletes.random()
    sends = [
        send._replace(value=f"deleted {index}", flag=True)
        if send.value is None and deletes.random() < share
        else send
        for index, send in enumerate(workload.sends)
    ]
    return replace(workload, sends=tuple(sends))


_NO_VERSIONS = (b"", b"\x80", b"\xff" * 7, b"\xff" * 8 + b"\x01", b"\xff" * 12)
"""Header values that are no version: none has 8 bytes, and no varint in them is above 0."""


def with_header_mistakes(seed: int, mix: Mix, scenario: Scenario) -> Scenario:
    """Adds mistakes with version headers to a scenario, perhaps; nothing else of it changes."""
    draws = Draws(seed, "header mistakes")
    if not draws.happens(mix.header_mistakes):
        return scenario
    share = 0.05 + 0.45 * draws.random()
    rng = stream(seed, "header mistakes/sends")
    sends: list[Send] = []
    for send in scenario.workload.sends:
        luck, kind, number = rng.random(), rng.random(), rng.getrandbits(32)
        if luck < share and send.version is not None:
            wrong = _mistake(kind, send.version, Random(number))
            sends.append(send._replace(headers=wrong))
        else:
            sends.append(send)
    return replace(scenario, workload=replace(scenario.workload, sends=tuple(sends)))


def _mistake(kind: float, version: int, rng: Random) -> tuple[SentHeader, ...]:
    """Draws the wrong headers of a record, each kind of mistake with the same chance."""
    right = SentHeader(version)
    if kind < 0.25:
        return (SentHeader(-rng.randrange(version + 1)),)
    if kind < 0.5:
        older = SentHeader(max(0, version - 1 - rng.randrange(3)))
        return (older, right) if rng.random() < 0.5 else (right, older)
    if kind < 0.75:
        return (SentHeader(version, capitals=True),)
    spoilt = SentHeader(raw=rng.choice(_NO_VERSIONS))
    return rng.choice(((spoilt,), (spoilt, right), (right, spoilt)))
