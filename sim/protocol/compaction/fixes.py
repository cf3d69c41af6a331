"""Fixes: what stays of the last offset of a cleaning round, or of the log (KIP-280).

Without one, a follower that is behind the last record can never learn that its offset existed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sim.files.attribute_docs import described
from sim.protocol.log import Batch


class Tail(NamedTuple):
    """The end of a log as a fix sees it.

    Attributes:
        last_batch: The batch with the highest offsets of the whole log; None in a log without one.
        upper_bound: The pass covers offsets below it (exclusive).
        high_watermark: The replica's own (exclusive). Only with `cleaner_bound: leo` may the upper
            bound exceed it.
    """

    last_batch: Batch | None
    upper_bound: int
    high_watermark: int


class Kept(NamedTuple):
    """The record and the batch that a fix keeps.

    Attributes:
        record_offset: The record at this offset always stays; None for no record.
        batch_end: The batch whose last offset this is stays, empty if need be; None for no batch.
    """

    record_offset: int | None = None
    batch_end: int | None = None


Keeps = Callable[[Tail], Kept]
"""Returns what has to stay, given the end of the log and of the round."""


class Fix(NamedTuple):
    """A rule for what stays of the last offset of a round or of a log.

    Attributes:
        name: Value of the `fix` rule.
        source: The document that proposes it.
        means: What it does, for people.
        keeps: Returns what has to stay, given the end of the log and of the round.
        persists_log_end: True when the log end is never below what was cleaned, whichever records
            survive. After a restart it does not fall back to the last record; other replicas do
            not learn of it.
        announces_gaps: True when a leader without records from an offset on says up to where there
            are none. The follower moves its log end there, and takes over the epochs that began in
            between; the leader believes what the next fetch says.
        example: A file below `scenarios/` in which it makes a difference; empty for a plugin's.
    """

    name: str
    source: str
    means: str
    keeps: Keeps
    persists_log_end: bool = False
    announces_gaps: bool = False
    example: str = ""


FIXES: dict[str, Fix] = {}
"""The registered fixes by name."""


def _fix(
    *, persists_log_end: bool = False, announces_gaps: bool = False
) -> Callable[[Keeps], Keeps]:
    """Registers a function as the fix of its name; its docstring describes it."""

    def made(keeps: Keeps) -> Keeps:
        name = keeps.__name__
        says, parts = described(keeps)
        means = says[:1].lower() + says[1:].rstrip(".")
        source, example = parts["Source"], parts["Example"]
        FIXES[name] = Fix(name, source, means, keeps, persists_log_end, announces_gaps, example)
        return keeps

    return made


@_fix()
def none(tail: Tail) -> Kept:
    """No record or batch is kept for its offset alone.

    Source: Kafka before KAFKA-17076
    Example: kip280/kip280_16_believed_position_epoch_truncation_no_fix.yaml
    """
    return Kept()


@_fix()
def leo_retention(tail: Tail) -> Kept:
    """The last batch of the whole log stays, with its last record if it has any.

    Source: KIP-280, Special case where we need to retain LEO, option 1
    Example: findings/finding_07_leo_retention_brings_a_deleted_key_back.yaml
    """
    last = tail.last_batch
    if last is None:
        return Kept()
    return Kept(last.records[-1].offset if last.records else None, last.last_offset)


@_fix()
def empty_batch(tail: Tail) -> Kept:
    """The batch that ends exactly at the upper bound of the round stays, empty if need be.

    Source: KIP-280, option 2; KAFKA-17076 (Cleaner.cleanInto)
    Example: kip280/kip280_19_expired_last_tombstone_empty_batch.yaml
    """
    return Kept(batch_end=tail.upper_bound - 1)


@_fix()
def empty_batch_at_hw(tail: Tail) -> Kept:
    """As empty_batch, but only where the batch also ends at the high watermark.

    Source: KAFKA-20452 (apache/kafka PR 22089)
    Example: kip280/kip280_59_narrow_empty_batch_and_an_unclean_election.yaml
    """
    return Kept(batch_end=tail.high_watermark - 1)


@_fix(persists_log_end=True)
def persisted_leo(tail: Tail) -> Kept:
    """Nothing is kept; the end of the cleaned section is stored apart from the records.

    Source: etcd PR 17815: the scheduled compact revision bounds the current one from below
    Example: kip280/kip280_56_log_end_persisted_beside_the_records.yaml
    """
    return Kept()


@_fix(announces_gaps=True)
def gap_fetch(tail: Tail) -> Kept:
    """Nothing is kept; a fetch that finds nothing is answered with the end of the gap.

    Source: this project: what an answer would have to say for nothing to be kept
    Example: kip280/kip280_54_expired_last_tombstone_gap_fetch.yaml
    """
    return Kept()
