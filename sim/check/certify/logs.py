"""Reads a trace, `replog-trace/1`, and rebuilds all logs and the committed history H.

A trace that is cut, edited or contradicts itself is refused. A log has the records that are
present; its lineage also those that cleaning removed. Ends and high watermarks are exclusive. A
strategy is known by its number among those that were in force (`way`); 0 is the promised one.
"""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from io import BytesIO
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

Row = dict[str, Any]

LINES_LIMIT = 1_000_000
"""Largest number of lines: all are in memory at once, each takes about a kilobyte."""

OF_A_HEADER = {
    "rules": dict,
    "strategy": dict,
    "tombstone_mark": str,
    "commit": str,
    "within_contract": bool,
}
OF_AN_EVENT = {"at": int, "event": str, "replica": str}
OF_REST = OF_AN_EVENT | {"replica": type(None)}
"""Types of the fields of `Quiesced` before the first election."""
OF_A_VERDICT = {"event": str, "events": int, "digest": str, "violations": list}
_CALLED = {
    dict: "fields",
    str: "text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
}


class Refused(Exception):
    """A trace that cannot be judged; the text has the place and the reason."""


def lines_of(text: bytes) -> list[Row]:
    """The lines as rows: header, events, verdict; raises Refused, which names the line."""
    rows: list[Row] = []
    for number, line in enumerate(BytesIO(text), start=1):
        if number > LINES_LIMIT:
            raise Refused(f"line {number}: more than {LINES_LIMIT:,} lines")
        try:
            rows.append(msgspec.json.decode(line, type=Row))
        except RecursionError:
            raise Refused(f"line {number}: nested too deeply") from None
        except ValueError as error:
            raise Refused(f"line {number}: not one JSON object: {error}") from None
    if not rows:
        raise Refused("line 1: missing; a trace begins with a header")
    given = rows[0].get("format")
    if given != "replog-trace/1":
        raise Refused(f"line 1: format: {given!r}; expected replog-trace/1")
    if len(rows) < 2 or rows[-1].get("event") != "Verdict":
        raise Refused("the last line is no verdict: the trace is cut")
    _check(1, rows[0], OF_A_HEADER)
    for number, row in enumerate(rows[1:-1], start=2):
        leaderless = row.get("event") == "Quiesced" and row.get("replica", "") is None
        _check(number, row, OF_REST if leaderless else OF_AN_EVENT)
    _check(len(rows), rows[-1], OF_A_VERDICT)
    return rows


def _check(number: int, row: Row, fields: Mapping[str, type]) -> None:
    for name, kind in fields.items():
        if name not in row:
            raise Refused(f"line {number}: {name}: missing")
        if type(row[name]) is not kind:
            found = msgspec.json.encode(row[name]).decode()[:60]
            raise Refused(f"line {number}: {name}: expected {_CALLED[kind]}, not {found}")


Rank = tuple[int, ...]
"""The rank of a record: the highest of a key wins. The last item is the offset."""


class Undecidable(Exception):
    """A trace of a run under a rule that this oracle does not know."""


class Trace(NamedTuple):
    """The header of a run, its events, and its own verdict."""

    header: Row
    events: list[Row]
    verdict: Row


def parse(text: bytes) -> Trace:
    """Parses a trace; raises Refused if it is cut, edited or contradicts itself."""
    header, *events, verdict = lines_of(text)
    if verdict["events"] != len(events):
        raise Refused(f"the verdict counts {verdict['events']} events, the trace has {len(events)}")
    if any(later["at"] < one["at"] for one, later in pairwise(events)):
        raise Refused("the events are not in order of time")
    if digest(events) != verdict["digest"]:
        raise Refused(f"the events have the digest {digest(events)}, not {verdict['digest']}")
    return Trace(header, events, verdict)


def digest(events: list[Row]) -> str:
    """BLAKE2b over MessagePack of (at, name, values of the fields), in lists of 2,048 events."""
    total = hashlib.blake2b(digest_size=16)
    rows = [[row["at"], row["event"], _values(row)[2:]] for row in events]
    for start in range(0, len(rows) + 1, 2048):
        total.update(msgspec.msgpack.encode(rows[start : start + 2048]))
    return total.hexdigest()


def _values(part: Any) -> Any:
    if type(part) is not dict:
        return [_values(one) for one in part] if type(part) is list else part
    if "headers" in part:  # a record; `tombstone` is what the writer of the trace adds
        part = {name: one for name, one in part.items() if name != "tombstone"}
        part["headers"] = [(name, base64.b64decode(one)) for name, one in part["headers"]]
    return [_values(one) for one in part.values()]


def ranking(strategy: Row) -> Callable[[Row], Rank]:
    """The rank of records by a strategy: the highest of a key wins, the later of equals (KIP-280).

    Raises Undecidable for a strategy of a plugin.
    """
    if strategy["name"] == "offset":
        return lambda record: (record["offset"],)
    if strategy["name"] == "timestamp":
        return lambda record: (record["timestamp_ms"], record["offset"])
    if strategy["name"] == "header":  # a record without a version loses to any that has one
        return lambda record: (*_version(record["headers"], **strategy), record["offset"])
    raise Undecidable(f"strategy {strategy['name']}")


