"""Limits: the largest number, and the longest text, that each field or option may have.

They stop mistakes, not experiments: each is ten to a hundred times the largest known use. A
scenario within all of them may still cost too much: the bounds of a run (`sim.bounds`) stop that.
`replog list limits` and the guide's reference show this table.
"""

from __future__ import annotations

from typing import Final, NamedTuple

SHOWN_DIGITS: Final = 40
"""Digits of the longest number that is printed; of a longer one only their number is."""
SHOWN_LENGTH: Final = 60
"""Characters of a wrong text that a message repeats."""
LONGEST_DIGITS: Final = 100
"""Digits of a number that are read: more than any limit has. Python itself reads 4,300."""


class Limit(NamedTuple):
    """The largest value of a field, with the reason.

    Attributes:
        name: Name in messages.
        most: Largest number, or number of items or characters, allowed (inclusive).
        unit: The unit.
        why: The source, or the reason why larger values make no sense.
        least: Smallest number that any field with this limit takes; a field may want more.
    """

    name: str
    most: int
    unit: str
    why: str
    least: int = 0

    def problem(self, value: float, *, least: int | None = None) -> str | None:
        """The problem with a number; None within the limit.

        `least` is the smallest number that the field takes, if that is not the limit's own.
        """
        smallest = self.least if least is None else least
        if value > self.most:
            return f"{in_words(value)} is above the largest allowed, {self.most} ({self.name})"
        if not value >= smallest:
            return f"{in_words(value)} is below the smallest allowed, {smallest}"
        return None

    def too_many(self, count: int, what: str) -> str | None:
        """The problem with a number of items or characters; None within the limit."""
        if count <= self.most:
            return None
        return f"{count:,} {what}; at most {self.most:,} are allowed ({self.name})"


def in_words(value: float) -> str:
    """A number as messages repeat it, however long it is."""
    if isinstance(value, int) and abs(value) >= 10**SHOWN_DIGITS:
        # Python refuses to write out the longest ones.
        return f"a number of about {value.bit_length() * 30_103 // 100_000 + 1:,} digits"
    return str(value)


def in_short(text: str) -> str:
    """A text as messages repeat it: `'...'`, the beginning of a long one."""
    return repr(text) if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]!r}…"


def whole_number(text: str) -> int | None:
    """The whole number in a text of plain digits; None for any other text.

    Stricter than `int`: no spaces, no `+`, no `1_000`, no digits but 0 to 9. A number that is
    longer than any limit comes back as one that is beyond all of them.
    """
    digits = text.removeprefix("-")
    if not digits.isascii() or not digits.isdecimal():
        return None
    number = int(digits.lstrip("0")[: LONGEST_DIGITS + 1] or 0)
    return number if text == digits else -number


LONG: Final = 2**63 - 1
"""Largest number in Kafka, in a column of a sweep's table and in a saved trace."""
INT: Final = 2**31 - 1
SHORT: Final = 2**15 - 1

# Widths of fields in Kafka.

NUMBER: Final = Limit("number", LONG, "any unit", "a number has 64 bits", -LONG - 1)
OFFSET: Final = Limit("offset", LONG, "offsets", "DefaultRecordBatch: 64 bits, signed")
TIMESTAMP: Final = Limit("timestamp", LONG, "ms", "DefaultRecordBatch: 64 bits", -LONG - 1)
VERSION: Final = Limit("version", LONG, "versions", "KIP-280: 64 bits in a header", -LONG - 1)
SETTING: Final = Limit(
    "setting", LONG, "ms or bytes", "ConfigDef.Type.LONG: the largest is as good as none", -1
)
INT_SETTING: Final = Limit(
    "setting of 32 bits",
    INT,
    "bytes or replicas",
    "ConfigDef.Type.INT: segment.bytes, max.message.bytes, index.interval.bytes, "
    "replica.fetch.max.bytes, min.insync.replicas, retries",
)
LEADER_EPOCH: Final = Limit("leader epoch", INT, "epochs", "DefaultRecordBatch: 32 bits", -1)
PRODUCER_ID: Final = Limit("producer id", LONG, "ids", "KIP-98: 64 bits, signed", -LONG - 1)
PRODUCER_EPOCH: Final = Limit("producer epoch", SHORT, "epochs", "KIP-98: 16 bits", -1)
SEED: Final = Limit("seed", LONG, "seeds", "the seed columns of a sweep's tables have 64 bits")

# Size of a simulated cluster, and duration of a run.

