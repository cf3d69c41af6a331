"""What events tell of epoch caches is what replicas have."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from sim.check.invariants.epoch_cache_consistency import EpochCacheConsistency
from sim.log.epochs import EpochEntry
from sim.replication.recovery import OldFiles, crash_with_files, recover
from sim.rules import Rules
from sim.story import load_story, run_story
from sim.trace import (
    EpochCacheChanged,
    HighWatermarkMoved,
    SnapshotInstalled,
)
from tests.check.events import RULES, appended, batch, checked, cluster, copied, violations_of
from tests.walks.cluster import NAMES, Cluster


def watched(rules: Rules) -> tuple[Cluster, EpochCacheConsistency]:
    """A cluster with one record, and the invariant that has heard of it all."""
    made = Cluster(rules, ["epoch-cache-consistency"])
    watch = made.checker._invariants["epoch-cache-consistency"]
    assert isinstance(watch, EpochCacheConsistency)
    made.append("a", 1)
    return made, watch


def step(cluster_: Cluster, random: Random) -> None:
    """One random step; leaders come from anywhere, so logs diverge and are cut."""
    name = random.choice(NAMES)
    kind = random.randrange(8)
    if kind < 2:
        cluster_.append(random.choice("ab"), random.randrange(3))
    elif kind < 5:
        cluster_.fetch(name, most=random.choice([None, 1]))
    elif kind == 5:
        cluster_.elect(name)
    elif kind == 6:
        cluster_.clean(name)
    else:
        cluster_.crash(name)
        cluster_.restart(name)


def crash_with_old_files(cluster_: Cluster, random: Random) -> None:
    """A follower goes down, loses a tail or the newest lines of its file of epochs, and is back."""
    replica = cluster_.replicas[random.choice(NAMES)]
    if replica.leadership is not None:
        return
    known = random.choice([None, None, random.randrange(cluster_.epoch + 1)])
    old, lost, rules = OldFiles(epochs=known), random.randrange(2), cluster_.rules
    cluster_._emit(crash_with_files(replica, rules=rules, lost_batches=lost, old=old))
    cluster_._emit(recover(replica, rules=rules))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "rules",
    [
        Rules.of(commit="isr", fix="empty_batch"),
        Rules.of(commit="isr"),
        Rules.of(commit="isr", epoch_cache="copied"),
        Rules.of(commit="isr", epoch_cache="copied", fix="gap_fetch"),
        Rules.of(commit="isr", epoch_recovery="as_stored"),
        Rules.of(commit="isr", epoch_recovery="as_stored", epoch_cache="copied"),
    ],
    ids=lambda rules: (
        f"{rules.replication.epoch_cache}-{rules.storage.epoch_recovery}-{rules.cleaner.fix}"
    ),
)
def test_answers_about_ended_epochs_are_those_of_the_replicas(rules: Rules, seed: int) -> None:
    random = Random(seed)
    made, watch = watched(rules)
    asked = 0
    for _ in range(400):
        step(made, random)
        if random.randrange(8) == 0:
            crash_with_old_files(made, random)
        for name, replica in made.replicas.items():
            log = replica.log
            for entry in log.epochs.entries[:-1]:
                told = watch.answer(name, entry.epoch)
                assert told == log.epochs.end_offset_for(entry.epoch, log.log_end_offset)
                asked += 1
    assert asked > 400


def test_below_an_installed_snapshot_there_is_nothing_to_compare() -> None:
    first, second, third = batch(0, "a"), batch(1, "b", epoch=2), batch(2, "c", epoch=3)
    follows = [HighWatermarkMoved(name, 3, leading=False) for name in ("r1", "r2")]
    events = [
        *cluster("r1", "r2"),
        *appended("r1", first, second, third),
        SnapshotInstalled("r2", 2, 2, (), 0, 0, leading=False),
        copied("r2", "r1", 2, third),
        *follows,
    ]

    assert checked(events).history.replicas["r2"].high_watermark == 3
    assert violations_of("epoch-cache-consistency", events) == []


def test_an_epoch_that_a_copy_does_not_know_ends_elsewhere() -> None:
    first, second, third = batch(0, "a"), batch(1, "b", epoch=2), batch(2, "c", epoch=3)
    follows = [HighWatermarkMoved(name, 3, leading=False) for name in ("r1", "r2")]
    events = [*cluster("r1", "r2"), *appended("r1", first, second, third)]
    whole = [*events, copied("r2", "r1", 0, first, second, third), *follows]
    holed = [*events, copied("r2", "r1", 0, first, third), *follows]

    assert violations_of("epoch-cache-consistency", whole, rules=RULES) == []
    [sentence, *_] = violations_of("epoch-cache-consistency", holed, rules=RULES)
    assert sentence == (
        "Asked for epoch 1, r2 answers (1, 2) and r1 (1, 1); both are committed up to 3."
    )


@pytest.mark.parametrize(("rule", "violated"), [("copied", False), ("rebuilt", True)])
def test_epochs_that_a_leader_hands_on_are_known_to_the_invariant(
    rule: str, *, violated: bool
) -> None:
    folder = Path(__file__).resolve().parents[2] / "scenarios/epochs"
    story = load_story(folder / "epochcache_07_the_leader_hands_its_epochs_on.yaml")
    expect = story.expect._replace(checked=("epoch-cache-consistency",))
    run = run_story(
        replace(story, rules=story.rules.with_values({"epoch_cache": rule}), expect=expect)
    )

    assert ("epoch-cache-consistency" in run.violated) is violated


def test_an_epoch_that_one_still_writes_in_ends_where_both_are_committed() -> None:
    """One who believes that it is in epoch 1 to the end; the log ends at 2, epoch 1 at 1."""
    first, second = batch(0, "a"), batch(1, "b", epoch=2)
    commits = HighWatermarkMoved("r1", 2, leading=True)
    follows = HighWatermarkMoved("r2", 2, leading=False)
    events = [*cluster("r1", "r2"), *appended("r1", first, second), commits]
    behind = [*events, copied("r2", "r1", 0, first, second)]
    forgets = EpochCacheChanged("r2", (EpochEntry(1, 0),))

    assert violations_of("epoch-cache-consistency", [*behind, forgets]) == []
    assert violations_of("epoch-cache-consistency", [*behind, follows]) == []
    assert violations_of("epoch-cache-consistency", [*behind, follows, forgets]) == [
        "Asked for epoch 1, r2 answers (1, 2) and r1 (1, 1); both are committed up to 2."
    ]
    assert violations_of("epoch-cache-consistency", [*behind, forgets, follows]) == [
        "Asked for epoch 1, r2 answers (1, 2) and r1 (1, 1); both are committed up to 2."
    ]
