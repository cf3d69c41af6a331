"""State machines whose records change what was there before: what no cleaner by key can keep.

A value `+n` or `-n` changes the number of its key by n, any other value replaces it, and a
tombstone removes its key. The tombstone of a key that ends with `*` removes every key that begins
like it: one event "broker 7 is gone" for all that the broker had (KIP-630, Amount of Data
Replicated).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from sim.compaction.fold import data_below
from sim.compaction.tombstones import TombstoneMark
from sim.log import Batch, Record

EVERY = "*"
"""At the end of a key: all keys that begin with what is before it."""

_CHANGE = re.compile(r"[+-][0-9]+")


def apply_delta(state: dict[str, Record], record: Record, *, deleted: bool) -> None:
    """Apply a keyed record to a state; what it leaves there has no changes but numbers as values.

    A number that something else than a number was replaced by counts as 0.
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
        number = int(held) if re.fullmatch(r"-?[0-9]+", held) else 0
        state[key] = record._replace(value=str(number + int(value)))
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
