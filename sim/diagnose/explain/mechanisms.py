"""The vocabulary of causes: every fact that a signature may name, what it means, its source.

A fact says what decided, never how often or on which replica, so that a large random run and its
shortest witness name the same ones. `sim.diagnose.explain.signature` finds them in the events of a
run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from sim.protocol.rules import Rules


class Mechanism(NamedTuple):
    """Where a fact that decides comes from.

    Attributes:
        sources: The KIPs, tickets, papers and stories that describe it.
        rules: Whose values make it possible, by their names: two runs have it by one defect only
            if these are equal. Where a step of a story, or a fault, suffices, there are none.
    """

    sources: tuple[str, ...]
    rules: tuple[str, ...]


MECHANISMS: Final[dict[str, Mechanism]] = {}
"""Each fact by its name. A name is what a signature says; it never changes its meaning."""

_ALL: Final = tuple(Rules().as_dict())
_VERSION: Final = "strategy header_form"


def _known(name: str, sources: str, rules: str = "") -> str:
    """Enter a fact; its name. Sources are parted by semicolons, rules by spaces."""
    MECHANISMS[name] = Mechanism(tuple(sources.split("; ")), tuple(rules.split()))
    return name


def deciding_rules(names: Iterable[str]) -> tuple[str, ...]:
    """The rules that make facts possible, each once; all there are for one of no known kind."""
    known = (MECHANISMS[name].rules if name in MECHANISMS else _ALL for name in names)
    return tuple(dict.fromkeys(rule for rules in known for rule in rules))


# How a log came to lack a record, or to hold another one.

END_FELL = _known("log end fell by cleaning", "KIP-280; KAFKA-17076; kip280_15", "fix")
"""A pass took the last records of a log, so a copy of it ends below what was committed."""
END_FELL_CUT = _known("log end fell by cleaning and a cut", "finding_01", "fix")
"""The record that a pass had kept for the log end was cut; nothing before it was left."""
END_FELL_CRASH = _known("log end fell by cleaning and a crash", "finding_03", "fix flush")
"""What a pass had left at the log end was lost in a crash; nothing before it was left."""
END_FROM_LAST = _known(
    "log end taken from the last record", "kip280_07; kip280_49", "leo_source fix"
)
"""The log end was worked out from the last record that is left, below where it had been."""
CUT_TO_HW = _known("cut to its high watermark", "KIP-101", "truncation unknown_epoch")
"""A follower cut its log to its own high watermark, which lags behind what is committed."""
CUT_BY_EPOCH = _known(
    "cut by what its leader knew of epochs", "KIP-101; raft_09", "truncation fencing"
)
"""A follower was told to cut what its leader has, by epochs that one of them does not know."""
CUT_BY_EPOCH_FILE = _known(
    "cut by a file of epochs not that of the log", "KIP-101; files_01", "truncation epoch_recovery"
)
"""A crash left a file of epochs behind or ahead of the log, and a follower was cut by it."""
CUT_BY_CLEANED_EPOCH = _known(
    "cut by an epoch that cleaning took",
    "KAFKA-17076; epochcache_01; finding_04",
    "truncation epoch_cache fix",
)
"""Cleaning took the records that told an epoch, so a follower was cut that still has them."""
OFFERED_AGAIN = _known(
    "offered a snapshot it cannot take", "boot_03; snap_31", "snapshot_offer held_snapshot"
)
"""A follower is told to fetch a snapshot and comes no further by it."""
SNAPSHOT_LACKS = _known("snapshot lacks what it stands for", "finding_11; snap_08")
"""A snapshot took the place of records that it does not have."""
EPOCHS_ON_FILE = _known("file of epochs not that of the log", "files_08", "epoch_recovery")
"""A replica came back with a file of epochs that does not fit its log."""
EPOCHS_CLEANED = _known(
    "epochs copied from a compacted log", "KAFKA-17076; epochcache_05", "epoch_cache"
)
"""Who copied a compacted log lacks the epochs that have no record left."""
INCREMENTS = _known("increments cleaned by key", "delta_01", "state_machine cleanup")
"""Records add up, and a cleaner by key keeps one of them."""
TAIL_LOST = _known("crash lost the unflushed tail", "KIP-966; durability_01", "flush")
"""A crash took records that were not flushed yet."""
SWAP_LOST = _known("crash amid a swap lost segments", "swap_02", "segment_swap")
"""A crash between deleting old segments and naming the new one left neither."""
DISK_LOST = _known("disk lost", "KIP-858")
"""A replica came back with an empty disk."""
NEVER_COPIED = _known("never copied", "Raft 5.4.1")
"""A replica had not copied it yet."""
NUMBERED_ITSELF = _known(
    "follower numbered its copies itself", "KIP-280; kip280_01", "offset_assignment"
)
"""A follower gave a copy the next offset of its own log."""
TAIL_KEPT = _known("uncommitted tail not cut", "KIP-279", "truncation")
"""A record that was never committed stayed where the leader has another."""
TAIL_UNKNOWN = _known(
    "uncommitted tail that its leader cannot tell", "finding_09; finding_16", "truncation"
)
"""The leader has neither the record that belongs there nor where its epoch began: a pass or a
snapshot took them, so it cannot tell that the follower has another one.
"""
REPLACED = _known("log replaced", "KIP-630", "snapshot_install")
"""A snapshot, or an empty log, took the place of the log."""
EXPIRED = _known("old segments deleted", "KIP-107")
"""Retention or a snapshot moved the log start above it."""
TWO_LEADERS = _known("two leaders in one epoch", "Raft 5.2; raft_07", "vote_storage")
"""Two replicas led one epoch."""
VOTE_FORGOTTEN = _known("voter restarted in between", "Raft, figure 2; raft_07", "vote_storage")
"""A voter was restarted between two elections of one epoch, and had no vote on disk."""
SAME_EPOCH = _known("leader went on in its epoch", "raft_04", "leader_restart")
"""A leader that had lost its tail wrote on in the same epoch."""

# How a replica that lacks it came to count, or to lead.

UNCLEAN = _known("elected uncleanly", "KIP-106; KIP-966")
"""The leader was elected from outside the in-sync set."""
LET_IN = _known("let in without it", "KIP-279; isr_01", "isr_join")
"""A replica joined the in-sync set without it."""
BELIEVED = _known(
    "believed beyond its log end",
    "Partition.updateFollowerFetchState; kip280_15",
    "follower_position",
)
"""The leader took the offset it had answered up to for the follower's log end."""
OLD_EPOCH_COMMITTED = _known(
    "record of an older epoch committed by counting", "Raft 5.4.2, fig. 8", "epoch_commit_rule"
)
"""A leader committed a record of an older epoch by counting replicas."""

