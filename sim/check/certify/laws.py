"""The safety invariants: a function for each, which yields the places where an event breaks it.

H is the committed history, N its end. `x beats y`: x is the newer version of the key. A record is
decided if it is in no transaction, or in a committed one; aborted and undecided ones win nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator

from sim.check.certify.logs import (
    RebuiltCluster,
    RebuiltReplica,
    Refused,
    Row,
    Slot,
    Trace,
    fates,
    fold,
    offsets,
)

Where = tuple[str, int | None]
"""A replica, and an offset if there is one."""
Law = Callable[["Judge", RebuiltReplica, Row], Iterable[Where]]
JUDGED: list[str] = []
LAWS: dict[tuple[str, bool], list[tuple[str, Law]]] = defaultdict(list)
"""By event, and whether before its effect: the invariants that may be broken, and their laws."""


def law(*events: str, before: bool = False) -> Callable[[Law], Law]:
    """Registers a law for some events, after or `before` their effect.

    It is called with the replica of the event.
    """

    def register(one: Law) -> Law:
        JUDGED.append(one.__name__.replace("_", "-"))
        for event in events:
            LAWS[event, before].append((JUDGED[-1], one))
        return one

    return register


class Judge(RebuiltCluster):
    """A cluster rebuilt from events, and what laws remember between events.

    Attributes:
        retention: Shortest retention of tombstones in the run, in ms.
        leaders: Epoch -> the replica that was elected in it first.
        offsets: Uid -> the offset at which the record was first.
        written: (offset, epoch) -> uid of the record that was appended there first.
        contents: (end, epoch) of a snapshot -> uids of the values in the first one.
        unproved: (replica, end, uids of values) of snapshots that end above N.
    """

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace)
        ranges = self.header["environment"].get("retention_ms")
        self.retention = ranges[0] if ranges else self.rules["delete_retention_ms"]
        self.leaders: dict[int, str] = {}
        self.offsets: dict[int, int] = {}
        self.written: dict[tuple[int, int], int] = {}
        self.contents: dict[tuple[int, int], set[int]] = {}
        self.unproved: list[tuple[str, int, set[int]]] = []

    def others(self, replica: RebuiltReplica) -> list[RebuiltReplica]:
        """All replicas but one, down ones included."""
        return [one for one in self.replicas.values() if one is not replica]

    def live(self) -> list[RebuiltReplica]:
        """All replicas that are up."""
        return [one for one in self.replicas.values() if one.up]

    def apart(self, one: RebuiltReplica, other: RebuiltReplica) -> list[int]:
        """Offsets at which two logs hold different records."""
        both = (o for o in self.rewritten if o in one.log and o in other.log)
        return sorted(o for o in both if one.log[o] is not other.log[o])

    def beaten(self, slot: Slot, way: int = 0) -> bool:
        """True if a committed and decided record beats a slot, by strategy number `way`."""
        return slot.key in self.bests[way] and self.bests[way][slot.key].beats(slot, way)

    def excused(self, slot: Slot, leader: RebuiltReplica) -> bool:
        """True if a slot may be absent: no key, a delete, aborted, or beaten in H or the leader."""
        beaten = any(self.beaten(slot, way) for way in range(len(slot.ranks)))
        if slot.key is None or slot.deletes or beaten or self.fate.get(slot.uid) == "ABORT":
            return True
        fate = fates(leader.log.values())
        return any(s.beats(slot) and fate.get(s.uid) != "ABORT" for s in leader.log.values())

    def lacks(self, replica: RebuiltReplica, leader: RebuiltReplica) -> Iterator[int]:
        """Offsets of [log start, N) without the committed record, an empty batch, or an excuse."""
        for o, slot in self.committed.items():
            if o >= replica.start and o not in replica.empty and replica.log.get(o) is not slot:
                hole = o < replica.end and o not in replica.log
                if not hole or not self.excused(slot, leader):
                    yield o

    def needs(self, replica: RebuiltReplica, x: Slot) -> bool:
        """True if `x` beats a value in a log that no committed, decided tombstone there beats."""
        log = [slot for slot in replica.below(replica.end) if slot.key == x.key]
        fate = fates(log) | self.fate
        dead = [s for s in log if s.tombstone and self.committed.get(s.offset) is s]
        dead = [s for s in dead if s.producer is None or self.fate.get(s.uid) == "COMMIT"]
        values = [s for s in log if not s.tombstone and fate.get(s.uid) != "ABORT" and x.beats(s)]
        return any(not any(one.beats(value) for one in dead) for value in values)

    def leaves_contract(self, row: Row) -> bool:
        """True if a crash takes a committed record from the last replica that had to keep it.

        One live in-sync replica has to keep it, or a majority of the voters.
        """
        if row["event"] != "ReplicaCrashed":
            return False
        lost, isr = self.replicas[row["replica"]], self.header["commit"] == "isr"
        names, needed = (self.isr, 1) if isr else (self.voters, len(self.voters) // 2 + 1)
        if lost.name not in names:
            return False
        keepers = [o for o in self.others(lost) if o.name in names and (o.up or not isr)]
        lacking = [{*self.lacks(one, lost)} for one in keepers]
        taken = offsets(row["log_end_offset"], min(lost.end, self.end), self.committed)
        taken_too = [o for o in taken if lost.lineage.get(o, lost) is self.committed.get(o)]
        return any(sum(o not in gone for gone in lacking) < needed for o in taken_too)


def removed(one: RebuiltReplica, row: Row) -> list[Slot]:
    """The records that a pass takes away; raises Refused when they are not there."""
    offsets = [removal["offset"] for removal in row["removals"]]
    if not one.log.keys() >= {*offsets}:
        raise Refused(f"{one.name} removes at {row['at']} what it does not hold")
    return [one.log[offset] for offset in offsets]


def state(best: dict[str, Slot]) -> set[tuple[str, int]]:
    """Keys with the uid of their value."""
    return {(key, slot.uid) for key, slot in best.items() if not slot.tombstone}


@law("LeaderElected")
def election_safety(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """At most one replica leads an epoch."""
    if judge.leaders.setdefault(row["epoch"], one.name) != one.name:
        yield one.name, None


@law("LeaderElected")
def leader_completeness(judge: Judge, one: RebuiltReplica, row: Row) -> Iterable[Where]:
    """A new leader lacks nothing of [log start, N)."""
    return [(one.name, o) for o in judge.lacks(one, one)]


@law("Appended", "Copied", "Pushed")
def log_matching(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """Logs that differ at an offset do so in different epochs, and share nothing above it."""
    for other in judge.others(one):
        for o in judge.apart(one, other):
            shared = any(other.log.get(p) is slot for p, slot in one.log.items() if p > o)
            if one.log[o].epoch == other.log[o].epoch or shared:
                yield one.name, o


@law("Appended", "Copied", "Pushed", "HighWatermarkMoved")
def slot_agreement(judge: Judge, one: RebuiltReplica, row: Row) -> Iterable[Where]:
    """Logs do not differ below both high watermarks."""
    for other in judge.others(one):
        low = min(one.high_watermark, other.high_watermark)
        yield from ((one.name, o) for o in judge.apart(one, other) if o < low)


@law("Appended", "Copied", "Pushed")
def record_offset_uniqueness(judge: Judge, one: RebuiltReplica, row: Row) -> Iterable[Where]:
    """A record is at one offset, wherever it is."""
    first = judge.offsets.setdefault
    return [(one.name, s.offset) for s in judge.placed if first(s.uid, s.offset) != s.offset]


@law("Appended")
def offset_epoch_uniqueness(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """An (offset, epoch) is given once."""
    for slot in judge.placed:
        if judge.written.setdefault((slot.offset, slot.epoch), slot.uid) != slot.uid:
            yield one.name, slot.offset


@law("Appended")
def no_offset_reuse(judge: Judge, one: RebuiltReplica, row: Row) -> Iterable[Where]:
    """No offset below N is given again; in a timed run an old leader's appends are void."""
    counts = one.name == judge.leader or judge.header["kind"] == "story"
    return [(one.name, s.offset) for s in judge.placed if counts and s.offset < judge.end]


