"""What events tell of epoch caches is what replicas have."""

from random import Random

import pytest

from sim.check.epochs import EpochCacheConsistency
from sim.replication import Rules
from sim.trace import (
    Appended,
    Copied,
    HighWatermarkMoved,
    LeaderElected,
    ReplicaCrashed,
    ReplicaWiped,
    SnapshotInstalled,
    Truncated,
)
from tests.check.events import RULES, appended, batch, checked, cluster, copied, violations_of
from tests.machine import NAMES, Cluster


def watched(rules: Rules) -> tuple[Cluster, EpochCacheConsistency]:
    """A cluster with one record, and the invariant that has heard of it all."""
    made = Cluster(rules, ())
    watch = EpochCacheConsistency(made.checker.ledger, lambda *_: None)
    made.checker.listen(
        {
            Appended: watch.on_appended,
            Copied: watch.on_copied,
            HighWatermarkMoved: watch.on_high_watermark_moved,
            LeaderElected: watch.on_leader_elected,
            ReplicaCrashed: watch.on_replica_crashed,
            ReplicaWiped: watch.on_replica_wiped,
            Truncated: watch.on_truncated,
        }
    )
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


@pytest.mark.parametrize("seed", range(8))
def test_answers_about_ended_epochs_are_those_of_the_replicas(seed: int) -> None:
    random = Random(seed)
    made, watch = watched(Rules(commit="isr", fix="empty_batch"))
    asked = 0
    for _ in range(400):
        step(made, random)
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

    assert checked(events).ledger.disks["r2"].hw == 3
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