REPLICAS: Final = Limit("replicas", 64, "replicas", "every two are compared; 3 to 7 in practice")
CONSUMERS: Final = Limit("consumers", 1_000, "consumers", "each builds a table and is judged by it")
PRODUCERS: Final = Limit("producers", 100_000, "producers", "each has a state in every log")
KEYS: Final = Limit("keys", 1_000_000, "keys", "one offset map of 24 MB; reports have at most 40")
SENDS: Final = Limit("sends", 1_000_000, "records", "each is followed through every log of a run")
BATCH_RECORDS: Final = Limit(
    "records of a batch", 1_000_000, "records", "as many as a workload may have at all"
)
BATCH_OFFSETS: Final = Limit(
    "offsets of a batch", INT, "offsets", "DefaultRecordBatch: lastOffsetDelta has 32 bits"
)
CHANGES: Final = Limit(
    "changes of a trace", 1_000_000_000, "changes", "weeks of simulation; a million takes minutes"
)
TRANSACTIONS: Final = Limit("transaction", 1_000_000, "transactions", "each has a record")
FAULTS: Final = Limit("faults", 10_000, "faults", "random runs of reports have at most 40")
PHASES: Final = Limit("phases", 10_000, "phases", "idle phases and pauses; runs have a few")
ROUNDS: Final = Limit("last rounds", 10_000, "rounds", "each cleans every log of the cluster")
DURATION: Final = Limit("duration", 10**12, "ms", "31 years of simulated time")
LATENCY: Final = Limit("latency", 3_600_000, "ms", "an hour for one message is a partition")
SKEW: Final = Limit("clock skew", 3_200 * 10**9, "ms", "100 years", -3_200 * 10**9)
LOAD: Final = Limit("load time", 3_600_000_000, "µs", "an hour to load one record")
EVENTS: Final = Limit("simulator events", 10**12, "events", "wall time ends a run sooner")
WEIGHT: Final = Limit("weight", 1_000_000, "times as often", "weights of faults add up to 16")

# Stories and log files.

STEPS: Final = Limit("steps", 100_000, "steps", "stories have at most 40; wall time ends long ones")
ADVANCE: Final = Limit("clock of a story", 10**17, "ms", "three million years, all steps together")

# Sweeps and studies.

CASES: Final = Limit("cases", 1_000_000_000, "cases", "months of a hundred cores")
RULE_SETS: Final = Limit("rule sets", 1_000, "rule sets", "they are compared in pairs")
ENVIRONMENTS: Final = Limit(
    "environments", 1_000, "environments", "each has its own row of every table of a report"
)
CELLS: Final = Limit(
    "cells", 100_000, "cells", "rule sets in each environment are counted one by one"
)
RUN: Final = Limit("run", LONG, "runs", "the column run_id of a sweep's tables has 64 bits")
PARTITIONS: Final = Limit("partitions of a sweep", 100_000, "partitions", "a task takes 50 ms")
COMBINATIONS: Final = Limit(
    "combinations", 10_000, "combinations", "of rules, each run with every scenario of a matrix"
)

# Files of any kind.

DOCUMENT_BYTES: Final = Limit(
    "size of a document", 128 << 20, "bytes", "a log file of a million records has 80 MB"
)
TRACE_BYTES: Final = Limit(
    "size of a trace", 256 << 20, "bytes", "a million events; all are in memory to be certified"
)
YAML_BYTES: Final = Limit(
    "size of a YAML file", 8 << 20, "characters", "stories have some thousand; JSON may have more"
)
LEVELS: Final = Limit("levels", 64, "levels", "of lists and fields; no format has more than ten")
VALUES: Final = Limit("values", 1_000_000, "values", "of one YAML file: read in seconds")
COMPLAINTS: Final = Limit("complaints", 100, "lines", "about one file; the others are counted")

# The command line.

JOBS: Final = Limit("jobs", 1_000, "processes", "each is a Python of its own")
SECONDS: Final = Limit("seconds", 31_536_000, "s", "a year of real time")
MEGABYTES: Final = Limit("memory", 10_000_000, "MB", "10 TB")
TRIES: Final = Limit("tries", 1_000, "futures", "each is a run, at each moment of another one")

# Texts.

NAME: Final = Limit("length of a name", 1_000, "characters", "Kafka's topics have 249")
TITLE: Final = Limit("length of a title", 10_000, "characters", "one line of a report")
TEXT: Final = Limit(
    "length of a text",
    1_048_588,
    "characters",
    "message.max.bytes: a record with a longer key, value or header is refused by a broker",
)
HEADERS: Final = Limit("headers", 1_000, "headers", "of one record")

LIMITS: Final[tuple[Limit, ...]] = tuple(
    value for value in list(globals().values()) if isinstance(value, Limit)
)
"""Every limit, in the order above."""
