"""Which offsets of long logs to show: those that a violation is about, then what is near."""

from __future__ import annotations

from sim.check import Violation
from sim.draw.frames import Frame
from sim.draw.words import Words
from sim.trace.sentences import About

_NEIGHBOURS = 40
"""How far to the left and right of the subject columns are looked for, at most."""


def subject_of(frame: Frame, words: Words, violation: Violation | None) -> int | None:
    """The offset that a picture is about: that of the violation, else where its key was last.

    Else the last one of its replica, or of any log; None = there is none.
    """
    if violation is None:
        return _last(frame, None)
    if violation.offset is not None:
        return violation.offset
    key, replica = violation.key, violation.replica
    first = [lane for lane in frame.lanes if lane.name == replica]
    for lane in (*first, *frame.lanes) if key is not None else ():
        found = [at for at, one in enumerate(lane.spots) if one.uid and words.key(one.uid) == key]
        if found:
            return found[-1]
    return _last(frame, replica)


def has_a_place(violation: Violation) -> bool:
    """Whether a violation is about an offset or a key, which can be pointed at."""
    return violation.offset is not None or violation.key is not None


def _last(frame: Frame, replica: str | None) -> int | None:
    """The last offset of a log, or of the longest."""
    lanes = [lane for lane in frame.lanes if lane.name == replica] or frame.lanes
    end = max([lane.log_end_offset for lane in lanes], default=0)
    return end - 1 if end else None


def end_of(frame: Frame, subject: int | None) -> int:
    """Where offsets end that there is something to say about (exclusive)."""
    ends = [len(lane.spots) for lane in frame.lanes]
    return max([*ends, len(frame.committed), 0 if subject is None else subject + 1])


def weighted(
    frame: Frame, words: Words, violation: Violation | None, subject: int | None
) -> list[int]:
    """Offsets, those that matter most first; some may come twice.

    The subject, what beat it, what is next to it, the last ones of its key, then its neighbours.
    """
    end = end_of(frame, subject)
    if subject is None:
        return list(range(end - 1, max(end - _NEIGHBOURS, 0) - 1, -1))
    rivals = _rivals(frame, subject)
    there = range(max(0, subject - _NEIGHBOURS), min(end, subject + _NEIGHBOURS))
    near = sorted(there, key=lambda offset: (abs(offset - subject), offset))
    next_to_it = [offset for offset in near if abs(offset - subject) <= 1]
    of_its_key = _of_its_key(frame, words, violation, subject)
    return [subject, *rivals[:2], *next_to_it, *of_its_key[-2:], *near]


def _rivals(frame: Frame, subject: int) -> list[int]:
    """Where the records are that superseded what was at the subject."""
    reasons = [lane.at(subject).reason for lane in frame.lanes]
    found = [reason.rpartition("superseded by ") for reason in reasons]
    return [int(last) for _, there, last in found if there]


def about_subject(
    frame: Frame, words: Words, violation: Violation | None, subject: int | None
) -> About | None:
    """Which records sentences are to name: those of the subject and its key; None = all."""
    if violation is None or subject is None:
        return None
    offsets = {subject, *_rivals(frame, subject), *_of_its_key(frame, words, violation, subject)}

    def named(offset: int, key: str | None) -> bool:
        return offset in offsets or (key is not None and key == violation.key)

    return named


def _of_its_key(frame: Frame, words: Words, violation: Violation | None, subject: int) -> list[int]:
    """Where records of the subject's key are, in order."""
    uids = [lane.at(subject).uid for lane in frame.lanes]
    uids += frame.committed[subject : subject + 1]
    keys = {words.key(uid) for uid in uids} | {violation.key if violation is not None else None}
    keys.discard(None)
    return sorted(
        {
            offset
            for lane in frame.lanes
            for offset, spot in enumerate(lane.spots)
            if spot.uid and words.key(spot.uid) in keys
        }
    )
