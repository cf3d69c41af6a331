"""What each step of a story means, for `replog list ops` and for editors: no story needs this.

Every op of `sim.story.ops.OPS` is told here, and every field of it, with its unit where it has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sim.story.ops import OPS


class Told(NamedTuple):
    """What an op does.

    Attributes:
        means: In a sentence.
        source: What it is in a real system; `this project` for what only a story has.
    """

    means: str
    source: str


OPS_TOLD: Mapping[str, Told] = {
    "append": Told(
        "The leader writes one record, or the marker of a transaction, at its log end offset; with "
        "`epoch` a leader of that epoch that has been replaced does.",
        "UnifiedLog.appendAsLeader",
    ),
    "elect": Told(
        "The replica leads the epoch; with `votes` if a majority grants it. The epoch starts "
        "at the end of its log, and it knows no follower's position yet.",
        "Partition.makeLeader; the Raft paper, section 5.2",
    ),
    "elect_from_isr": Told(
        "As `elect`, and nothing happens unless the replica is in sync.",
        "PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection",
    ),
    "follow": Told(
        "The replica becomes a follower, and truncates as the rule `truncation` says.",
        "Partition.makeFollower; KIP-101",
    ),
    "fetch": Told(
        "One round trip: the leader records the follower's position and answers, the follower "
        "copies what it is given.",
        "AbstractFetcherThread; KIP-595",
    ),
    "deliver": Told(
        "The oldest delayed response of that leader arrives, whoever leads by now.",
        "this project",
    ),
    "sync": Told("Fetch until nothing changes any more.", "this project"),
    "push": Told(
        "The follower appends a copy of the record at its own log end offset: the drawing in "
        "KIP-280, which no broker does.",
        "KIP-280, special case of the log end",
    ),
    "compact": Told(
        "One cleaning pass up to the bound of the rule `cleaner_bound`.",
        "Cleaner.doClean",
    ),
    "coordinate": Told(
        "Replicas report up to where they have compacted, and are told the lowest, below which "
        "tombstones may go.",
        "Redpanda PR 28087",
    ),
    "isr": Told(
        "These replicas are in sync from now on.", "AlterPartition, decided by the controller"
    ),
    "expand_isr": Told(
        "The replica joins the in-sync set if the rule `isr_join` lets it.",
        "Partition.maybeExpandIsr",
    ),
    "advance": Told("Time passes; nothing else moves it.", "this project"),
    "crash": Told(
        "The replica goes down, and what was not flushed may be lost.",
        "LogLoader, unclean shutdown",
    ),
    "flush": Told("The log is flushed up to its end.", "UnifiedLog.flush"),
    "restart": Told("The replica comes up with what its disk has.", "LogLoader.load"),
    "wipe": Told("The disk is replaced: the log is empty, and the replica up.", "KIP-858"),
    "add_replica": Told("A replica with an empty log joins.", "KIP-455; KIP-853"),
    "remove_replica": Told(
        "The replica leaves with its disk; nothing happens while it leads.", "KIP-455; KIP-853"
    ),
    "snapshot": Told(
        "The replica takes a snapshot of the state below an offset.", "KIP-630, Snapshot Format"
    ),
    "delete_prefix": Told(
        "The log starts at an offset from now on, which a snapshot covers.",
        "KIP-630, When to Increase the LogStartOffset",
    ),
    "fetch_snapshot": Told(
        "One chunk of the leader's snapshot; the last one replaces the log.",
        "KIP-630, FetchSnapshot",
    ),
    "consume": Told(
        "The consumer reads from its position, and goes on from there the next time.",
        "KafkaConsumer.poll",
    ),
    "read_to_end": Told(
        "The consumer asks for the end offset, and reads until it has reached it.",
        "KafkaBasedLog.readToLogEnd",
    ),
    "load": Told(
        "A new coordinator reads its log into memory, before it answers as the rule says.",
        "CoordinatorLoaderImpl",
    ),
    "ask": Told("A client asks the coordinator for the state of a key.", "OffsetFetch; KIP-848"),
    "expect_tombstone_gone": Told(
        "A probe: no live replica may hold a tombstone of the key any more.", "this project"
    ),
    "quiesce": Told(
        "Everybody up is brought to the leader's end, then what has to hold at rest is judged.",
        "this project",
    ),
    "check": Told(
        "What has to hold at rest is judged, and nothing is brought anywhere.", "this project"
    ),
    "moment": Told(
        "What every replica holds is noted under a name, for `expect.moments`.", "this project"
    ),
}
"""Every op by name."""

_FIELDS: Mapping[str, str] = {
    "leader": "The replica that leads.",
    "follower": "The replica that follows.",
    "replica": "The replica that does it.",
    "consumer": "The name of a consumer; each has a position of its own.",
    "label": "What stories call the record: `label@offset` in a log.",
    "key": "The key; null for a record without one.",
    "ts": "Create time in ms; the time of the story when not given.",
    "hdr": "The version header, a 64-bit number; null or nothing for none (KIP-280).",
    "hdr_bytes": "The version header as pairs of hexadecimal digits.",
    "pid": "The producer of a transaction.",
    "tombstone": "Whether it deletes its key, under `tombstone_mark: explicit`.",
    "flag": "Whether the attribute, or the header, of a delete is set (KIP-87).",
    "null_value": "Whether the value is null, under `tombstone_mark: null_value` or `magic`.",
    "epoch": "The leader epoch.",
    "marker": "How the transaction of `pid` ends.",
    "votes": "Who is asked for its vote.",
    "max": "Most batches that are copied.",
    "drop_response": "The answer is lost.",
    "delay_response": "The answer waits for a `deliver`.",
    "legacy_horizon": "The pass-wide delete horizon before KIP-534, in ms.",
    "segments": "Segments as [base offset, end offset (exclusive), last modified in ms].",
    "upto": "An offset (exclusive) that is not passed.",
    "crash": "The replica goes down during it.",
    "reachable": "Who takes part; everybody up when not given.",
    "isr": "The replicas in sync.",
    "ms": "How long, in ms.",
    "lose": "How many of the last batches are lost.",
    "power_loss": "All that was not flushed is lost, as the rule `flush` says.",
    "high_watermark": "The offset in the checkpoint of high watermarks, whose last write was lost.",
    "cleaned": "The offset in the cleaner's checkpoint, whose last write was lost.",
    "epochs": "The newest epoch in the file of the epoch cache, whose last write was lost.",
    "end": "Offset (exclusive) below which the state is taken.",
    "to": "The new log start offset.",
    "chunk": "Most keys in the chunk; all that are left when not given.",
    "isolation": "Whether open and aborted transactions are read.",
    "until": "By what a reader tells that it is at the end.",
    "records": "How many records it has read in all; the whole log when not given.",
    "nosync": "Nobody is brought anywhere.",
    "name": "The name of the moment.",
}

_OF_AN_OP: Mapping[tuple[str, str], str] = {
    ("elect", "leader"): "The replica that is to lead.",
    ("elect_from_isr", "leader"): "The replica that is to lead.",
    ("add_replica", "replica"): "The name of the new replica.",
    ("remove_replica", "replica"): "The replica that leaves.",
    ("expand_isr", "replica"): "The replica that joins.",
    ("consume", "replica"): "The replica that is read from.",
    ("read_to_end", "replica"): "The replica that is read from.",
    ("ask", "replica"): "The replica that is asked.",
    ("compact", "crash"): "The moment of the pass at which the replica goes down.",
    ("fetch_snapshot", "crash"): "The replica goes down before the snapshot is in place.",
}


def field_told(op: str, name: str) -> str:
    """What a field of an op means."""
    return _OF_AN_OP.get((op, name), _FIELDS[name])


def untold() -> list[str]:
    """What is missing here, and what is here and no op: both are mistakes."""
    names = {name for spec in OPS.values() for name in spec.fields()}
    of_ops = {(op, name) for op, spec in OPS.items() for name in spec.fields()}
    missing = [*(OPS.keys() ^ OPS_TOLD.keys()), *(names ^ _FIELDS.keys())]
    return sorted([*missing, *(f"{op}.{name}" for op, name in _OF_AN_OP.keys() - of_ops)])
