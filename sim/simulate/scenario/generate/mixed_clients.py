"""Clients of two versions at brokers that know the flag of KIP-87, laid over a random scenario."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from sim.protocol.log.versions import NEW, Versions
from sim.simulate.scenario.generate.mix import Mix
from sim.simulate.scenario.generate.streams import Draws, stream
from sim.simulate.scenario.model import Change, Scenario, Workload


def with_mixed_clients(seed: int, mix: Mix, scenario: Scenario, *, producers: int) -> Scenario:
    """The scenario, perhaps with old and new clients at brokers that know the flag (KIP-87).

    Who is old at a lower share is old at a higher one, too.
    """
    if not Draws(seed, "mixed clients").happens(mix.mixed_clients):
        return scenario
    writers, readers = (
        Draws(seed, "mixed clients/producers"),
        Draws(seed, "mixed clients/consumers"),
    )
    versions = [
        Change(0, producer=number, versions=None, format=_version(mix.old_producers, writers))
        for number in range(1, producers + 1)
    ]
    consumers = [
        replace(one, format=_version(mix.old_consumers, readers)) for one in scenario.consumers
    ]
    return replace(
        scenario,
        replicas=tuple([replace(one, versions=Versions(NEW)) for one in scenario.replicas]),
        workload=_with_deletes_that_say_something(seed, scenario.workload),
        consumers=tuple(consumers),
        changes=(*versions, *scenario.changes),
    )


def _version(old: float, draws: Draws) -> Literal[2, 3]:
    return 2 if draws.happens(old) else 3


def _with_deletes_that_say_something(seed: int, workload: Workload) -> Workload:
    """A share of the deletes of new producers has a value."""
    deletes = stream(seed, "flag upgrade/deletes")
    share = 0.2 + 0.8 * deletes.random()
    sends = [
        send._replace(value=f"deleted {index}", flag=True)
        if send.value is None and deletes.random() < share
        else send
        for index, send in enumerate(workload.sends)
    ]
    return replace(workload, sends=tuple(sends))
