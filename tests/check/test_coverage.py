"""Claims that something occurred: true when it did, and the random cases reach them all."""

from collections.abc import Callable, Iterable

import pytest

from sim.check import Checker
from sim.check.coverage import SITUATIONS, Coverage
from sim.log import Control, data_batch
from sim.rules import Rules, rules_from
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.timed_run import Run, run_scenario
from sim.trace import (
    Appended,
    AppendRefused,
    Cleaned,
    CleaningFailed,
    ConfigChanged,
    Converted,
    Copied,
    Event,
    FaultInjected,
    IsrChanged,
    LeaderElected,
    Removal,
    ReplicaAdded,
    ReplicaWiped,
    SnapshotFetchDropped,
    SnapshotInstalled,
    Truncated,
)
from tests.check.events import record

MOST_CASES = 200
HAZARD = rules_from({"preset": "kip-280", "fix": "none", "delete_retention_ms": 500})
FIXED = rules_from({"preset": "kip-280", "fix": "empty_batch", "delete_retention_ms": 500})
KRAFT = rules_from({"preset": "kraft"})


def reached_by(events: Iterable[Event]) -> set[str]:
    checker = Checker(Rules.of(commit="isr"), [])
    reached = Coverage(checker.history, checker.contract)
    checker.listen(reached.handlers)
    for number, event in enumerate(events, start=1):
        checker.on(number, event)
    return set(reached.names)


def two_records_at_the_end() -> list[Event]:
    """r1 leads; one batch of the offsets 0 and 1 is all there is."""
    batch = data_batch((record(0, "k"), record(1, "k")), epoch=1)
    leads = LeaderElected("r1", 1, 0, ("r1",), ("r1",))
    return [ReplicaAdded("r1"), leads, Appended("r1", batch)]


def cleaned(
    *removals: Removal, emptied: tuple[int, ...] = (), dropped: tuple[int, ...] = ()
) -> Cleaned:
    return Cleaned("r1", 0, 2, removals, emptied, dropped, (), None, 2, 2, (0, 0))


def superseded(offset: int, by: int) -> Removal:
    return Removal(offset, 100 + offset, "k", "superseded", by)


def elected(name: str, epoch: int) -> LeaderElected:
    return LeaderElected(name, epoch, 2, ("r1", "r2"), ("r1", "r2"))


def names_until(
    wanted: Iterable[str],
    mix: str,
    rules: Rules,
    *,
    most: int = MOST_CASES,
    first: tuple[int, ...] = (),
) -> set[str]:
    """What random cases reach until all `wanted` is reached; the seeds `first` are tried first."""
    left, found = set(wanted), set[str]()
    for seed in (*first, *range(most)):
        case = generate(seed, Mix.model_validate(mix))
        found |= set(run_scenario(case.with_rules(rules)).reached)
        if left <= found:
            break
    return found


def test_a_batch_that_keeps_a_record_still_says_where_the_log_ends() -> None:
    names = reached_by([*two_records_at_the_end(), cleaned(superseded(1, by=0))])

    assert "earlier-record-won" in names
    assert "tail-removed" not in names


def test_a_tail_may_go_in_two_passes() -> None:
    passes = [cleaned(superseded(1, by=0)), cleaned(superseded(0, by=1))]

    assert "tail-removed" in reached_by([*two_records_at_the_end(), *passes])


def test_a_tail_that_is_kept_empty_is_not_removed() -> None:
    one_pass = cleaned(superseded(0, by=1), superseded(1, by=1), emptied=(1,))

    names = reached_by([*two_records_at_the_end(), one_pass])
    assert "tail-emptied" in names
    assert "tail-removed" not in names


def test_an_empty_tail_that_is_dropped_is_removed() -> None:
    passes = [
        cleaned(superseded(0, by=1), superseded(1, by=1), emptied=(1,)),
        cleaned(dropped=(1,)),
    ]

    assert "tail-removed" in reached_by([*two_records_at_the_end(), *passes])


def test_a_record_below_the_last_batch_is_no_tail() -> None:
    later = Appended("r1", data_batch((record(2, "z"),), epoch=1))
    gone = cleaned(superseded(0, by=1), superseded(1, by=1))

    assert "tail-removed" not in reached_by(
        [*two_records_at_the_end(), later, gone._replace(log_end_offset=3)]
    )


@pytest.mark.parametrize("rewritten", [False, True])
def test_leadership_moves_while_the_tail_is_gone_or_after_a_new_one(rewritten: bool) -> None:
    gone = cleaned(superseded(0, by=1), superseded(1, by=1))
    written = [Appended("r1", data_batch((record(2, "z"),), epoch=1))] if rewritten else []
    story = [*two_records_at_the_end(), ReplicaAdded("r2"), gone, *written, elected("r2", 2)]

    names = reached_by(story)
    assert "leader-migrated" in names
    assert ("migrated-after-tail-removed" in names) is not rewritten


def test_a_leader_that_is_elected_again_has_not_migrated() -> None:
    assert "leader-migrated" not in reached_by([*two_records_at_the_end(), elected("r1", 2)])


def test_a_tombstone_is_removed_while_nobody_lags_or_while_somebody_does() -> None:
    one_pass = cleaned(Removal(1, 101, "k", "tombstone", None))
    alone = reached_by([*two_records_at_the_end(), one_pass])
    lagging = reached_by([*two_records_at_the_end(), ReplicaAdded("r2"), one_pass])

    assert "tombstone-removed" in alone & lagging
    assert "tombstone-removed-while-follower-lagged" in lagging - alone


