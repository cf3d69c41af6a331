"""The contract of strategies, fixes and tombstone removal rules, checked on a few samples.

The cleaner and the checks rely on it; `register_...` refuses what breaks it, and the tests hold the
built-in ones to it, too. Each function answers with the first problem, None when there is none.
"""

from __future__ import annotations

from itertools import product

from sim.compaction.fixes import Fix, Kept, Tail
from sim.compaction.strategies import Strategy, encode_version
from sim.compaction.tombstones import Circumstances, Stamp, TombstoneRemoval
from sim.log import Batch, Record

_HEADERS: tuple[tuple[tuple[str, bytes], ...], ...] = (
    (),
    (("version", encode_version(-1)),),
    (("version", encode_version(7)),),
    (("version", b"short"),),
    (("other", b""), ("version", encode_version(7)), ("version", encode_version(3))),
)


def _records() -> list[Record]:
    samples = product((-1, 0, 50), (None, "", "a longer value"), _HEADERS)
    return [
        Record(offset, "k", value, timestamp, headers)
        for offset, (timestamp, value, headers) in enumerate(samples)
    ]


def strategy_problem(strategy: Strategy) -> str | None:
    """The version order is total, the same at each call, and equals go to the higher offset."""
    if not isinstance(strategy.latest_wins, bool):
        return f"latest_wins is {strategy.latest_wins!r}; allowed: True, False"
    versions = []
    for record in _records():
        version = strategy.version(record)
        if not isinstance(version, tuple) or not all(type(part) is int for part in version):
            return f"a version is a tuple of whole numbers, not {version!r}"
        if strategy.version(record) != version:
            return "the version of a record differs between two calls"
        later = strategy.version(record._replace(offset=record.offset + 1000))
        if not later > version:
            return "of two equal records the later does not win; end the version with the offset"
        versions.append(version)
    if len({len(version) for version in versions}) > 1:
        return "versions differ in length, so their order is not that of their parts"
    if len(set(versions)) < len(versions):
        return "two records have the same version; end it with the offset"
    if strategy.latest_wins and versions != sorted(versions):
        return "latest_wins is True, but an earlier record wins over a later one"
    return None


def _tails() -> list[Tail]:
    records = tuple(Record(offset, "k", "v", 0) for offset in (3, 4))
    full = Batch(3, 4, epoch=1, timestamp_ms=0, size_bytes=100, records=records)
    return [
        Tail(None, 0, 0),
        Tail(full, 5, 5),
        Tail(full, 3, 5),
        Tail(full._replace(records=()), 5, 5),
    ]


def fix_problem(fix: Fix) -> str | None:
    """It answers with offsets to keep inside the log, the same at each call."""
    for name in ("persists_log_end", "announces_gaps"):
        if not isinstance(getattr(fix, name), bool):
            return f"{name} is {getattr(fix, name)!r}; allowed: True, False"
    for tail in _tails():
        kept = fix.keeps(tail)
        if not isinstance(kept, Kept):
            return f"keeps answers with a Kept, not {kept!r}"
        if fix.keeps(tail) != kept:
            return "keeps differs between two calls"
        end = -1 if tail.last_batch is None else tail.last_batch.last_offset
        for offset in kept:
            if offset is not None and offset > max(end, tail.high_watermark - 1):
                return f"keeps offset {offset}, but the log ends at {end}"
    return None


def removal_problem(rule: TombstoneRemoval) -> str | None:
    """The condition answers True or False, the same at each call, and time never takes a yes back.

    Raises whatever the condition raises.
    """
    if not isinstance(rule.stamps, Stamp):
        return f"stamps is {rule.stamps!r}; allowed: {', '.join(map(str, Stamp))}"
    samples = product((4, 9), (None, 50), (0, 5, 100), (None, 40), (None, 60), (None, (6, 30)))
    for offset, horizon, limit, modified, legacy, cleaned in samples:
        before = False
        for now in (0, 50, 1000):
            case = Circumstances(offset, horizon, now, limit, modified, legacy, cleaned, 20)
            answer = rule.may_remove(case)
            if not isinstance(answer, bool):
                return f"may_remove answers True or False, not {answer!r}"
            if rule.may_remove(case) is not answer:
                return "may_remove differs between two calls"
            if before and not answer:
                return "what it lets go at one time, it keeps at a later time"
            before = answer
    return None
