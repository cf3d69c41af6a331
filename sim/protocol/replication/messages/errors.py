"""Why a request was not granted, by Kafka's names (org.apache.kafka.common.protocol.Errors)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class ErrorCode(StrEnum):
    """What a response says of its request; `NONE` = it was done."""

    NONE = "NONE"
    FENCED_LEADER_EPOCH = "FENCED_LEADER_EPOCH"
    """The request's leader epoch is below that of the replica asked."""
    INVALID_PRODUCER_EPOCH = "INVALID_PRODUCER_EPOCH"
    """A later instance of the producer has a newer epoch of its id (KIP-98)."""
    INVALID_RECORD = "INVALID_RECORD"
    """A record is not allowed in its format, or its version comes too late."""
    INVALID_TIMESTAMP = "INVALID_TIMESTAMP"
    """A timestamp is too far from the leader's clock."""
    NOT_ENOUGH_REPLICAS = "NOT_ENOUGH_REPLICAS"
    """Fewer than `min.insync.replicas` are in sync; nothing was written."""
    NOT_LEADER_OR_FOLLOWER = "NOT_LEADER_OR_FOLLOWER"
    """The replica asked does not lead."""
    OUT_OF_ORDER_SEQUENCE_NUMBER = "OUT_OF_ORDER_SEQUENCE_NUMBER"
    """The producer has written what comes after; this batch itself is not known to be written."""
    POSITION_OUT_OF_RANGE = "POSITION_OUT_OF_RANGE"
    """The position is below 0, or at or beyond the end of the snapshot."""
    SNAPSHOT_NOT_FOUND = "SNAPSHOT_NOT_FOUND"
    """The snapshot was deleted, or never was."""
    UNKNOWN_LEADER_EPOCH = "UNKNOWN_LEADER_EPOCH"
    """The request's leader epoch is above that of the replica asked, which has yet to learn it."""
    UNSUPPORTED_VERSION = "UNSUPPORTED_VERSION"
    """The broker does not know the version of the request."""


NO_ERROR: Final = ErrorCode.NONE
"""The usual one by a name of its own: Python takes ten times as long for a member of an enum."""
