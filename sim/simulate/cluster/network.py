"""The network: delays, losses, partitions, and messages that arrive late or twice.

A message is a value that travels from one address to another; its arrival is one event of the
simulator. It is lost when the link drops it, or when the link is cut at the moment of sending or of
arrival; a cut that begins and ends while it travels does not touch it. Clients (producers and
consumers) are outside of partitions.

A client or broker of Kafka that gets no answer in time closes the connection and asks again on a
new one (NetworkClient.handleTimedOutRequests). The answer to the first request is then dropped
there; but the first request may have been read by then, or wait in the broker's queue, and be
handled after the second one (KIP-890 and KIP-1228 are about such writes and markers). So an overdue
message is not ordered with later ones of its sender, and the receiver may know newer facts.

Messages from and to the controller stay in order: a broker has one connection to it, a heartbeat is
answered before the next one, and sessions depend on the link (`sim.simulate.cluster.controller`).
So do those of coordinated removal, a protocol of this project.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cache, partial
from random import Random
from typing import Any, Final, NamedTuple

from simpy import Environment, Event, Timeout

from sim.protocol.replication import messages as of
from sim.simulate.scenario.model import LateMessages
from sim.simulate.scenario.model import Link as LinkSettings
from sim.simulate.scenario.model import Network as NetworkSettings

CONTROLLER: Final = "controller"
"""The address of the controller (commit: isr). Its links lose messages only when they are cut."""

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
"""Messages that never arrive late or twice; every other one may."""


class Overdue(NamedTuple):
    """A message on a connection that its sender may have given up."""

    message: Any


Receive = Callable[[Any], None]
"""A function that takes each message that arrives at an address."""


@dataclass(slots=True, eq=False)
class Link:
    """The link from one address to another.

    Attributes:
        lowest_ms: Smallest latency in ms; never below 1.
        span_ms: Number of different latencies.
        loss: Chance that a message is lost.
        draw: The stream of numbers in [0, 1) for its latencies and losses.
        draw_overdue: The stream that says which messages arrive too late, or twice, and when; None
            where none does.
        receive: Called with each message that arrives.
        outside: Whether a client is at one of its ends.
        cuts: Number of partitions that cut it at present.
        sent: Number of messages sent on it.
        lost: Number of those that did not arrive.
    """

    lowest_ms: int
    span_ms: int
    loss: float
    draw: Callable[[], float]
    draw_overdue: Callable[[], float] | None
    receive: Receive
    outside: bool
    cuts: int = 0
    sent: int = 0
    lost: int = 0

    def deliver(self, arrival: Event) -> None:
        """Hands on the message that arrives, unless the link is cut now."""
        if self.cuts:
            self.lost += 1
        else:
            self.receive(arrival.value)


class Network:
    """The links between all addresses, and their latencies.

    A broker recognises an overdue message by its connection (`Overdue`). A client has closed that
    connection, and recognises the answer by the number of the request.

    Attributes:
        slowest_ms: Largest latency of any link in ms.
        watching: Observers, called with the address of a replica and the function that takes its
            messages; the function that they return takes them instead.
    """

    def __init__(
        self,
        env: Environment,
        settings: NetworkSettings,
        random: Callable[[str], Random],
        late: LateMessages | None = None,
    ) -> None:
        """Starts without addresses; `random` gives the stream for a purpose."""
        self._env = env
        self._settings = settings
        self._late = late = late or LateMessages()
        self._closed = not (late.late or late.repeated)
        self._draws = cache(lambda purpose: random(purpose).random)
        self._exceptions = {(link.source, link.target): link for link in settings.links}
        self._links: dict[str, dict[str, Link]] = {}
        self._all: list[Link] = []
        self._receivers: dict[str, Receive] = {}
        self._clients: set[str] = set()
        self.watching: list[Callable[[str, Receive], Receive]] = []
        slowest = [settings.latency_ms[1], *(link.latency_ms[1] for link in settings.links)]
        self.slowest_ms = max(1, *slowest)

    def add(self, name: str, receive: Receive) -> None:
        """Connects a replica, or the controller, with all others."""
        for over in self.watching:
            receive = over(name, receive)
        self._join(name, receive)

    def add_client(self, name: str, receive: Receive) -> None:
        """Connects a client with every replica: its links share one stream in each direction."""
        self._clients.add(name)
        self._join(name, receive)

    def _join(self, name: str, receive: Receive) -> None:
        """Connects an address with all others, but not clients with each other."""
        self._links[name] = {}
        for other in self._receivers:
            if name not in self._clients or other not in self._clients:
                self._connect(name, other, self._receivers[other])
                self._connect(other, name, receive)
        self._receivers[name] = receive

    def _connect(self, source: str, target: str, receive: Receive) -> None:
        settings: LinkSettings | NetworkSettings = self._settings
        outside = source in self._clients or target in self._clients
        if source in self._clients:
            draw = self._draws(source)
        elif target in self._clients:
            draw = self._draws(f"to {target}")
        else:
            settings = self._exceptions.get((source, target), self._settings)
            draw = self._draws(f"link {source} {target}")
        lowest_ms, highest_ms = max(1, settings.latency_ms[0]), settings.latency_ms[1]
        loss = 0.0 if CONTROLLER in (source, target) else settings.loss
        span_ms = max(1, highest_ms - lowest_ms + 1)
        late = None if self._closed else self._draws(f"late {source} {target}")
        link = Link(lowest_ms, span_ms, loss, draw, late, receive, outside)
        self._links[source][target] = link
        self._all.append(link)

    def remove(self, name: str) -> None:
        """Disconnects a replica for good; what is on its way from it or to it is lost."""
        gone = [*self._links.pop(name).values()]
        gone += [targets.pop(name) for targets in self._links.values() if name in targets]
        self.cut(gone)
        del self._receivers[name]

    def replicas(self) -> list[str]:
        """The addresses of all replicas in the order in which they were connected."""
        return [n for n in self._receivers if n != CONTROLLER and n not in self._clients]

    def send(self, source: str, target: str, message: Any, delay_ms: int = 0) -> None:
        """Sends a message when `delay_ms` have passed; it is lost if there is no such address.

        It may arrive too late, or twice.
        """
        link = self._links[source].get(target)
        if link is None:
            return
        draw = None if self._closed or type(message) in IN_ORDER else link.draw_overdue
        if draw is not None and draw() < self._late.late:
            self._send_overdue(link, target, message, delay_ms, draw)
        else:
            link.sent += 1
            if link.cuts or (link.loss and link.draw() < link.loss):
                link.lost += 1
            else:
                latency_ms = link.lowest_ms + int(link.draw() * link.span_ms)
                Timeout(self._env, latency_ms + delay_ms, message).callbacks.append(link.deliver)
        if draw is not None and draw() < self._late.repeated:
            self._send_overdue(link, target, message, delay_ms, draw)

    def _send_overdue(
        self, link: Link, target: str, message: Any, delay_ms: int, draw: Callable[[], float]
    ) -> None:
        link.sent += 1
        if link.cuts:
            link.lost += 1
            return
        shortest, longest = self._late.later_ms
        later_ms = int(max(1, shortest) * ((longest + 1) / max(1, shortest)) ** draw())
        sent = message if target in self._clients else Overdue(message)
        wait_ms = delay_ms + link.lowest_ms + min(longest, later_ms)
        self._env.timeout(wait_ms, sent).callbacks.append(partial(self._deliver, link))

    def _deliver(self, link: Link, arrival: Event) -> None:
        """Hands on an overdue message, unless the network was healed before it arrived."""
        if self._closed:
            link.lost += 1
        else:
            link.deliver(arrival)

    def links_of(
        self, name: str, peers: Collection[str] = (), *, incoming: bool = False
    ) -> list[Link]:
        """The links on which `name` sends, to `peers` if there are any, else to all but clients.

        With `incoming` also those on which it receives from them.
        """
        found = list(self._links[name].items())
        if incoming:
            found += [(source, to[name]) for source, to in self._links.items() if name in to]
        return [link for peer, link in found if not link.outside and (not peers or peer in peers)]

    def reaches(self, source: str, target: str) -> bool:
        """True when messages from `source` to `target` arrive, except for random losses."""
        link = self._links.get(source, {}).get(target)
        return link is not None and link.cuts == 0

    @property
    def sent(self) -> int:
        """Number of messages between replicas, and between replicas and the controller."""
        return sum(link.sent for link in self._all if not link.outside)

    @property
    def lost(self) -> int:
        """Number of the messages in `sent` that did not arrive."""
        return sum(link.lost for link in self._all if not link.outside)

    @staticmethod
    def cut(links: Iterable[Link]) -> None:
        """Adds one cut to each of the links."""
        for link in links:
            link.cuts += 1

    @staticmethod
    def mend(links: Iterable[Link]) -> None:
        """Removes one cut from each of the links."""
        for link in links:
            link.cuts -= 1

    def heal(self) -> None:
        """Removes all cuts; from now on no message is lost, and no overdue one arrives."""
        self._closed = True
        for targets in self._links.values():
            for link in targets.values():
                link.cuts = 0
                link.loss = 0.0
