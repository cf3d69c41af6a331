"""A network on which some messages arrive late, or a second time, as on connections given up.

A client or broker of Kafka that gets no answer in time closes the connection and asks again on a
new one (NetworkClient.handleTimedOutRequests). The answer to the first request is then dropped
there; but the request may have been read by then, or lie in the broker's queue, and is done after
the second one (KIP-890 and KIP-1228 are about such writes and markers). So a message is not ordered
with those that its sender sent later, and what a receiver knows of its sender may be newer than it.

What the controller says and hears stays in order: a broker has one connection to it, a heartbeat is
answered before the next one, and sessions are told by the link (`sim.simulate.cluster.controller`).
So does coordinated removal, a design of this project that no broker speaks.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

from simpy import Environment

from sim.protocol.replication import messages as of
from sim.simulate.cluster.network import Link, Network
from sim.simulate.cluster.waiting import Later
from sim.simulate.scenario.model import LateMessages
from sim.simulate.scenario.model import Network as NetworkSettings

IN_ORDER: Final = frozenset(
    (
        of.AlterPartitionRequest,
        of.BrokerHeartbeatRequest,
        of.BrokerRegistrationRequest,
        of.LeaderAndIsrRequest,
        of.RemovalBoundsRequest,
        of.RemovalBoundsResponse,
    )
)
"""What never comes late or again; every other message may."""


class Overdue(NamedTuple):
    """A message on a connection that its sender may have given up."""

    message: Any


class _OnItsWay(NamedTuple):
    """An overdue message, and the link it travels on."""

    link: Link
    message: Any


class OverdueNetwork(Network):
    """A network that delays some messages, and delivers some again.

    A broker is told that a message is overdue, as it sees by the connection; a client closed its
    own, and goes by the number of the request.
    """

    def __init__(
        self,
        env: Environment,
        settings: NetworkSettings,
        late: LateMessages,
        random: Callable[[str], Random],
    ) -> None:
        """A network without addresses; `random` gives the stream for a purpose."""
        super().__init__(env, settings, random)
        self._late = late
        self._closed = False
        self._draws: dict[tuple[str, str], Callable[[], float]] = {}
        self._comes = [self._come]

    def send(self, source: str, target: str, message: Any, delay_ms: int = 0) -> None:
        """Send a message, perhaps later than is due, perhaps twice."""
        if self._closed or type(message) in IN_ORDER:
            super().send(source, target, message, delay_ms)
            return
        draw = self._draws.get((source, target))
        if draw is None:
            draw = self._draws[source, target] = self._random(f"late {source} {target}").random
        if draw() < self._late.late:
            self._send_overdue(source, target, message, delay_ms, draw)
        else:
            super().send(source, target, message, delay_ms)
        if draw() < self._late.repeated:
            self._send_overdue(source, target, message, delay_ms, draw)

    def _send_overdue(
        self, source: str, target: str, message: Any, delay_ms: int, draw: Callable[[], float]
    ) -> None:
        link = self._links[source].get(target)
        if link is None:
            return
        link.sent += 1
        if link.cuts:
            link.lost += 1
            return
        shortest, longest = self._late.later_ms
        later_ms = int(max(1, shortest) * ((longest + 1) / max(1, shortest)) ** draw())
        told = message if target in self._clients else Overdue(message)
        wait_ms = delay_ms + link.lowest_ms + min(longest, later_ms)
        Later(self._env, wait_ms, self._comes, _OnItsWay(link, told))

    def _come(self, arrival: Later) -> None:
        link, message = arrival.message
        if self._closed or link.cuts:
            link.lost += 1
        else:
            link.receive(message)

    def heal(self) -> None:
        """Undo every cut, and close all connections: nothing is overdue any more."""
        super().heal()
        self._closed = True
