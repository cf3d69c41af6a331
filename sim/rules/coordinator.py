"""The rules of a coordinator: a state machine on the leader of a partition, which it loads from."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from sim.rules.spec import Value


class CoordinatorRules(NamedTuple):
    """Whether the leader coordinates something, and what it does before it has loaded its log.

    What the coordinator of transactions tells producers is a rule of it, too. The state is that of
    the keys in the log, as in `__consumer_offsets` and `__transaction_state`; it is in the memory
    of the leader alone, so each new leader loads it.
    """

    coordinator: Annotated[
        Literal["none", "group", "transaction"],
        "what the leader of the partition coordinates with the state in it",
        Value(
            "nothing: it has no state machine of its own",
            "the default of this project",
            "kip630/coord_08_nobody_coordinates.yaml",
        ),
        Value(
            "groups: a key is a group's, a tombstone of it expires or deletes that",
            "GroupCoordinatorService, CoordinatorRuntime; __consumer_offsets",
            "kip630/coord_05_expired_group_returns.yaml",
        ),
        Value(
            "transactions: what is PrepareCommit or PrepareAbort when it loads is completed",
            "TransactionStateManager.loadTransactionsForTxnTopicPartition; __transaction_state",
            "kip630/coord_06_prepared_transaction_is_completed.yaml",
        ),
    ] = "none"
    coordinator_loads: Annotated[
        Literal["before_serving", "lazily"],
        "whether a new coordinator answers before it has loaded its log to the end",
        Value(
            "no: COORDINATOR_LOAD_IN_PROGRESS until then",
            "CoordinatorRuntime.withActiveContextOrThrow; TransactionStateManager",
            "kip630/coord_01_loads_before_it_serves.yaml",
        ),
        Value(
            "yes, by what it has loaded so far",
            "this project: what COORDINATOR_LOAD_IN_PROGRESS protects from",
            "kip630/coord_02_serves_while_it_loads.yaml",
        ),
    ] = "before_serving"
    coordinator_reads: Annotated[
        Literal["loaded", "high_watermark"],
        "how much of what it has loaded a coordinator answers by",
        Value(
            "all of it, up to the log end offset of its election, and what was committed since",
            "GroupMetadataManager.doLoadGroupsAndOffsets; TransactionStateManager",
            "kip630/coord_03_high_watermark_lags_and_all_that_was_loaded_counts.yaml",
        ),
        Value(
            "what is below its high watermark, which a new leader has yet to learn",
            "CoordinatorReadEvent.run, at lastCommittedOffset; CoordinatorLoaderImpl.doLoad;"
            " GroupCoordinatorService.fetchOffsets without requireStable",
            "kip630/coord_04_high_watermark_lags_and_answers_with_it.yaml",
        ),
    ] = "loaded"
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
