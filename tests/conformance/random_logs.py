"""Random log files that Kafka could really hold, with steps, for the preset of a release.

Logs are small, so that many run in little time. A log is made by choices, each a small number, with
0 for the plainest value: leaving choices out makes a log that shows a difference smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import strategies as st

from sim.simulate.logfile.file import log_file_from
from tests.conformance.compare import Json
from tests.conformance.log_books import SEQUENCES
from tests.conformance.random_batches import (
    BEFORE_HORIZONS,
    HORIZONS,
    KEYS,
    MOST,
    Choices,
    RandomLog,
    numbered,
)

FORMAT = "replog-log/1"
LATEST_ON_DISK_MS = 2**42
"""A later modification time does not fit all file systems."""
NO_INDEX_BYTES = 2**30
"""An `index.interval.bytes` above the size of any segment: the index has no entries."""
LEAST_SEGMENT_BYTES = 14
"""The smallest `segment.bytes` that Kafka 2.8 accepts."""
LARGE_GAP = 2**31 + 7
"""A gap of more offsets than one segment may span."""
ENDINGS = (
    ("open",),
    ("COMMIT",),
    ("ABORT",),
    ("ABORT", "COMMIT"),
    ("COMMIT", "ABORT"),
    ("open", "ABORT"),
)
"""Endings of transactions that are still open when the log is written, in turn."""
LAGS = (
    *[(0, MOST)] * 3,
    *((100, MOST), (995, MOST), (0, 1), (0, 100), (60, 500), (0, 5_000)),
)
"""Minimum and maximum compaction lag in ms."""
LATEST_EXPIRY_MS = 2**62
"""At a later time, Kafka's sum for the silence of a producer overflows 64 bits."""

T = TypeVar("T")


