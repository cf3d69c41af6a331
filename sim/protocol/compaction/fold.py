"""Folding a log into the state it stands for.

By default the state is a winning record per key. With `state_machine: deltas` a record changes what
was there before, which no cleaner by key can keep: a value `+n` or `-n` changes the number of its
key by n, any other value replaces it, and a tombstone removes its key. Numbers have at most 4,000
digits, which Python reads and writes. The tombstone of a key that ends with `*` removes every key
that begins like it: one event "broker 7 is gone" for all that the broker had (KIP-630, Amount of
Data Replicated).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from sim.protocol.compaction.strategies import Strategy
from sim.protocol.compaction.tombstones import TombstoneMark
from sim.protocol.log import Batch, Control, Record

EVERY: Final = "*"
"""At the end of a key: all keys that begin with what is before it."""

_CHANGE: Final = re.compile(r"[+-][0-9]{1,4000}")


def data_below(batches: Iterable[Batch], below: int) -> Iterator[Record]:
    """The keyed data records below offset `below` (exclusive), in order of offsets.

    Data of aborted and of open transactions is left out: a transaction counts when its COMMIT
    marker is below `below`.
    """
    covered = [batch for batch in batches if batch.base_offset < below]
    ends: dict[int, Control] = {}
    counts: list[Batch] = []
    for batch in reversed(covered):
        if batch.control is None:
            if not batch.transactional or ends.get(batch.producer_id) is Control.COMMIT:
                counts.append(batch)
        elif batch.transactional:
            ends[batch.producer_id] = batch.control
    for batch in reversed(counts):
        for record in batch.records:
            if record.key is not None and record.offset < below:
                yield record


def undivided_end(batches: Sequence[Batch], *, below: int) -> int:
    """The highest end (exclusive) at or below `below` that no transaction reaches across.

    The last stable offset is not enough for that: a transaction that began below it may have its
    marker above it, when one of another producer that began in between is still open. State that
    is folded up to there lacks data whose marker comes later, and must not stand for the log below.
    """
    while True:
        open_since: dict[int, int] = {}
        for batch in batches:
            if batch.last_offset >= below:
                break
            if batch.transactional and batch.control is None:
                open_since.setdefault(batch.producer_id, batch.base_offset)
            elif batch.transactional:
                open_since.pop(batch.producer_id, None)
        if not open_since:
            return below
        below = min(open_since.values())


def fold(
    batches: Iterable[Batch],
    *,
    below: int,
    strategy: Strategy,
    is_tombstone: TombstoneMark,
    base: Iterable[Record] = (),
) -> dict[str, Record]:
    """The winning record of each key below offset `below` (exclusive); a tombstone removes its key.

    Data of aborted and of open transactions is ignored. `base` holds the records of a snapshot that
    the log continues.
    """
    winners = {record.key: record for record in base if record.key is not None}
    for record in data_below(batches, below):
        assert record.key is not None
        current = winners.get(record.key)
        if current is None or strategy.version(record) > strategy.version(current):
            winners[record.key] = record
    return {key: record for key, record in winners.items() if not is_tombstone(record)}


def apply_delta(state: dict[str, Record], record: Record, *, deleted: bool) -> None:
    """Applies a keyed record to a state, which then holds the resulting number, not the change.

    A change of a value that is not a number counts from 0. `deleted` is true for a tombstone.
    """
    key, value = record.key, record.value or ""
    assert key is not None
    if deleted:
        gone = [key]
        if key.endswith(EVERY):
            gone = [other for other in state if other.startswith(key[: -len(EVERY)])]
        for other in gone:
            state.pop(other, None)
    elif _CHANGE.fullmatch(value):
        before = state.get(key)
        held = "0" if before is None or before.value is None else before.value
        number = int(held) if re.fullmatch(r"-?[0-9]{1,4000}", held) else 0
        state[key] = replace(record, value=str(number + int(value)))
    else:
        state[key] = record


def fold_deltas(
    batches: Iterable[Batch],
    *,
    below: int,
    is_tombstone: TombstoneMark,
    base: Iterable[Record] = (),
) -> dict[str, Record]:
    """The state below offset `below` (exclusive); `base` is what the log continues.

    A record of the result is the last one that changed its key, with the whole value.
    """
    state = {record.key: record for record in base if record.key is not None}
    for record in data_below(batches, below):
        apply_delta(state, record, deleted=is_tombstone(record))
    return state
