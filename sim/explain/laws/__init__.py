"""For each invariant, what to look for: the facts that decided a violation of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sim.explain.case import Case
from sim.explain.laws import keys, logs, others
from sim.explain.why import Facts, Why

Finder = Callable[[Case, Why], Facts]
"""Finds the facts that decided a violation, the first of all first; [] = it finds none."""

FINDERS: Final[dict[str, Finder]] = {
    "acknowledged-committed": logs.acknowledged,
    "acknowledged-kept": logs.acknowledged,
    "clean-prefix": keys.kept_loser,
    "committed-never-lost": logs.lost_record,
    "committed-replicated": logs.committed_without,
    "compaction-bound": others.compaction_bound,
    "compaction-lag-bound": others.lag,
    "consistent-read": logs.two_records,
    "consumer-continues": others.moved_reader,
    "consumer-ends-current": keys.reader_keeps,
    "consumer-no-skip": others.passed,
    "consumer-reads-committed": keys.transaction,
    "consumer-takes-deletes": others.understood,
    "consumer-tombstone-visibility": others.passed,
    "coordinator-serves-loaded": keys.coordinator,
    "election-safety": logs.epoch_led_twice,
    "epoch-cache-consistency": logs.epoch_answers,
    "epoch-monotonic": logs.epochs_fell,
    "follower-position-sound": logs.believed_position,
    "high-watermark-advances": logs.watermark_stays,
    "hole-justified": logs.lost_record,
    "horizon-stability": keys.horizon_changed,
    "hw-monotonic": logs.high_watermark_fell,
    "hw-within-log": logs.high_watermark_fell,
    "key-ends-as-meant": keys.ends_on,
    "lag-metric": others.lag,
    "leader-append-only": logs.truncated,
    "leader-completeness": logs.leader_lacks,
    "leader-never-loads-snapshot": others.installed,
    "leo-convergence": logs.stays_behind,
    "leo-preservation": logs.log_end_moved,
    "log-matching": logs.two_records,
    "lso-progress": keys.transaction,
    "materialized-state-equivalence": keys.state_differs,
    "no-offset-reuse": logs.two_records,
    "no-resurrection": keys.state_differs,
    "no-transient-resurrection": keys.state_differs,
    "no-truncation-below-hw": logs.truncated,
    "offset-epoch-uniqueness": logs.two_records,
    "prefix-deletion-safety": others.prefix,
    "producer-sequences": others.sequences,
    "reader-reaches-end": others.passed,
    "record-immutable": others.altered,
    "record-offset-uniqueness": logs.misplaced,
    "replica-convergence": logs.two_records,
    "slot-agreement": logs.two_records,
    "snapshot-at-log-start": others.prefix,
    "snapshot-bound": others.snapshot_bound,
    "snapshot-consistency": others.snapshot_content,
    "snapshot-fetch-progress": others.fetching,
    "snapshot-install-atomic": others.installed,
    "snapshot-never-regresses": others.installed,
    "state-kept": others.prefix,
    "state-machine-safety": logs.two_records,
    "tombstone-eventually-removed": keys.still_there,
    "tombstone-safety": keys.removed_delete,
    "tombstone-until-log-end": keys.removed_delete,
    "traffic-accounting": others.sent_twice,
    "truncation-below-log-start": logs.truncated,
    "txn-isolation": keys.transaction,
    "txn-marker-safety": keys.removed_delete,
    "winner-retained": logs.lost_record,
}
"""By invariant; one that is not here, such as a plugin's, is explained by `others.fallback`."""


def deciding(case: Case) -> Facts:
    """What decided a violation, the first of all first; never empty."""
    why = Why(case)
    finder = FINDERS.get(case.violation.invariant, others.fallback)
    facts = finder(case, why) or others.fallback(case, why)
    return list(dict.fromkeys(facts))
