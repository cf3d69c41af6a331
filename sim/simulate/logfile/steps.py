"""The steps of a log file: the fields of each, its effect on the log, and a line about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le
from pydantic import Discriminator, Field

from sim.files.document import Place
from sim.files.limits import LONG, PRODUCER_EPOCH
from sim.files.models import Part
from sim.protocol.log import Batch
from sim.protocol.log.producers import MAX_SEQUENCE, SentBatch, advance_sequence
from sim.protocol.replication.cleaning import delete_below_start
from sim.simulate.logfile.batches import (
    BatchLine,
    Content,
    Natural,
    OrNone,
    Positive,
    batch_of,
    check_follows,
)

if TYPE_CHECKING:
    from sim.simulate.logfile.replica import LogReplica
    from sim.simulate.logfile.rules import LogRules

Note = Annotated[Any, Field(description="Anything; it is not read.")]


class AnyStep(Part):
    """Common fields and methods of all steps."""

    says: ClassVar[str]  # a format of the step for `text`
    note: Note = None

    def read(self, rules: LogRules, place: Place) -> Step:
        """The step at `place` as `do` needs it. Raises BadInput for fields that contradict."""
        del rules, place
        return self  # type: ignore[return-value]  # this base alone is no Step

    def do(self, replica: LogReplica, place: Place) -> None:
        """Does the step to the log; `sim.simulate.logfile.run` does a pass or a retry.

        Raises:
            BadInput: The step, which is at `place`, cannot follow those before it.
        """

    @property
    def text(self) -> str:
        """The step in words."""
        return self.says.format(self)


def many(count: int, one: str, more: str) -> str:
    """A number of things in words, such as `2 batches`."""
    return f"{count} {one if count == 1 else more}"


class Clean(AnyStep):
    """A cleaning pass over the log."""

    op: Literal["clean"]
    now_ms: Natural
    """The cleaner's clock in ms."""
    first_dirty_offset: Natural | None = None
    """Where the dirty section begins (inclusive)."""
    upper_bound: Natural | None = None
    """Where the pass ends (exclusive); rounded down to a segment's base. Without this, and without
    a first dirty offset, the cleaner's manager decides both, and whether there is a pass."""
    map_capacity: Natural | None = None
    """Most distinct keys of the map. No meaning with `offset_map` or `forced_rescan`."""
    offset_map: dict[str, Natural] | None = None
    """Key and offset, instead of a map that is built."""
    map_latest_offset: OrNone | None = None
    """Last offset (inclusive) that the given map, or the empty one, reaches."""
    forced_rescan: bool | None = None
    """Nothing is dirty; run with an empty map all the same."""
    delete_horizon_ms: Annotated[int, Ge(-LONG - 1), Le(LONG)] | None = None
    """The pass-wide horizon of the rules before KIP-534, in ms; derived when not given."""

    def read(self, rules: LogRules, place: Place) -> Step:
        """The pass itself. Raises BadInput for fields that do not go together."""
        given = {name for name, value in self if value is not None}
        missing = {"first_dirty_offset", "upper_bound"} - given
        alone = len(missing) == 2  # the cleaner's manager decides about it, and builds the map
        for name in ("offset_map", "map_latest_offset", "forced_rescan"):
            text = "goes with a first_dirty_offset and an upper_bound that are given"
            place.refuse(name, alone and name in given, text)
        for name in sorted(missing) if len(missing) == 1 else ():
            place.at(name).fail("missing")
        mapped, strategy = "offset_map" in given, rules.rules.cleaner.strategy
        text = f"goes with strategy offset only, and this is {strategy}"
        place.refuse("offset_map", mapped and strategy != "offset", text)
        text = "forced_rescan runs with an empty map; give one or the other"
        place.refuse("offset_map", self.offset_map and self.forced_rescan, text)
        has_map, reaches = mapped or bool(self.forced_rescan), "map_latest_offset" in given
        place.refuse("map_latest_offset", has_map and not reaches, "missing")
        text = "needs offset_map or forced_rescan: true with it"
        place.refuse("map_latest_offset", reaches and not has_map, text)
        return self

    @property
    def text(self) -> str:
        """The pass in words, with its range, time and map."""
        given = ""
        if self.forced_rescan:
            given = f", forced rescan with an empty map up to {self.map_latest_offset}"
        elif self.offset_map is not None:
            given = f", with a given map up to {self.map_latest_offset}"
        elif self.map_capacity is not None:
            given = f", map of at most {self.map_capacity} keys"
        if self.upper_bound is None:
            return f"clean if it is due at {self.now_ms} ms{given}"
        return f"clean [{self.first_dirty_offset}, {self.upper_bound}) at {self.now_ms} ms{given}"


class AppendLine(AnyStep):
    """New batches for the active segment, which is closed after them if `roll_after`."""

    op: Literal["append"]
    batches: tuple[BatchLine, ...]
    roll_after: bool | None = None

    def read(self, rules: LogRules, place: Place) -> Step:
        """The append with its batches as a log holds them."""
        lines = enumerate(self.batches)
        batches = [batch_of(line, place.at("batches").at(n), rules) for n, line in lines]
        return Append(tuple(batches), bool(self.roll_after))


