"""The mechanisms of violations: every one that a signature may name, its meaning, its source.

A mechanism never depends on how often something happened, or on which replica, so that a large
random run and its smallest example name the same ones. `sim.diagnose.explain.signature` finds them
in the events of a run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from sim.protocol.rules import Rules


class Mechanism(NamedTuple):
    """The origin of a mechanism.

    Attributes:
        sources: The KIPs, tickets, papers and stories that describe it.
        rules: Names of the rules whose values make it possible: two runs have it by the same defect
            only if these are equal. Empty if a step of a story, or a fault, suffices.
    """

    sources: tuple[str, ...]
    rules: tuple[str, ...]


MECHANISMS: Final[dict[str, Mechanism]] = {}
"""Name of a mechanism, as signatures have it -> its origin. No name changes its meaning."""

_ALL: Final = tuple(Rules().as_dict())
_VERSION: Final = "strategy header_form"


def _known(name: str, sources: str, rules: str = "") -> str:
    """Enters a mechanism and returns its name; `; ` separates sources, a space separates rules."""
    MECHANISMS[name] = Mechanism(tuple(sources.split("; ")), tuple(rules.split()))
    return name


def deciding_rules(names: Iterable[str]) -> tuple[str, ...]:
    """Names of the rules that make mechanisms possible, each once; all rules for an unknown one."""
    known = (MECHANISMS[name].rules if name in MECHANISMS else _ALL for name in names)
    return tuple(dict.fromkeys(rule for rules in known for rule in rules))


# Why a log lacks a record, or holds another one.

END_FELL = _known("log end fell by cleaning", "KIP-280; KAFKA-17076; kip280_15", "fix")
"""A pass removed the last records of a log, so a copy of it ends below what was committed."""
END_FELL_CUT = _known("log end fell by cleaning and a cut", "finding_01", "fix")
"""The record that a pass had kept for the log end was truncated; none was left before it."""
END_FELL_CRASH = _known("log end fell by cleaning and a crash", "finding_03", "fix flush")
"""The record that a pass had kept for the log end was lost in a crash; none was left before it."""
END_FROM_LAST = _known(
    "log end taken from the last record", "kip280_07; kip280_49", "leo_source fix"
)
"""The log end was recovered from the last record that was left, below the former log end."""
CUT_TO_HW = _known("cut to its high watermark", "KIP-101", "truncation unknown_epoch")
"""A follower truncated to its own high watermark, which lags behind what is committed."""
CUT_BY_EPOCH = _known(
    "cut by what its leader knew of epochs", "KIP-101; raft_09", "truncation fencing"
)
"""A follower truncated what its leader has, by epochs that one of the two did not know."""
CUT_BY_EPOCH_FILE = _known(
    "truncated by a stale epoch checkpoint", "KIP-101; files_01", "truncation epoch_recovery"
)
"""A crash left an epoch checkpoint behind or ahead of the log, and a follower truncated by it."""
CUT_BY_CLEANED_EPOCH = _known(
    "cut by an epoch that cleaning took",
    "KAFKA-17076; epochcache_01; finding_04",
    "truncation epoch_cache fix",
)
"""Cleaning removed all records of an epoch, so a follower that has them truncated."""
OFFERED_AGAIN = _known(
    "offered a snapshot it cannot take", "boot_03; snap_31", "snapshot_offer held_snapshot"
)
"""A leader offers a snapshot that the follower cannot use, so the follower stays behind."""
SNAPSHOT_LACKS = _known("snapshot lacks what it stands for", "finding_11; snap_08")
"""A snapshot replaced records that it does not contain."""
EPOCHS_ON_FILE = _known("stale epoch checkpoint", "files_08", "epoch_recovery")
"""A replica restarted with an epoch checkpoint that does not fit its log."""
EPOCHS_CLEANED = _known(
    "epochs copied from a compacted log", "KAFKA-17076; epochcache_05", "epoch_cache"
)
"""A follower that copied a compacted log lacks the epochs without a record left."""
INCREMENTS = _known("increments cleaned by key", "delta_01", "state_machine cleanup")
"""The state is the sum of its records, and a cleaner keeps only one of a key."""
TAIL_LOST = _known("crash lost the unflushed tail", "KIP-966; durability_01", "flush")
"""A crash lost records that were not flushed yet."""
SWAP_LOST = _known("crash amid a swap lost segments", "swap_02", "segment_swap")
"""A crash between the deletion of old segments and the renaming of the new one lost both."""
DISK_LOST = _known("disk lost", "KIP-858")
"""A replica restarted with an empty disk."""
NEVER_COPIED = _known("never copied", "Raft 5.4.1")
"""A replica had not copied the record yet."""
NUMBERED_ITSELF = _known(
    "follower numbered its copies itself", "KIP-280; kip280_01", "offset_assignment"
)
"""A follower gave a copy the next offset of its own log."""
TAIL_KEPT = _known("uncommitted tail not cut", "KIP-279", "truncation")
"""A record that was never committed stayed where the leader has another."""
TAIL_UNKNOWN = _known("leader cannot detect the divergence", "finding_09; finding_16", "truncation")
"""The leader has neither the record that belongs there nor the start of its epoch: a pass or a
snapshot removed them, so it cannot detect that the follower has another record.
"""
REPLACED = _known("log replaced", "KIP-630", "snapshot_install")
"""A snapshot, or an empty log, replaced the log."""
EXPIRED = _known("old segments deleted", "KIP-107")
"""Retention or a snapshot moved the log start above the record."""
TWO_LEADERS = _known("two leaders in one epoch", "Raft 5.2; raft_07", "vote_storage")
"""Two replicas led one epoch."""
VOTE_FORGOTTEN = _known("voter restarted in between", "Raft, figure 2; raft_07", "vote_storage")
"""A voter was restarted between two elections of one epoch, and had no vote on disk."""
SAME_EPOCH = _known("leader went on in its epoch", "raft_04", "leader_restart")
"""A leader that had lost its tail went on appending in the same epoch."""

# Why a replica that lacks the record counts, or leads.

UNCLEAN = _known("elected uncleanly", "KIP-106; KIP-966")
"""The leader was elected from outside the in-sync set."""
LET_IN = _known("let in without it", "KIP-279; isr_01", "isr_join")
"""A replica joined the in-sync set without the record."""
BELIEVED = _known(
    "believed beyond its log end",
    "Partition.updateFollowerFetchState; kip280_15",
    "follower_position",
)
"""The leader took the end of its own fetch response for the follower's log end."""
OLD_EPOCH_COMMITTED = _known(
    "record of an older epoch committed by counting", "Raft 5.4.2, fig. 8", "epoch_commit_rule"
)
"""A leader committed a record of an older epoch by counting replicas."""

