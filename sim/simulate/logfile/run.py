"""Runs the steps of a log file: one log, one cleaner, no cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sim.protocol.compaction import Cleaning, CleaningPass, OffsetMap, PassFailed, clean
from sim.protocol.log import Log, LogConfig, Record, Segment
from sim.protocol.log.formats import OldBatch
from sim.protocol.log.producers import SentBatch
from sim.protocol.rules.policy import cleaner_policy
from sim.simulate.logfile.eligible import LogEligibility
from sim.simulate.logfile.file import LogFile
from sim.simulate.logfile.replica import LogReplica
from sim.simulate.logfile.steps import Clean, ProduceDuplicate, Step


@dataclass(frozen=True, slots=True)
class PassResult:
    """A cleaning pass and its result.

    Attributes:
        number: Number of its step, from 1.
        plan: Input of the cleaner.
        cleaning: Result of the cleaner.
        failed: Failure of this pass, or of an earlier one after which the log was not loaded
            again; None without one.
        decision: Verdict of the cleaner's manager on the log; None if the step gives the bounds.
    """

    number: int
    plan: CleaningPass
    cleaning: Cleaning
    failed: PassFailed | None = None
    decision: LogEligibility | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """A step and its result.

    Attributes:
        number: Number of the step, from 1.
        step: The step.
        replica: The log after it, with checkpoint and high watermark; later steps change it.
        cleaned: The pass; None if the step was none.
        duplicate_of: The batch that a retry repeats; None if the step was none, or repeats none.
    """

    number: int
    step: Step
    replica: LogReplica
    cleaned: PassResult | None = None
    duplicate_of: SentBatch | None = None

    @property
    def log(self) -> Log:
        """The log after the step; later steps change it."""
        return self.replica.log


def run_steps(file: LogFile, *, explains: bool = False) -> Iterator[StepResult]:
    """Does the steps of a log file in order; a result is to be read before the next is asked for.

    With `explains`, passes give their reason for each record.

    Raises:
        BadInput: A step cannot follow those before it.
    """
    replica = replica_of(file)
    cleaner = _Cleaner(file, replica, explains=explains)
    for number, step in enumerate(file.steps, start=1):
        cleaned = cleaner.clean(number, step) if isinstance(step, Clean) else None
        repeated = step.repeated(replica) if isinstance(step, ProduceDuplicate) else None
        step.do(replica, file.place.at(number - 1))
        replica.look()
        cleaner.times.forget_from(replica.log.active.base_offset)
        yield StepResult(number, step, replica, cleaned, repeated)


def replica_of(file: LogFile) -> LogReplica:
    """The log before the first step, with what the cleaner's manager knows of it."""
    start = file.start
    replica = LogReplica(
        log_of(file),
        legacy=file.rules.rules.cleaner.cleaner_bound == "leo",
        committed=start.high_watermark,
    )
    replica.checkpoint = start.checkpoint
    if start.log_start_offset is not None:
        replica.start_at(start.log_start_offset)
    return replica


def log_of(file: LogFile) -> Log:
    """The log before the first step; what the file does not give is derived from its batches."""
    interval_bytes = file.rules.rules.topic.index_interval_bytes
    rolls = file.topic
    log = Log(
        LogConfig(
            segment_bytes=rolls.roll_bytes,
            segment_ms=rolls.roll_ms,
            time_index_bytes=interval_bytes,
        )
    )
    log.segments = []
    for written in file.segments:
        segment = Segment(written.base_offset, written.last_modified_ms or 0)
        for batch in written.batches:
            segment.append(batch, now_ms=segment.last_modified_ms)
            if not isinstance(batch, OldBatch):
                log.epochs.assign(batch.epoch, batch.base_offset)
            aborted = log.producers.note(batch)
            if aborted is not None:
                segment.aborted.append(aborted)
        log.segments.append(segment)
    log.log_start_offset = log.segments[0].base_offset
    log.read_log_end()
    log.reopen(recovered_from=log.log_start_offset)
    log.rescan_producers()
    for segment, written in zip(log.segments, file.segments, strict=True):
        if written.aborted is not None:
            segment.aborted = list(written.aborted)
    if file.start.producers_since_ms is not None:
        log.producers.expire(now_ms=file.start.producers_since_ms, after_ms=0)
    return log


