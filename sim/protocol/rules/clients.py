"""The rules of readers and of the coordinator of transactions."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from sim.protocol.rules.spec import Value


class CoordinatorRules(Struct, frozen=True, gc=False):
    """Rules of the coordinator of transactions: epochs of producers, and of markers."""

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


class ReadingRules(Struct, frozen=True, gc=False):
    """Rules of consumers: what they get and keep, and what they do at a new leader."""

    consumer_order: Annotated[
        Literal["offset", "strategy"],
        "which of the records of a key that it was given a consumer keeps",
        Value(
            "the last one",
            "KIP-280, Recommendations: what a consumer does that is not aware of the strategy",
            "kip280/kip280_69_consumer_takes_the_last_record.yaml",
        ),
        Value(
            "the one that wins by the strategy",
            "KIP-280, Recommendations: consumers should be aware of the strategy",
            "kip280/kip280_70_consumer_applies_the_strategy.yaml",
        ),
    ] = "offset"
    horizon_header: Annotated[
        Literal["hidden", "visible"],
        "with record_horizon: whether consumers are given the header that holds the horizon",
        Value(
            "it is taken off",
            "KIP-534, Rejected Alternatives: a header that consumers should not see",
            "kip534/kip534_17_horizon_in_the_record.yaml",
        ),
        Value(
            "it is a header like any other",
            "KIP-534, Rejected Alternatives: what a header does if no reader removes it",
            "kip534/kip534_18_readers_see_the_header.yaml",
        ),
    ] = "hidden"
    consumer_validation: Annotated[
        Literal["none", "epoch"],
        "what a consumer does first at a new leader",
        Value(
            "it goes on at its offset",
            "consumers before KIP-320",
            "readers/readers_06_position_carried_to_another_history.yaml",
        ),
        Value(
            "it asks where the epoch of its position ends",
            "KIP-320; SubscriptionState.maybeCompleteValidation",
            "readers/readers_07_position_checked_with_the_new_leader.yaml",
        ),
    ] = "none"
    aborted_list: Annotated[
        Literal["index", "history"],
        "which aborted transactions the answer to a read_committed consumer lists",
        Value(
            "those whose marker is left",
            "TransactionIndex.collectAbortedTxns",
            "readers/readers_09_list_goes_with_the_markers.yaml",
        ),
        Value(
            "all there ever were",
            "Redpanda before PR 7081",
            "readers/readers_08_list_of_all_aborted_transactions.yaml",
        ),
    ] = "index"
