"""Signatures: one bug has one of them in a story and in a timed run, two bugs have two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from sim.check import Violation
from sim.check.checker import known_invariants
from sim.check.coverage import SITUATIONS
from sim.explain import mechanisms as of
from sim.explain.mechanisms import MECHANISMS
from sim.explain.signature import FOUND_AT, Signature, signature_of
from sim.rules import Rules
from sim.scenario.file.load import load_scenario
from sim.scenario.model.promises import promise_of
from sim.story import load_story, run_story
from sim.timed_run import run_scenario
from sim.trace import (
    Acknowledged,
    Cleaned,
    Copied,
    Event,
    HighWatermarkMoved,
    PositionRecorded,
    Removal,
    ReplicaCrashed,
    ReplicaWiped,
    SnapshotInstalled,
)
from tests.check.events import RULES, appended, batch, cleaned, cluster
from tests.story.running import run_steps

SCENARIOS = Path(__file__).parents[2] / "scenarios"
NEVER_LOST = "committed-never-lost"
TIMED = [
    SCENARIOS / "kip280" / "timed_two_version_headers_first_counts.yaml",
    SCENARIOS / "truncation" / "timed_fetch_begins_in_mid_batch.yaml",
    SCENARIOS / "upgrade" / "timed_04_one_broker_still_goes_by_offset.yaml",
]
"""What stories cannot show."""
Judged = tuple[list[tuple[int, Event]], tuple[Violation, ...], Rules]


@cache
def judged(name: str) -> Judged:
    """The events, the violations and the promised rules of a scenario file."""
    path = Path(name) if name.endswith(".yaml") else SCENARIOS / f"{name}.yaml"
    if "timed_" not in name:
        run = run_story(load_story(path))
        return list(run.events), run.violations, run.story.rules
    events: list[tuple[int, Event]] = []
    scenario = load_scenario(path, known_invariants=known_invariants(), known_reached=SITUATIONS)
    timed = run_scenario(scenario, trace=events)
    return events, timed.violations, promise_of(scenario)[0]


def stories() -> Iterator[Path]:
    """The stories of the track record that violate something."""
    for path in sorted(SCENARIOS.glob("*/*.yaml")):
        text = path.read_text()
        if (
            "violated:" in text
            and "violated: []" not in text
            and text.startswith("format: replog-story")
        ):
            yield path


def signature(name: str, invariant: str) -> Signature:
    """That of the first violation of an invariant in a scenario file."""
    events, violations, rules = judged(name)
    found = next(each for each in violations if each.invariant == invariant)
    return signature_of(events, found, rules)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kip280/kip280_15_believed_position_hw_truncation_no_fix", "log end fell by cleaning"),
        ("kip280/kip280_18_expired_last_tombstone", "log end fell by cleaning"),
        ("kip280/timed_lost_tail", "log end fell by cleaning"),
        ("seen_on_kafka/kafka_03_lost_log_end", "log end fell by cleaning"),
        ("findings/finding_01_leo_retention_truncated_tail", "log end fell by cleaning and a cut"),
        ("findings/finding_03_empty_batch_lost_tail", "log end fell by cleaning and a crash"),
        ("kip280/kip280_07_log_end_from_last_record", "log end taken from the last record"),
        ("kip280/kip280_01_followers_assign_offsets", "follower numbered its copies itself"),
        ("durability/durability_01_power_failure_nothing_flushed", "crash lost the unflushed tail"),
        (
            "truncation/kip101_01_hw_truncation_loses_a_committed_record",
            "cut to its high watermark",
        ),
        (
            "findings/finding_04_requested_position_is_not_enough",
            "cut by an epoch that cleaning took",
        ),
        ("isr/isr_03_leader_alone_in_sync", "never copied; elected uncleanly"),
        ("isr/timed_unclean_election", "never copied; elected uncleanly"),
        ("isr/isr_01_join_by_high_watermark_only", "never copied; let in without it"),
    ],
)
def test_a_reused_offset_is_told_by_how_the_record_was_lost(name: str, text: str) -> None:
    found = signature(name, "no-offset-reuse")
    assert str(found) == f"no-offset-reuse: {text}"
    assert found.cause == f"log divergence: {text}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("kip630/kip630_01_tombstone_removed_too_early", "horizon passed; holder behind"),
        ("seen_on_kafka/kafka_01_lost_tombstone", "horizon passed; holder behind"),
        ("kip534/timed_outage_longer_than_retention", "horizon passed; holder behind"),
        ("kip630/timed_isolated_replica_horizon", "horizon passed; holder behind"),
        ("kip630/kip630_09_new_replica_copied_in_two_parts", "horizon passed; holder new"),
        (
            "kip630/kip630_14_report_of_a_lost_disk",
            "removed below the coordinated bound; holder new",
        ),
    ],
)
def test_the_removal_of_a_tombstone_and_the_key_that_is_back_have_one_mechanism(
    name: str, text: str
) -> None:
    assert str(signature(name, "tombstone-safety")) == f"tombstone-safety: {text}"
    assert str(signature(name, "no-resurrection")) == f"no-resurrection: {text}"


def test_a_signature_can_be_a_key_and_equals_that_of_the_same_bug() -> None:
    story = signature("kip280/kip280_16_believed_position_epoch_truncation_no_fix", LEADER)
    timed = signature("kip280/timed_lost_tail", LEADER)
    assert {story: "story"}[timed] == "story"


LEADER = "leader-completeness"


# Every mechanism has an example, and a near one: the same invariant, broken otherwise.


def made(
    invariant: str, replica: str, offset: int, *events: Event, at: Sequence[int] = ()
) -> Signature:
    """The signature of a violation of an invariant that the last of these events shows."""
    times = at or range(1, len(events) + 1)
    found = Violation(
        invariant, times[-1], replica, offset, "K", f"{replica} broke it", "log divergence"
    )
    return signature_of(list(zip(times, events, strict=True)), found, RULES)


def written(*replicas: str) -> list[Event]:
    """r1 leads and wrote K at 0 and at 1; these replicas have it all, and it is committed."""
    batches = (batch(0, "K"), batch(1, "K"))
    copies: list[Event] = [Copied(name, "r1", 0, batches, 2) for name in replicas]
    start = cluster("r1", "r2", "r3")
    return [*start, *appended("r1", *batches), *copies, HighWatermarkMoved("r1", 2, leading=True)]


def removed(replica: str, offset: int, reason: str, *, winner: int | None = None) -> Cleaned:
    """A pass below 2 that takes a record of K."""
    return cleaned(replica, 2, Removal(offset, 100 + offset, "K", reason, winner), hw=2)


LOST = {
    of.BELIEVED: (
        "follower-position-sound",
        "r2",
        1,
        [*written(), Copied("r2", "r1", 0, (batch(0, "K"),), 1), PositionRecorded("r1", "r2", 2)],
    ),
    of.AS_TOMBSTONE: (NEVER_LOST, "r1", 1, [*written(), removed("r1", 1, "tombstone")]),
    of.UNMAPPED: (NEVER_LOST, "r1", 1, [*written(), removed("r1", 1, "unmapped")]),
    of.SUPERSEDED: (NEVER_LOST, "r1", 0, [*written(), removed("r1", 0, "superseded", winner=1)]),
    of.BEATEN_LOST: (
        NEVER_LOST,
        "r1",
        0,
        [*written(), removed("r1", 0, "superseded", winner=1), ReplicaCrashed("r1", 1, 1)],
    ),
    of.REPLACED: (
        NEVER_LOST,
        "r2",
        1,
        [*written("r2"), SnapshotInstalled("r2", 2, 1, (), 2, 2, leading=False)],
    ),
    of.DISK_LOST: (NEVER_LOST, "r2", 1, [*written("r2"), ReplicaWiped("r2", "a new disk")]),
}


@pytest.mark.parametrize("mechanism", LOST)
def test_what_no_story_shows_is_found_in_events_made_for_it(mechanism: str) -> None:
    invariant, replica, offset, events = LOST[mechanism]

    assert mechanism in made(invariant, replica, offset, *events).mechanism


def test_a_horizon_has_passed_by_a_clock_that_is_ahead_only_while_it_has_not_by_itself() -> None:
    value, delete = batch(0, "K"), batch(1, "K", None)
    told = Acknowledged("r1", -1, -1, 0, 0, 1, "1")
    stamp = cleaned("r1", 2, hw=2)._replace(horizons=((1, 1_100),), now_ms=1_000)
    events = [
        *cluster("r1", "r2", "r3"),
        *appended("r1", value, delete),
        told,
        Copied("r3", "r1", 0, (value,), 1),
        HighWatermarkMoved("r1", 2, leading=True),
        stamp,
        Copied("r2", "r1", 0, (value, delete._replace(delete_horizon_ms=1_100)), 2),
    ]
    gone = cleaned("r2", 2, Removal(1, 101, "K", "tombstone", None), hw=2)
    for later, mechanism in ((20, of.CLOCK_AHEAD), (200, of.HORIZON_PASSED)):
        now = 1_000 + later
        last = gone._replace(now_ms=now + 5_000)  # its clock is 5 s ahead
        times = [*range(1, len(events) - 1), 1_000, 1_010, now]
        found = made("tombstone-safety", "r2", 1, *events, last, at=times)
        assert found.mechanism == (mechanism, of.HOLDER_BEHIND)


CUT_HOLDER = """\
format: replog-story/1
id: a_holder_that_was_cut
replicas: [r1, r2]
steps:
  - elect r1 1
  - append r1 v1 k1
  - sync r2 r1
  - append r1 v2 k1
  - elect_from_isr r2 2
  - isr r2
  - append r2 v3 k1 tombstone=true
  - compact r2
  - fetch r1 r2
  - advance 100
  - compact r2
