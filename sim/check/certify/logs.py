"""Rebuilds the logs of all replicas, and the committed history H.

A log has the records that are present; its lineage also those that cleaning removed. Ends and high
watermarks are exclusive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from sim.check.certify.reading import Rank, Refused, Row, Trace, in_force, is_tombstone, ranking


class Slot(NamedTuple):
    """A record at its offset; all replicas that hold it share one object.

    `ranks`: one for each strategy that was in force. `deletes`: true for a tombstone by any mark
    that was in force. `producer`: of its transaction.
    """

    offset: int
    epoch: int
    uid: int
    key: str | None
    tombstone: bool
    deletes: bool
    ranks: tuple[Rank, ...]
    producer: int | None
    control: str | None

    def beats(self, other: Slot, way: int = 0) -> bool:
        """True if this is the newer version of the same key."""
        return self.key == other.key and self.ranks[way] > other.ranks[way]


def fates(slots: Iterable[Slot]) -> dict[int, str]:
    """COMMIT or ABORT by the uid of each transactional record; undecided ones are missing."""
    fate: dict[int, str] = {}
    undecided: dict[int, list[int]] = {}
    for slot in slots:
        if slot.producer is not None and slot.control:
            fate.update(dict.fromkeys(undecided.pop(slot.producer, ()), slot.control))
        elif slot.producer is not None:
            undecided.setdefault(slot.producer, []).append(slot.uid)
    return fate


def fold(slots: Iterable[Slot], way: int = 0) -> dict[str, Slot]:
    """The winner of each key, deletes included; aborted and undecided records do not count."""
    slots, best = list(slots), dict[str, Slot]()
    fate = fates(slots)
    for slot in slots:
        decided = slot.producer is None or fate.get(slot.uid) == "COMMIT"
        if slot.key is not None and decided and not best.get(slot.key, slot).beats(slot, way):
            best[slot.key] = slot
    return best


def offsets(start: int, end: int, *known: Collection[int]) -> Iterable[int]:
    """The offsets of [start, end) in order, at least the known ones; fast for long ranges."""
    if end - start <= sum(map(len, known)):
        return range(start, end)
    return sorted({o for some in known for o in some if start <= o < end})


class RebuiltReplica:
    """The disk of one replica: log, lineage, offsets of empty batches, snapshots by id."""

    def __init__(self, name: str) -> None:
        self.name, self.up, self.expired = name, True, 0
        self.snapshots: dict[tuple[int, int], list[Slot]] = {}
        self.log: dict[int, Slot] = {}
        self.lineage: dict[int, Slot] = {}
        self.empty: set[int] = set()
        self.begin(0)

    def begin(self, offset: int) -> None:
        """Replaces the log by an empty one at `offset`."""
        self.high_watermark = offset
        self.keep(offset, offset)

    def keep(self, start: int, end: int) -> None:
        """Drops all records outside [start, end)."""
        self.start, self.end = start, end
        self.log = {o: slot for o, slot in self.log.items() if start <= o < end}
        self.lineage = {o: slot for o, slot in self.lineage.items() if start <= o < end}
        self.empty = {o for o in self.empty if start <= o < end}

    def below(self, end: int) -> list[Slot]:
        """The records of the snapshot at the log start, and of the log below `end`."""
        based = [slots for (at, _), slots in self.snapshots.items() if at == self.start]
        return [*(based[-1] if based else ()), *(s for s in self.log.values() if s.offset < end)]


class RebuiltCluster:
    """All replicas, the leader of the newest epoch, and H: the first committed record by offset."""

    def __init__(self, trace: Trace) -> None:
        self.header, self.rules = trace.header, trace.header["rules"]
        strategies, self._marks = in_force(trace)
        self._ranks = [ranking(strategy) for strategy in strategies]
        self._first: dict[int, Slot] = {}
        self._slots: dict[tuple[int, int], Slot] = {}
        self.replicas: dict[str, RebuiltReplica] = {}
        self.isr: list[str] = []
        self.voters: list[str] = []
        self.committed: dict[int, Slot] = {}
        self.fate: dict[int, str] = {}
        self.bests: list[dict[str, Slot]] = [{} for _ in strategies]
        self.leader, self.epoch, self.end = "", -1, 0
        self.given: dict[str, dict[int, tuple[Slot, int]]] = defaultdict(dict)
        self.placed: list[Slot] = []  # by the latest event
        self.again: list[Slot] = []  # committed by it over another record
        self.rewritten: set[int] = set()  # offsets at which there were several records
        self.twice: set[int] = set()  # those of them that were committed with several

    def slot(self, record: Row, batch: Row | None = None) -> Slot:
        """The slot of a record; raises Refused if the record was never written."""
        name = (record["uid"], record["offset"])
        if name not in self._slots:
            if batch is None:
                raise Refused(f"no replica wrote a record of uid {name[0]} at offset {name[1]}")
            control = batch["control"]
            producer = batch["producer_id"] if batch["transactional"] else None
            dead = [not control and is_tombstone(record, mark) for mark in self._marks]
            if dead[0] != record["tombstone"]:
                raise Refused(f"offset {record['offset']}: tombstone: {record['tombstone']}")
            key, ranks = record["key"], tuple(rank(record) for rank in self._ranks)
            what = None if control else key, dead[0], any(dead), ranks, producer, control
            self._slots[name] = Slot(record["offset"], batch["epoch"], record["uid"], *what)
        return self._slots[name]

    def apply(self, row: Row) -> None:
        """Applies an event to the cluster."""
        self.placed, self.again = [], []
        match row["event"]:
            case "ReplicaAdded":
                self.replicas[row["replica"]] = RebuiltReplica(row["replica"])
            case "ReplicaRemoved":
                del self.replicas[row["replica"]]
            case "LeaderElected" if row["epoch"] >= self.epoch:
                self.leader, self.epoch = row["replica"], row["epoch"]
                self.isr, self.voters = row["isr"], row["voters"]
                self._commit(self.replicas[self.leader], self.end)
            case "IsrChanged":
                self.isr = row["isr"]
            case "Appended" | "Pushed":
                base, last = row["batch"]["base_offset"], row["batch"]["last_offset"]
                self._take(row, [row["batch"]], base, last + 1)
            case "Copied" | "GapLearned":
                self._take(row, row.get("batches", []), row["fetch_offset"], row["log_end_offset"])
            case "Consumed":
                given = {r["uid"]: (self.slot(r), row["now_ms"]) for r in row["records"]}
                self.given[row["consumer"]].update(given)
            case "HighWatermarkMoved":
                self._move(self.replicas[row["replica"]], row)
            case _ if row["replica"] in self.replicas:
                _change(self.replicas[row["replica"]], row, self.slot)

    def _take(self, row: Row, batches: list[Row], begin: int, end: int) -> None:
        """Appends batches; gaps inherit the leader's lineage."""
        replica = self.replicas[row["replica"]]
        if begin != replica.end:
            raise Refused(f"{replica.name} appends from {begin} on; its log ends at {replica.end}")
        self.placed = [self.slot(record, batch) for batch in batches for record in batch["records"]]
        above = self.replicas.get(row.get("leader", ""), replica).lineage
        replica.lineage |= {o: above[o] for o in offsets(begin, end, above) if o in above}
        for slot in self.placed:
            replica.log[slot.offset] = replica.lineage[slot.offset] = slot
            if self._first.setdefault(slot.offset, slot) is not slot:
                self.rewritten.add(slot.offset)
        replica.empty |= {batch["last_offset"] for batch in batches if not batch["records"]}
        replica.end = end

    def _move(self, replica: RebuiltReplica, row: Row) -> None:
        """Moves a high watermark; that of the newest epoch's leader commits records."""
        known, replica.high_watermark = replica.high_watermark, row["high_watermark"]
        if not row["leading"] or replica.name != self.leader:
            return
        self._commit(replica, known)

    def _commit(self, replica: RebuiltReplica, known: int) -> None:
        """Commits the records from an offset up to the leader's high watermark."""
        for slot in map(
            replica.lineage.get, offsets(known, replica.high_watermark, replica.lineage)
        ):
            if slot and self.committed.setdefault(slot.offset, slot) is not slot:
                self.twice.add(slot.offset)
                self.again.append(slot)
        self.end = max(replica.high_watermark, self.end)
        self.fate = fates(self.committed.values())
        self.bests = [fold(self.committed.values(), way) for way in range(len(self._ranks))]