Holds = Callable[[Event], bool]
EVIDENCE: dict[str, Holds] = {
    "record-removed": lambda e: isinstance(e, Cleaned) and bool(e.removals),
    "tombstone-removed": lambda e: (
        isinstance(e, Cleaned) and any(r.reason == "tombstone" for r in e.removals)
    ),
    "marker-removed": lambda e: (
        isinstance(e, Cleaned) and any(r.reason == "marker" for r in e.removals)
    ),
    "aborted-data-removed": lambda e: (
        isinstance(e, Cleaned) and any(r.reason == "aborted" for r in e.removals)
    ),
    "earlier-record-won": lambda e: (
        isinstance(e, Cleaned)
        and any(r.winner_offset is not None and r.winner_offset < r.offset for r in e.removals)
    ),
    "transaction-aborted": lambda e: isinstance(e, Appended) and e.batch.control is Control.ABORT,
    "isr-expanded": lambda e: isinstance(e, IsrChanged) and e.joined is not None,
    "follower-truncated": lambda e: isinstance(e, Truncated),
    "replica-rebuilt": lambda e: isinstance(e, ReplicaWiped),
    "snapshot-installed": lambda e: isinstance(e, SnapshotInstalled),
    "snapshot-fetch-dropped": lambda e: isinstance(e, SnapshotFetchDropped),
    "fault-injected": lambda e: isinstance(e, FaultInjected),
    "settings-changed": lambda e: isinstance(e, ConfigChanged) and not e.initial,
}
"""Claims that one event shows."""


@pytest.mark.parametrize(("mix", "rules"), [("reference", HAZARD), ("kraft", KRAFT)])
def test_a_claim_is_made_exactly_when_an_event_shows_it(mix: str, rules: Rules) -> None:
    for seed in range(25):
        events: list[tuple[int, Event]] = []
        case = generate(seed, Mix.model_validate(mix))
        run: Run = run_scenario(case.with_rules(rules), trace=events)
        for name, holds in EVIDENCE.items():
            assert (name in run.reached) == any(holds(event) for _, event in events), (seed, name)


def test_a_refused_batch_is_noted() -> None:
    assert reached_by([*two_records_at_the_end(), AppendRefused("r1", "k", "null_value")]) == {
        "append-refused"
    }


def test_a_pass_that_cannot_go_on_is_noted() -> None:
    assert reached_by([*two_records_at_the_end(), CleaningFailed("r1", 0)]) == {"cleaning-failed"}


@pytest.mark.parametrize(
    ("reader", "lost", "reached"),
    [
        ("r1", (1,), {"delete-value-dropped"}),
        ("r1", (), set()),
        ("c1", (1,), {"delete-value-withheld"}),
        ("c1", (), set()),
    ],
)
def test_a_delete_loses_its_value_for_good_only_on_a_replica(
    reader: str, lost: tuple[int, ...], reached: set[str]
) -> None:
    events = [*two_records_at_the_end(), Converted("r1", reader, 80, lost)]

    assert reached_by(events) == reached


RARE = {
    "append-refused",
    "batch-oversized",
    "cleaning-failed",
    "delete-value-dropped",
    "delete-value-withheld",
    "follower-started-afresh",
    "live-key-expired",
    "old-segments-deleted",
    "outside-durability",
    "settings-changed",
    "snapshot-fetch-dropped",
    "snapshot-installed",
    "unclean-election",
}
"""What random scenarios do not bring: snapshots, retention, a batch limit, new settings, loss of
power, passes that cannot go on, and, in a quorum, unclean elections."""


RICH = (46, 147, 28)
"""Seeds of the reference mix that reach everything together; from 0 on it takes some 150."""


def test_the_reference_mix_reaches_all_that_endangers_a_compacted_log() -> None:
    wanted = SITUATIONS.keys() - RARE

    assert wanted - names_until(wanted, "reference", HAZARD, first=RICH) == set()


def test_without_a_fix_and_without_producer_ids_no_tail_is_kept_empty() -> None:
    for seed in range(20):
        case = generate(seed, Mix(not_idempotent=1.0, transactional=0.0))
        assert "tail-emptied" not in run_scenario(case.with_rules(HAZARD)).reached


def test_under_the_empty_batch_no_tail_is_ever_removed() -> None:
    never = {"tail-removed", "migrated-after-tail-removed"}
    found = names_until(never, "quiet", FIXED, most=50)

    assert "tail-emptied" in found
    assert found & never == set()


def test_the_kraft_mix_installs_snapshots_and_interrupts_their_transfer() -> None:
    wanted = {"snapshot-installed", "snapshot-fetch-dropped"}

    assert wanted - names_until(wanted, "kraft", KRAFT) == set()


def test_claims_come_in_the_order_of_the_table() -> None:
    run = run_scenario(generate(7, Mix()).with_rules(HAZARD))

    assert len(run.reached) > 3
    assert list(run.reached) == [name for name in SITUATIONS if name in run.reached]


def test_copied_batches_are_tails_too() -> None:
    batch = data_batch((record(0, "k"), record(1, "k")), epoch=1)
    gone = cleaned(superseded(0, by=1), superseded(1, by=1))._replace(replica="r2")
    story = [
        *two_records_at_the_end(),
        ReplicaAdded("r2"),
        Copied("r2", "r1", 0, (batch,), 2),
        gone,
    ]

    assert "tail-removed" in reached_by(story)
