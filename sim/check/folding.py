"""Materialised state: what records, decided by the markers among them, fold to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from sim.check.history import ClusterHistory
from sim.check.replica_view import ReplicaView
from sim.protocol.log.record import Control, Record

EVERY: Final = "*"
"""At the end of a deleted key: all keys that begin with what is before it (KIP-630)."""

_CHANGE: Final = re.compile(r"[+-][0-9]+")
_NUMBER: Final = re.compile(r"-?[0-9]+")


def decided(history: ClusterHistory, uids: Iterable[int]) -> list[int]:
    """The data among `uids`, in log order, that is no part of an aborted or open transaction.

    Data of a transaction counts where its marker stands. What is no uid is passed over.
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
    """Key -> uid of the decided record that beats the others: of `uids` and the records of `base`.

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
    """Key -> uid of the winner among `uids` and the records of `base`; deleted keys are absent."""
    written = history.written
    highest = highest_of(history, uids, base)
    return {key: uid for key, uid in highest.items() if not written[uid].tombstone}


def state_of(
    history: ClusterHistory, uids: Iterable[int], base: Iterable[Record] = ()
) -> Mapping[str, int | str]:
    """Key -> uid of the winner, or its value where records are deltas, on top of `base`."""
    if not history.deltas:
        return winners_of(history, uids, base)
    found = _delta_records(history, uids, base)
    return {key: record.value or "" for key, record in found.items()}


def _delta_records(
    history: ClusterHistory, uids: Iterable[int], base: Iterable[Record]
) -> dict[str, Record]:
    """Key -> the last record that changed it, with what the key then was as its value.

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
            state[key] = known.record._replace(value=str(number + int(value)))
        else:
            state[key] = known.record
    return state


def differing_keys(one: Mapping[str, object], other: Mapping[str, object]) -> list[str]:
    """Keys of which two states do not say the same, in order."""
    return [key for key in sorted({*one, *other}) if one.get(key) != other.get(key)]


def base_records(view: ReplicaView) -> tuple[Record, ...]:
    """The records of the snapshot that a log continues."""
    start = view.log_start_offset
    found = [records for (end, _), records in view.snapshots.items() if end == start]
    return found[-1] if found and start > 0 else ()


def own_state(history: ClusterHistory, view: ReplicaView) -> dict[str, int]:
    """Key -> uid of the value that a log gives it by itself, below its own high watermark.

    Its own markers decide, and the snapshot at its start counts. Where records are deltas the uid
    is that of the last one that changed the key.
    """
    held, base = view.known_to_be_committed(), base_records(view)
    if history.deltas:
        return {key: record.uid for key, record in _delta_records(history, held, base).items()}
    return winners_of(history, held, base)


def _state_of(history: ClusterHistory, view: ReplicaView, keys: Iterable[str]) -> dict[str, int]:
    """What `own_state` says of these keys, among others; folds no more of the log than it takes."""
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
    """Key -> uid of the value that a log gives it although the key is deleted.

    Deleted is a key whose winner is a tombstone, if that beats the value and the log end offset is
    above it. What the topic's retention deleted promises nothing.
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
