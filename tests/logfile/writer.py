"""Writes log files as a broker would write logs: offsets, sequences and segments by themselves.

A record is one word: `k=v` has a value, `k` is a tombstone, `=v` has no key.
"""

from dataclasses import dataclass, field
from typing import Any

from sim.simulate.logfile.answer import answer

Json = dict[str, Any]


def record(offset: int, word: str, **fields: Any) -> Json:
    """The record a word stands for."""
    key, equals, value = word.partition("=")
    return {"offset": offset, "key": key or None, "value": value if equals else None, **fields}


def batch(base: int, *words: str, **fields: Any) -> Json:
    """The batch of the records that words stand for, from an offset on."""
    return {
        "base_offset": base,
        "last_offset": base + len(words) - 1,
        "records": [record(base + index, word) for index, word in enumerate(words)],
    } | fields


@dataclass
class Writer:
    """A log file being written; what comes after the first step becomes a step itself.

    Attributes:
        rules: The file's rules.
        end: Log end offset (exclusive).
        segments: As in the file; the last one is active.
        steps: As in the file.
        sequences: Producer -> its next sequence number.
    """

    rules: Json = field(default_factory=dict)
    end: int = 0
    segments: list[Json] = field(default_factory=lambda: [{"base_offset": 0, "batches": []}])
    steps: list[Json] = field(default_factory=list)
    sequences: dict[int, int] = field(default_factory=dict)

    def write(self, batch: Json) -> None:
        """A batch as it stands in the file."""
        self.end = batch["last_offset"] + 1
        if self.steps:
            self.steps.append({"op": "append", "batches": [batch], "roll_after": False})
        else:
            self.segments[-1]["batches"].append(batch)

    def data(self, *words: str, producer: int = -1, **fields: Any) -> None:
        """A batch of these records; of a transaction if it has a producer."""
        made = batch(self.end, *words)
        if producer >= 0:
            sequence = self.sequences.get(producer, 0)
            self.sequences[producer] = sequence + len(words)
            made |= {
                "producer_id": producer,
                "producer_epoch": 0,
                "base_sequence": sequence,
                "transactional": True,
            }
        self.write(made | fields)

    def singles(self, *words: str) -> None:
        """A batch for each record."""
        for word in words:
            self.data(word)

    def end_of(self, producer: int, control: str, **fields: Any) -> None:
        """A marker."""
        self.write(
            {
                "base_offset": self.end,
                "last_offset": self.end,
                "producer_id": producer,
                "producer_epoch": 0,
                "transactional": True,
                "control": control,
                "records": [{"offset": self.end, "marker": control}],
            }
            | fields
        )

    def commit(self, producer: int) -> None:
        """A COMMIT marker."""
        self.end_of(producer, "COMMIT")

    def abort(self, producer: int) -> None:
        """An ABORT marker."""
        self.end_of(producer, "ABORT")

    def roll(self) -> None:
        """A new active segment."""
        if self.steps:
            self.steps.append({"op": "roll"})
            return
        self.segments.append({"base_offset": self.end, "batches": []})

    def step(self, op: str, **fields: Any) -> None:
        """Any other step."""
        self.steps.append({"op": op, **fields})

    def clean(
        self, dirty: int = 0, *, now: int = 0, bound: int | None = None, **fields: Any
    ) -> None:
        """A pass as far as the log end, or to `bound`."""
        upper_bound = self.end if bound is None else bound
        self.step("clean", now_ms=now, first_dirty_offset=dirty, upper_bound=upper_bound, **fields)

    def document(self, **fields: Any) -> Json:
        """The log file."""
        return {
            "format": "replog-log/1",
            "rules": self.rules,
            "segments": self.segments,
            "steps": self.steps,
            **fields,
        }

    def answers(self) -> list[Json]:
        """What comes of each step."""
        steps: list[Json] = answer(self.document())["steps"]
        return steps

    def cleaned(self) -> list[Json]:
        """What comes of each pass."""
        pairs = zip(self.steps, self.answers(), strict=True)
        return [told for step, told in pairs if step["op"] == "clean"]


def last_offsets(told: Json) -> list[int]:
    """Last offset of each batch that is there, empty ones included."""
    return [batch["last_offset"] for batch in told["batches"]]
