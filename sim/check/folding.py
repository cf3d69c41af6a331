"""Materialised state: the fold of records, of which markers decide the transactional ones.

A second question is whether that state is what producers meant. With offsets for versions, a write
that is late or sent again wins over a newer one, and every invariant holds, since that is the
order. Strategies exist to prevent that (KIP-280, Motivation).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from sim.check.facts import ReplicaView
from sim.check.history import ClusterHistory
from sim.check.promise import DEFAULT_HEADER, meant_version
from sim.protocol.log.record import Control, Record

EVERY: Final = "*"
"""The end of a tombstone's key that stands for all keys with the same beginning (KIP-630)."""

_CHANGE: Final = re.compile(r"[+-][0-9]{1,4000}")
_NUMBER: Final = re.compile(r"-?[0-9]{1,4000}")


def decided(history: ClusterHistory, uids: Iterable[int]) -> list[int]:
    """The data among `uids` in no aborted or open transaction, in order of decision.

    `uids` are in log order. Data of a transaction comes at the place of its marker, other data at
    its own. Holes and empty batches are skipped.
    """
    written = history.written
    pending: dict[int, list[int]] = {}
    found: list[int] = []
    for uid in uids:
        if uid <= 0:
            continue
        known = written.get(uid)
        if known is None:
            continue
        if known.plain:
            found.append(uid)
        elif known.batch.control is not None:
            data = pending.pop(known.batch.producer_id, None)
            if data is not None and known.batch.control is Control.COMMIT:
                found += data
        else:
            pending.setdefault(known.batch.producer_id, []).append(uid)
    return found


def highest_of(
    history: ClusterHistory, uids: Iterable[int], base: Iterable[Record] = ()
) -> dict[str, int]:
    """The uid of the winner of each key among decided `uids` and the records of `base`.

    It may be a tombstone.
    """
    written = history.written
    highest = {record.key: record.uid for record in base if record.key is not None}
    for uid in decided(history, uids):
        known = written[uid]
        key = known.key
        if key is not None:
            other = highest.get(key)
            if other is None or known.version > written[other].version:
                highest[key] = uid
    return highest


def winners_of(
    history: ClusterHistory, uids: Iterable[int], base: Iterable[Record] = ()
) -> dict[str, int]:
    """The uid of the winner of each key, as `highest_of`, without deleted keys."""
    written = history.written
    highest = highest_of(history, uids, base)
    return {key: uid for key, uid in highest.items() if not written[uid].tombstone}


def state_of(
    history: ClusterHistory, uids: Iterable[int], base: Iterable[Record] = ()
) -> Mapping[str, int | str]:
    """The uid of the winner of each key, or its value where records are deltas."""
    if not history.deltas:
        return winners_of(history, uids, base)
    found = _delta_records(history, uids, base)
    return {key: record.value or "" for key, record in found.items()}


def _delta_records(
    history: ClusterHistory, uids: Iterable[int], base: Iterable[Record]
) -> dict[str, Record]:
    """The last record that changed each key, with the value that the key then had.

    A value `+n` or `-n` changes the number of its key, 0 where there is none; any other replaces
    it. The tombstone of a key that ends with `*` deletes every key that begins like it.
    """
    state = {record.key: record for record in base if record.key is not None}
    for uid in sorted(decided(history, uids), key=lambda uid: history.written[uid].offset):
        known = history.written[uid]
        key, value = known.key, known.record.value or ""
        if key is None:
            continue
        if known.tombstone:
            stem = key.removesuffix(EVERY)
            for other in [k for k in state if k == key or (stem != key and k.startswith(stem))]:
                del state[other]
        elif _CHANGE.fullmatch(value):
            before = state[key].value or "" if key in state else ""
            number = int(before) if _NUMBER.fullmatch(before) else 0
            state[key] = replace(known.record, value=str(number + int(value)))
        else:
            state[key] = known.record
    return state


def differing_keys(one: Mapping[str, object], other: Mapping[str, object]) -> list[str]:
    """The keys at which two states differ, in order."""
    return [key for key in sorted({*one, *other}) if one.get(key) != other.get(key)]


def base_records(view: ReplicaView) -> tuple[Record, ...]:
    """The records of the snapshot that ends at the log start; none without one."""
    start = view.log_start_offset
    found = [records for (end, _), records in view.snapshots.items() if end == start]
    return found[-1] if found and start > 0 else ()


def own_state(history: ClusterHistory, view: ReplicaView) -> dict[str, int]:
    """The uid of the value of each key in a log by itself, below its own high watermark.

    Its own markers decide, and the snapshot at its start counts. Where records are deltas the uid
    is that of the last one that changed the key.
    """
    held, base = view.known_to_be_committed(), base_records(view)
    if history.deltas:
        return {key: record.uid for key, record in _delta_records(history, held, base).items()}
    return winners_of(history, held, base)


def _state_of(history: ClusterHistory, view: ReplicaView, keys: Iterable[str]) -> dict[str, int]:
    """The `own_state` of some keys, perhaps with others; folds as little as possible."""
    written, base = history.written, base_records(view)
    slots = view.known_to_be_committed()
    held = set(slots)
    uids = [uid for key in keys for uid in history.uids_of_key[key] if uid in held]
    if not base and all(written[uid].tombstone for uid in uids):
        return {}
    if history.deltas:
        return own_state(history, view)
    if not all(written[uid].plain for uid in uids):
        decisive = {*uids, *[u for u in held if u > 0 and written[u].batch.control is not None]}
        uids = [uid for uid in slots if uid in decisive]
    return winners_of(history, uids, base)


