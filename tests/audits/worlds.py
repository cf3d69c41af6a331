"""Replicas by themselves, with what audits report of them, for the tests of audits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from sim.plugins import Report
from sim.protocol.events import Event, Quiesced
from sim.protocol.replication import Replica
from sim.protocol.rules import Rules
from sim.simulate.cluster.cluster import Cluster

AT_REST = Quiesced("r1", synced=True)


def spoil(thing: Any, place: str, value: object) -> None:
    """Sets an attribute, named by its path; a number in it is a place in a list, or a key."""
    *path, last = place.split(".")
    for name in path:
        thing = thing[int(name)] if name.isdecimal() else getattr(thing, name)
    setattr(thing, last, value)


class World:
    """Replicas that one audit follows, and what it has reported of them.

    Attributes:
        replica: The first replica, r1.
        log: Its log.
        node: Its node, with what audits look at.
        nodes: All nodes by name.
        reports: What is reported, without the name and the values.
    """

    def __init__(self, audit: Any, *names: str, rules: Rules = Rules()) -> None:  # noqa: B008
        """Starts before the first event; `audit` is the class."""
        topic = SimpleNamespace(producer_expiration_ms=100)
        scenario = SimpleNamespace(topic=topic, rules=rules)
        self.context = SimpleNamespace(now_ms=50, settling="", scenario=scenario)
        self.nodes = {name: self._node(name, rules) for name in ("r1", *names)}
        self.node = self.nodes["r1"]
        self.replica: Replica = self.node.replica
        self.log = self.replica.log
        self.reports: list[str] = []
        cluster = cast(Cluster, SimpleNamespace(nodes=self.nodes, context=self.context))
        self.audit = audit(cluster, cast(Report, self._report))

    def _node(self, name: str, rules: Rules) -> SimpleNamespace:
        answer = SimpleNamespace(triggered=False)
        fetcher = SimpleNamespace(leader=None, epoch=0, number=4, fetched=False, _answer=answer)
        return SimpleNamespace(
            name=name,
            replica=Replica(name),
            fetcher=fetcher,
            context=self.context,
            rules=rules,
            spec=SimpleNamespace(clock_skew_ms=50),
        )

    def _report(self, _name: str, said: str, _replica: str | None, _offset: int | None) -> None:
        self.reports.append(said.split(": ")[1])

    def happened(self, *events: Event) -> list[str]:
        """All reports so far, after some events."""
        self.audit.after(0, events)
        return self.reports
