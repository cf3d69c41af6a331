"""Mechanisms of violations: the names in signatures, each with its rules, meaning and source.

A mechanism never depends on how often something happened, or on which replica, so that a large
random run and its smallest example name the same ones. `sim.diagnose.explain.questions` finds them
in the events of a run. It also makes names that are not here: `… changed` for a field of a record,
`found at …` for a class of events where no deciding fact names a mechanism.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sim.protocol.rules import Rules

MECHANISMS: Final[dict[str, tuple[str, ...]]] = {}
"""Name of a mechanism, as signatures have it -> names of the rules whose values make it possible.

Two runs have a mechanism by the same defect only if the values of these rules are equal. There are
no rules if a step of a story, or a fault, suffices. No name changes its meaning.
"""

_ALL: Final = tuple(Rules().as_dict())
_VERSION: Final = "strategy header_form"


def _known(name: str, rules: str = "") -> str:
    """Enters a mechanism and returns its name; a space separates rules."""
    MECHANISMS[name] = tuple(rules.split())
    return name


def deciding_rules(names: Iterable[str]) -> tuple[str, ...]:
    """Names of the rules that make mechanisms possible, each once; all rules for an unknown one."""
    rules = (rule for name in names for rule in MECHANISMS.get(name, _ALL))
    return tuple(dict.fromkeys(rules))


# Why a log lacks a record, or holds another one.

END_FELL = _known("log end fell by cleaning", "fix")
"""A pass removed the last records of a log, so a copy of it ends below what was committed.

Source: KIP-280; KAFKA-17076; kip280_15.
"""
END_FELL_CUT = _known("log end fell by cleaning and a cut", "fix")
"""The record that a pass had kept for the log end was truncated; none was left before it.

Source: finding_01.
"""
END_FELL_CRASH = _known("log end fell by cleaning and a crash", "fix flush")
"""The record that a pass had kept for the log end was lost in a crash; none was left before it.

Source: finding_03.
"""
END_FROM_LAST = _known("log end taken from the last record", "leo_source fix")
"""The log end was recovered from the last record that was left, below the former log end.

Source: LogLoader.recoverLog; kip280_07; kip280_49.
"""
CUT_TO_HW = _known("cut to its high watermark", "truncation unknown_epoch")
"""A follower truncated to its own high watermark, which lags behind what is committed.

Source: KIP-101.
"""
CUT_BY_EPOCH = _known("cut by what its leader knew of epochs", "truncation fencing")
"""A follower truncated what its leader has, by epochs that one of the two did not know.

Source: KIP-101; raft_09.
"""
CUT_BY_EPOCH_FILE = _known("truncated by a stale epoch checkpoint", "truncation epoch_recovery")
"""A crash left an epoch checkpoint behind or ahead of the log, and a follower truncated by it.

Source: KIP-101; files_01.
"""
CUT_BY_CLEANED_EPOCH = _known("cut by an epoch that cleaning took", "truncation epoch_cache fix")
"""Cleaning removed all records of an epoch, so a follower that has them truncated.

Source: KAFKA-17076; epochcache_01; finding_04.
"""
OFFERED_AGAIN = _known("offered a snapshot it cannot take", "snapshot_offer held_snapshot")
"""A leader offers a snapshot that the follower cannot use, so the follower stays behind.

Source: boot_03; snap_31.
"""
SNAPSHOT_LACKS = _known("snapshot lacks what it stands for")
"""A snapshot replaced records that it does not contain.

Source: finding_11; snap_08.
"""
EPOCHS_ON_FILE = _known("stale epoch checkpoint", "epoch_recovery")
"""A replica restarted with an epoch checkpoint that does not fit its log.

Source: files_08.
"""
EPOCHS_CLEANED = _known("epochs copied from a compacted log", "epoch_cache")
"""A follower that copied a compacted log lacks the epochs without a record left.

Source: KAFKA-17076; epochcache_05.
"""
INCREMENTS = _known("increments cleaned by key", "state_machine cleanup")
"""The state is the sum of its records, and a cleaner keeps only one of a key.

Source: delta_01.
"""
TAIL_LOST = _known("crash lost the unflushed tail", "flush")
"""A crash lost records that were not flushed yet.

Source: KIP-966; durability_01.
"""
SWAP_LOST = _known("crash amid a swap lost segments", "segment_swap")
"""A crash between the deletion of old segments and the renaming of the new one lost both.

Source: swap_02.
"""
DISK_LOST = _known("disk lost")
"""A replica restarted with an empty disk.

