"""The rules of readers and of the coordinator of transactions."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class CoordinatorRules(Struct, frozen=True, gc=False):
    """Rules of the coordinator of transactions: epochs of producers, and of markers."""

    producer_epochs: Literal["per_instance", "per_transaction"] = "per_instance"
    """Decides when the transaction coordinator gives a producer a new epoch.

    per_instance: when an instance of it begins; a marker has the epoch of its transaction
        Source: KIP-98; TransactionCoordinator.endTransaction with transaction.version 1
        Example: transactions/txn_25_epoch_of_the_transaction.yaml
    per_transaction: also with the end of each transaction: its marker has the next epoch already,
        so that the last data batch of an idle producer is protected no more
        Source: KIP-890, part 2; TransactionMetadata.prepareAbortOrCommit with transaction.version 2
        Example: transactions/txn_24_nothing_more_of_the_producer.yaml
    """
    marker_epoch: Literal["not_older", "newer"] = "not_older"
    """With per_transaction: which epoch a marker needs that ends an open transaction.

    not_older: that of the transaction, or a newer one: the marker of the one before has that epoch,
        and ends it when it comes again
        Source: ProducerAppendInfo.checkProducerEpoch before KAFKA-19446
        Example: transactions/timed_marker_again.yaml
    newer: a newer one; where no transaction is open, a marker that comes again is answered
        Source: KIP-1228; ProducerAppendInfo.checkProducerEpoch, KAFKA-19446, KAFKA-19999
        Example: transactions/timed_marker_again_refused.yaml
    """


class ReadingRules(Struct, frozen=True, gc=False):
    """Rules of consumers: what they get and keep, and what they do at a new leader."""

    consumer_order: Literal["offset", "strategy"] = "offset"
    """Decides which of the records of a key that it was given a consumer keeps.

    offset: the last one
        Source: KIP-280, Recommendations: what a consumer does that is not aware of the strategy
        Example: kip280/kip280_69_consumer_takes_the_last_record.yaml
    strategy: the one that wins by the strategy
        Source: KIP-280, Recommendations: consumers should be aware of the strategy
        Example: kip280/kip280_70_consumer_applies_the_strategy.yaml
    """
    horizon_header: Literal["hidden", "visible"] = "hidden"
    """With record_horizon: whether consumers are given the header that holds the horizon.

    hidden: it is taken off
        Source: KIP-534, Rejected Alternatives: a header that consumers should not see
        Example: kip534/kip534_17_horizon_in_the_record.yaml
    visible: it is a header like any other
        Source: KIP-534, Rejected Alternatives: what a header does if no reader removes it
        Example: kip534/kip534_18_readers_see_the_header.yaml
    """
    consumer_validation: Literal["none", "epoch"] = "none"
    """Decides what a consumer does first at a new leader.

    none: it goes on at its offset
        Source: consumers before KIP-320
        Example: readers/readers_06_position_carried_to_another_history.yaml
    epoch: it asks where the epoch of its position ends
        Source: KIP-320; SubscriptionState.maybeCompleteValidation
        Example: readers/readers_07_position_checked_with_the_new_leader.yaml
    """
    aborted_list: Literal["index", "history"] = "index"
    """Decides which aborted transactions the answer to a read_committed consumer lists.

    index: those whose marker is left
        Source: TransactionIndex.collectAbortedTxns
        Example: readers/readers_09_list_goes_with_the_markers.yaml
    history: all there ever were
        Source: Redpanda before PR 7081
        Example: readers/readers_08_list_of_all_aborted_transactions.yaml
    """