def undone_deletes(history: ClusterHistory, view: ReplicaView) -> dict[str, int]:
    """The uid of the value that a log gives to each deleted key that it still has.

    A key is deleted if its committed winner is a tombstone that beats the value, below the log end
    offset. Tombstones that the topic's retention deleted do not count.
    """
    written, slots = history.written, view.slots
    below, known_below = len(slots), min(view.high_watermark, len(slots))
    suspects: list[str] = []
    for key, uid in history.deleted.items():
        tombstone = written[uid]
        offset = tombstone.offset
        # A log that holds a tombstone outside transactions deletes the key: no need to fold it.
        deletes = tombstone.plain and offset < known_below and slots[offset] == uid
        if history.expired_below <= offset < below and not deletes:
            suspects.append(key)
    if not suspects:
        return {}
    state = _state_of(history, view, suspects)
    return {
        key: state[key]
        for key in suspects
        if key in state and written[history.deleted[key]].version > written[state[key]].version
    }


def lost_keys(history: ClusterHistory, view: ReplicaView, since: int) -> list[str]:
    """The keys whose committed state went with [since, log start) of a log, in order.

    `since` is its log start before. The newest snapshot of the replica accounts for what is below
    its end. Where records are deltas each of them counts, else the one that wins its key: a value,
    or the tombstone of a key that this snapshot has.
    """
    newest = max(view.snapshots, default=(0, 0))
    gone = range(max(since, newest[0]), min(view.log_start_offset, len(history.committed)))
    if not gone:
        return []
    if history.deltas:
        return sorted({key for offset in gone if (key := _changed_at(history, offset))})
    kept = {record.key for record in view.snapshots.get(newest, ())}
    written = history.written
    return sorted(
        key
        for key, uid in history.winners.items()
        if written[uid].offset in gone and (not written[uid].tombstone or key in kept)
    )


def _changed_at(history: ClusterHistory, offset: int) -> str | None:
    """The key of the committed record at an offset; None without one, or if it was aborted."""
    uid = history.committed[offset]
    known = history.written.get(uid)
    if known is None or uid in history.aborted or known.batch.control is not None:
        return None
    return known.key


class Unmeant(NamedTuple):
    """A key that ends on another record than its producers meant.

    Attributes:
        key: The key.
        held: The uid of the value that it ends on; None if the log gives it no value.
        meant: The uid of a committed record that was meant to be newer.
    """

    key: str
    held: int | None
    meant: int


def unmeant(history: ClusterHistory) -> Iterator[Unmeant]:
    """The keys that end, in the leader's log, on another record than producers meant.

    A record is *behind* another of its key if its producer gave it an older timestamp and, where
    both have a version, a lower one. That holds for producers whose clocks agree; two writes with
    one version are not told apart. Deltas are not judged. A key counts if the value it ends on is
    behind a committed record. A key to which the log gives no value counts if every committed
    tombstone of it is behind another record, unless the topic's retention deleted its winner.
    """
    if history.leader is None or history.deltas:
        return
    view = history.replicas[history.leader]
    state = winners_of(history, view.known_to_be_committed(), base_records(view))
    header = history.rules.topic.strategy_header or DEFAULT_HEADER
    for key, winner in history.winners.items():
        uids = [uid for uid in history.uids_of_key[key] if history.is_committed(uid)]
        if not uids:
            continue
        held = state.get(key)
        if held is not None:
            meant = _ahead_of(history, header, held, uids)
        elif history.written[winner].offset < history.expired_below:
            meant = None
        else:
            meant = _never_deleted(history, header, uids)
        if meant is not None:
            yield Unmeant(key, held, meant)


def _ahead_of(history: ClusterHistory, header: str, uid: int, uids: Sequence[int]) -> int | None:
    """The end of a chain of records from `uid` on, each behind the next; None without a next."""
    newest = uid
    for other in uids:
        if _is_behind(history, header, newest, other):
            newest = other
    return None if newest == uid else newest


def _never_deleted(history: ClusterHistory, header: str, uids: Sequence[int]) -> int | None:
    """The last value that is behind no other record; None if a tombstone is behind none."""
    tombstones = [uid for uid in reversed(uids) if history.written[uid].tombstone]
    if any(_ahead_of(history, header, uid, uids) is None for uid in tombstones):
        return None  # mostly by the last tombstone, so that is asked first
    values = (uid for uid in reversed(uids) if not history.written[uid].tombstone)
    return next(uid for uid in values if _ahead_of(history, header, uid, uids) is None)


def _is_behind(history: ClusterHistory, header: str, uid: int, other: int) -> bool:
    """True if `other` was meant to be newer than `uid`; the same value sent twice never is."""
    record, newer = history.written[uid].record, history.written[other].record
    if newer.timestamp_ms <= record.timestamp_ms:
        return False
    version, higher = meant_version(record, header), meant_version(newer, header)
    return version is None or higher is None or higher > version
