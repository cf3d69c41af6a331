"""Messages are values: immutable, and made of plain data."""

import typing
from enum import Enum

import pytest
from msgspec import Struct

from sim.protocol.log import AbortedTransaction, Batch, Record
from sim.protocol.log.epochs import EpochEnd, EpochEntry
from sim.protocol.replication import messages
from sim.protocol.replication.messages import (
    PartitionState,
    RemovalBounds,
    RemovalReport,
    SnapshotId,
)

PLAIN = (int, str, bool, type(None))
VALUES = (
    AbortedTransaction,
    Batch,
    EpochEnd,
    EpochEntry,
    PartitionState,
    Record,
    RemovalBounds,
    RemovalReport,
    SnapshotId,
)
MESSAGES = [kind for name, kind in vars(messages).items() if name.endswith(("Request", "Response"))]


def parts(kind: object) -> list[object]:
    """The types that a type is made of: members of unions, items of tuples."""
    inner = [each for each in typing.get_args(kind) if each is not Ellipsis]
    return [part for each in inner for part in parts(each)] if inner else [kind]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.__name__)
def test_a_message_is_immutable_and_holds_plain_values_and_records_alone(message: type) -> None:
    assert issubclass(message, Struct)
    assert message.__struct_config__.frozen
    kinds = [part for hint in typing.get_type_hints(message).values() for part in parts(hint)]
    others = [
        kind
        for kind in kinds
        if kind not in (*PLAIN, *VALUES) and not (isinstance(kind, type) and issubclass(kind, Enum))
    ]

    assert others == []


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.__name__)
def test_a_response_to_a_numbered_request_repeats_the_number(message: type) -> None:
    fields = typing.get_type_hints(message)
    other = message.__name__.replace("Response", "Request")
    if message.__name__.endswith("Response") and hasattr(messages, other):
        asked = typing.get_type_hints(getattr(messages, other))
        assert ("correlation_id" in fields) == ("correlation_id" in asked)