Source: KIP-858.
"""
NEVER_COPIED = _known("never copied")
"""A replica had not copied the record yet.

Source: Raft 5.4.1.
"""
NUMBERED_ITSELF = _known("follower numbered its copies itself", "offset_assignment")
"""A follower gave a copy the next offset of its own log.

Source: KIP-280; kip280_01.
"""
TAIL_KEPT = _known("uncommitted tail not cut", "truncation")
"""A record that was never committed stayed where the leader has another.

Source: KIP-279.
"""
TAIL_UNKNOWN = _known("leader cannot detect the divergence", "truncation")
"""The leader has neither the record that belongs there nor the start of its epoch: a pass or a
snapshot removed them, so it cannot detect that the follower has another record.

Source: finding_09; finding_16.
"""
REPLACED = _known("log replaced", "snapshot_install")
"""A snapshot, or an empty log, replaced the log.

Source: KIP-630.
"""
EXPIRED = _known("old segments deleted")
"""Retention or a snapshot moved the log start above the record.

Source: KIP-107.
"""
TWO_LEADERS = _known("two leaders in one epoch", "vote_storage")
"""Two replicas led one epoch.

Source: Raft 5.2; raft_07.
"""
VOTE_FORGOTTEN = _known("voter restarted in between", "vote_storage")
"""A voter was restarted between two elections of one epoch, and had no vote on disk.

Source: Raft, figure 2; raft_07.
"""
SAME_EPOCH = _known("leader went on in its epoch", "leader_restart")
"""A leader that had lost its tail went on appending in the same epoch.

Source: raft_04.
"""

# Why a replica that lacks the record counts, or leads.

UNCLEAN = _known("elected uncleanly")
"""The leader was elected from outside the in-sync set.

Source: KIP-106; KIP-966.
"""
LET_IN = _known("let in without it", "isr_join")
"""A replica joined the in-sync set without the record.

Source: KIP-279; isr_01.
"""
BELIEVED = _known("believed beyond its log end", "follower_position")
"""The leader took the end of its own fetch response for the follower's log end.

Source: Partition.updateFollowerFetchState; kip280_15.
"""
OLD_EPOCH_COMMITTED = _known("record of an older epoch committed by counting", "epoch_commit_rule")
"""A leader committed a record of an older epoch by counting replicas.

Source: Raft 5.4.2, fig. 8.
"""

# Why a cleaning pass removed a record that was needed.

BY_UNCOMMITTED = _known("evicted by an uncommitted record", "cleaner_bound")
"""A pass went above the high watermark, and an uncommitted record evicted a committed one.

Source: KIP-280; bound_01.
"""
BY_LOWER = _known("evicted by a lower version", _VERSION)
"""A pass removed the record with the higher version, as the topic orders them.

Source: KIP-280.
"""
BY_TIE = _known("evicted by an equal version", f"{_VERSION} ties")
"""Of two equal versions the first was kept.

Source: KIP-280; kip280_77.
"""
BY_NO_VERSION = _known("evicted by a record without a version", _VERSION)
"""A record without a readable version evicted one with a version.

Source: KIP-280; kip280_51; kip280_79.
"""
BY_MOVED_TIME = _known("evicted by a moved timestamp", "strategy horizon_rebase")
"""A delete horizon moved the timestamps of its batch.

Source: KIP-534; kip534_22.
"""
BY_NEGATIVE = _known("evicted by a negative version", _VERSION)
"""A negative version was taken for a large one.

Source: kip280_88.
"""
BY_OTHER_LENGTH = _known("evicted by a version of another length", _VERSION)
"""Versions of different lengths were compared byte by byte.

Source: kip280_90.
"""
BY_OTHER_HEADER = _known("evicted by another of several versions", _VERSION)
"""A record has several version headers.

Source: KIP-280.
"""
BY_OTHER_SETTINGS = _known("cleaned under other settings")
"""The replica cleaned under other settings than the other replicas.

Source: upgrade.
"""
AS_ABORTED = _known("cleaned as aborted", "marker_lookup map_range map_reads_from")
"""A pass treated a record of a committed transaction as aborted.

Source: txn_16; txn_22.
"""
AS_TOMBSTONE = _known("cleaned as a tombstone", "tombstone_mark")
"""A pass treated a value as a tombstone.

Source: KIP-87.
"""
UNMAPPED = _known("cleaned unmapped", "map_range")
"""A pass removed a record without looking up its key.

Source: KIP-280.
"""
BEATEN_LOST = _known("what evicted it was lost")
"""The record that evicted it was lost, too.