# Why a cleaning pass removed a record that was needed.

BY_UNCOMMITTED = _known("evicted by an uncommitted record", "KIP-280; bound_01", "cleaner_bound")
"""A pass went above the high watermark, and an uncommitted record evicted a committed one."""
BY_LOWER = _known("evicted by a lower version", "KIP-280", _VERSION)
"""A pass removed the record with the higher version, as the topic orders them."""
BY_TIE = _known("evicted by an equal version", "KIP-280; kip280_77", f"{_VERSION} ties")
"""Of two equal versions the first was kept."""
BY_NO_VERSION = _known(
    "evicted by a record without a version", "KIP-280; kip280_51; kip280_79", _VERSION
)
"""A record without a readable version evicted one with a version."""
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
"""The replica cleaned under other settings than the other replicas."""
AS_ABORTED = _known(
    "cleaned as aborted", "txn_16; txn_22", "marker_lookup map_range map_reads_from"
)
"""A pass treated a record of a committed transaction as aborted."""
AS_TOMBSTONE = _known("cleaned as a tombstone", "KIP-87", "tombstone_mark")
"""A pass treated a value as a tombstone."""
UNMAPPED = _known("cleaned unmapped", "KIP-280", "map_range")
"""A pass removed a record without looking up its key."""
BEATEN_LOST = _known("what evicted it was lost", "bound_06")
"""The record that evicted it was lost, too."""

# Why a tombstone or a marker was removed.