def _change(replica: RebuiltReplica, row: Row, slot_of: Callable[[Row], Slot]) -> None:
    """Applies an event to the disk of one replica."""
    match row["event"]:
        case "ReplicaCrashed" | "ReplicaRestarted":
            replica.keep(replica.start, row["log_end_offset"])
            replica.high_watermark = row["high_watermark"]
            replica.up = row["event"] == "ReplicaRestarted"
        case "ReplicaWiped" | "LogEmptied":
            replica.snapshots = {} if row["event"] == "ReplicaWiped" else replica.snapshots
            replica.begin(0)
        case "Truncated":
            end = min(replica.end, row["target"])  # a batch that straddles it goes whole
            replica.keep(replica.start, end if row["lowest"] is None else row["lowest"])
            replica.end = end
            replica.start = min(replica.start, end)
            if not row["kept_high_watermark"]:
                replica.high_watermark = min(replica.high_watermark, replica.end)
        case "Cleaned":
            for removal in row["removals"]:
                del replica.log[removal["offset"]]
            replica.empty = (replica.empty | {*row["emptied"]}) - {*row["dropped"]}
            replica.end = row["log_end_offset"]
            replica.high_watermark = min(replica.high_watermark, replica.end)
        case "SegmentsLost":
            replica.log = {o: slot for o, slot in replica.log.items() if o not in row["offsets"]}
            replica.empty -= {*row["offsets"]}
        case "LogStartedAfresh":
            replica.begin(row["log_start_offset"])
            replica.expired = replica.start
        case "LogStartMoved" | "PrefixDeleted":
            replica.keep(row["log_start_offset"], replica.end)
            replica.expired = replica.start if row["event"] == "LogStartMoved" else 0
        case "SnapshotTaken" | "SnapshotFetched" | "SnapshotInstalled":
            slots = [slot_of(record)._replace(producer=None) for record in row["records"]]
            replica.snapshots[row["end_offset"], row["epoch"]] = slots
            if row["event"] == "SnapshotInstalled":
                replica.begin(row["end_offset"])
        case "SnapshotDeleted":
            replica.snapshots.pop((row["end_offset"], row["epoch"]), None)
