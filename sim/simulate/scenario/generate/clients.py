"""Random clients: when nobody writes, what a workload looks like, who reads it and when."""

from __future__ import annotations

from collections.abc import Sequence

from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.generate.settings import perhaps
from sim.simulate.scenario.generate.shape import Span, WorkloadShape
from sim.simulate.scenario.generate.streams import Draws, between, log_between, share_between
from sim.simulate.scenario.model import Consumer

_POLL_MS = (50, 100, 300)
_BURSTS_MS = (50, 1_000)
_LONG = (12, 60)
"""Most sends of a transaction that reaches over many segments, from and to."""
_BUSY_BEGINNING = 0.05
"""Share of a run before which no idle phase begins: there has to be something to clean."""


def draw_idle_phases(seed: int, mix: Mix) -> tuple[Span, ...]:
    """Phases without writes, in order, apart from each other."""
    draws = Draws(seed, "idle phases")
    duration_ms = mix.duration_ms
    first_ms = int(duration_ms * _BUSY_BEGINNING) + 1
    drawn = []
    for _ in range(between(draws, mix.idle_phases)):
        start = first_ms + draws.below(duration_ms - first_ms)
        drawn.append((start, min(duration_ms, start + log_between(draws, mix.idle_ms))))
    phases: list[Span] = []
    for start, end in sorted(drawn):
        if phases and start <= phases[-1][1]:
            phases[-1] = (phases[-1][0], max(end, phases[-1][1]))
        else:
            phases.append((start, end))
    return tuple(phases)


def draw_shape(seed: int, mix: Mix, idle: tuple[Span, ...]) -> WorkloadShape:
    """What producers write, with the idle phases given."""
    draws, transactions = Draws(seed, "shape"), Draws(seed, "transactions")
    unversioned = Draws(seed, "unversioned sends")
    producers = between(draws, mix.producers)
    transactional, writers = transactions.happens(mix.transactional), transactions.below(producers)
    longest = 1 + transactions.below(6)
    if Draws(seed, "long transactions").happens(mix.long_transactions):
        longest = between(Draws(seed, "length of transactions"), _LONG)
    return WorkloadShape(
        producers=producers,
        sends=between(draws, mix.sends),
        keys=between(draws, mix.keys),
        delete_share=share_between(draws, mix.delete_share),
        late_share=share_between(draws, mix.late_share),
        lateness_ms=log_between(draws, mix.lateness_ms),
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
    """When a second instance of a producer begins, in ms; None = there is none.

    That takes two producers, one of which at least is transactional.
    """
    draws = Draws(seed, "instances")
    happens, share = draws.happens(mix.instances), 0.2 + draws.random() * 0.6
    if not happens or not shape.transactional or shape.producers < 2:
        return None
    return int(mix.duration_ms * share)


def draw_consumers(seed: int, mix: Mix, replicas: Sequence[str]) -> tuple[Consumer, ...]:
    """Consumers c1, c2, …; some lag, some read one replica, all may pause, some read committed."""
    isolation, ending = Draws(seed, "isolation"), Draws(seed, "ending readers")
    consumers = []
    for number in range(1, between(Draws(seed, "consumers"), mix.consumers) + 1):
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
        end_ms = start_ms + log_between(draws, (100, 4_000))
        pauses.append((start_ms, end_ms))
        start_ms = end_ms
    return tuple(pauses)