expect:
  violated: [tombstone-safety]
"""


def test_every_mechanism_has_an_example_and_a_near_one(tmp_path: Path) -> None:
    (tmp_path / "cut.yaml").write_text(CUT_HOLDER)
    by_invariant: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for path in [tmp_path / "cut.yaml", *TIMED, *stories()]:
        events, violations, rules = judged(str(path))
        firsts = {each.invariant: each for each in reversed(violations)}
        for each in firsts.values():
            by_invariant[each.invariant].add(signature_of(events, each, rules).mechanism)
    for invariant, replica, offset, made_events in LOST.values():
        by_invariant[invariant].add(made(invariant, replica, offset, *made_events).mechanism)

    shown = {fact for found in by_invariant.values() for mechanism in found for fact in mechanism}
    generic = {fact for fact in shown if fact.startswith(FOUND_AT) or fact.endswith(" changed")}
    assert shown - generic == set(MECHANISMS) - {of.CLOCK_AHEAD}  # which has a test of its own
    for name in shown - generic:
        near = [
            other
            for found in by_invariant.values()
            if any(name in each for each in found)
            for other in found
            if name not in other
        ]
        assert near or name == of.NO_RECORD_LEFT, name  # the one way in which that invariant breaks


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "durability/files_01_file_of_epochs_is_behind",
            "cut by a file of epochs not that of the log",
        ),
        ("epochs/epochcache_01_a_cleaned_epoch_is_unknown", "cut by an epoch that cleaning took"),
        ("raft/raft_09_stale_leader_is_followed", "cut by what its leader knew of epochs"),
    ],
)  # fmt: skip
def test_a_cut_by_epochs_says_who_took_the_epoch(name: str, text: str) -> None:
    assert str(signature(name, "no-truncation-below-hw")) == f"no-truncation-below-hw: {text}"


def test_one_bug_has_one_cause_whichever_invariant_tells_of_it() -> None:
    events, violations, rules = judged("raft/raft_01_commit_old_epoch_by_counting")

    found = {signature_of(events, one, rules).mechanism for one in violations}

    assert found == {("record of an older epoch committed by counting",)}


def test_a_tail_that_cleaning_hides_is_not_one_that_nobody_cuts() -> None:
    run = run_steps(
        "elect r1 1\nappend r1 v1 k1\nelect_from_isr r2 2\nisr r2\nappend r2 v2 k1\n"
        "append r2 v3 k1\ncompact r2\nsync r3 r2\nexpand_isr r3\nelect_from_isr r3 3\n"
        "sync r1 r3\nexpand_isr r1",
        replicas=["r1", "r2", "r3"],
    )

    found = signature_of(run.events, run.violations[0], run.story.rules)

    assert str(found) == "committed-replicated: uncommitted tail that its leader cannot tell"


WAITS = "txn-marker-safety: horizon passed; holder behind"


@pytest.mark.parametrize(
    ("steps", "isr"),
    [
        (  # a delete is data, too
            (
                "elect r1 1\nappend r1 v1 k1 pid=1 tombstone=true\nfetch r2 r1\n"
                "append r1 pid=1 marker=abort\ncompact r1\ncompact r1\nadvance 100\ncompact r1"
            ),
            ["r1"],
        ),
        (  # the marker of a deposed leader ended nothing
            (
                "elect r1 1\nappend r1 v1 k1 pid=1\nsync r2 r1\nappend r1 pid=1 marker=abort\n"
                "elect_from_isr r2 2\nisr r2\nappend r2 v2 k1\nappend r2 pid=1 marker=abort\n"
                "compact r2\ncompact r2\nadvance 100\ncompact r2"
            ),
            None,
        ),
    ],
)
def test_a_marker_is_needed_by_who_holds_data_that_it_ends(
    steps: str, isr: list[str] | None
) -> None:
    run = run_steps(steps, replicas=["r1", "r2"], isr=isr)
    violation = next(each for each in run.violations if each.invariant == "txn-marker-safety")

    assert str(signature_of(run.events, violation, run.story.rules)) == WAITS
