"""Several logs and few cleaner threads: which log is cleaned when, and which deadline is missed.

A thread takes one log after the other, as long as there is an eligible one, and sleeps when there
is none (CleanerThread.doWork); looks that would find what the one before found are left out. A pass
reads what is dirty, for its map, then all it covers, and writes what is left; at
`log.cleaner.io.max.bytes.per.second` that takes time (Throttler), in which other logs wait, overdue
or not. Threads share the rate evenly, busy or not, which is less than Kafka lets a thread have
whose fellows sleep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from sim.protocol.compaction.eligibility import age_from_ms, earliest_dirty_ms, select
from sim.protocol.log import Segment
from sim.simulate.logfile.described import DescribedLog
from sim.simulate.logfile.eligible import (
    LogEligibility,
    eligible_answer,
    first_dirty_of,
    look_at,
    select_log,
)
from sim.simulate.logfile.eligible_file import EligibleFile, ScheduleSettings


@dataclass(frozen=True, slots=True)
class Round:
    """One pass over one log.

    Attributes:
        log: Its name.
        thread: Which thread, from 0.
        start_ms: When it began.
        end_ms: When it ended.
        ratio: The dirty ratio by which it was chosen.
        delay_ms: How long it was overdue by then.
        late_ms: How long it was overdue when the pass ended; 0 = it was not.
        io_bytes: What it read and wrote.
    """

    log: str
    thread: int
    start_ms: int
    end_ms: int
    ratio: float
    delay_ms: int
    late_ms: int
    io_bytes: int


@dataclass(slots=True)
class _State:
    """One log as time goes by; while its last pass lasts nobody else takes it."""

    log: DescribedLog
    next_roll_ms: int | None
    last: Round | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """What the threads did until the end, and what is overdue then.

    Attributes:
        rounds: In the order in which they began.
        waiting_ms: By log, how long it is overdue at the end; 0 = it is not.
    """

    rounds: tuple[Round, ...]
    waiting_ms: dict[str, int]


def schedule_of(file: EligibleFile) -> Schedule | None:
    """Let the cleaner threads of a file work; None = it asks for no schedule."""
    settings = file.schedule
    if settings is None:
        return None
    states = {name: _State(log, _next_roll(log, file.now_ms)) for name, log in file.logs.items()}
    threads = [file.now_ms] * settings.threads
    rounds: list[Round] = []
    while min(threads) <= settings.until_ms:
        now_ms = min(threads)
        thread = threads.index(now_ms)
        for state in states.values():
            _grow(state, now_ms)
        done = _take(states, settings, thread, now_ms)
        if done is None:
            threads[thread] = _wakes_ms(states.values(), settings, now_ms)
        else:
            rounds.append(done)
            threads[thread] = done.end_ms
    for state in states.values():
        _grow(state, settings.until_ms)
    waiting = {name: _waiting_ms(state, settings.until_ms) for name, state in states.items()}
    return Schedule(tuple(rounds), waiting)


def _wakes_ms(states: Iterable[_State], settings: ScheduleSettings, now_ms: int) -> int:
    """When a thread that found nothing looks again, leaving out the looks at what has not changed.

    Until the first change nobody finds anything, so no other thread changes it before, either.
    """
    changes = [at_ms for state in states for at_ms in _changes_ms(state) if at_ms > now_ms]
    sleeps_ms = min(changes, default=settings.until_ms + 1) - now_ms
    return now_ms + -(-sleeps_ms // settings.backoff_ms) * settings.backoff_ms


def _changes_ms(state: _State) -> Iterator[int]:
    """When the cleaner may make something else of a log, by itself; some are in the past."""
    log = state.log
    if state.next_roll_ms is not None:
        yield state.next_roll_ms
    if state.last is not None:
        yield state.last.end_ms
    least, most = log.config.min_compaction_lag_ms, log.config.max_compaction_lag_ms
    yield from (age_from_ms(segment) + least for segment in log.segments)
    first_dirty = first_dirty_of(log).offset
    earliest = earliest_dirty_ms(log.segments, log.config, first_dirty_offset=first_dirty)
    if most is not None and earliest is not None:
        yield earliest + most + 1


def _waiting_ms(state: _State, until_ms: int) -> int:
    """How long a log is overdue at the end; also while the pass that helps is at work."""
    last = state.last
    if last is None or last.end_ms <= until_ms:
        return look_at(state.log, now_ms=until_ms).found.compaction_delay_ms
    return max(0, until_ms - (last.end_ms - last.late_ms)) if last.late_ms else 0


def _next_roll(log: DescribedLog, now_ms: int) -> int | None:
    every_ms = log.segment_every_ms
    return None if every_ms is None else now_ms + every_ms


def _grow(state: _State, now_ms: int) -> None:
    """Close the active segment as often as it was due, each time with the next one behind it."""
    every_ms = state.log.segment_every_ms
    while every_ms is not None and state.next_roll_ms is not None and state.next_roll_ms <= now_ms:
        log, at_ms = state.log, state.next_roll_ms
        active = log.segments[-1]
        base = max(log.log_end_offset, active.base_offset + 1)
        fresh = Segment(
            base,
            at_ms,
            size_bytes=active.size_bytes,
            first_timestamp_ms=at_ms,
            largest_ms=at_ms + every_ms - 1,
        )
        state.log = replace(
            log,
            segments=(*log.segments, fresh),
            log_end_offset=base + 1,
            high_watermark=base + 1,
            last_stable_offset=base + 1,
        )
        state.next_roll_ms = at_ms + every_ms


def _take(
    states: dict[str, _State], settings: ScheduleSettings, thread: int, now_ms: int
) -> Round | None:
    """Let a thread clean one log, if one is eligible."""
    looks = {
        name: look_at(state.log, now_ms=now_ms)
        for name, state in states.items()
        if state.last is None or state.last.end_ms <= now_ms
    }
    eligible = {name: look for name, look in looks.items() if look.eligible}
    if settings.order == "most_overdue":
        name = max(
            eligible,
            key=lambda one: (
                eligible[one].found.compaction_delay_ms,
                eligible[one].found.dirty_ratio or 0.0,
            ),
            default=None,
        )
    else:
        name = select({one: look.found for one, look in eligible.items()})
    if name is None:
        return None
    done = _round(name, eligible[name], settings, thread, now_ms)
    state = states[name]
    state.last = done
    state.log = _cleaned(state.log, eligible[name])
    return done


def _round(
    name: str, look: LogEligibility, settings: ScheduleSettings, thread: int, now_ms: int
) -> Round:
    log, found = look.log, look.found
    all_bytes = found.clean_bytes + found.cleanable_bytes
    io_bytes = found.cleanable_bytes + all_bytes + round(all_bytes * log.survives)
    took_ms = 0
    if settings.bytes_per_second is not None:
        took_ms = -(-1000 * io_bytes * settings.threads // settings.bytes_per_second)
    end_ms = now_ms + took_ms
    most, late_ms = log.config.max_compaction_lag_ms, 0
    if most is not None and look.earliest_ms is not None:
        late_ms = max(0, end_ms - look.earliest_ms - most)
    ratio = found.dirty_ratio or 0.0
    return Round(name, thread, now_ms, end_ms, ratio, found.compaction_delay_ms, late_ms, io_bytes)


def _cleaned(log: DescribedLog, look: LogEligibility) -> DescribedLog:
    """The log after the pass: what it covered is one segment, as large as what is left."""
    bound = look.found.upper_bound
    covered = [segment for segment in log.segments if segment.base_offset < bound]
    rest = log.segments[len(covered) :]
    size = round(sum(segment.size_bytes for segment in covered) * log.survives)
    merged = Segment(
        covered[0].base_offset,
        covered[-1].last_modified_ms,
        size_bytes=size,
        first_timestamp_ms=covered[0].first_timestamp_ms,
        largest_ms=max(segment.largest_ms for segment in covered),
    )
    return replace(log, segments=(merged, *rest), checkpoint=bound)


def answer_about(file: EligibleFile) -> dict[str, Any]:
    """What `replog eligible --json` answers: one look, and the schedule if the file asks for it."""
    schedule = schedule_of(file)
    answer = eligible_answer(select_log(file.logs, now_ms=file.now_ms))
    return answer if schedule is None else {**answer, "schedule": schedule_answer(schedule)}


def schedule_answer(schedule: Schedule) -> dict[str, Any]:
    """The passes, and what they come to."""
    by_log = {
        name: [one for one in schedule.rounds if one.log == name] for name in schedule.waiting_ms
    }
    return {
        "rounds": [
            {
                "log": one.log,
                "thread": one.thread,
                "start_ms": one.start_ms,
                "end_ms": one.end_ms,
                "ratio": round(one.ratio, 4),
                "delay_ms": one.delay_ms,
                "late_ms": one.late_ms,
            }
            for one in schedule.rounds
        ],
        "logs": {
            name: {
                "rounds": len(rounds),
                "io_bytes": sum(one.io_bytes for one in rounds),
                "largest_delay_ms": max([one.delay_ms for one in rounds], default=0),
                "late_ms": max([one.late_ms for one in rounds], default=0),
                "waiting_ms": schedule.waiting_ms[name],
            }
            for name, rounds in by_log.items()
        },
        "io_bytes": sum(one.io_bytes for one in schedule.rounds),
    }
