"""What events tell of epoch caches is what replicas have."""

from random import Random

import pytest

from sim.check.invariants.epoch_cache_consistency import EpochCacheConsistency
from sim.replication.recovery import OldFiles, crash_with_files, recover
from sim.rules import Rules
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
def test_answers_about_ended_epochs_are_those_of_the_replicas(rules: Rules) -> None:
    random = Random(0)
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
