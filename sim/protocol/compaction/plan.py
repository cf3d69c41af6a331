"""The policy of a cleaner, the input of one pass, and its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, NamedTuple

from msgspec import Struct, field

from sim.protocol.compaction.fixes import Fix
from sim.protocol.compaction.strategies import PassFailed, Strategy, Version
from sim.protocol.compaction.tombstones import Circumstances, TombstoneMark, TombstoneRemoval
from sim.protocol.events import Removal
from sim.protocol.log import LastRecord, Record, Segment
from sim.protocol.log.producers import NOBODY

REASONS = ("superseded", "tombstone", "aborted", "marker", "no key", "unmapped")
"""The reasons for which a pass removes a record."""


class Reason(NamedTuple):
    """The reason why a pass removed or kept a record.

    Attributes:
        why: For a removed record a word of `REASONS`. For a kept one `protected` (by the fix),
            `waits` (a tombstone that the removal rule keeps), `wins` (nothing in the map beats it)
            or `beyond map` (the map ended below it).
        winner_offset: Offset of the record that took its place; None = it was not superseded.
        asked: What the removal rule was asked about a tombstone; None = it was not asked.
    """

    why: str
    winner_offset: int | None = None
    asked: Circumstances | None = None


MAX_HORIZON_MS: Final = 2**63 - 1
"""A horizon above it, or below 0, is not written; the batch is rewritten all the same."""

NO_STUBS: Final[Mapping[str, Record]] = {}
"""Default of `CleaningPass.stubs`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanerPolicy:
    """The decisions of a cleaner that are the same for every log.

    Attributes:
        strategy: Which record of a key wins.
        fix: What stays of the last offset of a round or of the log.
        removal: When a winning tombstone may go.
        is_tombstone: What marks a tombstone.
        full_map: True = winners over the whole covered log; false = over the dirty section only.
        index_interval_bytes: `index.interval.bytes` of the offset index that says where in the
            first dirty segment the map's reading begins; None = it does not depend on an index.
        indexes_calls: True = all batches that are written from one buffer get at most one entry of
            the offset index.
        stamp_beyond_map: True = a kept tombstone gets its horizon also where its batch ends beyond
            the map.
        stamps_again: True = each pass that keeps a tombstone gives its batch another horizon.
        keeps_deltas: True = a horizon moves the timestamps of its batch, see `with_horizon`.
        markers_like_tombstones: True = with `last_modified` markers go by their segment's time.
        markers_by_key: True = markers are looked up in the map by their key's bytes (KAFKA-14055).
        last_abort_only: True = of all ABORT markers the last one stays (Redpanda PR 16295).
        group_empty_segments: True = an empty segment joins its neighbour whatever the range of
            offsets (KAFKA-12889).
        unstamped_by_segment: True = a tombstone without a horizon goes by its segment's time.
        converts_old: True = batches of magic 0 and 1 are rewritten as magic 2 (KAFKA-13093).
        checks_producers: True = a producer's batch without a sequence or an epoch stops the pass
            that would rewrite it; false where producers have none, as in stories.
        unmapped_version: Lowest version that keeps a record whose key is not in the map. The map
            then reads every version. None = such a record stays, and only versions that are
            compared are read.
    """

    strategy: Strategy
    fix: Fix
    removal: TombstoneRemoval
    is_tombstone: TombstoneMark
    full_map: bool
    index_interval_bytes: int | None = None
    indexes_calls: bool = False
    stamp_beyond_map: bool = True
    stamps_again: bool = False
    keeps_deltas: bool = False
    markers_like_tombstones: bool = False
    markers_by_key: bool = False
    last_abort_only: bool = False
    group_empty_segments: bool = True
    unstamped_by_segment: bool = False
    converts_old: bool = False
    checks_producers: bool = False
    unmapped_version: Version | None = None


