"""The choices that make a random log, and its batches, as a broker's disk could hold them.

Keys and producers are few, so that they collide; features that are rare on a disk (holes, emptied
batches, old delete horizons, sequences about to wrap) are common here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from random import Random
from typing import Any, TypeVar

from tests.conformance.compare import Json
from tests.conformance.log_books import LogBooks

BEFORE_HORIZONS = "kafka-2.8"
"""Preset of releases without a delete horizon for each batch."""
MOST = 2**63 - 1
"""The latest time in ms that fits Kafka's 64 bits with a sign."""
KEYS = ("a", "b", "c", "d")
ODD_KEYS = ("", "\udcff", "\udcfe", "\ufffd", "a\0", "l" * 64)
"""Empty, not UTF-8, with a null byte, and of a length that takes two bytes."""
MARKER_KEYS = ("\0\0\0\0", "\0\0\0\1", "\0\0\0\2", "\0\0\0\3")
"""Keys with the very bytes of the keys of ABORT, COMMIT and LEADER_CHANGE (KAFKA-14055)."""
SPANS = (2**31 - 1, 2**31, 2**31 + 1)
"""Numbers of offsets around the most that one segment may span."""
HORIZONS = (None, None, None, 0, 500, 1_000, 1_050, 1_100, 2_000, MOST)
HEADERS: tuple[list[Any], ...] = (
    [],
    [["version", 7]],
    [["raw", {"hex": "80"}], ["raw", {"hex": ""}]],
    [["version", -1], ["trace", {"hex": "00ff"}]],
    [["n" * 64, {"hex": "00" * 64}]],
)

T = TypeVar("T")


class Choices:
    """The choices that make one log, random or given.

    Args:
        given: The first choices.
        rng: Source of the other choices; without it they are 0.

    Attributes:
        made: All choices so far.
    """

    def __init__(self, given: Sequence[int] = (), rng: Random | None = None) -> None:
        self.made: list[int] = []
        self._rng = rng
        self._given = given

    def below(self, bound: int) -> int:
        """A number from 0 up to `bound` (exclusive)."""
        at = len(self.made)
        if at < len(self._given):
            chosen = min(self._given[at], bound - 1)
        else:
            chosen = self._rng.randrange(bound) if self._rng is not None else 0
        self.made.append(chosen)
        return chosen

    def once_in(self, times: int) -> bool:
        """True with a probability of 1 in `times`."""
        return self.below(times) == times - 1

    def pick(self, *values: T) -> T:
        """Any one of the values, by choice."""
        return values[self.below(len(values))]

    def some(self, least: int, most: int) -> range:
        """A range of random length, from `least` to `most` (inclusive)."""
        return range(least + self.below(most - least + 1))


