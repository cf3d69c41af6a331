"""Signatures: one bug has one of them in a story and in a timed run, two bugs have two."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from sim.check import Violation
from sim.check.checker import known_invariants
from sim.check.coverage import SITUATIONS
from sim.explain.mechanisms import MECHANISMS
from sim.explain.signature import Signature, signature_of
from sim.rules import Rules
from sim.scenario.file.load import load_scenario
from sim.scenario.model.promises import promise_of
from sim.story import load_story, run_story
from sim.timed_run import run_scenario
from sim.trace import Event

SCENARIOS = Path(__file__).parents[2] / "scenarios"
Judged = tuple[list[tuple[int, Event]], tuple[Violation, ...], Rules]


@cache
def judged(name: str) -> Judged:
    """The events, the violations and the promised rules of a scenario file."""
    path = SCENARIOS / f"{name}.yaml"
    if "timed_" not in name:
        run = run_story(load_story(path))
        return list(run.events), run.violations, run.story.rules
    events: list[tuple[int, Event]] = []
    scenario = load_scenario(path, known_invariants=known_invariants(), known_reached=SITUATIONS)
    timed = run_scenario(scenario, trace=events)
    return events, timed.violations, promise_of(scenario)[0]


def signature(name: str, invariant: str) -> Signature:
    """That of the first violation of a law in a scenario file."""
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
            "cut by what its leader knew of epochs",
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
        ("kip630/kip630_01_tombstone_removed_too_early", "horizon passed; holder down"),
        ("seen_on_kafka/kafka_01_lost_tombstone", "horizon passed; holder down"),
        ("kip534/timed_outage_longer_than_retention", "horizon passed; holder down"),
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


def test_every_mechanism_says_what_it_means_and_who_says_so() -> None:
    assert all(each.means and each.source for each in MECHANISMS.values())