@law("HighWatermarkMoved")
def state_machine_safety(judge: Judge, one: RebuiltReplica, row: Row) -> Iterable[Where]:
    """No offset is committed with two records."""
    return [(one.name, slot.offset) for slot in judge.again]


@law("HighWatermarkMoved", "IsrChanged")
def committed_replicated(judge: Judge, one: RebuiltReplica, row: Row) -> Iterable[Where]:
    """Below the high watermark each in-sync replica, or a majority of the voters, has all."""
    if one.name != judge.leader or not (row.get("leading") or row.get("joined")):
        return []
    isr = judge.header["commit"] == "isr"
    names = judge.isr if isr else judge.voters
    members = [other for other in judge.replicas.values() if other.name in names]
    spare = 0 if isr else len(members) - len(names) // 2 - 1
    lacking = Counter(o for other in members for o in judge.lacks(other, one))
    return [(one.name, o) for o, n in lacking.items() if o not in judge.twice and n > spare]


@law("Quiesced")
def committed_never_lost(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """At rest the leader holds each committed record, or its absence is excused."""
    for o, slot in judge.committed.items():
        gone = o >= one.start and o not in judge.twice and one.log.get(o) is not slot
        if gone and not judge.excused(slot, one):
            yield one.name, o


@law("Truncated", before=True)
def no_truncation_below_hw(judge: Judge, one: RebuiltReplica, row: Row) -> Iterable[Where]:
    """Target >= high watermark."""
    return [(one.name, row["target"])] if row["target"] < one.high_watermark else []


@law("Truncated", before=True)
def truncation_below_log_start(judge: Judge, one: RebuiltReplica, row: Row) -> Iterable[Where]:
    """Target >= log start."""
    return [(one.name, row["target"])] if row["target"] < one.start else []


@law("HighWatermarkMoved", "Truncated", "ReplicaCrashed", "ReplicaRestarted", "Cleaned")
def hw_within_log(judge: Judge, one: RebuiltReplica, row: Row) -> Iterable[Where]:
    """High watermark <= log end."""
    return [(one.name, one.high_watermark)] if one.high_watermark > one.end else []


@law("PositionRecorded")
def follower_position_sound(judge: Judge, one: RebuiltReplica, row: Row) -> Iterable[Where]:
    """Recorded position <= log end of the follower."""
    follower = judge.replicas.get(row["follower"], one)
    return [(follower.name, row["position"])] if row["position"] > follower.end else []


@law("Quiesced")
def replica_convergence(judge: Judge, one: RebuiltReplica, row: Row) -> Iterable[Where]:
    """At rest no live log differs from the leader's where both have a record."""
    return [(other.name, o) for other in judge.live() for o in judge.apart(one, other)]


@law("Quiesced")
def hole_justified(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """At rest what H and the leader have at a hole of [log start, log end) is excused."""
    for other in judge.replicas.values():
        held = {*other.log, *other.empty}
        had = offsets(other.start, other.end, judge.committed, one.log)
        for o in (o for o in had if o not in held):
            wanted = judge.committed.get(o), one.log.get(o)
            if not all(judge.excused(slot, one) for slot in wanted if slot):
                yield other.name, o


@law("Cleaned", before=True)
def compaction_bound(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """Removed records, and the records there that beat them, are below the high watermark.

    A cleaner may misread version headers, so with these the winner is the record that it names.
    """
    best = fold(slot for slot in one.log.values() if slot.offset < row["upper_bound"])
    fate = fates(one.log.values())
    misreads = judge.header["strategy"]["name"] == "header"
    for slot, removal in zip(removed(one, row), row["removals"], strict=True):
        winner = best.get(slot.key or "", slot)
        beaten = winner.beats(slot) and fate.get(slot.uid) != "ABORT"
        by = removal["winner_offset"] if misreads else winner.offset if beaten else None
        if max(slot.offset, by or 0) >= one.high_watermark:
            yield one.name, slot.offset


@law("Cleaned", before=True)
def tombstone_safety(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """A tombstone X that nothing in H beats stays while another log needs it.

    That is one that ends at or below X and holds a value that X beats and no tombstone there does.
    """
    for x in removed(one, row):
        beaten = any(judge.beaten(x, way) for way in range(len(x.ranks)))
        if x.tombstone and not beaten and judge.fate.get(x.uid) != "ABORT":
            for other in judge.others(one):
                if other.end <= x.offset and judge.needs(other, x):
                    yield one.name, x.offset


@law("Quiesced")
def no_resurrection(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """At rest no log that ends above a winning tombstone X of H folds to a value that X beats.

    Retention promises nothing about what it deleted on any replica.
    """
    expired = max(one.expired for one in judge.replicas.values())
    for other in judge.replicas.values():
        for key, value in fold(other.below(other.high_watermark)).items():
            x = judge.bests[0].get(key, value)
            wins = x.tombstone and not value.tombstone and x.beats(value)
            if wins and expired <= x.offset < other.end:
                yield other.name, value.offset


@law("Quiesced")
def materialized_state_equivalence(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """At rest live logs with the full high watermark fold to what H does, but for what expired."""
    for other in judge.live():
        if other.high_watermark >= judge.end and not judge.twice:
            best = judge.bests[0]
            for key, _ in state(best) ^ state(fold(other.below(judge.end))):
                if key not in best or best[key].offset >= other.expired:
                    yield other.name, None


@law("Consumed")
def consumer_no_skip(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """A position passes no decided value, beaten by nothing there or in H, that was not given.

    H tells the fate of transactions; where several records were committed the log alone decides.
    """
    given = judge.given[row["consumer"]]
    log = one.below(one.end)
    best, fate = fold(log), fates(log)
    start, end = max(row["start"], one.start), min(row["end"], one.high_watermark)
    passed = offsets(start, end, one.log, judge.committed)
    for o in [*(o for o in judge.twice if o < row["start"]), *passed]:
        slot = one.log.get(o, None if o in judge.twice else judge.committed.get(o))
        if slot and slot.key is not None and not slot.tombstone and slot.uid not in given:
            twice = o in judge.twice
            lost = (judge.beaten(slot) and not twice) or best.get(slot.key, slot).beats(slot)
            decided = (fate if twice else judge.fate).get(slot.uid) == "COMMIT"
            if not lost and (slot.producer is None or decided):
                yield one.name, o


@law("Consumed")
def consumer_tombstone_visibility(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """A consumer that passes a winning tombstone X of H was given X, or a later record of the key.

    That counts if it was given a record that X beats, not longer ago than the retention.
    """
    given = judge.given[row["consumer"]]
    for x in judge.bests[0].values():
        if x.tombstone and row["start"] <= x.offset < row["end"]:
            seen = [(s, at >= row["now_ms"] - judge.retention) for s, at in given.values()]
            seen_before = any(s is x or (s.key == x.key and s.offset > x.offset) for s, _ in seen)
            if not seen_before and any(x.beats(s) and recent for s, recent in seen):
                yield one.name, x.offset


@law("Cleaned", before=True)
def txn_marker_safety(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """A marker stays while another log ends at or below it and has data of its transaction."""
    for marker in removed(one, row):
        if marker.producer is not None and marker.control:
            mine = [s for s in one.lineage.values() if s.producer == marker.producer]
            before = [s for s in mine if s.offset < marker.offset]
            last = max([s.offset for s in before if s.control], default=-1)
            data = {s.uid for s in before if s.offset > last}
            for other in judge.others(one):
                if other.end <= marker.offset and any(s.uid in data for s in other.log.values()):
                    yield one.name, marker.offset


def to_come(judge: Judge, one: RebuiltReplica, other: RebuiltReplica) -> set[int]:
    """Data that H decides by a marker which the leader has, at or above the end of another log."""
    below = fates(slot for o, slot in judge.committed.items() if o < other.end)
    gone = (slot for o, slot in judge.committed.items() if o < other.end or one.log.get(o) is slot)
    return fates(gone).keys() - below.keys()


@law("Quiesced")
def txn_isolation(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """At rest a committed record of a transaction has by its log the fate it has in H."""
    for other in judge.replicas.values():
        fate, coming = fates(other.log.values()), to_come(judge, one, other)
        for o, slot in other.log.items():
            differs = fate.get(slot.uid) != judge.fate.get(slot.uid)
            if judge.committed.get(o) is slot and differs and slot.uid not in coming - fate.keys():
                yield other.name, o


@law("Quiesced")
def lso_progress(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """At rest no log has a transaction open that H decides."""
    for other in judge.replicas.values():
        undecided = judge.fate.keys() - fates(other.log.values()).keys()
        undecided -= to_come(judge, one, other)
        yield from ((other.name, o) for o, slot in other.log.items() if slot.uid in undecided)


@law("SnapshotTaken")
def snapshot_bound(judge: Judge, one: RebuiltReplica, row: Row) -> Iterable[Where]:
    """End <= high watermark."""
    return [(one.name, row["end_offset"])] if row["end_offset"] > one.high_watermark else []


@law("SnapshotTaken", "SnapshotInstalled", "HighWatermarkMoved")
def snapshot_consistency(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """Snapshots of an id are equal, and equal the fold of H below their end, once N is there."""
    if row["event"] != "HighWatermarkMoved":
        name = (row["end_offset"], row["epoch"])
        found = {slot.uid for slot in one.snapshots[name] if not slot.tombstone}
        judge.unproved.append((one.name, name[0], found))
        if judge.contents.setdefault(name, found) != found:
            yield one.name, name[0]
    due = [known for known in judge.unproved if known[1] <= judge.end]
    judge.unproved = [known for known in judge.unproved if known[1] > judge.end]
    for replica, end, found in due:
        wanted = fold(slot for slot in judge.committed.values() if slot.offset < end)
        if not judge.twice and found != {uid for _, uid in state(wanted)}:
            yield replica, end


@law("PrefixDeleted")
def snapshot_at_log_start(judge: Judge, one: RebuiltReplica, row: Row) -> Iterator[Where]:
    """Log start > 0: a snapshot ends there."""
    if one.start not in {0, *(end for end, _ in one.snapshots)}:
        yield one.name, one.start


@law("PrefixDeleted", "SnapshotOffered")
def prefix_deletion_safety(judge: Judge, one: RebuiltReplica, row: Row) -> Iterable[Where]:
    """Log start <= high watermark and a snapshot's end; who is below it is offered a snapshot."""
    bound = min(one.high_watermark, max([end for end, _ in one.snapshots], default=-1))
    offered = row["event"] == "SnapshotOffered"
    bad = row["end_offset"] < 0 if offered else one.start > bound
    return [(one.name, row["fetch_offset"] if offered else one.start)] if bad else []
