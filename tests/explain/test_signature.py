"""Signatures: one bug has one of them in a story and in a timed run, two bugs have two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from sim.check import Violation
from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.mechanisms import MECHANISMS
from sim.diagnose.explain.past import Past
from sim.diagnose.explain.questions import FOUND_AT, Signature, signature_of
from sim.files.formats import STORY_FORMAT
from sim.files.yaml_text import parse_yaml
from sim.protocol.events import (
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
from sim.simulate.run import conclusive, run_of
from sim.study.suite.scenario_files import content_at, format_of
from tests.check.events import RULES, appended, batch, cleaned, cluster
from tests.explain.test_track_record import SCENARIOS, told
from tests.story.running import run_steps

NEVER_LOST = "committed-never-lost"
REUSE = "no-offset-reuse"


def in_file(name: str) -> Iterator[Signature]:
    """Of every violation of a scenario file, named by the first words of its name."""
    (path,) = SCENARIOS.rglob(f"{name}*")
    run = conclusive(run_of(content_at(path)))
    return (signature_of(Past(run.events, run.rules), one) for one in run.violations)


@pytest.mark.parametrize(
    ("invariant", "story", "timed"),
    [
        (REUSE, "kip280_15_", "timed_lost_tail.yaml"),
        (REUSE, "isr_03_leader", "isr/timed_unclean_election.yaml"),
        ("leader-completeness", "kip280_16_", "timed_lost_tail.yaml"),
        ("no-resurrection", "kip630_01_tomb", "timed_outage_longer_than_retention"),
        ("tombstone-safety", "kafka_01_lost", "timed_isolated_replica_horizon"),
        ("txn-isolation", "txn_01_abort", "timed_abort_marker_lost"),
    ],
)
def test_a_signature_can_be_a_key_and_equals_that_of_the_same_bug(
    invariant: str, story: str, timed: str
) -> None:
    known = set(in_file(story))

    assert next(one for one in in_file(timed) if one.invariant == invariant) in known


def test_the_marker_that_is_missing_tells_apart_what_reads_the_same() -> None:
    abort, commit = (next(in_file(name)) for name in ("txn_01_abort", "txn_02_commit"))

    assert str(abort) == str(commit)
    assert (abort.marker, commit.marker) == ("ABORT", "COMMIT")
    assert abort != commit


# Every mechanism has an example, and a near one: the same invariant, broken otherwise.


def made(invariant: str, replica: str, offset: int, *events: Event) -> Signature:
    """The signature of a violation of an invariant that the last of these events shows."""
    found = Violation(invariant, len(events), replica, offset, "K", f"{replica} broke it")
    return signature_of(Past(list(enumerate(events, 1)), RULES), found)


def written(*replicas: str) -> list[Event]:
    """r1 leads and wrote K at 0 and at 1; these replicas have it all, and it is committed."""
    batches = (batch(0, "K"), batch(1, "K"))
    copies: list[Event] = [Copied(name, "r1", 0, batches, 2) for name in replicas]
    start = cluster("r1", "r2", "r3")
    return [*start, *appended("r1", *batches), *copies, HighWatermarkMoved("r1", 2, leading=True)]


def removed(offset: int, reason: str, *, winner: int | None = None) -> Cleaned:
    """A pass of r1 below 2 that takes a record of K."""
    return cleaned("r1", 2, Removal(offset, 100 + offset, "K", reason, winner), hw=2)


BEATEN = removed(0, "superseded", winner=1)
PART = Copied("r2", "r1", 0, (batch(0, "K"),), 1)
MADE = {
    of.BELIEVED: ("r2", 1, [*written(), PART, PositionRecorded("r1", "r2", 2)]),
    of.AS_TOMBSTONE: ("r1", 1, [*written(), removed(1, "tombstone")]),
    of.UNMAPPED: ("r1", 1, [*written(), removed(1, "unmapped")]),
    of.SUPERSEDED: ("r1", 0, [*written(), BEATEN]),
    of.BEATEN_LOST: ("r1", 0, [*written(), BEATEN, ReplicaCrashed("r1", 1, 1)]),
    of.REPLACED: ("r2", 1, [*written("r2"), SnapshotInstalled("r2", 2, 1, (), 2, 2, False)]),
    of.DISK_LOST: ("r2", 1, [*written("r2"), ReplicaWiped("r2", "a new disk")]),
}
"""What no story shows."""


def of_made(mechanism: str) -> Signature:
    replica, offset, events = MADE[mechanism]
    believed = mechanism == of.BELIEVED
    return made("follower-position-sound" if believed else NEVER_LOST, replica, offset, *events)


STORIES = parse_yaml(Path(__file__).with_name("signatures.yaml").read_text("utf-8"), "").data


@cache
def of_steps(number: int) -> list[Signature]:
    """Of every violation of one of the stories of a few steps."""
    told = STORIES[number]
    run = run_steps(told["steps"], replicas=told["replicas"], isr=told.get("isr"))
    return [signature_of(Past(run.events, run.rules), each) for each in run.violations]


def test_every_mechanism_has_an_example_and_a_near_one() -> None:
    timed = (path for path in SCENARIOS.rglob("timed_*.yaml") if format_of(path) != STORY_FORMAT)
    shown_in_time = (
        "two_version_headers_first_counts",
        "one_broker_still_goes_by_offset",
        "fetch_begins_in_mid_batch",
    )
    found = [
        each for path in timed if path.stem.endswith(shown_in_time) for each in in_file(path.stem)
    ]
    found += of_steps(-1)
    found += [why for _, why, _ in told()]
    for mechanism in MADE:
        found.append(of_made(mechanism))
        assert mechanism in found[-1].mechanism
    by_invariant: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
    for each in found:
        by_invariant[each.invariant].add(each.mechanism)

    shown = {fact for each in found for fact in each.mechanism}
    generic = {fact for fact in shown if fact.startswith(FOUND_AT) or fact.endswith(" changed")}
    assert shown - generic == set(MECHANISMS) - {of.CLOCK_AHEAD}  # which has a test of its own
    for name in shown - generic - {of.NO_RECORD_LEFT}:  # the one way in which its invariant breaks
        near = [ways for ways in by_invariant.values() if any(name in way for way in ways)]
        assert any(name not in way for ways in near for way in ways), name


@pytest.mark.parametrize("number", range(len(STORIES)), ids=[each["name"] for each in STORIES])
def test_what_stories_of_a_few_steps_come_from(number: int) -> None:
    assert STORIES[number]["shows"] in map(str, of_steps(number))


@pytest.mark.parametrize("before", ["", "consume c r2\n"])
def test_a_reader_that_was_there_before_the_removal_did_not_miss_it_by_changing(
    before: str,
) -> None:
    run = run_steps(
        f"elect r1 1\nappend r1 v K\nsync r2 r1\nconsume c r1\nelect_from_isr r2 2\n{before}"
        "append r2 null K tombstone=true\nappend r2 z Z\nsync r1 r2\ncompact r2\ncompact r2\n"
        "consume c r2",
        replicas=["r1", "r2"],
        rules={"tombstone_removal": "immediate"},
    )
    (found,) = [signature_of(Past(run.events, run.rules), each) for each in run.violations]

    assert (of.OTHER_REPLICA in found.mechanism) is (not before)
