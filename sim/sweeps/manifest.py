"""What says that a wave is there, and that a sweep is finished: names, rows, sizes, checksums.

A wave counts only with its manifest, which is written after all its parts. `finished.json` is
written last of all, and names every manifest.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Final, Literal

import msgspec

from sim.sweeps.digests import digests_name_of
from sim.sweeps.layout import (
    RUNS,
    VIOLATIONS,
    WAVES,
    joined,
    manifest_name,
    part_name,
)
from sim.sweeps.segments import in_order, parts_in

WAVE_FORMAT: Final = "replog-sweep-wave/1"
FINISHED_FORMAT: Final = "replog-sweep-finished/1"
PART_BYTES_MAX = 2**30
"""A block of some seconds has some hundred kilobytes."""
Table = Literal["runs", "violations", "digests"]
_WAVE = re.compile(rf"{WAVES}/wave=(\d{{5,9}})\.json", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of a wave.

    Attributes:
        path: Its name in the folder.
        rows: Of a file of digests: lines.
        first_run: The first run it is about; of violations, whether that run has any or not.
        last_run: The last.
        size: Its bytes, `bytes` in the file.
        sha256: Of its bytes, in hex; empty in a folder that is older than checksums.
    """

    path: str
    rows: int
    first_run: int
    last_run: int
    size: int = msgspec.field(name="bytes")
    sha256: str = msgspec.field()

    @property
    def table(self) -> Table:
        """What it is a part of."""
        folder, _, name = self.path.partition("/")
        if folder == VIOLATIONS:
            return "violations"
        return "digests" if name.endswith(".digests") else "runs"

    def matches(self, content: bytes) -> bool:
        """Whether these are its bytes; of a part without a checksum that is not known."""
        if not self.sha256:
            return True
        return len(content) == self.size and sha256(content) == self.sha256


class Wave(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The manifest of a wave.

    Attributes:
        number: Of the wave; its parts are in folders named after it.
        sweep: What its rows are a function of: `identity_of` its cases.
        attempt: The run of the command that wrote it; a sweep that was resumed has several.
        versions: Of what wrote it, by name.
        cases: Ranges [first, end) of the cases it holds, in order.
        parts: Its files.
    """

    format: Literal["replog-sweep-wave/1"]
    number: int
    sweep: str
    attempt: str
    versions: dict[str, str]
    cases: tuple[tuple[int, int], ...]
    parts: tuple[Part, ...]

    @property
    def name(self) -> str:
        """Of the manifest's file."""
        return manifest_name(self.number)

    @property
    def ranges(self) -> tuple[range, ...]:
        """Its cases."""
        return tuple(range(first, end) for first, end in self.cases)

    @property
    def rows(self) -> int:
        """How many runs it holds."""
        return sum(part.rows for part in self.parts if part.table == "runs")


class Checked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file, as it was when the sweep was finished: its size and the checksum of its bytes."""

    size: int = msgspec.field(name="bytes")
    sha256: str = msgspec.field()


class Finished(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `finished.json`: every file that says something about the whole sweep.

    Attributes:
        files: By name: `plan.json`, `tallies.json`, `summary.csv` and every wave's manifest.
    """

    format: Literal["replog-sweep-finished/1"]
    files: dict[str, Checked]


def sha256(content: bytes) -> str:
    """The checksum of a file, in hex."""
    return hashlib.sha256(content).hexdigest()


def checked(content: bytes) -> Checked:
    """What `finished.json` says of a file."""
    return Checked(len(content), sha256(content))


def identity_of(plan_file: Mapping[str, Any], cases: range) -> str:
    """What the rows of some cases are a function of, as a checksum.

    `plan_file` is the content of `plan.json`; it was written by the version that made the rows, so
    that a later one finds the same. Titles are no part of it, nor is how many cases there are
    beside these. Raises KeyError, TypeError, ValueError or BadInput when it is no plan's.
    """
    environments = [[one["name"], one["generate"]] for one in plan_file["environments"]]
    segments = in_order(parts_in(plan_file), turns=len(environments))
    decides = {
        "versions": [plan_file["schema_version"], plan_file["package_version"]],
        "environments": environments,
        "rule_sets": [[one["swept"], one["rules"]] for one in plan_file["rule_sets"]],
        "segments": [
            [segment.seed, segment.first]
            for segment in segments
            if segment.first < cases.stop and cases.start < segment.end
        ],
    }
    return sha256(json.dumps(decides, sort_keys=True).encode())


def hull(ranges: Iterable[range]) -> range:
    """From the first case of some ranges to the last."""
    known = list(ranges)
    return range(min(one.start for one in known), max(one.stop for one in known))


def encoded(document: Wave | Finished) -> bytes:
    """The bytes of its file."""
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def number_of(name: str) -> int | None:
    """The number of the wave whose manifest is called so; None = no manifest is."""
    found = _WAVE.fullmatch(name)
    return int(found[1]) if found and manifest_name(int(found[1])) == name else None


def decode_wave(name: str, content: bytes, *, rule_sets: int) -> Wave:
    """The manifest in a file.

    `rule_sets` is how many the sweep has. Raises ValueError, saying what is wrong in a few words.
    """
    try:
        wave = msgspec.json.decode(content, type=Wave)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"is no manifest of a wave: {error}") from None
    if name != wave.name:
        raise ValueError(f"is the manifest of wave {wave.number}")
    problem = _problem(wave, rule_sets)
    if problem:
        raise ValueError(problem)
    return wave


def _problem(wave: Wave, rule_sets: int) -> str | None:
    """In what its own numbers contradict each other."""
    if not all(_SHA256.fullmatch(part.sha256) for part in wave.parts):
        return "has a part without a checksum"
    if any(part.size > PART_BYTES_MAX for part in wave.parts):
        return "has a part of more than 1 GiB"
    ranges = wave.ranges
    if not ranges or any(one.start < 0 or not one for one in ranges):
        return "holds no cases, or a range without any"
    if any(one.stop > other.start for one, other in pairwise(ranges)):
        return "holds cases twice, or out of order"
    runs = sorted((p for p in wave.parts if p.table == "runs"), key=lambda part: part.first_run)
    for part in runs:
        if (part.first_run % rule_sets, part.last_run % rule_sets) != (0, rule_sets - 1):
            return f"{part.path} ends within a case"
        if part.rows != part.last_run - part.first_run + 1:
            return f"{part.path} has {part.rows} rows"
    held = [range(p.first_run // rule_sets, p.last_run // rule_sets + 1) for p in runs]
    if any(not cases or cases.start < 0 for cases in held) or joined(held) != joined(ranges):
        return "its parts do not hold its cases"
    if sorted(map(_shape, wave.parts)) != sorted(_expected(wave.number, runs)):
        return "its parts are not a block's table of runs, violations and digests each"
    return None


def _shape(part: Part) -> tuple[str, int, int]:
    return part.path, part.first_run, part.last_run


def _expected(number: int, runs: Iterable[Part]) -> Iterable[tuple[str, int, int]]:
    for part in runs:
        path = part_name(RUNS, number, part.first_run)
        names = (path, part_name(VIOLATIONS, number, part.first_run), digests_name_of(path))
        yield from ((name, part.first_run, part.last_run) for name in names)
