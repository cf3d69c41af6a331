"""For each invariant, what to look for: the facts that decided a violation of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sim.check.registry import INVARIANTS, discover
from sim.explain.case import Case
from sim.explain.laws import keys, logs, others
from sim.explain.why import Facts, Why

Finder = Callable[[Case, Why], Facts]
"""Finds the facts that decided a violation, the first of all first; [] = it finds none."""

FINDERS: Final[dict[str, Finder]] = {
    "acknowledged": logs.acknowledged,
    "altered": others.altered,
    "believed_position": logs.believed_position,
    "committed_without": logs.committed_without,
    "compaction_bound": others.compaction_bound,
    "coordinator": keys.coordinator,
    "ends_on": keys.ends_on,
    "epoch_answers": logs.epoch_answers,
    "epoch_led_twice": logs.epoch_led_twice,
    "epochs_fell": logs.epochs_fell,
    "fetching": others.fetching,
    "high_watermark_fell": logs.high_watermark_fell,
    "horizon_changed": keys.horizon_changed,
    "installed": others.installed,
    "kept_loser": keys.kept_loser,
    "lag": others.lag,
    "leader_lacks": logs.leader_lacks,
    "log_end_moved": logs.log_end_moved,
    "lost_record": logs.lost_record,
    "misplaced": logs.misplaced,
    "moved_reader": others.moved_reader,
    "passed": others.passed,
    "prefix": others.prefix,
    "reader_keeps": keys.reader_keeps,
    "removed_delete": keys.removed_delete,
    "sent_twice": others.sent_twice,
    "sequences": others.sequences,
    "snapshot_bound": others.snapshot_bound,
    "snapshot_content": others.snapshot_content,
    "state_differs": keys.state_differs,
    "stays_behind": logs.stays_behind,
    "still_there": keys.still_there,
    "transaction": keys.transaction,
    "truncated": logs.truncated,
    "two_records": logs.two_records,
    "understood": others.understood,
    "watermark_stays": logs.watermark_stays,
}
"""By the question that an invariant names as `explained_by`."""


def deciding(case: Case) -> Facts:
    """What decided a violation, the first of all first; never empty."""
    why = Why(case)
    discover()
    invariant = INVARIANTS.get(case.violation.invariant)
    finder = FINDERS.get(invariant.explained_by if invariant else "", others.fallback)
    facts = finder(case, why) or others.fallback(case, why)
    return list(dict.fromkeys(facts))