# Why a pass of the cleaner took what was needed.

BY_UNCOMMITTED = _known("evicted by an uncommitted record", "KIP-280; bound_01", "cleaner_bound")
"""A pass went above the high watermark, and an uncommitted record evicted a committed one."""
BY_LOWER = _known("evicted by a lower version", "KIP-280", _VERSION)
"""A pass took the record with the higher version, by the topic's promise."""
BY_TIE = _known("evicted by an equal version", "KIP-280; kip280_77", f"{_VERSION} ties")
"""Of two equal versions the first was kept."""
BY_NO_VERSION = _known(
    "evicted by a record without a version", "KIP-280; kip280_51; kip280_79", _VERSION
)
"""A record without a version, or with one that was not read, evicted one that has a version."""
BY_MOVED_TIME = _known(
    "evicted by a moved timestamp", "KIP-534; kip534_22", "strategy horizon_rebase"
)
"""A delete horizon moved the timestamps of its batch."""
BY_NEGATIVE = _known("evicted by a negative version", "kip280_88", _VERSION)
"""A negative version was taken for a large one."""
BY_OTHER_LENGTH = _known("evicted by a version of another length", "kip280_90", _VERSION)
"""Versions of different lengths were compared byte by byte."""
BY_OTHER_HEADER = _known("evicted by another of several versions", "KIP-280", _VERSION)
"""A record has several version headers."""
BY_OTHER_SETTINGS = _known("cleaned under other settings", "upgrade")
"""The replica cleaned under settings that are not those of the others."""
AS_ABORTED = _known(
    "cleaned as aborted", "txn_16; txn_22", "marker_lookup map_range map_reads_from"
)
"""A pass took a record of a committed transaction for aborted."""
AS_TOMBSTONE = _known("cleaned as a tombstone", "KIP-87", "tombstone_mark")
"""A pass took a value for a tombstone."""
UNMAPPED = _known("cleaned unmapped", "KIP-280", "map_range")
"""A pass took a record without looking for its key."""
BEATEN_LOST = _known("what evicted it was lost", "bound_06")
"""The record that evicted it is gone, too."""

