"""Random logs and random passes over them.

A log is appended to as on a follower that copies an already compacted one: batches with gaps, with
records missing, emptied, with delete horizons; idempotent producers number them rightly,
transactions end in markers or stay open, and segments are rolled, also empty ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from hypothesis import strategies as st
from msgspec.structs import replace

from sim.protocol.compaction import (
    FIXES,
    STRATEGIES,
    TOMBSTONE_MARKS,
    TOMBSTONE_REMOVALS,
    CleaningPass,
    OffsetMap,
    strategy_for,
)
from sim.protocol.compaction.copying import MARKER_KEYS
from sim.protocol.compaction.strategies import encode_varint, encode_version
from sim.protocol.log import Batch, Control, Log, Record, Segment, control_batch, data_batch
from sim.protocol.log.producers import MAX_SEQUENCE, advance_sequence
from tests.compaction.logs import RETENTION_MS, plan

KEYS = ("a", "b", "c")
HEADERS = (
    (),
    (("version", encode_version(1)),),
    (("version", encode_version(2)),),
    (("version", encode_version(-1)),),
    (("version", encode_version(5)), ("x", b""), ("version", encode_varint(2))),
    ((" Version ", encode_varint(1)),),
    (("version", b"\x80"),),
)
CONTENTS = [
    *[(key, value) for key in KEYS for value in ("v", None, "v", None, "")],
    (None, "v"),
    (None, None),
    (MARKER_KEYS[Control.COMMIT], "v"),
    (MARKER_KEYS[Control.ABORT], None),
]
TIMES_MS = (0, 1, 2, 3, -1, 500)
RECORDS = tuple(
    Record(0, key, value, timestamp_ms, headers, flagged)
    for (key, value), timestamp_ms, headers, flagged in product(
        CONTENTS, TIMES_MS, HEADERS, (False, False, True)
    )
)
IDEMPOTENT, TRANSACTIONAL = (1, 2), (7, 8)

KINDS = ("plain", "idempotent", "data", "commit", "abort", "roll", "data", "leader", "roll")
HORIZONS_MS = (0, RETENTION_MS, 2 * RETENTION_MS)

# Made once: making a strategy costs more than drawing from it.
ANY_RECORD = st.sampled_from(RECORDS)
ANY_TIME = st.sampled_from(TIMES_MS)
ANY_HORIZON = st.sampled_from(HORIZONS_MS)
ANY_IDEMPOTENT = st.sampled_from(IDEMPOTENT)
ANY_TRANSACTIONAL = st.sampled_from(TRANSACTIONAL)
SELDOM = st.sampled_from([False, False, True])
SIZE_AND_FATE = st.sampled_from(
    list(product((1, 2, 3), ("whole", "whole", "stamped", "whole", "less", "stamped", "empty")))
)
FATE_OF_MARKER = st.sampled_from(["whole", "stamped", "empty"])
SOME_KINDS = st.lists(
    st.sampled_from(list(product(KINDS, (0, 0, 0, 1, 3)))), min_size=2, max_size=14
)


class Case(NamedTuple):
    """A log and a pass over it."""

    log: Log
    plan: CleaningPass

    @property
    def segments(self) -> list[Segment]:
        """The segments of the log."""
        return self.log.segments


@dataclass
class Writer:
    """Appends to one log what Hypothesis draws."""

    draw: st.DrawFn
    log: Log = field(default_factory=Log)
    sequences: dict[int, int] = field(default_factory=lambda: {2: MAX_SEQUENCE, 8: MAX_SEQUENCE})
    epochs: dict[int, int] = field(default_factory=dict)
    gap: int = 0

    def write(self, kind: str, gap: int) -> None:
        """One append or roll, `gap` offsets above the log end."""
        self.gap = gap
        match kind:
            case "plain":
                self._append(self._data(-1))
            case "idempotent":
                self._append(self._data(self.draw(ANY_IDEMPOTENT)))
            case "data":
                self._append(self._data(self.draw(ANY_TRANSACTIONAL)))
            case "commit":
                self._append(self._marker(Control.COMMIT))
            case "abort":
                self._append(self._marker(Control.ABORT))
            case "leader":
                control = Control.LEADER_CHANGE
                offset = self._next()
                self._append(control_batch(offset, epoch=1, control=control, timestamp_ms=1))
            case _:
                self._roll()

    def _next(self) -> int:
        return self.log.log_end_offset + self.gap

    def _append(self, batch: Batch) -> None:
        self.log.append(batch, now_ms=batch.base_offset * 10)

    def _roll(self) -> None:
        """A new segment at the log end or above it, unless one starts there already."""
        base = self._next()
        if base > self.log.active.base_offset:
            self.log.roll(base, now_ms=base * 10)
            self.log.log_end_offset = base

    def _data(self, pid: int) -> Batch:
        """A batch of up to three records, and whatever a cleaner may have left of it."""
        base, draw = self._next(), self.draw
        size, fate = draw(SIZE_AND_FATE)
        records = tuple(
            replace(draw(ANY_RECORD), offset=offset, uid=offset + 1)
            for offset in range(base, base + size)
        )
        sequence = self.sequences.get(pid, 0) if pid >= 0 else -1
        self.sequences[pid] = advance_sequence(max(sequence, 0), len(records))
        made = data_batch(
            records,
            epoch=1,
            producer_id=pid,
            producer_epoch=self.epochs.get(pid, 0) if pid >= 0 else -1,
            base_sequence=sequence,
            transactional=pid in TRANSACTIONAL,
        )
        if fate == "empty":
            return made.emptied()
        if fate == "less":
            gone = draw(st.sampled_from(records))
            return made.rebuilt(tuple(r for r in records if r is not gone) or records, None)
        if fate == "stamped":
            return made.rebuilt(records, draw(ANY_HORIZON))
        return made

    def _marker(self, control: Control) -> Batch:
        """The marker of an open transaction or of one whose data is gone, new epoch or not."""
        pid = self.draw(ANY_TRANSACTIONAL)
        if self.draw(SELDOM):
            self.epochs[pid] = self.epochs.get(pid, 0) + 1
            self.sequences[pid] = 0
        made = control_batch(
            offset := self._next(),
            epoch=1,
            control=control,
            timestamp_ms=self.draw(ANY_TIME),
            producer_id=pid,
            producer_epoch=self.epochs.get(pid, 0),
            uid=offset + 1,
        )
        fate = self.draw(FATE_OF_MARKER)
        if fate == "whole" or self.log.producers.has_open(pid):
            return made
        if fate == "empty":
            return made.emptied()
        return made.rebuilt(made.records, self.draw(ANY_HORIZON))


@st.composite
def logs(draw: st.DrawFn) -> Log:
    """A log of up to ten batches, or fewer in several segments."""
    writer = Writer(draw)
    for kind, gap in draw(SOME_KINDS):
        writer.write(kind, gap)
    if draw(SELDOM):
        take_aborted_data(writer.log)
    return writer.log


def take_aborted_data(log: Log) -> None:
    """What an earlier pass has done: markers and index entries are left, and the last batches."""
    last = {pid: kept.offset for pid, kept in log.producers.last_records().items()}
    for entry in [entry for each in log.segments for entry in each.aborted]:
        for each in log.segments:
            each.batches = [
                batch
                for batch in each.batches
                if batch.producer_id != entry.producer_id
                or batch.last_offset == last[entry.producer_id]
                or not entry.first_offset <= batch.base_offset < entry.last_offset
            ]
            each.refresh()


def bases(log: Log) -> list[int]:
    """What a cleaner of a broker is given as bound: the bases of segments."""
    return [each.base_offset for each in log.segments]


def stable_end(log: Log) -> int:
    """The last stable offset when all is below the high watermark."""
    unstable = log.producers.first_unstable_offset(log.log_end_offset)
    return log.log_end_offset if unstable is None else unstable


@st.composite
def plans(draw: st.DrawFn, log: Log) -> CleaningPass:
    """Any pass over `log`: bound at a segment's base as in a broker, or anywhere as in stories."""
    end = log.log_end_offset + 2
    bound = draw(st.one_of(st.sampled_from([end, *bases(log)[1:]]), st.integers(0, end)))
    rules = {**draw(ANY_RULES), **draw(ANY_SETTINGS), **draw(ANY_LEGACY)}
    keep = log.producers.last_records()
    if draw(SELDOM):
        keep = {pid: last for pid, last in keep.items() if pid % 2}
    if draw(SELDOM) and rules["strategy"] is STRATEGIES["offset"]:
        rules["given_map"] = draw(given_maps(end))
    return plan(
        first_dirty_offset=draw(st.one_of(st.just(0), st.integers(0, bound))),
        upper_bound=bound,
        high_watermark=bound + draw(st.sampled_from([0, 0, 1, 2])),
        last_records=keep,
        **rules,
    )


