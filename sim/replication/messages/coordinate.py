"""What clients and a coordinator say to each other about the state of a key."""

from __future__ import annotations

from typing import NamedTuple

from sim.replication.messages.errors import ErrorCode


class CoordinatorRequest(NamedTuple):
    """A client asks for the state of a key, as OffsetFetch and DescribeTransactions do.

    Attributes:
        client_id: Who asks; the answer goes there.
        key: Of what.
        correlation_id: Number of the request; the answer repeats it.
    """

    client_id: str
    key: str
    correlation_id: int = 0


class CoordinatorResponse(NamedTuple):
    """The answer: the value of the key, or why there is none to be had.

    Attributes:
        error: NOT_COORDINATOR and COORDINATOR_LOAD_IN_PROGRESS, or NONE.
        replica: Who answers.
        value: The value; None = the key has none, or there is an error.
        correlation_id: That of the request.
    """

    error: ErrorCode
    replica: str
    value: str | None = None
    correlation_id: int = 0