def smallest(choices: Sequence[int], differs: Callable[[Sequence[int]], bool]) -> list[int]:
    """Choices that still make a log that `differs`, as few and as low as could be found."""
    best = list(choices)
    size = len(best)
    while size:
        at = 0
        while at < len(best):
            rest = best[at + size :]
            lowered = ([0] * len(best[at : at + size]), [one // 2 for one in best[at : at + size]])
            for attempt in (rest, *(part + rest for part in lowered)):
                tried = best[:at] + attempt
                if tried != best and differs(tried):
                    best = tried
                    break
            else:
                at += size
        size //= 2
    return best


def numbered(seed: int, number: int) -> Choices:
    """The choices of one of the logs of a seed."""
    return Choices(rng=Random(f"{seed}/{number}"))


class RandomLog:
    """Writes the batches of one random log.

    Args:
        choices: The choices that decide.
        preset: Preset by which the log is cleaned.
        old_formats: True if batches may be of magic 0 and 1.
        compressed: True if batches may be compressed.
    """

    def __init__(
        self,
        choices: Choices,
        preset: str = "kafka-4.0",
        *,
        old_formats: bool = False,
        compressed: bool = False,
    ) -> None:
        self.choices = choices
        self._with_horizons = preset != BEFORE_HORIZONS
        self._old_formats = old_formats
        self._compressed = compressed
        odd = [choices.pick(*ODD_KEYS), choices.pick(*ODD_KEYS)] if choices.once_in(2) else []
        start, first = choices.pick(0, 0, 0, 0, 7), choices.pick((0,), (0,), (5, 2**31 - 2))
        self.books = LogBooks(start, first, dict(zip("ab", odd, strict=False)))

    def _record(self) -> Json:
        """A random record, mostly just a key and a value."""
        pick, rare = self.choices.pick, self.choices.once_in(8)
        record: Json = {
            "key": pick(None, None, *MARKER_KEYS) if rare else pick(*KEYS),
            "value": pick("v", "v", "v", None, None, "", "\udc80\0", "w" * 100),
            "timestamp_ms": 0,
        }
        if self.choices.once_in(3):
            record["skip"] = pick(0, 0, 0, 0, 1, 2)
            record["timestamp_ms"] = pick(0, 5, 900, -1, 1_700_000_000_000)
            record["headers"] = pick(*HEADERS)
        return record

    def _horizon(self) -> int | None:
        horizon = self.choices.pick(*HORIZONS)
        return horizon if self._with_horizons else None

    def _rarely(self) -> bool:
        return self.choices.once_in(6)

    def _producer(self) -> int:
        return self.choices.pick(0, 0, 1, 2, 3, 3, 4, 4, 5)

    def _packing(self) -> Json:
        """Random compression and format of a batch."""
        pick = self.choices.pick
        compression = pick("none", "none", "none", "none", "gzip", "snappy", "lz4", "zstd")
        magic = pick(2, 2, 1, 0)
        return {
            "compression": compression if self._compressed else "none",
            "magic": magic if self._old_formats else 2,
        }

    def _data(self, **given: Any) -> Json:
        """Arguments of `LogBooks.data` for a random batch, perhaps an emptied one."""
        choices, pick = self.choices, self.choices.pick
        odd = choices.once_in(2)
        emptied = odd and choices.once_in(3)
        records = [] if emptied else [self._record() for _ in choices.some(1, 3)]
        batch = {"records": records, "producer": self._producer(), **self._packing()}
        if odd:
            batch["skip"], batch["skip_after"] = pick(0, 0, 0, 0, 1, 2), pick(0, 0, 0, 0, 1, 2)
            for name in ("next_epoch", "bump", "from_zero", "append_time"):
                batch[name] = self._rarely()
            batch["horizon_ms"] = self._horizon()
            batch["timestamp_ms"] = pick(0, 5, 900, -1, 1_700_000_000_000)
        else:
            batch["compression"] = "none"
        return {**batch, **given}

    def _large_data(self) -> Json:
        """Arguments of `LogBooks.data` for a batch of many records, or of large ones."""
        pick = self.choices.pick
        if self.choices.once_in(3):
            count, keys, length = pick(10, 110, 160, 300), pick(1, 4, 60, 1_000), pick(0, 5, 70)
            delete_every, unkeyed_every = pick((0, 0), (3, 0), (50, 7), (1, 0))
        else:
            count, keys, length = pick(1, 1, 2), pick(1, 2, 4), pick(900, 2_500, 4_200)
            delete_every, unkeyed_every = pick((0, 0), (0, 1), (2, 0))
        records = []
        for number in range(count):
            known = number * 7 % keys
            key = KEYS[known] if known < len(KEYS) else f"k{known}"
            unkeyed = unkeyed_every and number % unkeyed_every == 1
            deleted = delete_every and number % delete_every == 0
            value = None if deleted else "x" * (length + number % 5)
            records.append({"key": None if unkeyed else key, "value": value, "timestamp_ms": 0})
        return {
            "records": records,
            "producer": self._producer(),
            "horizon_ms": self._horizon(),
            "append_time": self._rarely(),
            "compression": self._packing()["compression"],
        }

    def write(self) -> Json:
        """Writes one batch of any kind."""
        choices, pick = self.choices, self.choices.pick
        if not choices.once_in(3):
            return self.books.data(**self._data())
        if choices.once_in(10):
            own: Json = {"emptied": self._rarely()}
            kind, producer, odd = "LEADER_CHANGE", None, True
        else:
            own = {}
            kind, producer = pick("COMMIT", "ABORT"), pick(3, 3, 4, 4, 5, 6)
            odd = choices.once_in(3)
            if odd:
                own = {"bump": pick(False, True), "emptied": pick(False, False, True)}
                own["horizon_ms"] = self._horizon()
        if odd:
            own["skip"] = pick(0, 0, 0, 0, 1, 2)
            own["timestamp_ms"] = pick(0, 5, 900, -1, 1_700_000_000_000)
        return self.books.control(kind, producer, **own)

    def fill_segment(self) -> None:
        """Writes the batches of one segment, perhaps none."""
        choices, books = self.choices, self.books
        if not choices.once_in(5):
            for _ in choices.some(0, 7):
                self.write()
            return
        match choices.pick("much", "series", "second try"):
            case "much":
                for _ in choices.some(3, 9):
                    if choices.once_in(2):
                        books.data(**self._large_data())
                    else:
                        self.write()
            case "series":  # as many batches of one producer as a broker remembers, or more
                producer = choices.pick(1, 2, 3)
                for _ in choices.some(1, 8):
                    books.data([self._record()], producer)
            case _:
                # A producer aborts a transaction, and commits what was written before it once more.
                # What begins to read in between takes it for aborted if the index has the first.
                producer = choices.pick(3, 4)
                before = self._data(producer=producer)
                books.data(**self._data())
                books.data(**self._data(producer=producer))
                books.control("ABORT", producer)
                for _ in choices.some(1, 3):
                    books.data(**(self._large_data() if choices.once_in(3) else self._data()))
                books.data(**before)
                books.control("COMMIT", producer)

    def end_transactions(self, endings: Sequence[str]) -> None:
        """Commits, aborts or leaves open each open transaction, in turn."""
        for number, producer in enumerate(self.books.undecided):
            ending = endings[number % len(endings)]
            if ending != "open":
                self.books.control(ending, producer)

    def roll(self, missing: int = 0) -> None:
        """Begins a segment, perhaps as far above the first as a segment may span."""
        base = self.books.end + missing
        if self.choices.once_in(12):
            base = max(self.books.end, self.books.bases[0] + self.choices.pick(*SPANS))
        self.books.roll(base)

    def client_batch(
        self,
        *,
        unkeyed: bool = False,
        producer: int | None = None,
        but: Collection[int] = (),
    ) -> Json:
        """Writes a batch that a client can write now: records, or the end of a transaction.

        Args:
            unkeyed: True if records may have no key, which a compacted topic refuses.
            producer: Producer of a batch of records; None for any.
            but: Producers whose transactions do not end.
        """
        choices, pick = self.choices, self.choices.pick
        undecided = [number for number in self.books.undecided if number not in but]
        if producer is None and undecided and choices.once_in(4):
            return self.books.control(pick("COMMIT", "ABORT"), pick(*undecided))
        without_key = unkeyed and choices.once_in(6)
        headers = pick([], [], [["version", {"hex": "07" * 8}]])
        records = []
        for number in choices.some(1, 4):
            value = pick(None, *[f"value-{self.books.end + number}"] * 2)
            key = None if without_key else f"key-{choices.below(8)}"
            records.append({"key": key, "value": value, "timestamp_ms": 0, "headers": headers})
        chosen = pick(0, 0, 1, 2, 3, 4, 5) if producer is None else producer
        return self.books.data(records, 0 if without_key else chosen)
