"""What producers meant: whether a key ends on a value that a newer one was written for.

KIP-280's motivation: with offsets for versions, a write that is late or sent again wins over a
newer one, and every invariant holds, since that is the order. This is what a strategy is for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sim.check.folding import base_records, winners_of
from sim.check.history import ClusterHistory
from sim.check.promise import DEFAULT_HEADER, meant_version


class Unmeant(NamedTuple):
    """A key that ends on what its producers did not mean.

    Attributes:
        key: The key.
        held: The uid of the record that it ends on; None = it is deleted, its tombstone gone.
        meant: The uid of a committed record that was meant to be newer.
    """

    key: str
    held: int | None
    meant: int


def unmeant(history: ClusterHistory) -> Iterator[Unmeant]:
    """Keys that end, in the leader's log, on what their producers did not mean; none for deltas.

    A record is *behind* another of its key if its producer gave it an older timestamp and, where
    both have one, a lower version. So it is for producers whose clocks agree, and two writes with
    one version are not told apart. A key counts if the record it ends on is behind a committed one;
    a key that ends deleted, with its tombstone gone, if no committed tombstone is ahead of all
    values, unless the topic's retention deleted it.
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
    """Of these records one that was meant to be newer, and none of the others newer than that."""
    newest = uid
    for other in uids:
        if _is_behind(history, header, newest, other):
            newest = other
    return None if newest == uid else newest


def _never_deleted(history: ClusterHistory, header: str, uids: Sequence[int]) -> int | None:
    """A value that no tombstone was meant to follow; None = there is a tombstone ahead of all."""
    tombstones = [uid for uid in reversed(uids) if history.written[uid].tombstone]
    if any(_ahead_of(history, header, uid, uids) is None for uid in tombstones):
        return None  # the last delete is most likely ahead of all
    values = (uid for uid in reversed(uids) if not history.written[uid].tombstone)
    return next((uid for uid in values if _ahead_of(history, header, uid, uids) is None), uids[0])


def _is_behind(history: ClusterHistory, header: str, uid: int, other: int) -> bool:
    """Whether `other` was meant to be newer than `uid`; the same value sent twice never is."""
    record, newer = history.written[uid].record, history.written[other].record
    if newer.timestamp_ms <= record.timestamp_ms:
        return False
    version, higher = meant_version(record, header), meant_version(newer, header)
    return version is None or higher is None or higher > version
