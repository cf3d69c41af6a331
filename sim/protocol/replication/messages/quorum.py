"""What voters say to each other to elect their leader (KIP-595, KIP-996)."""

from __future__ import annotations

from typing import NamedTuple


class VoteRequest(NamedTuple):
    """A candidate asks a voter for its vote.

    Attributes:
        candidate: Who asks.
        epoch: The epoch it campaigns in; with `pre_vote` the one it is in.
        last_epoch: Newest epoch of its log; -1 when it is not known.
        last_offset: Its log end offset (exclusive).
        pre_vote: True = would the voter grant its vote? Nothing is promised (KIP-996).
    """

    candidate: str
    epoch: int
    last_epoch: int
    last_offset: int
    pre_vote: bool = False


class VoteResponse(NamedTuple):
    """A voter's answer.

    Attributes:
        voter: Who answers.
        epoch: Highest epoch it has seen.
        granted: Whether it votes for the candidate, or would.
        pre_vote: That of the request.
    """

    voter: str
    epoch: int
    granted: bool
    pre_vote: bool = False


class BeginQuorumEpochRequest(NamedTuple):
    """A leader announces itself; the fetch that follows is the answer.

    Attributes:
        leader: Who leads.
        epoch: The epoch it leads.
    """

    leader: str
    epoch: int


class EndQuorumEpochRequest(NamedTuple):
    """A leader has resigned.

    Attributes:
        epoch: The epoch it led.
        preferred_successors: The voters that are to stand for election, the first one at once, each
            later one after a longer pause (see `sim.protocol.replication.elections`).
    """

    epoch: int
    preferred_successors: tuple[str, ...]