HORIZON_PASSED = _known("horizon passed", "KIP-534", "tombstone_removal")
"""The delete horizon had passed on that replica."""
CLOCK_AHEAD = _known("clock ahead", "KIP-534", "tombstone_removal")
"""The horizon had passed only by a clock that runs ahead of the one that set it."""
AT_ONCE = _known("removed at once", "kip534_02", "tombstone_removal")
"""The first pass that saw it removed it, without waiting."""
BY_SEGMENT_AGE = _known(
    "removed by its segment's age", "KIP-534, Motivation", "tombstone_removal unstamped_tombstones"
)
"""It was removed since its segment was last modified long enough ago."""
COORDINATED = _known(
    "removed below the coordinated bound",
    "KIP-630; kip630_03",
    "tombstone_removal marker_watermark lost_disk_report",
)
"""It was removed since every replica had reported a position above it."""
EVICTED = _known("evicted by a key", "txn_10", "marker_lookup")
"""A record of a user with the same key bytes evicted the marker."""
SUPERSEDED = _known("superseded", "KIP-280", "strategy")
"""A pass removed it since another record of its key wins."""

# Why a replica needed it.

HOLDER_NEW = _known("holder new", "KIP-630; kip630_09")
"""A new replica was still being filled."""
HOLDER_BEHIND = _known("holder behind", "KIP-630, Motivation; kip630_01")
"""A replica that needs it had not copied it: it was down, partitioned or slow."""
HOLDER_CUT = _known("holder cut", "epochcache_01")
"""A replica that needs it had truncated it."""
VALUE_LEFT = _known("value left behind by the pass", "checkpoint_02", "map_range")
"""The pass that removed it kept the value that it deletes."""
UNFINISHED = _known("pass left unfinished", "checkpoint_02", "cleaner_checkpoint")
"""A crash undid a pass, but the cleaner checkpoint counts it as done."""
STOPPED_AT_RECORD = _known("cleaning stopped at a record", "KIP-280; kip280_61", _VERSION)
"""A pass cannot continue past a record."""
FETCHING_FAILED = _known(
    "fetching failed",
    "UnexpectedAppendOffsetException; timed_fetch_begins_in_mid_batch",
    "truncation",
)
"""A follower could not append a fetched batch, since its log ends within that batch."""
NEVER_CLEANED = _known("no pass came", "KIP-534; kip534_14")
"""No pass ran after it was due."""
WAITS_FOR_ABSENT = _known("waits for a replica that is away", "kip630_05", "tombstone_removal")
"""The removal waits for a replica that is down."""
STAMPED_AGAIN = _known("horizon set anew", "kip534_19", "horizon_stamp")
"""Each pass set another horizon."""
HANDED_ON = _known("value copied from an uncleaned log", "kip630_03", "tombstone_removal")
"""The value was copied from an uncleaned log after its tombstone was gone elsewhere."""

# Why a late write survives.

CAME_LATE = _known(
    "lower version came after its delete was gone",
    "KIP-280 with KIP-534; kip280_23",
    "strategy late_versions",
)
"""A value with a lower version arrived after the record that beats it had been removed."""
KEPT_AS_END = _known("lower version kept for the log end", "finding_07", "fix")
"""A fix kept a value as the last record, and the tombstone that beats it was removed."""
NOT_MAPPED = _known("lower version not looked at", "kip280_41", "strategy map_range")
"""The pass that removed the tombstone never looked at the value."""

LATE: Final = (CAME_LATE, KEPT_AS_END, NOT_MAPPED)
"""The mechanisms of late writes."""

# Readers.

OTHER_REPLICA = _known("reader changed replicas", "kip534_06")
"""A consumer continued at a replica that had removed it."""
NO_RECORD_LEFT = _known("nothing left before the end", "readers_12", "fix")
"""Cleaning removed the records that a consumer waits for."""
KEPT_FROM_READER = _known("committed record kept from a reader", "readers_08", "aborted_list")
"""A consumer passed a record that the log holds."""
LAST_OFFSET_WINS = _known("reader keeps the later offset", "kip280_69", "strategy consumer_order")
"""A consumer keeps the last record, not the winner."""
ARRIVED_LAST = _known("older write arrived last", "kip280_84", _VERSION)
"""An older write of a producer arrived after a newer one."""