@dataclass(frozen=True, slots=True)
class Append:
    """An append, with its batches as a log holds them."""

    batches: tuple[Batch, ...]
    roll_after: bool

    def do(self, replica: LogReplica, place: Place) -> None:
        """Appends the batches, and rolls the log if asked.

        Raises:
            BadInput: A batch cannot follow, or fits no segment (RecordBatchTooLargeException).
        """
        log = replica.log
        there = log.active.batches
        if self.batches and there and there[-1].last_offset >= log.log_end_offset:
            text = f"the log ends at {log.log_end_offset}, below what its active segment holds"
            place.at("batches").fail(f"{text}; what is written there is no possible log")
        for number, batch in enumerate(self.batches):
            at = place.at("batches").at(number)
            check_follows(batch, replica.log.log_end_offset, at)
            most = replica.log.config.segment_bytes
            if most is not None and batch.size_bytes > most:
                at.fail(f"{batch.size_bytes} bytes are more than segment.bytes, {most}")
            replica.append(batch)
        if self.roll_after:
            replica.roll()

    @property
    def text(self) -> str:
        """The append in words."""
        then = ", then roll" if self.roll_after else ""
        return f"append {many(len(self.batches), 'batch', 'batches')}{then}"


class Roll(AnyStep):
    """A new empty active segment, unless it is empty already."""

    says = "roll"
    op: Literal["roll"]

    def do(self, replica: LogReplica, place: Place) -> None:
        """Rolls the log to a new active segment."""
        replica.roll()


class Reload(AnyStep):
    """Derives the state of producers from the log again, as a restart does."""

    says = "reload: producer state is derived from the log again"
    op: Literal["reload"]

    def do(self, replica: LogReplica, place: Place) -> None:
        """Reads the log from disk again."""
        replica.reload()


class ProduceDuplicate(AnyStep):
    """A retry of an old batch with a record for each key; nothing is appended."""

    op: Literal["produce_duplicate"]
    producer_id: Natural
    producer_epoch: Annotated[int, Ge(0), Le(PRODUCER_EPOCH.most)]
    base_sequence: Annotated[int, Ge(0), Le(MAX_SEQUENCE)]
    keys: Annotated[tuple[Content | None, ...], Field(min_length=1)]

    def repeated(self, replica: LogReplica) -> SentBatch | None:
        """The batch that the retry repeats; None if the log knows no such batch."""
        last = advance_sequence(self.base_sequence, len(self.keys) - 1)
        return replica.log.producers.repeated(
            self.producer_id, self.producer_epoch, self.base_sequence, last
        )

    @property
    def text(self) -> str:
        """The retry in words."""
        return (
            f"producer {self.producer_id}, epoch {self.producer_epoch}, sends "
            f"{many(len(self.keys), 'record', 'records')} from sequence {self.base_sequence} again"
        )


class Truncate(AnyStep):
    """Truncates the log to `offset` (exclusive) at most (LogManager.truncateTo)."""

    says = "truncate to {0.offset}"
    op: Literal["truncate"]
    offset: Natural

    def do(self, replica: LogReplica, place: Place) -> None:
        """Truncates the log to the offset."""
        replica.truncate(self.offset)


class TruncateFully(AnyStep):
    """Empties the log, which then starts and ends at `offset`.

    Source: LogManager.truncateFullyAndStartAt.
    """

    says = "truncate fully, start again at {0.offset}"
    op: Literal["truncate_fully"]
    offset: Natural

    def do(self, replica: LogReplica, place: Place) -> None:
        """Empties the log, which then starts at the offset."""
        replica.truncate_fully(self.offset)


class HighWatermark(AnyStep):
    """Commits all that is below `offset` (exclusive).

    From then on appends do not move the high watermark; before, it is the log end offset. It stays
    within the log, even if the leader's is above (UnifiedLog.updateHighWatermark).
    """

    says = "the high watermark is {0.offset}"
    op: Literal["high_watermark"]
    offset: Natural

    def do(self, replica: LogReplica, place: Place) -> None:
        """Sets the high watermark of the replica."""
        replica.learn_high_watermark(self.offset)


class DeleteRecords(AnyStep):
    """Moves the log start to `before`; segments stay as they are.

    Source: KIP-107; UnifiedLog.maybeIncrementLogStartOffset.
    """

    says = "delete records before {0.before}: the log starts there"
    op: Literal["delete_records"]
    before: Natural

    def do(self, replica: LogReplica, place: Place) -> None:
        """Moves the log start. Raises BadInput if that is above the high watermark."""
        committed = replica.log.high_watermark
        text = f"{self.before} is above the high watermark, {committed}"
        place.refuse("before", self.before > committed, text)
        replica.start_at(self.before)


class DeleteOldSegments(AnyStep):
    """Deletes the segments below the log start (UnifiedLog.deleteOldSegments)."""

    says = "delete segments below the log start"
    op: Literal["delete_old_segments"]

    def do(self, replica: LogReplica, place: Place) -> None:
        """Deletes the segments below the log start."""
        delete_below_start(replica.log)


class ExpireProducers(AnyStep):
    """Forgets producers that were silent for too long.

    Source: ProducerStateManager.removeExpiredProducers.
    """

    says = "forget producers that were silent for {0.expiration_ms} ms at {0.now_ms} ms"
    op: Literal["expire_producers"]
    now_ms: Natural
    """The broker's clock in ms."""
    expiration_ms: Positive
    """`producer.id.expiration.ms`."""

    def do(self, replica: LogReplica, place: Place) -> None:
        """Forgets the silent producers."""
        replica.log.producers.expire(now_ms=self.now_ms, after_ms=self.expiration_ms)


_Other = (
    Roll
    | Reload
    | ProduceDuplicate
    | Truncate
    | TruncateFully
    | HighWatermark
    | DeleteRecords
    | DeleteOldSegments
    | ExpireProducers
)
Step = Clean | Append | _Other
StepLine = Annotated[Clean | AppendLine | _Other, Discriminator("op")]
"""A step as a log file gives it."""
