"""The vocabulary of causes: every fact that a signature may name, for people, with its source.

A fact says what decided, never how often or on which replica, so that a large random run and its
shortest witness name the same ones. `sim.explain.signature` finds them in the events of a run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from sim.rules import Rules


class Mechanism(NamedTuple):
    """A fact that decides.

    Attributes:
        means: A sentence for people.
        source: A KIP, ticket, paper or story that describes it.
        rules: Whose values make it possible, by their names: two runs have it by one defect only
            if these are equal. Where a step of a story, or a fault, suffices, there are none.
    """

    means: str
    source: str
    rules: tuple[str, ...] = ()


# How a log came to lack a record, or to hold another one.
END_FELL: Final = "log end fell by cleaning"
END_FELL_CUT: Final = "log end fell by cleaning and a cut"
END_FELL_CRASH: Final = "log end fell by cleaning and a crash"
END_FROM_LAST: Final = "log end taken from the last record"
CUT_TO_HW: Final = "cut to its high watermark"
CUT_BY_EPOCH: Final = "cut by what its leader knew of epochs"
CUT_BY_EPOCH_FILE: Final = "cut by a file of epochs not that of the log"
CUT_BY_CLEANED_EPOCH: Final = "cut by an epoch that cleaning took"
OFFERED_AGAIN: Final = "offered a snapshot it cannot take"
SNAPSHOT_LACKS: Final = "snapshot lacks what it stands for"
EPOCHS_ON_FILE: Final = "file of epochs not that of the log"
EPOCHS_CLEANED: Final = "epochs copied from a compacted log"
INCREMENTS: Final = "increments cleaned by key"
TAIL_LOST: Final = "crash lost the unflushed tail"
SWAP_LOST: Final = "crash amid a swap lost segments"
DISK_LOST: Final = "disk lost"
NEVER_COPIED: Final = "never copied"
NUMBERED_ITSELF: Final = "follower numbered its copies itself"
TAIL_KEPT: Final = "uncommitted tail not cut"
TAIL_UNKNOWN: Final = "uncommitted tail that its leader cannot tell"
REPLACED: Final = "log replaced"
EXPIRED: Final = "old segments deleted"
TWO_LEADERS: Final = "two leaders in one epoch"
VOTE_FORGOTTEN: Final = "voter restarted in between"
SAME_EPOCH: Final = "leader went on in its epoch"

# How a replica that lacks it came to count, or to lead.
UNCLEAN: Final = "elected uncleanly"
LET_IN: Final = "let in without it"
BELIEVED: Final = "believed beyond its log end"
OLD_EPOCH_COMMITTED: Final = "record of an older epoch committed by counting"

# Why a pass of the cleaner took what was needed.
BY_UNCOMMITTED: Final = "evicted by an uncommitted record"
BY_LOWER: Final = "evicted by a lower version"
BY_TIE: Final = "evicted by an equal version"
BY_NO_VERSION: Final = "evicted by a record without a version"
BY_MOVED_TIME: Final = "evicted by a moved timestamp"
BY_NEGATIVE: Final = "evicted by a negative version"
BY_OTHER_LENGTH: Final = "evicted by a version of another length"
BY_OTHER_HEADER: Final = "evicted by another of several versions"
BY_OTHER_SETTINGS: Final = "cleaned under other settings"
AS_ABORTED: Final = "cleaned as aborted"
AS_TOMBSTONE: Final = "cleaned as a tombstone"
UNMAPPED: Final = "cleaned unmapped"
BEATEN_LOST: Final = "what evicted it was lost"

# When a tombstone or a marker went.
HORIZON_PASSED: Final = "horizon passed"
CLOCK_AHEAD: Final = "clock ahead"
AT_ONCE: Final = "removed at once"
BY_SEGMENT_AGE: Final = "removed by its segment's age"
COORDINATED: Final = "removed below the coordinated bound"
EVICTED: Final = "evicted by a key"
SUPERSEDED: Final = "superseded"

# Who needed it.
HOLDER_NEW: Final = "holder new"
HOLDER_BEHIND: Final = "holder behind"
HOLDER_CUT: Final = "holder cut"
VALUE_LEFT: Final = "value left behind by the pass"
UNFINISHED: Final = "pass left unfinished"
STOPPED_AT_RECORD: Final = "cleaning stopped at a record"
NEVER_CLEANED: Final = "no pass came"
WAITS_FOR_ABSENT: Final = "waits for a replica that is away"
STAMPED_AGAIN: Final = "horizon set anew"
HANDED_ON: Final = "value copied from an uncleaned log"

# A late write.
CAME_LATE: Final = "lower version came after its delete was gone"
KEPT_AS_END: Final = "lower version kept for the log end"
NOT_MAPPED: Final = "lower version not looked at"
LATE: Final = (CAME_LATE, KEPT_AS_END, NOT_MAPPED)
"""Of what a late write is made, whichever delete came last."""

# Readers.
READ_WHILE_LOADING: Final = "served while loading"
READ_BELOW_MARK: Final = "served by a high watermark that lags"
OTHER_REPLICA: Final = "reader changed replicas"
NO_RECORD_LEFT: Final = "nothing left before the end"
KEPT_FROM_READER: Final = "committed record kept from a reader"
LAST_OFFSET_WINS: Final = "reader keeps the later offset"
ARRIVED_LAST: Final = "older write arrived last"

_VERSION: Final = ("strategy", "header_form")
_REMOVAL: Final = ("tombstone_removal",)
_ALL: Final = tuple(Rules().as_dict())

MECHANISMS: Final[dict[str, Mechanism]] = {
    END_FELL: Mechanism(
        "a pass took the last records of a log, so a copy of it ends below what was committed",
        "KIP-280; KAFKA-17076; kip280_15",
        ("fix",),
    ),
    END_FELL_CUT: Mechanism(
        "the record that a pass had kept for the log end was cut; nothing before it was left",
        "finding_01",
        ("fix",),
    ),
    END_FELL_CRASH: Mechanism(
        "what a pass had left at the log end was lost in a crash; nothing before it was left",
        "finding_03",
        ("fix", "flush"),
    ),
    END_FROM_LAST: Mechanism(
        "the log end was worked out from the last record that is left, below where it had been",
        "kip280_07, kip280_49",
        ("leo_source", "fix"),
    ),
    CUT_TO_HW: Mechanism(
        "a follower cut its log to its own high watermark, which lags behind what is committed",
        "KIP-101",
        ("truncation", "unknown_epoch"),
    ),
    CUT_BY_EPOCH: Mechanism(
        "a follower was told to cut what its leader has, by epochs that one of them does not know",
        "KIP-101; raft_09",
        ("truncation", "fencing"),
    ),
    CUT_BY_EPOCH_FILE: Mechanism(
        "a crash left a file of epochs behind or ahead of the log, and a follower was cut by it",
        "KIP-101; files_01",
        ("truncation", "epoch_recovery"),
    ),
    CUT_BY_CLEANED_EPOCH: Mechanism(
        "cleaning took the records that told an epoch, so a follower was cut that still has them",
        "KAFKA-17076; epochcache_01, finding_04",
        ("truncation", "epoch_cache", "fix"),
    ),
    OFFERED_AGAIN: Mechanism(
        "a follower is told to fetch a snapshot and comes no further by it",
        "boot_03; snap_31",
        ("snapshot_offer", "held_snapshot"),
    ),
    SNAPSHOT_LACKS: Mechanism(
        "a snapshot took the place of records that it does not have", "finding_11; snap_08"
    ),
    EPOCHS_ON_FILE: Mechanism(
        "a replica came back with a file of epochs that does not fit its log",
        "files_08",
        ("epoch_recovery",),
    ),
    EPOCHS_CLEANED: Mechanism(
        "who copied a compacted log lacks the epochs that have no record left",
        "KAFKA-17076; epochcache_05",
        ("epoch_cache",),
    ),
    INCREMENTS: Mechanism(
        "records add up, and a cleaner by key keeps one of them",
        "delta_01",
        ("state_machine", "cleanup"),
    ),
    TAIL_LOST: Mechanism(
        "a crash took records that were not flushed yet", "KIP-966; durability_01", ("flush",)
    ),
    SWAP_LOST: Mechanism(
        "a crash between deleting old segments and naming the new one left neither",
        "swap_02",
        ("segment_swap",),
    ),
    DISK_LOST: Mechanism("a replica came back with an empty disk", "KIP-858"),
    NEVER_COPIED: Mechanism("a replica had not copied it yet", "Raft 5.4.1"),
    NUMBERED_ITSELF: Mechanism(
        "a follower gave a copy the next offset of its own log",
        "KIP-280; kip280_01",
        ("offset_assignment",),
    ),
    TAIL_KEPT: Mechanism(
        "a record that was never committed stayed where the leader has another",
        "KIP-279",
        ("truncation",),
    ),
    REPLACED: Mechanism(
        "a snapshot, or an empty log, took the place of the log", "KIP-630", ("snapshot_install",)
    ),
    TAIL_UNKNOWN: Mechanism(
        "the leader has neither the record that belongs there nor where its epoch began: a pass "
        "or a snapshot took them, so it cannot tell that the follower has another one",
        "finding_09, finding_16",
        ("truncation",),
    ),
    EXPIRED: Mechanism("retention or a snapshot moved the log start above it", "KIP-107"),
    TWO_LEADERS: Mechanism("two replicas led one epoch", "Raft 5.2; raft_07", ("vote_storage",)),
    VOTE_FORGOTTEN: Mechanism(
        "a voter was restarted between two elections of one epoch, and had no vote on disk",
        "Raft, figure 2; raft_07",
        ("vote_storage",),
    ),
    SAME_EPOCH: Mechanism(
        "a leader that had lost its tail wrote on in the same epoch", "raft_04", ("leader_restart",)
    ),
    UNCLEAN: Mechanism("the leader was elected from outside the in-sync set", "KIP-106; KIP-966"),
    LET_IN: Mechanism(
        "a replica joined the in-sync set without it", "KIP-279; isr_01", ("isr_join",)
    ),
    BELIEVED: Mechanism(
        "the leader took the offset it had answered up to for the follower's log end",
        "Partition.updateFollowerFetchState; kip280_15",
        ("follower_position",),
    ),
    OLD_EPOCH_COMMITTED: Mechanism(
        "a leader committed a record of an older epoch by counting replicas",
        "Raft 5.4.2, fig. 8",
        ("epoch_commit_rule",),
    ),
    BY_UNCOMMITTED: Mechanism(
        "a pass went above the high watermark, and an uncommitted record evicted a committed one",
        "KIP-280; bound_01",
        ("cleaner_bound",),
    ),
    BY_LOWER: Mechanism(
        "a pass took the record with the higher version, by the topic's promise",
        "KIP-280",
        _VERSION,
    ),
    BY_TIE: Mechanism(
        "of two equal versions the first was kept", "KIP-280; kip280_77", (*_VERSION, "ties")
    ),
    BY_NO_VERSION: Mechanism(
        "a record without a version, or with one that was not read, evicted one that has a version",
        "KIP-280; kip280_51, kip280_79",
        _VERSION,
    ),
    BY_MOVED_TIME: Mechanism(
        "a delete horizon moved the timestamps of its batch",
        "KIP-534; kip534_22",
        ("strategy", "horizon_rebase"),
    ),
    BY_NEGATIVE: Mechanism("a negative version was taken for a large one", "kip280_88", _VERSION),
    BY_OTHER_LENGTH: Mechanism(
        "versions of different lengths were compared byte by byte", "kip280_90", _VERSION
    ),
    BY_OTHER_HEADER: Mechanism("a record has several version headers", "KIP-280", _VERSION),
    BY_OTHER_SETTINGS: Mechanism(
        "the replica cleaned under settings that are not those of the others", "upgrade"
    ),
    AS_ABORTED: Mechanism(
        "a pass took a record of a committed transaction for aborted",
        "txn_16; txn_22",
        ("marker_lookup", "map_range", "map_reads_from"),
    ),
    AS_TOMBSTONE: Mechanism("a pass took a value for a tombstone", "KIP-87", ("tombstone_mark",)),
    UNMAPPED: Mechanism(
        "a pass took a record without looking for its key", "KIP-280", ("map_range",)
    ),
    BEATEN_LOST: Mechanism("the record that evicted it is gone, too", "bound_06"),
    HORIZON_PASSED: Mechanism("its delete horizon had passed on that replica", "KIP-534", _REMOVAL),
    CLOCK_AHEAD: Mechanism(
        "its horizon had passed only by a clock that runs ahead of the one that set it",
        "KIP-534",
        _REMOVAL,
    ),
    AT_ONCE: Mechanism(
        "the pass that saw it removed it, with no time between", "kip534_02", _REMOVAL
    ),
    BY_SEGMENT_AGE: Mechanism(
        "it went since the segment it lay in was last modified long ago",
        "KIP-534, Motivation",
        (*_REMOVAL, "unstamped_tombstones"),
    ),
    COORDINATED: Mechanism(
        "it went since every replica had reported to be beyond it",
        "KIP-630; kip630_03",
        (*_REMOVAL, "marker_watermark", "lost_disk_report"),
    ),
    EVICTED: Mechanism(
        "a user's record with the same key bytes evicted it", "txn_10", ("marker_lookup",)
    ),
    SUPERSEDED: Mechanism("a pass took it as beaten by another record", "KIP-280", ("strategy",)),
    HOLDER_NEW: Mechanism("a new replica was still being filled", "KIP-630; kip630_09"),
    HOLDER_BEHIND: Mechanism(
        "a replica that needs it had not copied it: it was down, cut off or slow",
        "KIP-630, Motivation; kip630_01",
    ),
    HOLDER_CUT: Mechanism("a replica that needs it had it, and cut it", "epochcache_01"),
    VALUE_LEFT: Mechanism(
        "the pass that took it left the value it deletes", "checkpoint_02", ("map_range",)
    ),
    UNFINISHED: Mechanism(
        "a crash undid a pass, and what it covered counts as clean all the same",
        "checkpoint_02",
        ("cleaner_checkpoint",),
    ),
    STOPPED_AT_RECORD: Mechanism("a pass cannot go on at a record", "KIP-280; kip280_61", _VERSION),
    NEVER_CLEANED: Mechanism("no pass ran once it was due", "KIP-534; kip534_14"),
    WAITS_FOR_ABSENT: Mechanism(
        "its removal waits for a replica that is away", "kip630_05", _REMOVAL
    ),
    STAMPED_AGAIN: Mechanism("each pass gave it another horizon", "kip534_19", ("horizon_stamp",)),
    HANDED_ON: Mechanism(
        "the value came from a log that was not cleaned, its delete was gone in the other",
        "kip630_03",
        _REMOVAL,
    ),
    CAME_LATE: Mechanism(
        "a value with a lower version arrived when nothing told any more that it loses",
        "KIP-280 with KIP-534; kip280_23",
        ("strategy", "late_versions"),
    ),
    KEPT_AS_END: Mechanism(
        "the record kept for the log end loses to the tombstone that went", "finding_07", ("fix",)
    ),
    NOT_MAPPED: Mechanism(
        "the pass that took the tombstone never looked at the value",
        "kip280_41",
        ("strategy", "map_range"),
    ),
    READ_WHILE_LOADING: Mechanism(
        "a coordinator answered before it had read its log", "coord_02", ("coordinator_loads",)
    ),
    READ_BELOW_MARK: Mechanism(
        "a new leader answered by a high watermark that it had yet to learn",
        "coord_04",
        ("coordinator_reads",),
    ),
    OTHER_REPLICA: Mechanism("a reader went on at a replica that had removed it", "kip534_06"),
    NO_RECORD_LEFT: Mechanism("cleaning took what the reader waits for", "readers_12", ("fix",)),
    KEPT_FROM_READER: Mechanism(
        "a reader passed a record that the log holds", "readers_08", ("aborted_list",)
    ),
    ARRIVED_LAST: Mechanism(
        "a producer's older write came behind a newer one", "kip280_84", _VERSION
    ),
    LAST_OFFSET_WINS: Mechanism(
        "a reader keeps what comes last, not what wins", "kip280_69", ("strategy", "consumer_order")
    ),
}
"""Each fact by its name. A name is what a signature says; it never changes its meaning."""


def deciding_rules(names: Iterable[str]) -> tuple[str, ...]:
    """The rules that make facts possible, each once; all there are for one of no known kind."""
    known = (MECHANISMS[name].rules if name in MECHANISMS else _ALL for name in names)
    return tuple(dict.fromkeys(rule for rules in known for rule in rules))
