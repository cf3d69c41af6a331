"""Random clients of both versions of KIP-87 at brokers that know the flag (`Mix.mixed_clients`)."""

from itertools import pairwise

from sim.protocol.log.formats import NEW, Versions
from sim.protocol.rules import rules_from
from sim.simulate.scenario.generate import Mix, generate
from sim.simulate.scenario.model import Scenario

RULES = rules_from({"preset": "kafka-4.0", "tombstone_mark": "magic"})


def drawn(seed: int, *, producers: float, consumers: float, **more: float) -> Scenario:
    mix = Mix(mixed_clients=1.0, old_producers=producers, old_consumers=consumers, **more)
    return generate(seed, mix).with_rules(RULES)


def old(case: Scenario) -> tuple[set[str], set[int | None]]:
    """Names of the old consumers, numbers of the old producers."""
    readers = {one.name for one in case.consumers if one.format == 2}
    return readers, {change.producer for change in case.changes if change.format == 2}


def test_brokers_know_the_flag_and_clients_have_the_versions_of_their_shares() -> None:
    cases = [drawn(seed, producers=0.5, consumers=0.5) for seed in range(100)]
    formats = [one.format for case in cases for one in case.consumers]
    written = [change.format for case in cases for change in case.changes]

    assert {one.versions for case in cases for one in case.replicas} == {Versions(NEW)}
    assert 0.35 < formats.count(2) / len(formats) < 0.65
    assert 0.35 < written.count(2) / len(written) < 0.65
    assert any(send.flag for case in cases for send in case.workload.sends)


def test_who_is_old_stays_so_when_more_are() -> None:
    for seed in range(30):
        populations = [old(drawn(seed, producers=s, consumers=s)) for s in (0.0, 0.3, 0.7, 1.0)]
        assert populations[0] == (set(), set())
        for (readers, writers), (more_readers, more_writers) in pairwise(populations):
            assert readers <= more_readers
            assert writers <= more_writers