class RandomSteps:
    """Writes random steps over a log, each in view of the effects of those before.

    The kind of a step, and the bounds of a pass, are chosen when the step is written.
    """

    def __init__(
        self, log: RandomLog, preset: str, retention_ms: int, latest_ms: int, lag_ms: int
    ) -> None:
        self.steps: list[Json] = []
        self._log = log
        self._books = log.books
        self._choices = log.choices
        self._old_release = preset == BEFORE_HORIZONS
        self._retention_ms = retention_ms
        self._latest_ms = latest_ms
        self._lag_ms = lag_ms
        self._clean_open = self._choices.once_in(6)
        self._now_ms = 1_000
        self._bound: int | None = None
        self._bases_known = True
        self._end_known = True

    def usual(self) -> None:
        """Writes a pass, then steps of any kind."""
        self.clean()
        for _ in self._choices.some(0, 6):
            self.any()

    def any(self) -> None:
        """Writes a pass, every second time; else an append, a roll, a reload or a retry."""
        if not self._choices.once_in(2):
            return self.clean()
        match self._choices.pick("append", "other", "retry"):
            case "append":
                return self.append(1, 2, roll=self._choices.once_in(2))
            case "other":
                return self.other(self._choices.pick("roll", "reload", "reload"))
            case _:
                return self._retry()

    def moving(self) -> None:
        """Writes steps of which most move the ends of the log, or clean it if it is due.

        A pass if due comes first. Then come sequences of steps that belong together.
        """
        due, move, expire = self.clean_if_due, self._move, self._expire
        reload, delete = (lambda: self.other("reload")), lambda: self.other("delete_old_segments")
        roll = lambda: self.other("roll")  # noqa: E731
        rolled = lambda: self.append(1, 3, roll=not self._choices.once_in(4))  # noqa: E731
        cut, anew = (lambda: move("truncate")), lambda: move("truncate_fully")
        commit, start = (lambda: move("high_watermark")), lambda: move("delete_records")
        idioms: tuple[tuple[Callable[[], None], ...], ...] = (
            (rolled, due),
            (commit, due),
            (cut, rolled, due),
            (cut, self.any),
            *[(anew, self._rising, reload, lambda: move("truncate", late=True), roll, due)] * 2,
            (reload, cut, rolled, due),
            *[(commit, self._decided, lambda: expire(everything=True), cut, self.any)] * 2,
            (start, due, delete),
            (start, delete, self.any),
            (self.clean, expire, rolled, self.clean),
            (self.clean, expire, rolled, self.clean),
            (anew, rolled, due),
            (self.any,),
        )
        due()
        for _ in self._choices.some(1, 4):
            for step in self._choices.pick(*idioms):
                step()

    def append(self, least: int, most: int, *, roll: bool) -> None:
        """Writes an append of batches of any kind."""
        self._appended([self._log.write() for _ in self._choices.some(least, most)], roll=roll)

    def _appended(self, batches: list[Json], *, roll: bool) -> None:
        if roll:
            self._books.roll()
        self._end_known = True
        self.steps.append({"op": "append", "batches": batches, "roll_after": roll})

    def _decided(self) -> None:
        """Writes an append of a transaction and its end."""
        pick, books = self._choices.pick, self._books
        producer, kind = pick(3, 4), pick("COMMIT", "ABORT")
        record = {"key": pick("a", "b"), "value": "v", "timestamp_ms": 0}
        batches = [books.data([record], producer), books.control(kind, producer)]
        self._appended(batches, roll=pick(False, True))

    def _rising(self) -> None:
        """Writes an append of batches, each with a later timestamp than the one before."""
        times_ms = self._choices.pick((5, 900), (60, 990), (5, 60, 900), (5, 60, 900, 990))
        records = [{"key": "a", "value": "v", "timestamp_ms": one} for one in times_ms]
        self._appended([self._books.data([record]) for record in records], roll=False)

    def other(self, op: str) -> None:
        """Writes a step without fields."""
        if op == "roll":
            self._books.roll()
        elif op == "reload":
            # A log that was cut in a hole ends below it when it is opened again.
            self._end_known = not any(step["op"] == "truncate" for step in self.steps)
        elif op == "delete_old_segments":
            self._books.delete_below_start()
        self.steps.append({"op": op})

    def _retry(self) -> None:
        """Writes a retry of an old batch, or of one that is not quite the same."""
        sent, shift = self._nth_last(self._books.sent, 7), self._choices.pick(0, 0, 0, 1)
        if sent is None:
            return self.other("reload")
        keys = [record["key"] for record in sent["records"]]
        count = sent["last_offset"] - sent["base_offset"] + 1
        retry = {name: sent[name] for name in ("producer_id", "producer_epoch", "base_sequence")}
        retry["base_sequence"] = (retry["base_sequence"] + shift) % SEQUENCES
        keys = (keys + ["k"] * count)[:count]
        self.steps.append({"op": "produce_duplicate", **retry, "keys": keys})
        return None

    def _move(self, op: str, *, late: bool = False) -> None:
        """Writes a truncation, a later log start, or a higher high watermark."""
        if not self._end_known and op in {"high_watermark", "delete_records"}:
            return self.append(1, 1, roll=False)
        books, pick = self._books, self._choices.pick
        kind = "offset" if late else pick("offset", "offset", "base", "end")
        known = [] if kind == "end" else books.bases if kind == "base" else books.offsets
        found = self._nth_last(known, 3 if late else 13)
        to = max(0, (books.end if found is None else found) + pick(0, 0, 0, 0, 1, -1) * (not late))
        if op == "truncate":
            books.truncate(to)
        elif op == "truncate_fully":
            books.truncate_fully(to)
        elif op == "high_watermark":
            to = books.high_watermark = min(max(to, books.log_start), books.end)
        else:
            to = min(to, books.committed)
            books.log_start = max(books.log_start, to)
        self.steps.append({"op": op, "before" if op == "delete_records" else "offset": to})
        return None

    def _expire(self, *, everything: bool = False) -> None:
        """Writes an expiry of producers, often just at the time of one of them."""
        pick = self._choices.pick
        after_ms = 1 if everything else pick(1, 100, 995, 996, 1_000, 100_000)
        if everything:
            now_ms = self._now_ms + 5_000
        elif self._choices.once_in(2) and self._books.times:
            since_ms = self._nth_last(self._books.times, 7) or 0
            now_ms = max(0, since_ms + after_ms + pick(0, 0, 0, 1, -1))
        else:
            now_ms = self._now_ms + pick(0, 60, 100, 1_000, 5_000)
        now_ms = min(now_ms, LATEST_EXPIRY_MS)
        self.steps.append({"op": "expire_producers", "now_ms": now_ms, "expiration_ms": after_ms})

    def clean_if_due(self) -> None:
        """Writes a pass that runs if Kafka's manager selects the log, with its bounds.

        Whether it runs, and which segments it merges, is not known here.
        """
        choices, pick = self._choices, self._choices.pick
        kind = pick("later", "horizon", "lag")
        if kind == "lag" and self._books.times:
            time_ms = self._nth_last(self._books.times, 7) or 0
            self._now_ms = self._clock(time_ms + self._lag_ms + pick(0, 0, 0, 1, -1))
        elif kind == "horizon" and self._books.horizons:
            self._now_ms = self._at_horizon()
        else:
            self._now_ms = self._clock(self._now_ms + pick(0, 60, 100, 1_000, 5_000))
        self._bases_known = False
        self._books.horizons.append(self._now_ms + self._retention_ms)
        step: Json = {"op": "clean", "now_ms": self._now_ms}
        if choices.once_in(3):
            step["map_capacity"] = 1 + choices.below(4)
        if self._old_release:
            self._log_wide(step, 0, 1_000)
        self.steps.append(step)

    def clean(self) -> None:
        """Writes a pass, often over the whole log, at or near a horizon, with a small map."""
        choices, pick, books = self._choices, self._choices.pick, self._books
        if choices.once_in(2) and books.horizons:
            now_ms = self._at_horizon()
        else:
            now_ms = self._clock(self._now_ms + pick(0, 1, 60, 100, 150, 5_000, -80))
        bases, dirty = books.bases, self._first_dirty()
        limit = bases[-1] if self._clean_open else books.last_stable_offset
        allowed = [base for base in bases[1:] if base <= limit] or bases[:1]
        bound = allowed[-1 - pick(0, 0, 0, 1, 2) % len(allowed)]
        given, short = choices.once_in(8), choices.once_in(16)
        if short and not given:
            bound = max(bases[0], bound - 1)
        step: Json = {"op": "clean", "now_ms": now_ms}
        step |= {"first_dirty_offset": dirty, "upper_bound": bound}
        if given and self._bases_known and bound > bases[0]:
            self._give_map(step, bound)
            self._merge(step["map_latest_offset"] + 1)
        elif choices.once_in(3):
            step["map_capacity"] = choices.below(5)
            self._bases_known = False
        elif dirty < bound:
            self._merge(max(base for base in bases if base <= bound))
        if self._old_release:
            self._log_wide(step, 0, 999, 1_000, 1_001, MOST)
        if now_ms + self._retention_ms <= MOST:
            books.horizons.append(now_ms + self._retention_ms)
        self._now_ms, self._bound = now_ms, bound
        self.steps.append(step)

    def _give_map(self, step: Json, bound: int) -> None:
        """Adds the fields of a pass with a given map; an empty map makes it a forced rescan."""
        choices = self._choices
        last = min(bound - 1, self._offset()) if choices.once_in(3) else bound - 1
        step |= {
            "map_latest_offset": last,
            "first_dirty_offset": min(step["first_dirty_offset"], bound),
        }
        keys = [choices.pick(*KEYS) for _ in choices.some(0, 3)]
        if keys:
            step["offset_map"] = {key: self._offset() for key in keys}
        else:
            step |= {"first_dirty_offset": bound, "forced_rescan": True}

    def _first_dirty(self) -> int:
        """First dirty offset: log start, last bound, any offset, or soon after an ABORT marker."""
        choices, books = self._choices, self._books
        match choices.pick(
            "start", "start", "start", "bound", "offset", "offset", "abort", "abort"
        ):
            case "bound":
                return self._bound or 0
            case "abort" if books.aborted:
                marker = books.aborted[choices.below(len(books.aborted))]
                above = [offset for offset in books.offsets if offset > marker]
                return above[min(choices.below(3), len(above) - 1)] if above else books.end
            case "offset" | "abort":
                return self._offset()
        return 0

    def _log_wide(self, step: Json, *horizons_ms: int) -> None:
        """Adds the pass-wide horizon of releases before KIP-534, or none, to derive it."""
        horizon_ms = self._choices.pick(None, None, *horizons_ms)
        if horizon_ms is not None:
            step["delete_horizon_ms"] = horizon_ms

    def _at_horizon(self) -> int:
        horizon_ms = self._nth_last(self._books.horizons, 4) or 0
        return self._clock(horizon_ms + self._choices.pick(0, 0, -1, 1))

    def _clock(self, now_ms: int) -> int:
        return min(max(0, now_ms), self._latest_ms)

    def _offset(self) -> int:
        """Any base or record offset of the log; 0 without one."""
        offsets = self._books.offsets
        return offsets[self._choices.below(31) % len(offsets)] if offsets else 0

    def _nth_last(self, values: Sequence[T], most: int) -> T | None:
        """Any of the last `most` values; None without values."""
        which = self._choices.below(most)
        return values[-1 - which % len(values)] if values else None

    def _merge(self, end: int) -> None:
        """Merges segments with a base below `end`, unless they could span too many offsets."""
        bases = self._books.bases
        if end - bases[0] < 2**31:
            bases[:] = [bases[0], *(base for base in bases[1:] if base >= end)]
        else:
            self._bases_known = False


