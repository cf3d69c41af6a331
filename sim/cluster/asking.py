"""Clients of a coordinator: each asks for one key until it is told."""

from __future__ import annotations

from sim.cluster.context import Context
from sim.replication.messages import CoordinatorRequest, CoordinatorResponse, ErrorCode
from sim.scenario.model import Ask


class AskingClient:
    """One client and its question; without an answer, or with an error, it asks again.

    Attributes:
        name: What it is called, which is its address.
    """

    def __init__(self, context: Context, number: int, ask: Ask) -> None:
        """It asks nothing before `start`."""
        self._context = context
        self._ask = ask
        self._number = 0
        self._done = False
        self._retry_ms = context.scenario.workload.retry_ms
        self.name = f"client {number}"
        context.network.add_client(self.name, self.receive)

    def start(self) -> None:
        """Ask at its time."""
        self._context.after(self._ask.at_ms, self._send, 0)

    def _send(self, number: int) -> None:
        """Ask, unless it was told since, and come back."""
        if self._done or number != self._number:
            return
        context = self._context
        self._number += 1
        if context.leader is not None:
            request = CoordinatorRequest(self.name, self._ask.key, self._number)
            context.network.send(self.name, context.leader[1], request)
        context.after(self._retry_ms, self._send, self._number)

    def receive(self, response: CoordinatorResponse) -> None:
        """An answer, perhaps that there is none yet."""
        if response.error is ErrorCode.NONE:
            self._done = True