def _version(headers: list[list[str]], name: str, header: str, header_form: str) -> Rank:
    """The version of a record: (1, number), or (0, 0) without one.

    KIP-280 promises the last header of that name, a signed number of 8 bytes, also where a cleaner
    compares bytes. Its patch reads variable-length numbers as well, so they count with its header
    forms; another header that it may read is not promised.
    """
    found = [content for name, content in headers if name == header][-1:]
    content = base64.b64decode("".join(found))
    if len(content) == 8:
        return 1, int.from_bytes(content, "big", signed=True)
    if not content or header_form.startswith("last_") or content[-1] >= 0x80:
        return 0, 0
    number = sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(content))
    return 1, (number >> 1) ^ -(number & 1)


def is_tombstone(record: Row, mark: str) -> bool:
    """True if a record is a delete by a mark (KIP-87)."""
    by_null = mark == "null_value" or (mark == "magic" and record["flagged"] is None)
    dead = record["value"] is None if by_null else bool(record["flagged"])
    true = [one for one in record["headers"] if one[0] == "5"][-1:] == [["5", "AQ=="]]
    return record["key"] is not None and (true if mark == "header" else dead)


def in_force(trace: Trace) -> tuple[list[Row], list[str]]:
    """Strategies and tombstone marks that were in force, the promised ones first."""
    strategies, marks = [trace.header["strategy"]], [trace.header["tombstone_mark"]]
    changes = [one for one in trace.events if one["event"] == "ConfigChanged"]
    rules = trace.header["rules"]
    for change in [{}, *(dict(row["settings"]) for row in changes if not row["initial"])]:
        rules = {**rules, **change}
        name, header, form = (rules[one] for one in ("strategy", "strategy_header", "header_form"))
        strategies.append({"name": name, "header": header, "header_form": form})
        marks.append(rules["tombstone_mark"])
    return [one for n, one in enumerate(strategies) if one not in strategies[:n]], marks


class Slot(NamedTuple):
    """A record at its offset; all replicas that hold it share one object.

    Attributes:
        offset: Its offset.
        epoch: Leader epoch of the append.
        uid: Identity of the append.
        key: Its key; None without one, and for control records.
        tombstone: True for a tombstone by the promised mark.
        deletes: True for a tombstone by any mark that was in force.
        ranks: One for each strategy that was in force.
        producer: Id of the producer of its transaction; None outside transactions.
        control: Kind of a control record, such as `COMMIT`; None for data.
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
        """True if this record wins over another one of the same key."""
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
    """The offsets of [start, end) in order: all, or in a long range only the known ones."""
    if end - start <= sum(map(len, known)):
        return range(start, end)
    return sorted({o for some in known for o in some if start <= o < end})


class RebuiltReplica:
    """The disk of one replica.

    Attributes:
        name: The replica.
        up: False while it is down.
        expired: Offsets below went by retention (exclusive); 0 if the last prefix that went had a
            snapshot.
        snapshots: Records of each snapshot by (end offset, epoch).
        log: The records that are present, by offset.
        lineage: The record last written at each offset, also if cleaning removed it since.
        empty: Last offsets of empty batches.
        high_watermark: High watermark (exclusive).
        start: Log start offset (inclusive).
        end: Log end offset (exclusive).
    """

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
        """Moves log start and log end, and drops all that is outside [start, end)."""
        self.start, self.end = start, end
        self.log = {o: slot for o, slot in self.log.items() if start <= o < end}
        self.lineage = {o: slot for o, slot in self.lineage.items() if start <= o < end}
        self.empty = {o for o in self.empty if start <= o < end}

    def below(self, end: int) -> list[Slot]:
        """The records of the snapshot at the log start, and of the log below `end`."""
        based = [slots for (at, _), slots in self.snapshots.items() if at == self.start]
        return [*(based[-1] if based else ()), *(s for s in self.log.values() if s.offset < end)]


class RebuiltCluster:
    """All replicas, the leader of the newest epoch, and H: the first committed record by offset.

    Attributes:
        header: Header of the trace.
        rules: Rules of the run by name, as it began.
        replicas: Replicas by name, in order of creation.
        isr: The in-sync set, as the leader sees it.
        voters: Names of the replicas of which a majority commits.
        committed: H.
        fate: COMMIT or ABORT by the uid of each decided record of H.
        bests: Winners of H by key, for each strategy that was in force.
        leader: Leader of the newest epoch; empty before the first.
        epoch: The newest epoch; -1 before the first.
        end: End of H (exclusive), N in the laws.
        given: Consumer -> uid -> the record it was given, and the time of the last read in ms.
        placed: Records that the latest event wrote.
        again: Records that the latest event committed over another one.
        rewritten: Offsets that had several records.
        twice: Those of them that were committed with several.
    """

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
        self.placed: list[Slot] = []
        self.again: list[Slot] = []
        self.rewritten: set[int] = set()
        self.twice: set[int] = set()

    def slot(self, record: Row, batch: Row | None = None) -> Slot:
        """The slot of a record, which a `batch` may bring.

        Raises Refused if the record was never written, or its `tombstone` contradicts the mark.
        """
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
                self.voters = [one for one in self.voters if one in self.replicas]
            case "LeaderElected" if row["epoch"] >= self.epoch:
                self.leader, self.epoch = row["replica"], row["epoch"]
                self.isr = row["isr"]
                self.voters = [one for one in row["voters"] if one in self.replicas]
                self._commit(self.replicas[self.leader], self.end)
            case "IsrChanged" if row["replica"] == self.leader:
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
        """Appends batches from `begin` to `end` (exclusive); gaps inherit the leader's lineage."""
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
        """Commits the records from offset `known` up to the leader's high watermark."""
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