class OffsetMap(Struct, gc=False):
    """Winners, and the last offset they were chosen up to.

    Attributes:
        winners: Key -> the record that beats all others of the key in the mapped range.
        mapped_from: First offset of the mapped range (inclusive); a record below it is compared by
            version, inside the range the winner beats all others.
        latest_offset: Last offset of the mapped range (inclusive); -1 when nothing entered.
        largest_batch_bytes: Bytes of the largest batch read of the segment in which the map was
            full: the cleaner's buffer has grown to hold it. 0 = the map was not full.
        unended: Base offset of each batch that was left out as aborted, though it comes after the
            ABORT marker of that transaction -> offset of that marker.
    """

    winners: dict[str, Record]
    mapped_from: int
    latest_offset: int
    largest_batch_bytes: int = 0
    unended: dict[int, int] = {}


class CleaningPass(Struct, frozen=True, gc=False):
    """The input of one pass, apart from the segments.

    Attributes:
        policy: How the cleaner decides.
        first_dirty_offset: Where the clean section ends (inclusive start of the dirty one).
        upper_bound: The pass covers batches that end below it (exclusive); in simulated time it is
            the base of a segment and never above the last stable offset.
        now_ms: The replica's clock in ms, taken once.
        delete_retention_ms: `delete.retention.ms`.
        high_watermark: The replica's own; fixes may look at it (exclusive).
        log_start_offset: Aborted transactions whose marker is below it are forgotten (inclusive).
        last_records: What to keep of each active producer: its last batch stays, empty if need be.
        map_capacity: Most distinct keys of the dirty section that the map holds; None = no limit.
        given_map: Use this map instead of building one.
        rescan: Run although nothing is dirty, as far as the upper bound; only tombstones, markers
            and empty batches can go then. Kafka never does; its unit tests, stories and the end
            of a simulated run do.
        segment_bytes: `segment.bytes`; neighbours up to this size become one; None = no limit.
        max_message_bytes: `max.message.bytes`; batches that a delete horizon makes larger are
            reported; None = no limit.
        removal_limit: Under gated removal rules only tombstones below this offset go (exclusive).
        marker_limit: The same for transaction markers; None = `removal_limit`.
        legacy_horizon_ms: The pass-wide horizon of `last_modified`, in ms; None = none.
        legacy_last_modified: (base, end exclusive, last modified in ms) to use instead of the
            segments' own times; None = use those.
        last_cleaning: (end offset exclusive, time in ms) of the last finished pass, for
            `cleaning_checkpoint`; None = there was none.
        explains: True = the pass gives its reason for each record, in `Cleaning.reasons`.
        stubs: Key -> a removed tombstone that still takes part: it beats what is below its version.
    """

    policy: CleanerPolicy
    first_dirty_offset: int
    upper_bound: int
    now_ms: int
    delete_retention_ms: int
    high_watermark: int
    log_start_offset: int = 0
    last_records: Mapping[int, LastRecord] = NOBODY
    map_capacity: int | None = None
    given_map: OffsetMap | None = None
    rescan: bool = False
    segment_bytes: int | None = None
    max_message_bytes: int | None = None
    removal_limit: int = 0
    marker_limit: int | None = None
    legacy_horizon_ms: int | None = None
    legacy_last_modified: tuple[tuple[int, int, int], ...] | None = None
    last_cleaning: tuple[int, int] | None = None
    explains: bool = False
    stubs: Mapping[str, Record] = NO_STUBS

    @property
    def horizon_ms(self) -> int | None:
        """The delete horizon of what the pass stamps; None below 0 and above `MAX_HORIZON_MS`."""
        horizon_ms = self.now_ms + self.delete_retention_ms
        return horizon_ms if 0 <= horizon_ms <= MAX_HORIZON_MS else None


def _nothing_removed() -> dict[str, list[Record]]:
    return {reason: [] for reason in REASONS}