def anything_of(**choices: Iterable[object]) -> st.SearchStrategy[dict[str, object]]:
    """One value for each name; a single draw, because a draw is what costs time."""
    return st.sampled_from(list(product(*choices.values()))).map(
        lambda values: dict(zip(choices, values, strict=True))
    )


ANY_RULES = anything_of(
    strategy=[*STRATEGIES.values(), strategy_for("header", header_form="first_varint")],
    fix=FIXES.values(),
    removal=TOMBSTONE_REMOVALS.values(),
    is_tombstone=[TOMBSTONE_MARKS["null_value"], TOMBSTONE_MARKS["flag"]],
    full_map=[True, False],
)
ANY_SETTINGS = anything_of(
    map_capacity=[None, 1, 2, None, 1, 2, 3, 0],
    rescan=[False, True],
    segment_bytes=[None, 1, 200, 10_000],
    max_message_bytes=[None, 79, 90],
    stamp_beyond_map=[True, False],
    markers_by_key=[False, True],
    last_abort_only=[False, False, True],
    now_ms=HORIZONS_MS,
)
ANY_LEGACY = anything_of(
    removal_limit=[0, 3, 6, 30],
    marker_limit=[None, 0, 5],
    markers_like_tombstones=[False, True],
    unstamped_by_segment=[False, True],
    legacy_horizon_ms=[None, 0, 50],
    legacy_last_modified=[None, ((0, 5, 30), (5, 20, 70))],
    last_cleaning=[None, (3, 0), (20, 100)],
)


@st.composite
def given_maps(draw: st.DrawFn, end: int) -> OffsetMap:
    """A map that was made elsewhere, as in Kafka's own unit tests."""
    offsets = draw(st.dictionaries(st.sampled_from(KEYS), st.integers(0, end)))
    winners = {key: Record(offset, key, "") for key, offset in offsets.items()}
    return OffsetMap(winners, 1 << 62, draw(st.integers(-1, end)))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A log and any pass over it."""
    log = draw(logs())
    return Case(log, draw(plans(log)))
