"""The questions that explain violations, by the name that an invariant gives as `explained_by`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sim.check.registry import INVARIANTS, discover
from sim.explain.case import Case, Facts
from sim.explain.lost import Why
from sim.explain.questions import bounds, clients, keys, logs

Question = Callable[[Case, Why], Facts]
"""Finds the facts that decided a violation, the first of all first; [] = it finds none."""

QUESTIONS: Final[dict[str, Question]] = {
    "acknowledged": logs.acknowledged,
    "altered": clients.altered,
    "believed_position": logs.believed_position,
    "committed_without": logs.committed_without,
    "compaction_bound": bounds.compaction_bound,
    "coordinator": keys.coordinator,
    "does_not_end": clients.does_not_end,
    "ends_on": keys.ends_on,
    "epoch_answers": logs.epoch_answers,
    "epoch_led_twice": logs.epoch_led_twice,
    "epochs_fell": logs.epochs_fell,
    "fetching": bounds.fetching,
    "high_watermark_fell": logs.high_watermark_fell,
    "horizon_changed": keys.horizon_changed,
    "installed": bounds.installed,
    "kept_both": keys.kept_both,
    "lag": bounds.lag,
    "leader_lacks": logs.leader_lacks,
    "log_end_moved": logs.log_end_moved,
    "lost_record": logs.lost_record,
    "misplaced": logs.misplaced,
    "moved_reader": clients.moved_reader,
    "passed": clients.passed,
    "passed_a_delete": clients.passed_a_delete,
    "prefix": bounds.prefix,
    "reader_keeps": keys.reader_keeps,
    "removed_delete": keys.removed_delete,
    "sent_twice": bounds.sent_twice,
    "sequences": clients.sequences,
    "snapshot_bound": bounds.snapshot_bound,
    "snapshot_content": bounds.snapshot_content,
    "state_differs": keys.state_differs,
    "stays_behind": logs.stays_behind,
    "still_there": keys.still_there,
    "transaction": keys.transaction,
    "truncated": logs.truncated,
    "two_records": logs.two_records,
    "understood": clients.understood,
    "watermark_stays": logs.watermark_stays,
}


def deciding(case: Case) -> Facts:
    """What decided a violation, the first of all first; never empty.

    Where no question knows, as of an invariant of a plugin: what took the record last.
    """
    discover()
    invariant = INVARIANTS.get(case.violation.invariant)
    asked = QUESTIONS.get(invariant.explained_by if invariant else "", bounds.fallback)
    why = Why(case)
    return list(dict.fromkeys(asked(case, why) or bounds.fallback(case, why)))
