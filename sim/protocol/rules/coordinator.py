"""The rules of the coordinator of transactions."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from sim.protocol.rules.spec import Value


class CoordinatorRules(NamedTuple):
    """What the coordinator of transactions tells producers, and which markers it may write."""

    producer_epochs: Annotated[
        Literal["per_instance", "per_transaction"],
        "when the transaction coordinator gives a producer a new epoch",
        Value(
            "when an instance of it begins; a marker has the epoch of its transaction",
            "KIP-98; TransactionCoordinator.endTransaction with transaction.version 1",
            "transactions/txn_25_epoch_of_the_transaction.yaml",
        ),
        Value(
            "also with the end of each transaction: its marker has the next epoch already, so that"
            " the last data batch of an idle producer is protected no more",
            "KIP-890, part 2; TransactionMetadata.prepareAbortOrCommit with transaction.version 2",
            "transactions/txn_24_nothing_more_of_the_producer.yaml",
        ),
    ] = "per_instance"
    marker_epoch: Annotated[
        Literal["not_older", "newer"],
        "with per_transaction: which epoch a marker needs that ends an open transaction",
        Value(
            "that of the transaction, or a newer one: the marker of the one before has that epoch,"
            " and ends it when it comes again",
            "ProducerAppendInfo.checkProducerEpoch before KAFKA-19446",
            "transactions/timed_marker_again.yaml",
        ),
        Value(
            "a newer one; where no transaction is open, a marker that comes again is answered",
            "KIP-1228; ProducerAppendInfo.checkProducerEpoch, KAFKA-19446, KAFKA-19999",
            "transactions/timed_marker_again_refused.yaml",
        ),
    ] = "not_older"