class Cleaning(Struct, gc=False):
    """The result of a pass: new segments for the first `replaced` ones, and removals by reason.

    Attributes:
        segments: What takes the place of the covered segments.
        replaced: How many segments were covered.
        next_dirty_offset: The cleaner checkpoint after the pass (exclusive end of what was mapped).
        protected_offset: Offset of the record that the fix keeps; None without one below the bound.
        removed: Reason -> the records that went for it, in offset order.
        winners: The offset map of the pass: key -> the record that beat the superseded ones.
        evicted_markers: Offset of a marker -> offset of the user record whose key has its bytes, or
            of the last ABORT marker.
        emptied: Last offsets of batches whose header was kept without records.
        dropped: Last offsets of batches that were already empty and are gone now.
        horizons: (base offset, delete horizon in ms) of the batches that got one in this pass.
        oversized: (base offset, bytes) of batches that a horizon made larger than allowed.
        rewritten: (base offset, bytes) of batches that were rewritten with a record or more.
        messages_read: Records the copying pass looked at; aborted data and markers that go with
            their whole batch are not counted.
        messages_written: Records it kept.
        unended: Base offset of each batch that counts as aborted, in the map or in copying, though
            it comes after the ABORT marker of that transaction -> offset of that marker.
        reasons: Offset -> why the record went or, if it has a key and lies below the upper bound,
            stays; empty unless the plan asks for it.
        failure: Why the pass stopped early; None = it did not. All else then describes the groups
            of segments that were finished: they are swapped in, and the checkpoint stays.
    """

    segments: list[Segment]
    replaced: int
    next_dirty_offset: int
    protected_offset: int | None = None
    failure: PassFailed | None = None
    removed: dict[str, list[Record]] = field(default_factory=_nothing_removed)
    winners: dict[str, Record] = {}
    evicted_markers: dict[int, int] = {}
    emptied: list[int] = []
    dropped: list[int] = []
    horizons: list[tuple[int, int]] = []
    oversized: list[tuple[int, int]] = []
    rewritten: list[tuple[int, int]] = []
    messages_read: int = 0
    messages_written: int = 0
    unended: dict[int, int] = {}
    reasons: dict[int, Reason] = {}

    def stopped(
        self, failure: PassFailed, *, below: int, replaced: int, next_dirty_offset: int
    ) -> Cleaning:
        """The result up to the group of segments at `below`, which cannot be cleaned.

        `replaced` segments were in finished groups. Nothing counts as read or written: Kafka keeps
        no statistics of such a pass.
        """
        done = Cleaning(self.segments, replaced, next_dirty_offset, self.protected_offset, failure)
        done.removed = {
            reason: [record for record in records if record.offset < below]
            for reason, records in self.removed.items()
        }
        done.winners = self.winners
        done.evicted_markers = {at: by for at, by in self.evicted_markers.items() if at < below}
        done.emptied = [offset for offset in self.emptied if offset < below]
        done.dropped = [offset for offset in self.dropped if offset < below]
        done.horizons = [horizon for horizon in self.horizons if horizon[0] < below]
        done.oversized = [batch for batch in self.oversized if batch[0] < below]
        done.rewritten = [batch for batch in self.rewritten if batch[0] < below]
        done.unended = self.unended
        done.reasons = {at: reason for at, reason in self.reasons.items() if at < below}
        return done

    @property
    def changed(self) -> bool:
        """True when the pass changed the log, if only by a delete horizon."""
        return bool(self.emptied or self.dropped or self.horizons or any(self.removed.values()))

    @property
    def removals(self) -> tuple[Removal, ...]:
        """Every removal with its reason, in offset order."""
        found = []
        for reason, records in self.removed.items():
            for record in records:
                offset, key, by = record.offset, record.key, None
                if reason == "superseded":
                    by = self.evicted_markers[offset] if key is None else self.winners[key].offset
                found.append(Removal(offset, record.uid, key, reason, by))
        found.sort(key=attrgetter("offset"))
        return tuple(found)