# When a tombstone or a marker went.

HORIZON_PASSED = _known("horizon passed", "KIP-534", "tombstone_removal")
"""Its delete horizon had passed on that replica."""
CLOCK_AHEAD = _known("clock ahead", "KIP-534", "tombstone_removal")
"""Its horizon had passed only by a clock that runs ahead of the one that set it."""
AT_ONCE = _known("removed at once", "kip534_02", "tombstone_removal")
"""The pass that saw it removed it, with no time between."""
BY_SEGMENT_AGE = _known(
    "removed by its segment's age", "KIP-534, Motivation", "tombstone_removal unstamped_tombstones"
)
"""It went since the segment it lay in was last modified long ago."""
COORDINATED = _known(
    "removed below the coordinated bound",
    "KIP-630; kip630_03",
    "tombstone_removal marker_watermark lost_disk_report",
)
"""It went since every replica had reported to be beyond it."""
EVICTED = _known("evicted by a key", "txn_10", "marker_lookup")
"""A user's record with the same key bytes evicted it."""
SUPERSEDED = _known("superseded", "KIP-280", "strategy")
"""A pass took it as beaten by another record."""

# Who needed it.

HOLDER_NEW = _known("holder new", "KIP-630; kip630_09")
"""A new replica was still being filled."""
HOLDER_BEHIND = _known("holder behind", "KIP-630, Motivation; kip630_01")
"""A replica that needs it had not copied it: it was down, cut off or slow."""
HOLDER_CUT = _known("holder cut", "epochcache_01")
"""A replica that needs it had it, and cut it."""
VALUE_LEFT = _known("value left behind by the pass", "checkpoint_02", "map_range")
"""The pass that took it left the value it deletes."""
UNFINISHED = _known("pass left unfinished", "checkpoint_02", "cleaner_checkpoint")
"""A crash undid a pass, and what it covered counts as clean all the same."""
STOPPED_AT_RECORD = _known("cleaning stopped at a record", "KIP-280; kip280_61", _VERSION)
"""A pass cannot go on at a record."""
FETCHING_FAILED = _known(
    "fetching failed",
    "UnexpectedAppendOffsetException; timed_fetch_begins_in_mid_batch",
    "truncation",
)
"""A follower could not append what it fetched, since its log ends within a batch."""
NEVER_CLEANED = _known("no pass came", "KIP-534; kip534_14")
"""No pass ran once it was due."""
WAITS_FOR_ABSENT = _known("waits for a replica that is away", "kip630_05", "tombstone_removal")
"""Its removal waits for a replica that is away."""
STAMPED_AGAIN = _known("horizon set anew", "kip534_19", "horizon_stamp")
"""Each pass gave it another horizon."""
HANDED_ON = _known("value copied from an uncleaned log", "kip630_03", "tombstone_removal")
"""The value came from a log that was not cleaned, its delete was gone in the other."""

# A late write.

CAME_LATE = _known(
    "lower version came after its delete was gone",
    "KIP-280 with KIP-534; kip280_23",
    "strategy late_versions",
)
"""A value with a lower version arrived when nothing told any more that it loses."""
KEPT_AS_END = _known("lower version kept for the log end", "finding_07", "fix")
"""The record kept for the log end loses to the tombstone that went."""
NOT_MAPPED = _known("lower version not looked at", "kip280_41", "strategy map_range")
"""The pass that took the tombstone never looked at the value."""

LATE: Final = (CAME_LATE, KEPT_AS_END, NOT_MAPPED)
"""Of what a late write is made, whichever delete came last."""

# Readers.

OTHER_REPLICA = _known("reader changed replicas", "kip534_06")
"""A reader went on at a replica that had removed it."""
NO_RECORD_LEFT = _known("nothing left before the end", "readers_12", "fix")
"""Cleaning took what the reader waits for."""
KEPT_FROM_READER = _known("committed record kept from a reader", "readers_08", "aborted_list")
"""A reader passed a record that the log holds."""
LAST_OFFSET_WINS = _known("reader keeps the later offset", "kip280_69", "strategy consumer_order")
"""A reader keeps what comes last, not what wins."""
ARRIVED_LAST = _known("older write arrived last", "kip280_84", _VERSION)
"""A producer's older write came behind a newer one."""