class _Times:
    """Times at which segments were last modified, by the clock of the file.

    A segment keeps the time that the file gives it; a merged segment has the time of its last part.
    A segment that is closed later, perhaps again after a truncation, gets the time of the first
    pass after that. Where the file gives no times, all segments have that of the rules
    (`segment_last_modified_ms`) or of the pass.
    """

    def __init__(self, file: LogFile) -> None:
        given = [(one.base_offset, one.last_modified_ms) for one in file.segments]
        self._given = {base: time_ms for base, time_ms in given if time_ms is not None}
        self._follows = bool(self._given)
        self._seen: set[int] = set()
        self._always_ms = file.rules.last_modified_ms

    def set(self, segments: list[Segment], now_ms: int) -> None:
        """Sets the times of all segments but the active one, before a pass at `now_ms`."""
        default_ms = now_ms if self._always_ms is None else self._always_ms
        for segment in segments[:-1]:
            if segment.base_offset in self._given:
                segment.last_modified_ms = self._given.pop(segment.base_offset)
                self._seen.add(segment.base_offset)
            elif segment.base_offset not in self._seen:
                segment.last_modified_ms = default_ms
                if self._follows:
                    self._seen.add(segment.base_offset)

    def forget_from(self, base_offset: int) -> None:
        """Forgets that segments from that of the active one on, at `base_offset`, were closed."""
        self._seen = {base for base in self._seen if base < base_offset}


class _Cleaner:
    """The cleaner of one log, with its state from pass to pass."""

    def __init__(self, file: LogFile, replica: LogReplica, *, explains: bool) -> None:
        self._file = file
        self._explains = explains
        self._replica = replica
        self.times = _Times(file)
        self._last_cleaning: tuple[int, int] | None = None

    def clean(self, number: int, step: Clean) -> PassResult:
        """Runs one pass and swaps its segments in, unless an earlier one failed."""
        replica = self._replica
        log = replica.log
        self.times.set(log.segments, step.now_ms)
        decision = None
        if step.first_dirty_offset is None or step.upper_bound is None:
            decision = replica.decide(self._file.topic, now_ms=step.now_ms)
            first_dirty, bound = decision.dirty.offset, decision.found.bound.effective
        else:
            first_dirty, bound = step.first_dirty_offset, step.upper_bound
        plan = self._plan(step, first_dirty, bound)
        result = PassResult(number, plan, Cleaning([], 0, first_dirty), replica.failed, decision)
        if replica.failed is not None or (decision is not None and not decision.eligible):
            return result
        if any(segment.base_offset < plan.upper_bound for segment in log.segments):
            cleaning = clean(log.segments, plan)
            log.replace_segments(cleaning.replaced, cleaning.segments)
            replica.failed = cleaning.failure
            result = replace(result, cleaning=cleaning, failed=cleaning.failure)
            if cleaning.failure is None and cleaning.replaced:
                replica.checkpoint = cleaning.next_dirty_offset
            elif cleaning.failure is not None and decision is not None:
                replica.checkpoint = first_dirty  # where it began (LogCleaner.cleanLog)
        if replica.failed is None:
            self._last_cleaning = (result.cleaning.next_dirty_offset, step.now_ms)
        return result

    def _plan(self, step: Clean, first_dirty_offset: int, upper_bound: int) -> CleaningPass:
        log, rules = self._replica.log, self._file.rules
        values = rules.rules
        bases = [segment.base_offset for segment in log.segments]
        # The rules that wait for other replicas have this one alone to ask.
        coordinated = values.cleaner.removal.gates_markers
        return CleaningPass(
            policy=replace(cleaner_policy(values), checks_producers=True),
            first_dirty_offset=first_dirty_offset,
            upper_bound=max((base for base in bases if base <= upper_bound), default=bases[0]),
            now_ms=step.now_ms,
            high_watermark=log.high_watermark,
            log_start_offset=log.log_start_offset,
            delete_retention_ms=values.topic.delete_retention_ms,
            last_records=log.producers.last_records(),
            map_capacity=step.map_capacity,
            given_map=_given_map(step),
            segment_bytes=rules.segment_bytes,
            removal_limit=first_dirty_offset if coordinated else log.log_end_offset,
            legacy_horizon_ms=_legacy_horizon_ms(
                log, step, first_dirty_offset, values.topic.delete_retention_ms
            ),
            last_cleaning=self._last_cleaning,
            explains=self._explains,
        )


def _given_map(step: Clean) -> OffsetMap | None:
    """The map that the step gives, whose records have an offset and no content."""
    if step.map_latest_offset is None:
        return None
    winners = {key: Record(offset, key, "") for key, offset in (step.offset_map or {}).items()}
    # Nothing counts as inside its range, so that offsets alone decide.
    return OffsetMap(winners, mapped_from=1 << 62, latest_offset=step.map_latest_offset)


def _legacy_horizon_ms(
    log: Log, step: Clean, first_dirty_offset: int, delete_retention_ms: int
) -> int:
    """The horizon of a pass before KIP-534 in ms; 0 when no segment is below the dirty section.

    Source: LogCleaner.clean in 2.8.
    """
    if step.delete_horizon_ms is not None:
        return step.delete_horizon_ms
    below = [s for s in log.segments if s.base_offset < first_dirty_offset]
    return below[-1].last_modified_ms - delete_retention_ms if below else 0