def random_log(choices: Choices, preset: str = "kafka-4.0") -> Json:
    """A log of one to four segments to clean, an active one, and some steps, one a pass."""
    pick, once_in = choices.pick, choices.once_in
    old_release, moves = preset == BEFORE_HORIZONS, once_in(3)
    # Where steps move the ends of the log, its segments have no times, sizes and formats of their
    # own, and no batch is compressed: whether a log is due is a question of bytes, which only a
    # compressor knows then.
    old_formats, compressed = (once_in(6) and not moves), (once_in(6) and not moves)
    own_times = old_formats or (old_release and not moves and once_in(2))
    log = RandomLog(choices, preset, old_formats=old_formats, compressed=compressed)
    books = log.books
    for number in choices.some(1, 4):
        if number:
            log.roll(missing=pick(*[0] * 12, 1, 2, LARGE_GAP))
        if own_times:
            modified_ms = pick(0, 899, 900, 999, 1_000, 1_001, 1_100)
            books.segments[-1]["last_modified_ms"] = modified_ms
        log.fill_segment()
    endings, in_active = pick(*ENDINGS), once_in(2)
    if not in_active:
        log.end_transactions(endings)
    if once_in(2 if old_formats else 4):  # a batch of which a pass may leave nothing
        keys = [pick(None, *KEYS) for _ in choices.some(1, 2)]
        records = [{"key": key, "value": None, "timestamp_ms": 0} for key in keys]
        magic = pick(2, 2, 1, 0) if old_formats else 2
        horizon_ms = None if old_release else pick(*HORIZONS)
        books.data(records, horizon_ms=horizon_ms, magic=magic)
    log.roll()
    if in_active:
        log.end_transactions(endings)
    for _ in choices.some(0, 2):
        log.write()
    retention_ms = pick(100, 100, 1_000, 0)
    if once_in(20) and not old_release:
        retention_ms = pick(MOST, MOST - 1_000, MOST - 1_060)
    lags = pick(*LAGS)
    segments = books.written_segments()
    latest_ms = LATEST_ON_DISK_MS if old_formats else MOST
    writer = RandomSteps(log, preset, retention_ms, latest_ms, lags[0])
    if moves:
        writer.moving()
    else:
        writer.usual()
    rules: Json = {"preset": preset, "delete_retention_ms": retention_ms}
    all_modified_ms = pick(None, 0, 999, 1_000, 1_100)
    if all_modified_ms is not None:
        rules["segment_last_modified_ms"] = all_modified_ms
    document: Json = {"format": FORMAT, "rules": rules, "topic": random_topic(choices, lags)}
    document |= {"segments": segments, "steps": writer.steps}
    _set_sizes(choices, document, compresses=books.compresses, may_limit=not moves)
    return document


