"""Clients of a coordinator: each asks for one key until it is told."""

from __future__ import annotations

from simpy.events import ProcessGenerator

from sim.cluster.context import Context
from sim.cluster.waiting import Lives
from sim.replication.messages import CoordinatorRequest, CoordinatorResponse, ErrorCode
from sim.scenario.model import Ask


class AskingClient:
    """One client and its question; without an answer, or with an error, it asks again.

    Attributes:
        name: What it is called, which is its address.
    """

    def __init__(self, context: Context, number: int, ask: Ask) -> None:
        """It begins at its time."""
        self._context = context
        self._ask = ask
        self._lives = Lives(context.env)
        self.name = f"client {number}"
        context.network.add_client(self.name, self.receive)
        self._lives.start(self._ask_again())

    def _ask_again(self) -> ProcessGenerator:
        """Ask whoever leads, again and again."""
        context = self._context
        yield context.env.timeout(self._ask.at_ms)
        while True:
            if context.leader is not None:
                request = CoordinatorRequest(self.name, self._ask.key)
                context.network.send(self.name, context.leader[1], request)
            yield context.env.timeout(context.scenario.workload.retry_ms)

    def receive(self, response: CoordinatorResponse) -> None:
        """An answer, perhaps that there is none yet."""
        if response.error is ErrorCode.NONE:
            self._lives.interrupt()