Source: bound_06.
"""

# Why a tombstone or a marker was removed.

HORIZON_PASSED = _known("horizon passed", "tombstone_removal")
"""The delete horizon had passed on that replica.

Source: KIP-534.
"""
CLOCK_AHEAD = _known("clock ahead", "tombstone_removal")
"""The horizon had passed only by a clock that runs ahead of the one that set it.

Source: KIP-534.
"""
AT_ONCE = _known("removed at once", "tombstone_removal")
"""The first pass that saw it removed it, without waiting.

Source: kip534_02.
"""
BY_SEGMENT_AGE = _known("removed by its segment's age", "tombstone_removal unstamped_tombstones")
"""It was removed since its segment was last modified long enough ago.

Source: KIP-534, Motivation.
"""
COORDINATED = _known(
    "removed below the coordinated bound", "tombstone_removal marker_watermark lost_disk_report"
)
"""It was removed since every replica had reported a position above it.

Source: KIP-630; kip630_03.
"""
EVICTED = _known("evicted by a key", "marker_lookup")
"""A record of a user with the same key bytes evicted the marker.

Source: txn_10.
"""
SUPERSEDED = _known("superseded", "strategy")
"""A pass removed it since another record of its key wins.

Source: KIP-280.
"""

# Why a replica needed it.

HOLDER_NEW = _known("holder new")
"""A new replica was still being filled.

Source: KIP-630; kip630_09.
"""
HOLDER_BEHIND = _known("holder behind")
"""A replica that needs it had not copied it: it was down, partitioned or slow.

Source: KIP-630, Motivation; kip630_01.
"""
HOLDER_CUT = _known("holder cut")
"""A replica that needs it had truncated it.

Source: epochcache_01.
"""
VALUE_LEFT = _known("value left behind by the pass", "map_range")
"""The pass that removed it kept the value that it deletes.

Source: checkpoint_02.
"""
UNFINISHED = _known("pass left unfinished", "cleaner_checkpoint")
"""A crash undid a pass, but the cleaner checkpoint counts it as done.

Source: checkpoint_02.
"""
STOPPED_AT_RECORD = _known("cleaning stopped at a record", _VERSION)
"""A pass cannot continue past a record.

Source: KIP-280; kip280_61.
"""
FETCHING_FAILED = _known("fetching failed", "truncation")
"""A follower could not append a fetched batch, since its log ends within that batch.

Source: UnexpectedAppendOffsetException; timed_fetch_begins_in_mid_batch.
"""
NEVER_CLEANED = _known("no pass came")
"""No pass ran after it was due.

Source: KIP-534; kip534_14.
"""
WAITS_FOR_ABSENT = _known("waits for a replica that is away", "tombstone_removal")
"""The removal waits for a replica that is down.

Source: kip630_05.
"""
STAMPED_AGAIN = _known("horizon set anew", "horizon_stamp")
"""Each pass set another horizon.

Source: kip534_19.
"""
HANDED_ON = _known("value copied from an uncleaned log", "tombstone_removal")
"""The value was copied from an uncleaned log after its tombstone was gone elsewhere.

Source: kip630_03.
"""

# Why a late write survives.

CAME_LATE = _known("lower version came after its delete was gone", "strategy late_versions")
"""A value with a lower version arrived after the record that beats it had been removed.

Source: KIP-280 with KIP-534; kip280_23.
"""
KEPT_AS_END = _known("lower version kept for the log end", "fix")
"""A fix kept a value as the last record, and the tombstone that beats it was removed.

Source: finding_07.
"""
NOT_MAPPED = _known("lower version not looked at", "strategy map_range")
"""The pass that removed the tombstone never looked at the value.

Source: kip280_41.
"""

LATE: Final = (CAME_LATE, KEPT_AS_END, NOT_MAPPED)
"""The mechanisms of late writes."""

# Readers.

OTHER_REPLICA = _known("reader changed replicas")
"""A consumer continued at a replica that had removed it.

Source: kip534_06.
"""
NO_RECORD_LEFT = _known("nothing left before the end", "fix")
"""Cleaning removed the records that a consumer waits for.

Source: readers_12.
"""
KEPT_FROM_READER = _known("committed record kept from a reader", "aborted_list")
"""A consumer passed a record that the log holds.

Source: readers_08.
"""
LAST_OFFSET_WINS = _known("reader keeps the later offset", "strategy consumer_order")
"""A consumer keeps the last record, not the winner.

Source: kip280_69.
"""
ARRIVED_LAST = _known("older write arrived last", _VERSION)
"""An older write of a producer arrived after a newer one.

Source: kip280_84.
"""
