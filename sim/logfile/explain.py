"""Why is this tombstone, or this value, still here, or already gone? (`replog clean --explain`)."""

from __future__ import annotations

from dataclasses import dataclass

from sim.errors import BadInput
from sim.logfile.answer import REASONS
from sim.logfile.file import LogFile
from sim.logfile.trail import Life, Pass, Trail, follow, keys_of
from sim.logfile.waiting import waits_for

_KEYS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Explanation:
    """What became of one record.

    Attributes:
        offset: Its offset.
        kind: `tombstone` or `value`.
        fate: `here` or `gone`.
        sentence: All of it for people, with the numbers.
    """

    offset: int
    kind: str
    fate: str
    sentence: str


def explain_key(file: LogFile, key: str) -> list[Explanation]:
    """What became of each record of `key` when the steps are done, in offset order.

    Raises:
        BadInput: No record has that key; the message says which keys there are.
    """
    keys = keys_of(file)
    if key not in keys:
        names = ", ".join(keys[:_KEYS_SHOWN]) or "none"
        more = f" and {len(keys) - _KEYS_SHOWN} more" if len(keys) > _KEYS_SHOWN else ""
        raise BadInput(f"--explain {key}: no record has this key; there are: {names}{more}")
    trail = follow(file, key)
    return [_explained(trail, life) for _, life in sorted(trail.lives.items())]


def _explained(trail: Trail, life: Life) -> Explanation:
    kind = "tombstone" if life.is_tombstone else "value"
    start = f"offset {life.offset} is a {kind} of '{trail.key}'"
    if life.gone_in is None:
        sentence = f"{start}. Still here: {waits_for(trail, life)}"
    else:
        sentence = f"{start}. Gone: {_why_gone(trail, life, life.gone_in)}"
    return Explanation(
        life.offset, kind, "here" if life.gone_in is None else "gone", f"{sentence}."
    )


def _why_gone(trail: Trail, life: Life, gone_in: Pass) -> str:
    removal = life.removal
    assert removal is not None  # it went
    by = f"step {gone_in.number} removed it"
    if removal.reason == "superseded":
        return f"{by}: superseded by {removal.winner_offset}"
    if removal.reason == "unmapped":
        return f"{by}: {REASONS[removal.reason]}, and no record of its key was in the map"
    if removal.reason == "aborted":
        aborted = trail.abort_of(life)
        told = (
            ""
            if aborted is None
            else f" (producer {aborted.producer_id}, ABORT at {aborted.last_offset})"
        )
        return f"{by}: its transaction was aborted{told}"
    return f"{by}: {REASONS[removal.reason]}, {_expiry(trail, life, gone_in)}"


def _expiry(trail: Trail, life: Life, gone_in: Pass) -> str:
    """The numbers by which a tombstone could go."""
    now_ms = gone_in.plan.now_ms
    removal = trail.rules.rules.cleaner.tombstone_removal
    if removal == "last_modified":
        return (
            f"its segment's last modification {gone_in.last_modified_ms} is not above the pass's "
            f"horizon {gone_in.plan.legacy_horizon_ms}"
        )
    if removal == "cleaning_checkpoint":
        end, cleaned_ms = gone_in.plan.last_cleaning or (0, 0)
        return (
            f"the pass before, at {cleaned_ms} ms, ended above it, at {end}, and the pass at "
            f"{now_ms} ms came {now_ms - cleaned_ms} ms after it"
        )
    if life.horizon_ms is None:
        return f"at {now_ms} ms; tombstone_removal {removal} waits for nothing"
    since = "which it came with" if life.stamped_in is None else f"set in step {life.stamped_in}"
    return f"{life.horizon_ms}, {since}; the pass ran at {now_ms} ms"