def _set_sizes(choices: Choices, document: Json, *, compresses: bool, may_limit: bool) -> None:
    """Sets the size of segments and the interval of the offset index, near real sizes of the log.

    The size of a compressed batch is not known without a compressor, so there is no index then.
    """
    rules, pick = document["rules"], choices.pick
    if compresses:
        rules["index_interval_bytes"] = NO_INDEX_BYTES
        return
    read = log_file_from(document).segments
    sizes = [[batch.size_bytes for batch in segment.batches] for segment in read]
    if choices.once_in(6) and may_limit:
        first = choices.below(3) % max(1, len(sizes) - 2)
        both = sum(map(sum, sizes[first : first + 2]))
        rules["segment_bytes"] = max(LEAST_SEGMENT_BYTES, both + pick(0, 0, -1, -1, 1))
    interval = pick(None, None, 0, 0, 150, 400)
    if choices.once_in(3):
        flat = [size for segment in sizes for size in segment]
        first, count = choices.below(9) % max(1, len(flat)), pick(1, 1, 2, 3)
        interval = max(0, sum(flat[first : first + count]) + pick(0, 0, -1))
    if interval is not None:
        rules["index_interval_bytes"] = interval


def random_topic(choices: Choices, lags: tuple[int, int] | None = None) -> Json:
    """Random settings that decide when a log is due, as it often is."""
    least, most = choices.pick(*LAGS) if lags is None else lags
    return {
        "min.cleanable.dirty.ratio": choices.pick(0, 0, 0, 0.1, 0.3, 0.5, 1),
        "min.compaction.lag.ms": least,
        "max.compaction.lag.ms": most,
    }


def documents(preset: str = "kafka-4.0") -> st.SearchStrategy[Json]:
    """Log files for a preset, each with at least one pass of the cleaner."""
    return st.integers(0).map(lambda seed: random_log(numbered(seed, 0), preset))
