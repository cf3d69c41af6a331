"""What clients and a coordinator say to each other about the state of a key."""

from __future__ import annotations

from typing import NamedTuple

from sim.replication.messages.errors import ErrorCode


class CoordinatorRequest(NamedTuple):
    """A client asks for the state of a key, as OffsetFetch and DescribeTransactions do.

    Attributes:
        client_id: Who asks; the answer goes there.
        key: Of what.
    """

    client_id: str
    key: str


class CoordinatorResponse(NamedTuple):
    """The answer; the value that it has for the key is told by `sim.trace.CoordinatorAnswered`.

    Attributes:
        error: NOT_COORDINATOR and COORDINATOR_LOAD_IN_PROGRESS, or NONE.
    """

    error: ErrorCode
